"""Stored runs of any size, made up without a model: texts of random words, features in clusters, sides that differ.

A text has some hundred words, half of them common ones, the others of its topic alone. Each side favours other topics.
The map is a plain projection of the features, since a UMAP of many texts takes minutes and a page draws either alike.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from mauve_core.texts import Corpus, corpus_from_texts

TOPICS, DIMENSION = 60, 16
# Words that every topic uses, and words of a topic's own; frequencies fall off as 1 / rank (Zipf).
COMMON, TOPICAL = 6_000, 500
# Words of a text.
LENGTH, LENGTH_SD, SHORTEST = 100, 30, 20


def make_run(home: Path, name: str, texts: int, sides: int) -> Run:
    """A run of ``texts`` texts on ``sides`` sides of one size, the human one among them, stored under ``home/runs``."""
    rng = np.random.default_rng(texts + sides)
    centres = 2 * rng.normal(size=(TOPICS, DIMENSION))
    corpora: dict[str, Corpus] = {}
    features: dict[str, NDArray[np.float32]] = {}
    for side in range(sides):
        source = HUMAN if side == 0 else f"model {side}"
        topics = rng.choice(TOPICS, size=texts // sides, p=rng.dirichlet(np.full(TOPICS, 5.0)))
        corpora[source] = _corpus(source, topics, rng)
        features[source] = (centres[topics] + rng.normal(size=(topics.size, DIMENSION))).astype(np.float32)
    candidates = {source: corpus for source, corpus in corpora.items() if source != HUMAN}
    score = ScoreConfig(restarts=1, max_iterations=4)
    config = CompareConfig(encoder=None, score=score, projection=False)
    comparison = compare(corpora[HUMAN], candidates, config, features=features)
    plane = rng.normal(size=(DIMENSION, 2))
    projection = (np.concatenate(list(features.values())) @ plane).astype(np.float32)
    return RunStore(home / "runs").save(
        name, dataclasses.replace(comparison, projection=projection), corpora, features, replace=True
    )


def _corpus(name: str, topics: NDArray[np.intp], rng: np.random.Generator) -> Corpus:
    lengths = np.maximum(SHORTEST, rng.normal(LENGTH, LENGTH_SD, topics.size)).astype(int)
    common = _words("w", COMMON)
    own = [_words(f"t{topic}x", TOPICAL) for topic in range(TOPICS)]
    texts = []
    for topic, length in zip(topics, lengths, strict=True):
        ranks = _zipf(rng, COMMON, length - length // 2), _zipf(rng, TOPICAL, length // 2)
        words = np.concatenate([common[ranks[0]], own[topic][ranks[1]]])
        rng.shuffle(words)
        texts.append(" ".join(words).capitalize() + ("." if rng.random() < 0.8 else ""))
    metadata = {"topic": [f"topic {topic}" for topic in topics], "words": lengths.tolist()}
    ids = [f"t{place:06d}" for place in range(topics.size)]
    return corpus_from_texts(texts, name=name, ids=ids, prompts=[text[:40] for text in texts], metadata=metadata)


def _words(prefix: str, count: int) -> NDArray[np.str_]:
    """Made-up words of letters: the rank of each in base 26 behind the prefix."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return np.array(
        [prefix + letters[rank // 676 % 26] + letters[rank // 26 % 26] + letters[rank % 26] for rank in range(count)]
    )


def _zipf(rng: np.random.Generator, most: int, size: int) -> NDArray[np.intp]:
    """Ranks from 0, drawn about as 1 / (rank + 1)."""
    ranks: NDArray[np.intp] = (np.exp(rng.random(size) * np.log(most + 1)) - 1).astype(np.intp)
    return ranks
