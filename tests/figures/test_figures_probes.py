"""Figures of probes: rows by distance, the control as floor, doses that belong together, flows by size."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.analyses.probe_results import PROBE_SCORES, Flow, ProbeTable
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import UNBROKEN
from mauve_core.figures.probes import (
    Move,
    by_distance,
    distance_figure,
    dose_figure,
    dose_series,
    doses_frame,
    exchanging,
    flows_frame,
    matrix_figure,
    moved_along,
    moved_share,
    moves,
    probes_frame,
    sankey_figure,
    sensitivity_figure,
    sensitivity_frame,
    spread_label,
    texts_frame,
    titled,
)
from mauve_core.findings.clusters import wilson_interval
from mauve_core.scoring.result import SeedSpread
from tests.probe_tables import FAR, flow_of, line_of

NASTY = "replace:/<b>/&/"
ORDER = ["greedy", "<i>source", "nucleus"]
IDS = tuple("abcdefgh")
BEFORE = (0, 0, 0, 1, 1, 3, 3, 3)
# 0 -> 1 twice, 1 -> 0 and 3 -> 4 once; cluster 2 has no text before and none after.
FLOW = flow_of(5, IDS, BEFORE, {"b": 1, "c": 1, "d": 0, "f": 4})

TABLE = ProbeTable(
    HUMAN,
    (
        line_of("none", FAR["none"], kind="control"),
        line_of("drop-articles", 0.05, flow=FLOW),
        line_of("typos@0.5", 0.2),
        line_of("typos", 0.4),
        line_of(NASTY, 0.15),
        line_of("<i>source", 0.1, kind="source"),
    ),
)


def panel(figure: go.Figure, measure: str) -> dict[str, go.Scatter]:
    """The traces of a measure's panel by kind."""
    axis = "x" if measure == PROBE_SCORES[0] else f"x{PROBE_SCORES.index(measure) + 1}"
    return {trace.meta: trace for trace in figure.data if trace.xaxis == axis}


@pytest.mark.parametrize("measure", PROBE_SCORES)
def test_the_farthest_stands_on_top_whichever_way_a_measure_counts(measure: str) -> None:
    assert [line.name for line in by_distance(TABLE, measure)] == [
        "typos", "typos@0.5", NASTY, "<i>source", "drop-articles"
    ]  # fmt: skip
    assert [line.kind for line in by_distance(TABLE, measure, sources=False)] == ["perturbation"] * 4


# Scores


def test_a_panel_a_measure_with_the_means_and_their_spread() -> None:
    figure = distance_figure(TABLE, "auc", ORDER)
    order = [*by_distance(TABLE, "auc"), TABLE.control]
    for measure in PROBE_SCORES:
        found = panel(figure, measure)
        assert set(found) == {"control", "perturbation", "source"}
        for kind, trace in found.items():
            lines = [order[int(place)] for place in trace.y]
            assert {line.kind for line in lines} == {kind}
            assert list(trace.x) == [line.scores[measure].mean for line in lines]
            assert list(trace.error_x.array) == [line.scores[measure].sd for line in lines]
            assert [TABLE.lines[place] for (place,) in trace.customdata] == lines
        assert len(found["perturbation"].x) == 4
    assert list(figure.layout.yaxis.ticktext)[-1] == "None (control)"
    assert [note.text for note in figure.layout.annotations] == [titled(measure) for measure in PROBE_SCORES]


def test_the_control_is_a_band_in_every_panel() -> None:
    figure = distance_figure(TABLE, "auc", ORDER)
    bands = {shape.xref: (shape.x0, shape.x1) for shape in figure.layout.shapes if shape.type == "rect"}
    lines = {shape.xref: shape.x0 for shape in figure.layout.shapes if shape.type == "line"}
    assert len(bands) == len(lines) == len(PROBE_SCORES)
    for place, measure in enumerate(PROBE_SCORES):
        axis, control = "x" if not place else f"x{place + 1}", TABLE.control.scores[measure]
        assert control.sd is not None
        assert bands[axis] == (control.mean - control.sd, control.mean + control.sd)
        assert lines[axis] == control.mean


def test_names_are_escaped_where_plotly_reads_tags() -> None:
    figure = distance_figure(TABLE, "auc", ORDER)
    shown = [*figure.layout.yaxis.ticktext, *(text for trace in figure.data for text in trace.hovertext or ())]
    assert any("&lt;i&gt;source" in text for text in shown)
    assert not any("<i>" in text or "/<b>/" in text for text in shown)


def test_the_frame_holds_every_number() -> None:
    frame = probes_frame(TABLE).set_index("name")
    assert list(frame["kind"]) == [line.kind for line in TABLE.lines]
    for line in TABLE.lines:
        for measure in PROBE_SCORES:
            row, over = frame.loc[line.name], TABLE.over_control(line, measure)
            assert row[measure] == line.scores[measure].mean
            assert row[f"{measure}_sd"] == line.scores[measure].sd
            assert row[f"{measure}_over_control"] == over.mean
            assert row[f"{measure}_over_control_sd"] == over.sd
    assert frame.loc["drop-articles", "moved"] == 4 / 8
    assert math.isnan(frame.loc["typos", "moved"])
    assert frame.loc["typos", "repeats"] == 4


def test_one_repeat_has_no_spread() -> None:
    alone = ProbeTable(HUMAN, tuple(line_of(n, 0.1, kind=k, repeats=1) for n, k in (("none", "control"), ("typos", "perturbation"))))  # type: ignore[arg-type]  # fmt: skip  # noqa: E501
    assert spread_label(SeedSpread.of([0.25])) == "0.2500"
    assert spread_label(SeedSpread.of([0.2, 0.3])) == f"0.250{UNBROKEN}±{UNBROKEN}0.071"
    frame = probes_frame(alone)
    assert frame["auc_sd"].isna().all()
    assert not frame["auc"].isna().any()
    (band,) = {
        (s.x0, s.x1) for s in distance_figure(alone, "auc", ORDER).layout.shapes if s.type == "rect" and s.xref == "x"
    }
    assert band[0] == band[1]


def series_of(*specs: str) -> list[tuple[str, str, list[float]]]:
    lines = (TABLE.control, *(line_of(spec, 0.1) for spec in specs))
    return [
        (item.setting, item.title, [value for value, _ in item.points])
        for item in dose_series(ProbeTable(HUMAN, lines))
    ]


def test_what_differs_in_one_setting_alone_makes_a_curve() -> None:
    assert series_of("typos", "typos@0.25", "typos:rate=0.2", "lowercase") == [
        ("dose", "Typos, 5% of letters", [0.25, 1.0]),
        ("rate", "Typos", [0.05, 0.2]),
    ]
    assert series_of("drop-articles:words=0.5@0.5", "drop-articles@0.5") == [
        ("words", "Articles dropped, 50% of texts", [0.5, 1.0])
    ]
    assert series_of("repeat-last-sentence:times=3", "repeat-last-sentence") == [
        ("times", "Last sentence repeated", [1.0, 3.0])
    ]
    assert series_of("typos:rate=0.1@0.5", "typos", "drop-articles@0.5", "shuffle-words") == []


def test_patterns_are_told_apart() -> None:
    found = series_of("replace:/a/b/@0.5", "replace:/a/b/", "replace:/a/c/@0.5")
    assert found == [("dose", "Replaced, pattern 'a', with 'b'", [0.5, 1.0])]


def test_a_curve_starts_from_the_control() -> None:
    series = dose_series(TABLE)
    figure = dose_figure(TABLE, series, "jensen-shannon")
    (trace,) = figure.data
    lines = [TABLE.control, TABLE.line("typos@0.5"), TABLE.line("typos")]
    assert list(trace.x) == [0, 0.5, 1]
    assert list(trace.y) == [line.scores["jensen-shannon"].mean for line in lines]
    assert list(trace.error_y.array) == [line.scores["jensen-shannon"].sd for line in lines]
    assert {shape.type for shape in figure.layout.shapes} == {"rect", "line"}
    both = ProbeTable(HUMAN, (*TABLE.lines, line_of("typos:rate=0.2", 0.45)))
    assert len(dose_figure(both, dose_series(both), "auc").data) == 2


# Flows


NAMES = ["a", "<b>", "c", "d", "e"]


def test_flows_by_size_and_the_texts_along_them() -> None:
    assert moves(FLOW) == [Move(0, 1, 2), Move(1, 0, 1), Move(3, 4, 1)]
    assert moved_along(FLOW, 0, 1) == ("b", "c")
    assert moved_along(FLOW, 3, 4) == ("f",)
    assert moved_along(FLOW, 4, 3) == ()
    frame = flows_frame(FLOW)
    assert frame["share"].tolist() == [2 / 3, 1 / 2, 1 / 3]
    assert texts_frame(FLOW).query("moved")["id"].tolist() == list(FLOW.moved)


@given(st.integers(2, 6), st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=40))
def test_every_moved_text_stands_in_exactly_one_flow(k: int, pairs: list[tuple[int, int]]) -> None:
    before, after = (np.array([pair[side] % k for pair in pairs], np.int32) for side in (0, 1))
    flow = Flow(k, tuple(map(str, range(len(pairs)))), before, after)
    listed = [text for move in moves(flow) for text in moved_along(flow, move.source, move.target)]
    assert sorted(listed) == sorted(flow.moved)
    assert all(len(moved_along(flow, move.source, move.target)) == move.texts for move in moves(flow))
    assert set(exchanging(flow, k)) == {end for move in moves(flow) for end in (move.source, move.target)}


def test_clusters_that_exchange_most_come_first() -> None:
    assert exchanging(FLOW).tolist() == [0, 1, 3, 4]
    assert exchanging(FLOW, 2).tolist() == [0, 1]


def test_the_matrix_shows_counts_and_takes_clicks_on_flows_alone() -> None:
    figure = matrix_figure(FLOW, [1, 0, 3], NAMES, (0, 1))
    heat, numbers, cells = figure.data
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        assert [each.replace("\u00a0", " ") for each in axis.ticktext] == ["&lt;b&gt; · 1", "a · 0", "d · 3"]
    assert cells.text[0] == "<b>From &lt;b&gt; · 1<br>to a · 0</b>"
    shown = {(int(y), int(x)): text for y, x, text in zip(numbers.y, numbers.x, numbers.text, strict=True)}
    assert shown == {(0, 0): "1", (0, 1): "1", (1, 0): "2", (1, 1): "1", (2, 2): "2"}
    assert np.nansum(heat.z) == 3
    assert np.isnan(np.diag(heat.z)).all()
    assert [tuple(map(int, data[:2])) for data in cells.customdata] == [(1, 0), (0, 1)]
    assert list(zip(cells.y, cells.x, strict=True)) == [(0, 1), (1, 0)]
    (box,) = figure.layout.shapes
    assert (box.x0, box.y0) == (-0.5, 0.5)
    assert not matrix_figure(FLOW, [1, 0], NAMES, (3, 4)).layout.shapes


def test_the_bands_are_the_flows() -> None:
    (sankey,) = sankey_figure(moves(FLOW), NAMES, (1, 0)).data
    ends = [(sankey.node.label[s], sankey.node.label[t]) for s, t in zip(sankey.link.source, sankey.link.target, strict=True)]  # fmt: skip  # noqa: E501
    assert ends == [("a · 0", "&lt;b&gt; · 1"), ("&lt;b&gt; · 1", "a · 0"), ("d · 3", "e · 4")]
    assert list(sankey.link.value) == [2, 1, 1]
    assert len(set(sankey.link.color)) == 2


def test_sensitivity_has_wilsons_interval_and_leaves_out_empty_clusters() -> None:
    frame = sensitivity_frame(FLOW)
    assert frame["cluster"].tolist() == [0, 1, 3]
    assert frame["share"].tolist() == [2 / 3, 1 / 2, 1 / 3]
    assert (frame["low"][0], frame["high"][0]) == wilson_interval(2, 3)
    (bars,) = sensitivity_figure(frame, NAMES).data
    assert list(bars.text) == ["a · 0", "&lt;b&gt; · 1", "d · 3"]
    assert np.allclose(bars.y + bars.error_y.array, frame["high"].to_numpy(float))
    assert np.allclose(bars.y - bars.error_y.arrayminus, frame["low"].to_numpy(float))


def test_moved_share_of_a_line_without_flow_is_unknown() -> None:
    assert moved_share(TABLE.line("drop-articles")) == 0.5
    assert math.isnan(moved_share(TABLE.control))


def test_the_frame_of_doses_has_every_drawn_point() -> None:
    series = dose_series(TABLE)
    frame, figure = doses_frame(series, TABLE.control, "auc"), dose_figure(TABLE, series, "auc")
    drawn = [
        (x, y)
        for trace in figure.data
        if trace.mode and "lines" in trace.mode
        for x, y in zip(trace.x, trace.y, strict=True)
    ]
    assert set(zip(frame["value"], frame["mean"], strict=True)) <= set(drawn)
    assert frame[frame["value"] == 0]["mean"].unique().tolist() == [TABLE.control.scores["auc"].mean]
    assert set(frame["measure"]) == {"auc"}
    assert len(frame) == sum(len(item.points) + 1 for item in series)
