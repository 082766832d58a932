"""The map draws every text once, or a stratified sample; colours and outline follow what is asked."""

from __future__ import annotations

import dataclasses

import numpy as np
import plotly.graph_objects as go
import pytest
from numpy.typing import NDArray

from mauve_core.clusters.projection import region_probabilities
from mauve_core.figures.text_map import COLOURINGS, REGIONS, Points, colour_of, map_figure, stratified_sample
from mauve_core.figures.theme import HUMAN_COLOUR, MODEL_COLOUR

SIZES = (40, 30, 20)
N = sum(SIZES)


@pytest.fixture
def points() -> Points:
    rng = np.random.default_rng(2)
    cluster = rng.integers(0, 5, N).astype(np.int32)
    cluster[-5:] = -1
    return Points(
        xy=rng.normal(size=(N, 2)).astype(np.float32),
        source=np.repeat(np.arange(3), SIZES).astype(np.int16),
        names=("human", "a", "<b>b</b>"),
        cluster=cluster,
        log2_ratio=np.array([-7.0, -1.0, 0.0, 1.0, 2.0]),
        cost=np.array([0.3, -0.1, 0.0, -0.5, 0.1]),
    )


def scatters(figure: go.Figure) -> list[go.Scattergl]:
    return [trace for trace in figure.data if trace.type == "scattergl"]


def ids(traces: list[go.Scattergl]) -> NDArray[np.int64]:
    return np.concatenate([trace.customdata[:, 0] for trace in traces]).astype(int)


@pytest.mark.parametrize("colouring", list(COLOURINGS))
def test_every_text_is_drawn_once_where_it_belongs(points: Points, colouring: str) -> None:
    traces = scatters(map_figure(points, np.arange(N), colouring=colouring, candidate="a"))  # type: ignore[arg-type]
    drawn = ids(traces)
    assert sorted(drawn) == list(range(N))
    for trace in traces:
        own = trace.customdata[:, 0].astype(int)
        np.testing.assert_array_equal(np.column_stack([trace.x, trace.y]), points.xy[own])
        np.testing.assert_array_equal(trace.customdata[:, 1], points.cluster[own])
        assert trace.x.dtype == np.float32


def test_sources_keep_their_colour(points: Points) -> None:
    for trace in scatters(map_figure(points, np.arange(N))):
        place = int(points.source[int(trace.customdata[0, 0])])
        assert trace.marker.color == colour_of(points.names, place)


def test_log_ratio_is_signed_and_cut_at_the_end_of_the_scale(points: Points) -> None:
    figure = map_figure(points, np.arange(N), colouring="log_ratio", candidate="a")
    for trace in scatters(figure):
        cluster = trace.customdata[:, 1].astype(int)
        expected = np.where(cluster < 0, 0, points.log2_ratio[cluster])
        np.testing.assert_array_equal(trace.marker.color, expected.astype(np.float32))
        assert (trace.marker.cmin, trace.marker.cmid, trace.marker.cmax) == (-4, 0, 4)
    bars = [trace for trace in figure.data if trace.marker.showscale]
    assert len(bars) == 1
    assert dict(zip(bars[0].marker.colorbar.tickvals, bars[0].marker.colorbar.ticktext, strict=True))[2] == "4:1"


def test_the_outline_and_what_it_holds(points: Points) -> None:
    inside = points.xy[:, 0] > 0
    figure = map_figure(points, np.arange(N), outline=[(0, 0), (1.5, 0), (0, 2)], inside=inside)
    assert figure.layout.shapes[0].path == "M0,0L1.5,0L0,2Z"
    for trace in scatters(figure):
        own = trace.customdata[:, 0].astype(int)
        np.testing.assert_array_equal(own[trace.selectedpoints], own[inside[own]])
    plain = map_figure(points, np.arange(N))
    assert len(plain.layout.shapes) == 0
    assert all(trace.selectedpoints is None for trace in scatters(plain))


def test_a_hostile_name_is_escaped(points: Points) -> None:
    for colouring in COLOURINGS:
        text = map_figure(points, np.arange(N), colouring=colouring, candidate="<b>b</b>").to_json()  # type: ignore[arg-type]
        assert "<b>" not in text
        assert "\\u003cb\\u003e" not in text


def test_costs_have_the_candidates_colour_where_it_adds_and_blue_where_it_misses(points: Points) -> None:
    drawn = np.flatnonzero(points.source != 1)
    figure = map_figure(points, drawn, colouring="cost", candidate="<b>b</b>")
    for trace in scatters(figure):
        cluster = trace.customdata[:, 1].astype(int)
        expected = np.where(cluster < 0, 0, points.cost[cluster])
        np.testing.assert_allclose(trace.marker.color, expected, atol=1e-6)
        assert trace.marker.reversescale
        assert [trace.marker.colorscale[end] for end in (0, -1)] == [(0, colour_of(points.names, 2)), (1, HUMAN_COLOUR)]
        assert (trace.marker.cmin, trace.marker.cmid, trace.marker.cmax) == (-0.5, 0, 0.5)
    (bar,) = [trace.marker.colorbar for trace in figure.data if trace.type == "scatter" and trace.marker.showscale]
    assert list(bar.ticktext) == ["50% missed", "0", "50% added"]


@pytest.mark.parametrize("colouring", ["log_ratio", "cost"])
def test_a_scale_begins_with_the_candidates_colour_only_if_no_other_is_drawn(points: Points, colouring: str) -> None:
    for drawn, first in (
        (points.source != 1, colour_of(points.names, 2)),
        (points.source == 0, colour_of(points.names, 2)),
        (points.source >= 0, MODEL_COLOUR),
    ):
        figure = map_figure(points, np.flatnonzero(drawn), colouring=colouring, candidate="<b>b</b>")  # type: ignore[arg-type]
        scales = [trace.marker.colorscale for trace in figure.data if trace.marker.colorscale is not None]
        assert {scale[0][1] for scale in scales} == {first}
        assert {scale[-1][1] for scale in scales} == {HUMAN_COLOUR}


def test_sample_is_all_or_stratified() -> None:
    source = np.repeat(np.arange(3), [6000, 3000, 1]).astype(np.int16)
    everything = np.ones(source.size, dtype=bool)
    np.testing.assert_array_equal(stratified_sample(source, everything, 9001), np.arange(9001))
    sample = stratified_sample(source, everything, 900)
    assert np.bincount(source[sample]).tolist() == [599, 299, 1]
    assert np.unique(sample).size == sample.size
    np.testing.assert_array_equal(sample, stratified_sample(source, everything, 900))
    hidden = source != 0
    assert set(source[stratified_sample(source, hidden, 100)]) == {1, 2}


def test_a_sample_lies_over_the_density_of_all(points: Points) -> None:
    figure = map_figure(points, np.arange(10), density=np.ones(N, dtype=bool))
    heat = figure.data[0]
    assert heat.type == "heatmap"
    assert np.expm1(heat.z.astype(float)).sum() == pytest.approx(N, rel=1e-5)  # log(1 + count) travels as float32


def test_lines_of_density_are_those_of_all_texts_of_a_source(points: Points) -> None:
    figure = map_figure(points, np.arange(10), regions=(0, 1))
    lines = [trace for trace in figure.data if trace.type == "contour"]
    assert [trace.line.color for trace in lines] == [HUMAN_COLOUR, colour_of(points.names, 1)]
    for index, trace in enumerate(lines):
        own = points.xy[points.source == index]
        np.testing.assert_allclose(trace.z, region_probabilities(own, trace.x, trace.y), atol=1e-6)
        shares = np.arange(trace.contours.start, trace.contours.end + 1e-9, trace.contours.size)
        np.testing.assert_allclose(shares, REGIONS)


def test_hovers_show_the_text_in_lines_and_escaped(points: Points) -> None:
    named = dataclasses.replace(points, cluster_names=("a", "b", "c", "d", "e"))
    said = {place: f"<i>text {place}</i> " + "word " * 30 for place in range(N)}
    for trace in scatters(map_figure(named, np.arange(N), excerpts=said)):
        for (place, cluster), text in zip(trace.customdata.astype(int), trace.text, strict=True):
            title, excerpt = text.split("<br><br>")
            assert title == (f"{'abcde'[cluster]} · {cluster}" if cluster >= 0 else "")
            assert excerpt.startswith(f"&lt;i&gt;text {place}&lt;/i&gt; word")
            assert len(excerpt.split("<br>")) == 3
        assert "%{text}" in trace.hovertemplate
