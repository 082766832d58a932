"""A stored run whose names and texts try to run, to break out, or to reach the network."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from mauve_core.texts import corpus_from_texts
from tests.payloads import PAYLOADS
from tests.synthetic import make_comparison_inputs

# Candidates: out of a script, out of an attribute, and into LaTeX.
NAMES = tuple(PAYLOADS[key] for key in ("script-end", "attribute", "latex"))

# They stand, in turn, at the beginning of every text.
TEXTS = tuple(PAYLOADS[key] for key in ("script", "image", "style", "markdown-image", "formula"))


def make_hostile_run(home: Path, *, n: int = 48) -> Run:
    """Three candidates with those names and texts; named after a script too."""
    human, candidates, features = make_comparison_inputs(n)
    corpora = {HUMAN: human, **dict(zip(NAMES, candidates.values(), strict=True))}
    arrays = dict(zip(corpora, features.values(), strict=True))
    hostile = {
        name: corpus_from_texts(
            [f"{TEXTS[place % len(TEXTS)]} {text}" for place, text in enumerate(corpus.texts)],
            name=name,
            ids=[f"<i>{text_id}" for text_id in corpus.ids],
            prompts=corpus.prompts,
        )
        for name, corpus in corpora.items()
    }
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=2, bootstrap=100), projection=False)
    others = {name: corpus for name, corpus in hostile.items() if name != HUMAN}
    comparison = compare(hostile[HUMAN], others, config, features=arrays)
    places = np.random.default_rng(0).normal(size=(4 * n, 2)).astype(np.float32)
    comparison = dataclasses.replace(comparison, projection=places)
    return RunStore(home / "runs").save("<script>alert(1)</script> hostile", comparison, hostile, arrays)
