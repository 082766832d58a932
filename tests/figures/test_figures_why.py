"""The why card's table and figure hold the core's numbers, and nothing that a text could execute."""

from __future__ import annotations

import numpy as np

from mauve_core.base.formatting import with_plain_spaces
from mauve_core.figures.findings import effects_figure, effects_frame
from mauve_core.findings.distinctive_words import Phrase
from mauve_core.findings.why_cards import PropertyEffect, WhyCard
from mauve_core.stats.two_groups import effect

NASTY = '<img src=x onerror="alert(1)">'


LENGTHS = effect(np.array([5.0, 6.0, 7.0, 8.0]), np.array([1.0, 2.0, 3.0, 9.0]), 0.95)


LOOPS = effect(np.array([0.0, 0.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0, 0.0]), 0.95)


PHRASE = Phrase("in the end", -1.26, -2.04, -0.48, -3.2, 3, 1, 4, 1)


CARD = WhyCard(
    cluster=3,
    human=4,
    model=4,
    unit="documents",
    human_phrases=(PHRASE,),
    model_phrases=(),
    neighbours=(1,),
    cluster_phrases=(),
    sides=(PropertyEffect("length", LENGTHS, True), PropertyEffect("punctuation", None, False)),
    rest=(PropertyEffect("length", LENGTHS, False), PropertyEffect("repetition", LOOPS, False)),
    pairs=(),
    notes=(),
)


def test_the_frame_has_a_row_for_every_comparison_that_was_made() -> None:
    rows = effects_frame(CARD)
    assert list(zip(rows["comparison"], rows["property"], strict=True)) == [
        ("sides", "length"),
        ("rest", "length"),
        ("rest", "repetition"),
    ]
    first = rows.iloc[0]
    assert (first["first"], first["second"], first["n"], first["m"]) == (6.5, 3.75, 4, 4)
    # 12 of 16 pairs are larger, 4 smaller.
    assert first["delta"] == 8 / 16
    assert first["auc"] == 12 / 16
    assert first["low"] <= first["delta"] <= first["high"]
    assert bool(first["separates"])


def test_the_figure_draws_each_delta_at_its_property() -> None:
    rows = effects_frame(CARD)
    figure = effects_figure(rows, NASTY, "#118f5a")
    assert list(figure.layout.yaxis.ticktext) == ["Length", "Ends in a loop"]
    sides, rest = figure.data
    assert [round(y) for y in sides.y] == [0]
    assert [round(y) for y in rest.y] == [0, 1]
    assert list(rest.x) == rows[rows["comparison"] == "rest"]["delta"].tolist()
    assert sides.error_x.array[0] == rows["high"][0] - rows["delta"][0]
    assert "<img" not in figure.to_json()
    low, high = (f"{rows[end][0]:.2f}" for end in ("low", "high"))
    said = "<b>Length</b><br>means 6.5 and 3.75 (4 and 4 texts)<br>delta 0.50, "
    assert with_plain_spaces(sides.text[0]) == f"{said}{low} to {high}".replace("-", "−")
