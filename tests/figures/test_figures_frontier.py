"""Divergence curves and leaderboard: the numbers they draw, what they say in words, and what they must not execute."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from mauve_core.base.config import HUMAN, PartitionKind, Smoothing
from mauve_core.base.formatting import UNBROKEN, with_plain_spaces, with_spread
from mauve_core.figures import leaderboard
from mauve_core.figures.frontier import (
    DRAWN_WEIGHTS,
    MOST_LEADING,
    ErrorCurve,
    at_weight,
    curve_points,
    frontier_figure,
    leading_clusters,
)
from mauve_core.figures.leaderboard import interval_figure, leaderboard_frame, shown_table
from mauve_core.figures.theme import CATEGORICAL, GLYPHS, HUMAN_COLOUR, MODEL_COLOUR, MOST_SHADES, candidate_styles
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import standings
from mauve_core.stats.divergences import divergence_frontier, probabilities
from mauve_core.stats.scores import SCORES
from tests.handmade import estimate, make_comparison, untested

# Figures carry float32, which keeps seven digits of numbers up to 1.
FLOAT32 = 1e-6

# Pixels of a line of the names' letters.
NAME_HEIGHT = 14

NASTY = '<img src=x onerror="alert(1)">'


def curve_of(name: str, pairs: list[tuple[list[float], list[float]]]) -> ErrorCurve:
    """The errors of a candidate whose histograms (p, q) under each seed are given."""
    p, q = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    found = divergence_frontier(p, q, DRAWN_WEIGHTS)
    return ErrorCurve(name, found.weights, found.type_1, found.type_2)


DISJOINT = curve_of("disjoint", [([1, 0], [0, 1])])
NEAR = curve_of(NASTY, [([0.5, 0.5], [0.6, 0.4]), ([0.5, 0.5], [0.7, 0.3])])


def named(figure: go.Figure, mode: str, name: str) -> go.Scatter:
    """The one trace of that mode whose hover shows that name."""
    (trace,) = [trace for trace in figure.data if trace.mode == mode and trace.meta == name]
    return trace


def test_weights_hold_every_step_of_the_slider() -> None:
    assert (np.diff(DRAWN_WEIGHTS) > 0).all()
    for step in range(1, 100):
        assert np.abs(DRAWN_WEIGHTS - step / 100).min() < 1e-12


def test_disjoint_histograms_follow_the_closed_form() -> None:
    # r = (w, 1 - w): KL(Q|R) = -log(1 - w) and KL(P|R) = -log w, so the curve is ((1 - w)^c, w^c).
    points = curve_points([DISJOINT], scale=3.0)
    np.testing.assert_allclose(points["x"], (1 - DRAWN_WEIGHTS) ** 3, atol=1e-12)
    np.testing.assert_allclose(points["y"], DRAWN_WEIGHTS**3, atol=1e-12)
    assert points["type_1_sd"].isna().all()  # one seed shows no spread
    half = at_weight(points, 0.5).iloc[0]
    assert (half["type_1"], half["type_2"]) == pytest.approx((math.log(2), math.log(2)), abs=1e-12)


def test_seeds_give_mean_spread_and_band() -> None:
    points = curve_points([NEAR], scale=5.0)
    row = at_weight(points, 0.25).iloc[0]
    place = int(np.argmin(np.abs(DRAWN_WEIGHTS - 0.25)))
    ones, twos = NEAR.type_1[:, place], NEAR.type_2[:, place]
    assert row["type_1"] == pytest.approx(ones.mean(), abs=1e-15)
    assert row["type_1_sd"] == pytest.approx(abs(ones[0] - ones[1]) / math.sqrt(2), rel=1e-12)
    assert row["x"] == pytest.approx(np.exp(-5 * ones).mean(), abs=1e-15)
    assert (row["y_low"], row["y_high"]) == pytest.approx(tuple(sorted(np.exp(-5 * twos))), abs=1e-15)
    assert ((points["x_low"] <= points["x"]) & (points["x"] <= points["x_high"])).all()


def test_the_human_side_is_p() -> None:
    # The model never writes bin 0: humans write what the model misses, so type II is the larger error.
    row = at_weight(curve_points([curve_of("m", [([0.5, 0.5], [0, 1])])], 5.0), 0.5).iloc[0]
    # r = (1/4, 3/4): KL(Q|R) = log(4/3); KL(P|R) = (log 2 + log(2/3)) / 2.
    assert row["type_1"] == pytest.approx(math.log(4 / 3), abs=1e-12)
    assert row["type_2"] == pytest.approx(math.log(4 / 3) / 2, abs=1e-12)


@pytest.mark.parametrize("weight", [0.01, 0.37, 0.99])
def test_the_mark_lies_on_its_curve_at_the_weight(weight: float) -> None:
    points = curve_points([DISJOINT, NEAR], 5.0)
    figure = frontier_figure(points, weight)
    for curve in (DISJOINT, NEAR):
        shown = "disjoint" if curve is DISJOINT else '&lt;img src=x onerror="alert(1)"&gt;'
        line, mark = named(figure, "lines", shown), named(figure, "markers", shown)
        place = int(np.argmin(np.abs(DRAWN_WEIGHTS - weight)))
        assert mark.x[0] == line.x[place]
        assert mark.y[0] == line.y[place]
        assert mark.customdata[0][0] == pytest.approx(weight, abs=FLOAT32)
        assert mark.customdata[0][1] == pytest.approx(curve.type_1[:, place].mean(), abs=FLOAT32)
        assert mark.customdata[0][3] == pytest.approx(curve.type_2[:, place].mean(), abs=FLOAT32)
        assert mark.marker.color == line.line.color


def test_hovers_have_the_decimals_of_the_spread_and_none_where_there_is_no_spread() -> None:
    seeds = [[0.4, 0.6], [0.42, 0.58]], [[0.9, 0.1], [0.88, 0.12]]
    points = curve_points([curve_of("m", [*zip(*seeds, strict=True)])], 5.0)
    row = at_weight(points, 0.5).iloc[0]
    mark = named(frontier_figure(points, 0.5), "markers", "m")
    decimals = len(with_spread(row["type_1"], row["type_1_sd"]).split(UNBROKEN)[0].partition(".")[2])
    template = with_plain_spaces(mark.hovertemplate)
    assert f"type I %{{customdata[1]:.{decimals}f}} ± %{{customdata[2]:.{decimals}f}} nats" in template
    alone = curve_points([curve_of("m", [([0.5, 0.5], [0.1, 0.9])])], 5.0)
    assert "±" not in frontier_figure(alone, 0.5).to_json()


def crowd(size: int) -> list[ErrorCurve]:
    """So many candidates, c0 the best of them."""
    step = min(0.03, 0.4 / size)
    return [
        curve_of(f"c{place}", [([0.5, 0.5], [0.5 + off, 0.5 - off]) for off in (step * place, step * place + 0.05)])
        for place in range(size)
    ]


def heights_of_names(figure: go.Figure) -> list[float]:
    """Pixels of the names' middles above the lower edge of the plot, from the top."""
    layout = figure.layout
    pixels = layout.height - layout.margin.t - layout.margin.b
    return [note.y * pixels for note in layout.annotations]


def test_every_curve_is_named_at_its_end_and_no_name_lies_on_another() -> None:
    count = 11
    figure = frontier_figure(curve_points(crowd(count), 5.0), 0.5)
    notes, heights = figure.layout.annotations, heights_of_names(figure)
    styles = candidate_styles([f"c{place}" for place in range(count)])
    assert {note.hovertext for note in notes} == set(styles)
    ends, (low, high) = [], figure.layout.yaxis.range
    for note in notes:
        style, line = styles[note.hovertext], named(figure, "lines", note.hovertext)
        assert note.text == f'<span style="color:{style.colour}">{GLYPHS[style.symbol]}</span> {note.hovertext}'
        assert (note.xref, note.x, note.xanchor, note.yref, note.yanchor) == ("paper", 1, "left", "paper", "middle")
        height = low + note.y * (high - low)
        lead = next(trace for trace in figure.data if trace.y[-1] == pytest.approx(height) and len(trace.x) > 7)
        assert lead.line.color == style.colour
        assert lead.x[-2:] == (0.98, figure.layout.xaxis.range[1]), "to the plot's right edge, where the name stands"
        assert lead.y[-2] == pytest.approx(np.interp(0.98, line.x[::-1], line.y[::-1]), abs=FLOAT32)
        ends.append(lead.y[-2])
    assert all(one - other >= NAME_HEIGHT for one, other in itertools.pairwise(heights))
    assert ends == sorted(ends, reverse=True), "lines to names do not cross"
    assert min(heights) >= 0
    assert max(heights) <= figure.layout.height - figure.layout.margin.t - figure.layout.margin.b + 1e-9


@pytest.mark.parametrize("kind", ["pairwise", "joint"])
@pytest.mark.parametrize("smoothing", ["none", "laplace"])
def test_the_leading_clusters_are_those_with_the_largest_terms(kind: PartitionKind, smoothing: Smoothing) -> None:
    comparison = make_comparison()
    name = comparison.candidates[0].name
    part = comparison.partition(kind, name)
    p, q = (probabilities(part.counts(side), smoothing) for side in (HUMAN, name))
    found = leading_clusters(comparison, kind, name, smoothing)
    for row, weight in enumerate(DRAWN_WEIGHTS):
        for side, other, clusters in ((q, p, found[0][row]), (p, q, found[1][row])):
            terms = []
            for own, of_other in zip(side, other, strict=True):
                mine = 1 - weight if side is q else weight
                mixed = mine * own + (1 - mine) * of_other
                terms.append(own * math.log(own / mixed) if own > 0 else 0.0)
            assert 1 <= len(clusters) <= MOST_LEADING
            rest = [term for cluster, term in enumerate(terms) if cluster not in clusters]
            named_terms = [terms[cluster] for cluster in clusters]
            assert named_terms == pytest.approx(sorted(named_terms, reverse=True), abs=1e-12)
            assert min(named_terms) > 0
            assert min(named_terms) >= max(rest, default=0.0) - 1e-12


def test_names_from_files_are_escaped_everywhere() -> None:
    points = curve_points([NEAR], 5.0)
    assert "<img" not in frontier_figure(points, 0.5).to_json()
    assert "<img" not in interval_figure(renamed(make_comparison(), NASTY), "pairwise").to_json()


def renamed(comparison: Comparison, name: str) -> Comparison:
    """The first candidate under another name, labels included."""
    first, *others = comparison.candidates
    partitions = tuple(
        replace(part, labels={name if key == first.name else key: labels for key, labels in part.labels.items()})
        for part in first.partitions
    )
    changed = replace(first, source=replace(first.source, name=name), partitions=partitions)
    return replace(comparison, candidates=(changed, *others))


def comparison_with(first: tuple[float, float, float], second: tuple[float, float, float]) -> Comparison:
    """Two candidates whose MAUVE is (mean, low, high)."""
    return untested(make_comparison(first={"mauve": estimate(*first)}, second={"mauve": estimate(*second)}))


TIED = comparison_with((0.80, 0.75, 0.85), (0.84, 0.79, 0.90))
APART = comparison_with((0.60, 0.55, 0.65), (0.84, 0.79, 0.90))


def test_the_leaderboard_ranks_as_the_core_does() -> None:
    for comparison in (TIED, APART):
        frame = leaderboard_frame(comparison, "pairwise")
        placed = standings(comparison)
        assert frame["candidate"].tolist() == [*(standing.candidate.name for standing in placed), "human vs. human"]
        assert frame["rank"].tolist() == [*(standing.rank for standing in placed), 0]
    assert shown_table(leaderboard_frame(TIED, "pairwise"), str)["Rank"].tolist() == ["1=", "1=", "–"]
    assert shown_table(leaderboard_frame(APART, "pairwise"), str)["Rank"].tolist() == ["1", "2", "–"]
    assert shown_table(leaderboard_frame(APART, "joint"), str)["Rank"].tolist() == ["1", "2"]


def test_the_leaderboard_carries_every_number_and_setting() -> None:
    frame = leaderboard_frame(APART, "joint").set_index("candidate")
    for candidate in APART.candidates:
        row = frame.loc[candidate.name]
        for score in SCORES:
            expected = candidate.joint_scores[score]
            assert (row[score], row[f"{score}_sd"]) == (expected.mean, expected.sd)
            assert (row[f"{score}_low"], row[f"{score}_high"]) == (expected.low, expected.high)
        assert row["n"] == candidate.source.n
        assert row["n_human"] == APART.human.n
        assert row["k"] == APART.joint[0].k
    assert set(frame["partition"]) == {"joint"}


CELLS = {"mauve": 0.84321, "mauve_sd": 0.0123, "mauve_low": 0.79, "mauve_high": 0.9}


def test_a_score_is_never_shown_bare() -> None:
    cell = leaderboard.score_label(CELLS, "mauve")
    assert with_plain_spaces(cell) == "**0.843** ± 0.012  \n0.790 to 0.900"
    assert "±" not in leaderboard.score_label({**CELLS, "mauve_sd": float("nan")}, "mauve")
    repeated = {**CELLS, "generations": 5.0, "mauve_generations_sd": 0.0311}
    cell = with_plain_spaces(leaderboard.score_label(repeated, "mauve"))
    assert cell == "**0.843** ± 0.012 (seeds) ± 0.031 (5 generations)  \n0.790 to 0.900"
    once = {**CELLS, "generations": 1.0, "mauve_generations_sd": float("nan")}  # beside a candidate with several
    assert leaderboard.score_label(once, "mauve") == leaderboard.score_label(CELLS, "mauve")


def brackets(figure: go.Figure) -> list[go.Scatter]:
    return [trace for trace in figure.data if trace.hovertemplate and "tied" in trace.hovertemplate]


def test_ties_are_joined_by_a_bracket_and_others_are_not() -> None:
    (bracket,) = brackets(interval_figure(TIED, "pairwise"))
    assert min(bracket.y) < 0 < 1 < max(bracket.y)  # it reaches over both rows
    assert brackets(interval_figure(APART, "pairwise")) == []


def test_the_interval_chart_draws_mean_and_interval_of_each_score() -> None:
    figure = interval_figure(APART, "pairwise")
    assert [note.text for note in figure.layout.annotations] == [leaderboard.titled(score) for score in SCORES]
    best = standings(APART)[0].candidate.scores["mauve"]
    thick, dot = figure.data[:2]
    reach = (dot.error_x.arrayminus[0], dot.error_x.array[0])
    assert reach == pytest.approx((best.mean - best.low, best.high - best.mean), abs=1e-15)
    assert best.sd is not None
    assert tuple(thick.x) == (best.mean - best.sd, best.mean + best.sd)
    assert tuple(dot.x) == (best.mean,)


def contrast(colour: str, background: str) -> float:
    """Contrast ratio of WCAG 2.1 between two #rrggbb colours."""

    def luminance(value: str) -> float:
        channels = [int(value[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(colour), luminance(background)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", [HUMAN_COLOUR, MODEL_COLOUR, *CATEGORICAL])
@pytest.mark.parametrize("background", ["#ffffff", "#14181f"])
def test_colours_are_readable_on_light_and_dark(colour: str, background: str) -> None:
    assert contrast(colour, background) >= 3  # WCAG 2.1, graphical objects


FAMILIES = "abcdefghi"
# Candidates that take every color.
FULL = [f"{name}:p=0.{place}" for name in FAMILIES for place in range(MOST_SHADES)]


# What is left of linear red, green and blue (Machado, Oliveira and Fernandes 2009, severity 1).
MACHADO = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


@pytest.mark.parametrize("sight", list(MACHADO))
def test_the_blue_of_humans_is_nobody_elses(sight: str) -> None:
    for style in candidate_styles(FULL).values():
        assert difference(style.colour, HUMAN_COLOUR, sight) > 10  # 2.3 can just be noticed


def channels(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return red, green, blue


def difference(one: str, other: str, sight: str) -> float:
    """Distance in CIELAB (1976) of two colors as a person of that sight sees them."""
    found = []
    for colour in (one, other):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(colour)]
        seen = np.clip(np.array(MACHADO[sight]) @ linear, 0, 1)
        xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ seen
        x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz / [0.9505, 1, 1.089])
        found.append((116 * y - 16, 500 * (x - y), 200 * (y - z)))
    return math.dist(*found)


def test_the_human_halves_are_a_row_in_blue_with_a_line_down_to_the_last_candidate() -> None:
    figure = interval_figure(APART, "pairwise")
    dots = [trace for trace in figure.data if trace.mode == "markers" and trace.marker.color == HUMAN_COLOUR]
    assert [(dot.x[0], dot.y[0]) for dot in dots] == [(0.6, -1)] * len(SCORES)
    lines = [trace for trace in figure.data if trace.mode == "lines" and trace.line.dash == "dot"]
    assert [(line.x, line.y) for line in lines] == [((0.6, 0.6), (-1, 1.5))] * len(SCORES)
    assert with_plain_spaces(figure.layout.yaxis.ticktext[-1]) == "human vs. human (n = 3)", "candidates have 5 and 6"
    assert "<b>human vs. human (n = 3)</b>" in with_plain_spaces(dots[0].hovertemplate)
    assert not any("human" in label for label in interval_figure(APART, "joint").layout.yaxis.ticktext)


def test_human_vs_human_of_as_many_texts_has_no_number() -> None:
    assert APART.halves is not None
    halves = replace(APART.halves, source=replace(APART.halves.source, n=6))
    first, second = (replace(each, source=replace(each.source, n=6)) for each in APART.candidates)
    equal = replace(APART, halves=halves, candidates=(first, second))
    assert interval_figure(equal, "pairwise").layout.yaxis.ticktext[-1] == "human vs. human"
    unequal = replace(equal, candidates=(first, replace(second, source=replace(second.source, n=7))))
    label = interval_figure(unequal, "pairwise").layout.yaxis.ticktext[-1]
    assert with_plain_spaces(label) == "human vs. human (n = 6)"
