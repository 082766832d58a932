"""Figures of what clusters capture, and the table of pure clusters: means, spreads, baselines as they were computed."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import plotly.graph_objects as go
import pytest

from mauve_core.analysis.attributes import CATEGORICAL, Attribute
from mauve_core.analysis.cluster_table import wilson_interval
from mauve_core.analysis.purity_table import purest_clusters
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.experiments.attributes_over_k import AttributeTable
from mauve_core.figures.attributes import (
    accuracy_figure,
    agreement_figure,
    attributes_frame,
    explained_figure,
    line_title,
)
from mauve_core.figures.theme import candidate_style
from mauve_core.scoring.spread import SeedSpread
from tests.handmade import spread

NASTY = "grün & <b>"
TOPIC, LENGTH, OWN_LENGTH = (NASTY, "category"), ("length", "surface"), ("length", "number")


def repeated(mean: float, sd: float | None = 0.02) -> SeedSpread:
    return spread(mean, sd)


def category(k: int, mean: float, sd: float | None = 0.02) -> Attribute:
    scores = {name: repeated(mean / (place + 1), sd) for place, name in enumerate(CATEGORICAL)}
    return Attribute(NASTY, "category", k, 100, 3, scores)


def number(k: int, mean: float, kind: str = "surface", sd: float | None = 0.02) -> Attribute:
    return Attribute("length", kind, k, 100, 0, {"r2": repeated(mean, sd)})


TABLE = AttributeTable(
    (
        *(category(k, mean) for k, mean in ((4, 0.3), (16, 0.5), (64, 0.99))),
        *(number(k, mean) for k, mean in ((4, 0.1), (16, 0.0), (64, -0.4))),
        *(number(k, 0.7, "number") for k in (4, 16, 64)),
    ),
    {"own_k": 16},
)


def curves(figure: go.Figure) -> list[go.Scatter]:
    return [trace for trace in figure.data if trace.fill is None]


def bands(figure: go.Figure) -> list[go.Scatter]:
    return [trace for trace in figure.data if trace.fill == "toself"]


def test_the_frame_holds_every_number() -> None:
    frame = attributes_frame(TABLE)
    assert frame["k"].tolist() == [row.k for row in TABLE.rows]
    for (_, row), item in zip(frame.iterrows(), TABLE.rows, strict=True):
        assert (row["column"], row["kind"], row["n"], row["missing"]) == (item.column, item.kind, 100, item.missing)
        for name in (*CATEGORICAL, "r2"):
            score = item.scores.get(name)
            if score is None:
                assert math.isnan(row[name])
                assert math.isnan(row[f"{name}_sd"])
            else:
                assert (row[name], row[f"{name}_sd"]) == (score.mean, score.sd)
    alone = attributes_frame(AttributeTable((category(4, 0.5, sd=None),)))
    assert math.isnan(alone["accuracy_sd"][0])


def test_accuracy_with_its_baseline_dashed() -> None:
    figure = accuracy_figure(TABLE, [TOPIC])
    accuracy, baseline = curves(figure)
    assert tuple(accuracy.x) == (4, 16, 64)
    assert tuple(accuracy.y) == (0.3, 0.5, 0.99)
    assert tuple(baseline.y) == tuple(row.scores["baseline"].mean for row in TABLE.lines[TOPIC])
    style = candidate_style(0)
    assert (accuracy.line.color, accuracy.line.dash, accuracy.marker.symbol) == (style.colour, "solid", style.symbol)
    assert (baseline.line.color, baseline.line.dash, baseline.mode) == (style.colour, "dash", "lines")
    band = bands(figure)[0]
    assert tuple(band.x) == (4, 16, 64, 64, 16, 4)
    assert tuple(band.y) == pytest.approx((0.28, 0.48, 0.97, 1.0, 0.52, 0.32))  # no accuracy is beyond 1


def test_names_of_columns_are_escaped() -> None:
    for trace in curves(agreement_figure(TABLE, [TOPIC])):
        assert trace.meta == "grün &amp; &lt;b&gt;"
        assert trace.name.startswith("grün &amp; &lt;b&gt;: ")


def test_agreement_has_two_curves_and_may_be_negative() -> None:
    first = category(4, 0.3)
    negative = dataclasses.replace(first, scores={**first.scores, "ami": repeated(-0.003)})
    low = AttributeTable((negative, category(16, 0.2)), {})
    ami, v_measure = curves(agreement_figure(low, [TOPIC]))
    assert tuple(ami.y) == tuple(row.scores["ami"].mean for row in low.rows)
    assert tuple(v_measure.y) == tuple(row.scores["v_measure"].mean for row in low.rows)
    assert ami.line.dash != v_measure.line.dash
    assert min(bands(agreement_figure(low, [TOPIC]))[0].y) < 0


def test_explained_variance_keeps_columns_and_properties_of_one_name_apart() -> None:
    figure = explained_figure(TABLE, [LENGTH, OWN_LENGTH])
    surface, metadata = curves(figure)
    assert tuple(surface.y) == (0.1, 0.0, -0.4)
    assert tuple(metadata.y) == (0.7, 0.7, 0.7)
    assert surface.line.color != metadata.line.color
    assert surface.legendgroup != metadata.legendgroup
    assert line_title(LENGTH) == "Length"
    assert line_title(OWN_LENGTH) == "length"
    assert any(shape.y0 == shape.y1 == 0 for shape in figure.layout.shapes)


def test_hover_says_the_number_and_its_spread() -> None:
    (said,) = curves(accuracy_figure(AttributeTable((category(4, 0.5),)), [TOPIC]))[0].customdata
    assert with_plain_spaces(said) == "k = 4: accuracy 0.500 ± 0.020 over 5 values<br>n = 100"
    (alone,) = curves(accuracy_figure(AttributeTable((category(4, 0.5, None),)), [TOPIC]))[0].customdata
    assert "no spread" in alone


def test_k_is_logarithmic_and_the_runs_own_is_marked() -> None:
    figure = accuracy_figure(TABLE, [TOPIC])
    assert figure.layout.xaxis.type == "log"
    assert tuple(figure.layout.xaxis.tickvals) == (4, 16, 64)
    (guide,) = figure.layout.shapes
    assert (guide.x0, guide.x1) == (16, 16)
    assert tuple(figure.layout.xaxis.ticktext) == ("4", "<b>16</b>", "64")
    assert not accuracy_figure(AttributeTable(TABLE.rows, {"own_k": 5}), [TOPIC]).layout.shapes


def test_colours_stay_when_lines_are_left_out() -> None:
    (alone,) = curves(explained_figure(TABLE, [OWN_LENGTH]))
    assert alone.line.color == candidate_style(2).colour


# Pure clusters


def test_pure_clusters_by_hand() -> None:
    labels = np.array([0] * 10 + [1] * 10 + [2] + [3] * 3)
    cells = np.array(["a"] * 9 + ["b"] + ["b"] * 6 + ["a"] * 4 + ["c"] + [None] * 3, dtype=object)
    table = purest_clusters(labels, 5, cells).set_index("cluster")
    # Cluster 2 is pure, but of one text; 3 has no value; 4 has no text.
    assert table.index.tolist() == [0, 1, 2]
    assert table["value"].tolist() == ["a", "b", "c"]
    assert table["count"].tolist() == [9, 6, 1]
    assert table["n"].tolist() == [10, 10, 1]
    assert table["share"].tolist() == [0.9, 0.6, 1.0]
    assert table["of_all"].tolist() == pytest.approx([13 / 21, 7 / 21, 1 / 21])
    for _, row in table.iterrows():
        low, high = wilson_interval(int(row["count"]), int(row["n"]))
        assert (row["low"], row["high"]) == (low, high)


def test_a_tie_goes_to_the_value_that_more_texts_have() -> None:
    cells = np.array(["a", "b", "b", "b"], dtype=object)
    table = purest_clusters([0, 0, 1, 1], 2, cells)
    assert table.set_index("cluster")["value"].to_dict() == {0: "b", 1: "b"}


def test_values_of_several_types_are_text() -> None:
    table = purest_clusters([0, 0, 1], 2, np.array([True, True, False], dtype=object))
    assert table["value"].tolist() == ["True", "False"]


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="do not match"):
        purest_clusters([0, 1], 2, np.array(["a"], dtype=object))
    with pytest.raises(InputError, match="No text has a value"):
        purest_clusters([0], 1, np.array([None], dtype=object))
