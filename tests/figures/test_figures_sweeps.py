"""Figures of sweeps: means and spreads as they were computed."""

from __future__ import annotations

import math

import pytest

from mauve_core.base.config import SCORES
from mauve_core.experiments.sweeps import Sweep, SweepPoint
from mauve_core.figures.sweeps import own_values, sweep_frame
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.spread import SeedSpread
from tests.handmade import make_comparison, spread

NASTY = "grün & <b>"


def point(value: float, line: str, mean: float, *, source: str = "", sd: float | None = 0.02) -> SweepPoint:
    parts = {score: place + 1 for place, score in enumerate(SCORES)}
    scores = {score: spread(mean / part, None if sd is None else sd / part) for score, part in parts.items()}
    return SweepPoint(value, line, source or line, n=100, k=10, scores=scores)


OVER_K = Sweep(
    "k",
    (point(2, NASTY, 0.9), point(8, NASTY, 0.7), point(2, "b", 0.8), point(8, "b", 0.3), point(32, "b", 0.1)),
    {"seeds": 2},
)


def test_the_frame_holds_every_number() -> None:
    frame = sweep_frame(OVER_K)
    assert frame[["line", "value"]].to_records(index=False).tolist() == [
        (item.candidate, item.value) for item in OVER_K.points
    ]
    for (_, row), item in zip(frame.iterrows(), OVER_K.points, strict=True):
        assert (row["n"], row["k"], row["seeds"], row["candidate"]) == (100, 10, 5, item.source)
        for score in SCORES:
            assert (row[score], row[f"{score}_sd"]) == (item.scores[score].mean, item.scores[score].sd)
    alone = sweep_frame(Sweep("k", (point(2, "b", 0.5, sd=None),)))
    assert math.isnan(alone["mauve_sd"][0])


@pytest.fixture
def comparison() -> Comparison:
    return make_comparison()


def test_the_runs_own_length_is_the_one_with_its_digits(comparison: Comparison) -> None:
    def own(value: float, shift: float) -> list[SweepPoint]:
        return [
            SweepPoint(
                value,
                candidate.name,
                candidate.name,
                5,
                3,
                {s: SeedSpread.of([v + shift for v in e.values]) for s, e in candidate.scores.items()},
            )
            for candidate in comparison.candidates
        ]

    sweep = Sweep("length", (*own(16, 0.1), *own(64, 0.0)))
    assert own_values(sweep, comparison) == (64,)
