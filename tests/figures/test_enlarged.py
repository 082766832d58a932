"""A figure enlarged for a slide: what is in pixels grows, what is in units of the data does not."""

from __future__ import annotations

import plotly.graph_objects as go

from mauve_core.figures.enlarged import FONT_PX, enlarged


def drawn() -> go.Figure:
    figure = go.Figure(
        [
            go.Scatter(x=[1, 2], y=[3, 4], marker={"size": [6, 8], "line": {"width": 1}}, line={"width": 2}),
            go.Bar(x=[1], y=[5], width=[0.4], error_y={"array": [1], "width": 3, "thickness": 2}),
        ]
    )
    figure.update_layout(
        height=300,
        margin={"l": 10, "t": 20},
        font={"color": "#123456"},
        xaxis={"tickfont": {"size": 9}, "range": [0, 9]},
    )
    figure.add_annotation(x=1, y=2, ax=30, ay=-4, axref="pixel", text="here", font={"size": 11})
    figure.add_annotation(x=1, y=2, ax=2, ay=3, axref="x", ayref="y", text="at the end")
    return figure


def test_what_is_in_pixels_grows() -> None:
    large = enlarged(drawn(), 2)
    line, bar = large.data
    assert list(line.marker.size) == [12, 16]
    assert (line.marker.line.width, line.line.width, bar.error_y.width) == (2, 4, 6)
    assert (large.layout.height, large.layout.margin.l, large.layout.margin.t) == (600, 20, 40)
    assert (large.layout.font.size, large.layout.xaxis.tickfont.size) == (2 * FONT_PX, 18)
    note = large.layout.annotations[0]
    assert (note.ax, note.ay, note.font.size) == (60, -8, 22)


def test_what_is_in_units_of_the_data_stays() -> None:
    large, small = enlarged(drawn(), 2), drawn()
    assert [list(trace.x) for trace in large.data] == [list(trace.x) for trace in small.data]
    assert [list(trace.y) for trace in large.data] == [list(trace.y) for trace in small.data]
    assert list(large.data[1].width) == [0.4]
    assert list(large.data[1].error_y.array) == [1]
    assert large.layout.xaxis.range == small.layout.xaxis.range
    assert (large.layout.annotations[0].x, large.layout.annotations[0].axref) == (1, "pixel")
    assert (large.layout.annotations[1].ax, large.layout.annotations[1].ay) == (2, 3), "the arrow is in units of axes"
    assert large.layout.font.color == "#123456"
