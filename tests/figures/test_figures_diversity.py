"""The picture of diversity: counts, and both kinds of answers with their intervals; the table behind it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from mauve_core.analyses.diversity import Contrast, Diversity, RunDiversity
from mauve_core.figures.diversity import diversity_figure, diversity_frame
from mauve_core.figures.theme import candidate_styles
from mauve_core.stats.diversity import Mean, ModeCount

ALL = ["once", "<b>", "other"]


CONTRAST = Contrast(Mean(0.2, 0.1, 0.4), Mean(0.9, 0.8, 0.95))


COUNT = ModeCount(4.0, 3.0, 6.0, 3.5, 0.25)


ENDLESS = ModeCount(math.inf, math.inf, math.inf, 8.0, 0.0)


OWN = Diversity(40, 40, 8, COUNT, ENDLESS, CONTRAST, CONTRAST, CONTRAST, CONTRAST, 13.0, 12.0, 14.0)


FOUND = RunDiversity(None, {"<b>": OWN, "other": replace(OWN, modes=ENDLESS)}, ("once",), {}, ())


def test_both_kinds_of_answers_have_their_intervals() -> None:
    figure = diversity_figure(FOUND, ALL)
    dots = [trace for trace in figure.data if trace.mode == "markers" and trace.meta == "&lt;b&gt;"]
    count, between, within = dots[0], dots[1], dots[2]
    assert (count.x[0], count.error_x.array[0], count.error_x.arrayminus[0]) == (4.0, 2.0, 1.0)
    assert (within.x[0], between.x[0]) == (0.2, 0.9)
    assert within.error_x.array[0] == pytest.approx(0.2)
    assert between.error_x.arrayminus[0] == pytest.approx(0.1)
    style = candidate_styles(ALL)["<b>"]
    assert (within.marker.symbol, between.marker.symbol) == (style.symbol, f"{style.symbol}-open")
    assert {dot.marker.color for dot in dots} == {style.colour}
    assert len(dots) == 1 + 2 * 4


def test_candidates_that_never_repeat_have_words_instead_of_a_dot() -> None:
    figure = diversity_figure(FOUND, ALL)
    assert [each.text for each in figure.layout.annotations if each.text == "all 8 differ"] == ["all 8 differ"]
    assert not [trace for trace in figure.data if trace.meta == "other" and trace.xaxis in (None, "x")]


def test_an_interval_without_an_upper_limit_says_so() -> None:
    open_above = replace(OWN, modes=ModeCount(4.0, 3.0, math.inf, 3.5, 0.25))
    figure = diversity_figure(replace(FOUND, candidates={"other": open_above}), ALL)
    (dot,) = [trace for trace in figure.data if trace.meta == "other" and trace.xaxis in (None, "x")]
    assert (dot.error_x.array[0], dot.error_x.arrayminus[0]) == (0, 1)
    assert [(each.x, each.y) for each in figure.layout.annotations if each.text == "or any more"] == [(4.0, 0)]


def test_the_table_has_every_number() -> None:
    frame = diversity_frame(FOUND)
    assert len(frame) == 2 * (2 + 4)
    row = frame[(frame["candidate"] == "<b>") & (frame["measure"] == "cosine distance")].iloc[0]
    assert row["one_prompt":].tolist() == [0.2, 0.1, 0.4, 0.9, 0.8, 0.95]
    modes = frame[(frame["candidate"] == "<b>") & (frame["measure"] == "modes")].iloc[0]
    assert modes["one_prompt":"one_prompt_high"].tolist() == [4.0, 3.0, 6.0]
    assert math.isnan(modes["different_prompts"])
    assert diversity_frame(replace(FOUND, candidates={})).empty
