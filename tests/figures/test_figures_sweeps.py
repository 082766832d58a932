"""Figures of sweeps: means and spreads as they were computed."""

from __future__ import annotations

import math
from dataclasses import replace

import plotly.graph_objects as go
import pytest

from mauve_core.analyses.sweeps import Sweep, SweepPoint
from mauve_core.base.config import ScoreConfig
from mauve_core.figures.sweeps import own_values, sweep_figure, sweep_frame
from mauve_core.figures.theme import candidate_style
from mauve_core.scoring.result import Comparison, SeedSpread
from mauve_core.stats.scores import SCORES
from tests.handmade import make_comparison, spread

NASTY = "grün & <b>"


ORDER = [NASTY, "b"]


def point(value: float, line: str, mean: float, *, source: str = "", sd: float | None = 0.02) -> SweepPoint:
    parts = {score: place + 1 for place, score in enumerate(SCORES)}
    scores = {score: spread(mean / part, None if sd is None else sd / part) for score, part in parts.items()}
    return SweepPoint(value, line, source or line, n=100, k=10, scores=scores)


OVER_K = Sweep(
    "k",
    (point(2, NASTY, 0.9), point(8, NASTY, 0.7), point(2, "b", 0.8), point(8, "b", 0.3), point(32, "b", 0.1)),
    {"seeds": 2},
)


def curves(figure: go.Figure) -> dict[str, go.Scatter]:
    return {trace.meta: trace for trace in figure.data if trace.mode == "lines+markers"}


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


@pytest.mark.parametrize("score", SCORES)
def test_a_line_a_candidate_through_its_means_with_a_band_of_one_sd(score: str) -> None:
    figure = sweep_figure(OVER_K, score, ORDER)
    found = curves(figure)
    assert list(found) == ["grün &amp; &lt;b&gt;", "b"]
    points = OVER_K.line("b")
    assert tuple(found["b"].x) == (2, 8, 32)
    assert tuple(found["b"].y) == tuple(item.scores[score].mean for item in points)
    style = candidate_style(1)
    assert (found["b"].line.color, found["b"].line.dash, found["b"].marker.symbol) == style
    (band,) = [trace for trace in figure.data if trace.fill == "toself" and trace.legendgroup == "b"]
    spreads = [item.scores[score] for item in points]
    assert tuple(band.y[:3]) == tuple(spread.mean - spread.sd for spread in spreads)
    assert tuple(band.y[:2:-1]) == tuple(spread.mean + spread.sd for spread in spreads)
    assert tuple(band.x) == (2, 8, 32, 32, 8, 2)


def test_bands_stay_where_scores_can_be() -> None:
    wide = Sweep("n", (point(20, "b", 0.9, sd=0.2), point(40, "b", 0.1, sd=0.2)))
    (band,) = [trace for trace in sweep_figure(wide, "mauve", ORDER).data if trace.fill == "toself"]
    assert tuple(band.y) == pytest.approx((0.7, 0.0, 0.3, 1.0), abs=1e-12)


@pytest.fixture
def comparison() -> Comparison:
    return make_comparison()


def test_the_runs_own_settings_are_found(comparison: Comparison) -> None:
    (k,) = {candidate.partitions[0].k for candidate in comparison.candidates}
    assert own_values(OVER_K, comparison) == (k,)
    rescaled = replace(comparison, config=replace(comparison.config, score=ScoreConfig(seeds=2, scale=3.5)))
    assert own_values(Sweep("scale", ()), rescaled) == (3.5,)
    assert own_values(Sweep("n", ()), comparison) == ()  # sides of different sizes: no n is the run's
    assert own_values(Sweep("decoder", ()), comparison) == ()


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
