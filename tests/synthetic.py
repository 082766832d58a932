"""Small made-up studies whose truth is known: topics with words of their own, and features that follow the topic.

The human side spreads over all topics; ``close`` does nearly the same, ``shifted`` favours half of them, ``collapsed``
knows only two. A text is a few words of its topic, so that distinctive words and clusters can be told from outside.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from mauve_core.scoring.result import Comparison
from mauve_core.texts import Corpus, corpus_from_texts

TOPICS = ("river", "engine", "planet", "violin", "harvest", "market", "glacier", "parliament")
WORDS_PER_TOPIC = 12


# Under it 60 texts show that ``shifted`` differs (p = 0.008).
SEED = 1


def topic_words(topic: int) -> list[str]:
    """The words that only texts of this topic use."""
    return [TOPICS[topic], *(f"{TOPICS[topic]}{chr(ord('a') + i)}" for i in range(WORDS_PER_TOPIC - 1))]


def make_side(
    name: str, weights: NDArray[np.float64], n: int, dimension: int, seed: int
) -> tuple[Corpus, NDArray[np.float32]]:
    """n texts and features, topics drawn with the given weights."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(len(TOPICS), dimension))
    topics = rng.choice(len(TOPICS), size=n, p=weights / weights.sum())
    texts = [" ".join(rng.choice(topic_words(topic), size=20)) + f" {name} {i}" for i, topic in enumerate(topics)]
    corpus = corpus_from_texts(
        texts,
        name=name,
        ids=[f"t{i:04d}" for i in range(n)],
        prompts=[f"prompt {i}" for i in range(n)],
        metadata={"topic": [TOPICS[topic] for topic in topics], "words": [len(text.split()) for text in texts]},
    )
    features = centres[topics] + 0.3 * rng.normal(size=(n, dimension))
    return corpus, features.astype(np.float32)


def make_comparison_inputs(
    n: int = 160, dimension: int = 16, seed: int = 7
) -> tuple[Corpus, dict[str, Corpus], dict[str, NDArray[np.float32]]]:
    """A human side, three candidates by name, and the features of all four."""
    uniform = np.ones(len(TOPICS))
    weights = {
        HUMAN: uniform,
        "close": uniform + 0.1 * np.arange(len(TOPICS)),
        "shifted": np.where(np.arange(len(TOPICS)) < len(TOPICS) // 2, 4.0, 1.0),
        "collapsed": np.where(np.arange(len(TOPICS)) < 2, 1.0, 1e-9),
    }
    corpora, features = {}, {}
    for offset, (name, share) in enumerate(weights.items()):
        corpora[name], features[name] = make_side(name, share, n, dimension, seed + offset)
    human = corpora.pop(HUMAN)
    return human, corpora, features


# Candidates of ``make_crowd``: as many as the demo has.
CROWD = 11


def make_crowd(home: Path, *, n: int = 60) -> Run:
    """A run ``crowd`` of many candidates with long names, each poorer in topics than the one before."""
    names = [HUMAN, *(f"contrastive:alpha=0.{place},k={place}" for place in range(CROWD))]
    corpora, features = {}, {}
    for place, name in enumerate(names):
        weights = np.exp(-0.12 * place * np.arange(len(TOPICS)))
        corpora[name], features[name] = make_side(name, weights, n, 16, 20 + place)
    human = corpora.pop(HUMAN)
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, restarts=1, bootstrap=100), projection=False)
    comparison = compare(human, corpora, config, features=features)
    return RunStore(home / "runs").save("crowd", comparison, {HUMAN: human, **corpora}, features)


@cache
def _compared(
    n: int, seeds: int, projection: bool, names: tuple[str, ...] | None
) -> tuple[Comparison, dict[str, Corpus], dict[str, NDArray[np.float32]]]:
    """Once a process: many tests store the same run, each in a home of its own."""
    human, candidates, features = make_comparison_inputs(n)
    candidates = {each: corpus for each, corpus in candidates.items() if names is None or each in names}
    features = {each: matrix for each, matrix in features.items() if each == HUMAN or each in candidates}
    score = ScoreConfig(seeds=seeds, restarts=2, bootstrap=200, seed=SEED)
    config = CompareConfig(encoder=None, score=score, projection=projection)
    return compare(human, candidates, config, features=features), {HUMAN: human, **candidates}, features


def make_run(
    home: Path,
    *,
    name: str = "synthetic",
    n: int = 160,
    seeds: int = 3,
    projection: bool = True,
    names: Sequence[str] | None = None,
) -> Run:
    """Compare the sides above (of the candidates those in ``names``) and store the run under ``home/runs``."""
    comparison, corpora, features = _compared(n, seeds, projection, None if names is None else tuple(names))
    return RunStore(home / "runs").save(name, comparison, corpora, features)


def with_map(run: Run) -> Run:
    """The same run, its texts strewn over a square from -1 to 1: a map that takes no time to draw."""
    total = sum(source.n for source in run.comparison.sources)
    places = np.random.default_rng(8).uniform(-1, 1, (total, 2)).astype(np.float32)
    comparison = dataclasses.replace(run.comparison, projection=places, map_fitted=total)
    return RunStore(run.path.parent).add_map(run, comparison)


def make_untold_run(home: Path) -> Run:
    """A run ``untold`` whose tests tell no two candidates apart, although their intervals are disjoint."""
    human, candidates, features = make_comparison_inputs(100)
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, restarts=1, bootstrap=100), projection=False)
    comparison = compare(human, candidates, config, features=features)
    untold = tuple(dataclasses.replace(each, p_adjusted=1.0) for each in comparison.differences)
    changed = dataclasses.replace(comparison, differences=untold)
    return RunStore(home / "runs").save("untold", changed, {HUMAN: human, **candidates}, features)
