"""Texts of random words, and a run in which one candidate of three copies a third of the human ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from mauve_core.texts import corpus_from_texts

N = 120
THIRD = np.arange(N) % 3 == 0


def texts(n: int, seed: int, length: int = 60) -> list[str]:
    """Sentences of eight words of a thousand, and one that all texts have."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        words = [f"w{number}" for number in rng.integers(0, 1000, length)]
        sentences = [" ".join(words[start : start + 8]).capitalize() + "." for start in range(0, length, 8)]
        found.append(" ".join(["All of them begin with the very same words.", *sentences]))
    return found


HUMANS, OTHERS = texts(N, 1), texts(N, 2)
PARTLY = [human if copied else own for human, own, copied in zip(HUMANS, OTHERS, THIRD.tolist(), strict=True)]


def make_copier_run(home: Path) -> Run:
    """``copier`` has the texts and features of a third of the human side; ``near`` comes next, then ``far``."""
    rng = np.random.default_rng(5)
    human = rng.normal(size=(N, 6))
    features = {
        HUMAN: human,
        "copier": np.where(THIRD[:, None], human, rng.normal(1.5, 1, (N, 6))),
        "near": rng.normal(1, 1, (N, 6)),
        "far": rng.normal(3, 1, (N, 6)),
    }
    arrays = {name: each.astype(np.float32) for name, each in features.items()}
    of = {HUMAN: HUMANS, "copier": PARTLY, "near": OTHERS, "far": texts(N, 9)}
    corpora = {name: corpus_from_texts(each, name=name) for name, each in of.items()}
    config = CompareConfig(encoder=None, score=ScoreConfig(k=6, seeds=2, bootstrap=100), projection=False)
    others = {name: corpus for name, corpus in corpora.items() if name != HUMAN}
    comparison = compare(corpora[HUMAN], others, config, features=arrays)
    return RunStore(home / "runs").save("copies", comparison, corpora, arrays)
