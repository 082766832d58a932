"""A made-up study whose candidate ``close`` has three generations; the others have one."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from mauve_core.scoring.result import Comparison
from mauve_core.texts import Corpus, corpus_from_texts
from tests.synthetic import make_comparison_inputs

GENERATIONS = 3
CONFIG = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, bootstrap=100, restarts=1), projection=False)


def make_repeated_inputs(n: int = 60) -> tuple[dict[str, Corpus], dict[str, NDArray[np.float32]]]:
    """The corpora and features; the generations of a prompt of ``close`` stand one after the other."""
    human, candidates, given = make_comparison_inputs(n=n)
    once, rng = candidates["close"], np.random.default_rng(2)
    rows = np.repeat(np.arange(n), GENERATIONS)
    generation = np.tile(np.arange(GENERATIONS), n)
    close = corpus_from_texts(
        [f"{once.texts[i]} again {g}" for i, g in zip(rows, generation, strict=True)],
        name="close",
        ids=[once.ids[i] + (f"#{g}" if g else "") for i, g in zip(rows, generation, strict=True)],
        prompts=None if once.prompts is None else [once.prompts[i] for i in rows],
        metadata={"generation": generation.tolist()},
        generation_field="generation",
    )
    noise = rng.normal(size=(len(rows), given["close"].shape[1])).astype(np.float32)
    features = {**given, "close": given["close"][rows] + noise}
    return {HUMAN: human, **candidates, "close": close}, features


@cache
def make_repeated_comparison() -> Comparison:
    corpora, features = make_repeated_inputs()
    candidates = {name: corpus for name, corpus in corpora.items() if name != HUMAN}
    return compare(corpora[HUMAN], candidates, CONFIG, features=features)


def store_repeated(name: str) -> Run:
    corpora, features = make_repeated_inputs()
    return RunStore().save(name, make_repeated_comparison(), corpora, features)
