"""Made-up answers whose modes are known, and a stored run of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from mauve_core.texts import Corpus, corpus_from_texts

DIMENSION = 64
PROMPTS, ANSWERS = 60, 6
CONFIG = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, bootstrap=100, restarts=1), projection=False)

# Equal modes of the run's candidates; ``five`` and ``also five`` have the same, ``greedy`` one of theirs.
MODES = {"greedy": 1, "five": 5, "also five": 5}


def draw_modes(shares: Sequence[float], prompts: int, answers: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(prompts, answers) modes with these probabilities."""
    return rng.choice(len(shares), size=(prompts, answers), p=shares)


def equal(modes: int) -> list[float]:
    return [1 / modes] * modes


def mode_features(
    modes: NDArray[np.int64], rng: np.random.Generator, *, noise: float = 0.1, spread: float = 0.5
) -> NDArray[np.float64]:
    """(g, m, d) features: each prompt has a center, each of its modes another one around it, each answer its noise."""
    g, m = modes.shape
    centers = rng.normal(size=(g, 1, DIMENSION)) + spread * rng.normal(size=(g, modes.max() + 1, DIMENSION))
    found: NDArray[np.float64] = centers[np.arange(g)[:, None], modes] + noise * rng.normal(size=(g, m, DIMENSION))
    return found


def side(name: str, modes: NDArray[np.int64]) -> Corpus:
    """The texts of answers of these modes, all different but for those of ``greedy``."""
    g, m = modes.shape
    prompts = [f"prompt {index}" for index in range(g) for _ in range(m)]
    said = enumerate(zip(prompts, modes.ravel().tolist(), strict=True))
    words = [
        f"{prompt} is answered in way {mode}" + ("" if name == "greedy" else f" by {name}, {number}")
        for number, (prompt, mode) in said
    ]
    ids = [f"p{index}" + (f"#{answer}" if answer else "") for index in range(g) for answer in range(m)]
    generations = {"generation": [answer for _ in range(g) for answer in range(m)]}
    return corpus_from_texts(
        words,
        name=name,
        ids=ids,
        prompts=prompts,
        metadata=generations if m > 1 else {},
        generation_field="generation" if m > 1 else None,
    )


def store_modes(name: str = "modes", modes: Mapping[str, int] | None = None, *, noise: float = 0.1) -> Run:
    """A run of candidates with so many modes to a prompt, and of ``once``, which answers each prompt once."""
    rng = np.random.default_rng(6)
    chosen = MODES if modes is None else modes
    drawn = {each: draw_modes(equal(many), PROMPTS, ANSWERS, rng) for each, many in chosen.items()}
    drawn["once"] = draw_modes(equal(5), PROMPTS, 1, rng)
    drawn[HUMAN] = draw_modes(equal(5), PROMPTS, 1, rng)
    together = np.concatenate(list(drawn.values()), axis=1)
    x = mode_features(together, rng, noise=noise)
    parts = np.split(x, np.cumsum([own.shape[1] for own in drawn.values()])[:-1], axis=1)
    features = {each: part.reshape(-1, DIMENSION).astype(np.float32) for each, part in zip(drawn, parts, strict=True)}
    corpora = {each: side(each, own) for each, own in drawn.items()}
    candidates = {each: corpus for each, corpus in corpora.items() if each != HUMAN}
    comparison = compare(corpora[HUMAN], candidates, CONFIG, features=features)
    return RunStore().save(name, comparison, corpora, features)
