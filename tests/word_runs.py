"""Runs that were made by an encoder: word vectors by topic, which take no time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.encoders.features import FeatureStore
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from tests.synthetic import make_comparison_inputs
from tests.word_files import by_topic


def encoded_run(home: Path, name: str, seed: int = 7, **settings: Any) -> Run:
    """Store a run of two sides of 40 texts; ``home`` is the program's, ``settings`` are those of the encoder."""
    human, sides, _ = make_comparison_inputs(40, seed=seed)
    home.mkdir(exist_ok=True)
    vectors = home / "topics.txt"
    if not vectors.exists():
        by_topic(vectors)
    config = CompareConfig(
        encoder=EncoderConfig(model=str(vectors), **settings),
        score=ScoreConfig(seeds=2, restarts=1, bootstrap=100, k=4),
        projection=False,
    )
    sides = {"close": sides["close"]}
    comparison = compare(human, sides, config, feature_store=FeatureStore())
    return RunStore().save(name, comparison, {HUMAN: human, **sides})
