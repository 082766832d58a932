"""Encoders in words and tables: every number is the table's, and names from files stay text."""

from __future__ import annotations

import math

import pytest

from mauve_core.analyses.encoders import EncoderTable
from mauve_core.base.config import HUMAN
from mauve_core.figures import agreement as figures
from mauve_core.figures.agreement import correlation_grid
from mauve_core.stats.scores import SCORES
from tests.encoder_tables import example, pairs, result_of

NASTY = "grün & <b>"


def test_the_sentence_gives_the_range_and_the_contradictions():
    words, contradictions = figures.encoders_in_words(example(), "mauve")
    assert words == (
        "Spearman's correlation of two encoders' rankings by MAUVE is −0.20 (own and other). Of 6 pairs of candidates, "
        "1 is told apart by two encoders in opposite orders."
    )
    assert contradictions == ("other contradicts own on 1 pair: it puts d before a.",)


def test_the_sentence_turns_with_the_score():
    assert figures.encoders_in_words(example(), "mid")[1] == ("other contradicts own on 1 pair: it puts a before d.",)


def test_agreement_is_not_called_contradiction():
    first = example().results[0]
    same = result_of("same", {name: first.scores[name]["mauve"].mean / 2 for name in "abcd"}, pairs("ab", "ad"))
    words, contradictions = figures.encoders_in_words(EncoderTable((first, same)), "mauve")
    assert "is 1.00 (own and same). No two encoders contradict each other" in words
    assert contradictions == ()


def test_two_candidates_give_no_sentence_about_rankings():
    table = EncoderTable((result_of("x", {"a": 0.1, "b": 0.2}), result_of("y", {"a": 0.2, "b": 0.1})))
    assert figures.encoders_in_words(table, "mauve") == (
        "Fewer than 3 candidates, or all tied: there are no rankings to compare.",
        (),
    )


def test_many_contradictions_are_named_in_part():
    names = "abcdef"
    up = {name: 0.1 + 0.05 * index for index, name in enumerate(names)}
    down = {name: 0.4 - 0.05 * index for index, name in enumerate(names)}
    every = {frozenset((one, other)) for one in names for other in names if one != other}
    rows = [result_of(f"u{i}", up, every) for i in range(2)] + [result_of(f"d{i}", down, every) for i in range(3)]
    words, contradictions = figures.encoders_in_words(EncoderTable(tuple(rows)), "mauve")
    assert "between −1.00 (u0 and d0) and 1.00" in words
    assert "Of 15 pairs of candidates, 15 are told apart" in words
    assert contradictions[0] == ("d0 contradicts u0 on 15 pairs: it puts a before b and a before c, among others.")
    assert contradictions[-1] == "So do 2 more pairs of encoders."
    assert len(contradictions) == 5


def test_the_frame_has_every_number():
    table = example()
    frame = figures.encoder_scores_frame(table)
    assert len(frame) == len(SCORES) * (3 * 4 + 1)
    row = frame[(frame["title"] == "other") & (frame["candidate"] == "d") & (frame["score"] == "mauve")].iloc[0]
    assert (row["mean"], row["low"], row["high"]) == (0.4, 0.4 - 0.01, 0.4 + 0.01)
    assert row["sd"] == pytest.approx(0.016 / math.sqrt(2))
    assert (row["encoder"], row["rank"], row["tied"], row["notes"]) == ("/m/other", 1, False, "a note")
    assert (row["dimension"], row["tokens_median"], row["cut"]) == (8, 20.0, 3)
    (ceiling,) = frame[(frame["candidate"] == HUMAN) & (frame["score"] == "mid")].to_dict("records")
    assert (ceiling["title"], ceiling["mean"], ceiling["rank"]) == ("own", 0.55, 0)


def test_the_frame_of_agreement_counts_pairs():
    frame = figures.encoder_agreement_frame(example())
    assert len(frame) == len(SCORES) * 3
    row = frame[(frame["score"] == "mauve") & (frame["second"] == "other")].iloc[0]
    assert (row["first"], row["candidates"], row["pairs"]) == ("own", 4, 6)
    assert row["spearman"] == pytest.approx(-0.2)
    assert (row["reversed"], row["reversed_told_apart"]) == (3, 1)
    assert math.isnan(frame[(frame["score"] == "mauve") & (frame["second"] == "flat")]["spearman"].iloc[0])


def test_names_stay_text_in_the_grid():
    figure = correlation_grid(example().agreement("mauve"), [NASTY, "b", "c"], [[NASTY] * 3] * 3)
    assert (
        figure.data[0]
        .customdata[0][1]
        .startswith("grün &amp; &lt;b&gt;<br>b<br>Spearman −0.20<br>grün &amp; &lt;b&gt;")
    )
    assert figure.layout.yaxis.ticktext[0] == "grün &amp; &lt;b&gt;  1"
