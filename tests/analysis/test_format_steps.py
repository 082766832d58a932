"""After normalizing, what was flagged is flagged no more; and the drawn texts stand for all."""

from __future__ import annotations

import dataclasses
import unicodedata

import numpy as np
import pytest

from mauve_core.base.config import HUMAN
from mauve_core.findings.format_checks import (
    KINDS,
    common_words,
    drawn_texts,
    excluded_empty,
    format_measures,
    preflight,
    repeated_of_all,
    steps_for,
)
from mauve_core.texts import Corpus, corpus_from_texts
from mauve_core.texts.normalizing import normalize
from tests.planted_formats import corpus, planted, prompts, texts

pytestmark = pytest.mark.integration

NORMALIZABLE = [kind.name for kind in KINDS.values() if kind.step is not None]


def with_difference(kind: str) -> dict[str, Corpus]:
    """As ``planted``; for characters, letters of the candidate are taken apart, which composing them undoes."""
    if kind != "characters":
        return planted(kind)
    both = planted("none")
    apart = [unicodedata.normalize("NFD", each) for each in both["model"].texts]
    return {HUMAN: both[HUMAN], "model": corpus("model", apart, prompts(len(apart)))}


@pytest.mark.parametrize("kind", NORMALIZABLE)
def test_a_normalized_kind_is_flagged_no_more(kind: str) -> None:
    both = with_difference(kind)
    before = preflight(both)
    assert kind in {row.kind for row in before.flagged}
    steps = steps_for(before)
    if kind == "length":
        assert steps == ()
        steps = (f"words:{common_words(both)}",)
    done = normalize(both, steps)
    after = preflight(done)
    assert kind not in {row.kind for row in after.flagged}
    assert all(side.normalized for side in done.values()), "both sides, whichever differed"


def test_length_is_never_suggested_with_others() -> None:
    both = planted("line_breaks")
    both["model"] = dataclasses.replace(both["model"], texts=tuple(f"{each} More." * 2 for each in both["model"].texts))
    found = preflight(both)
    assert {"length", "line_breaks"} <= {row.kind for row in found.flagged}
    assert "line-breaks" in steps_for(found)
    assert not any(step.startswith("words") for step in steps_for(found))


def test_empty_texts_that_were_read_are_flagged_until_repetitions_are_left_out() -> None:
    model = corpus_from_texts([*texts(200, 2)[:150], *[" "] * 50], name="model")
    both = {HUMAN: corpus("human", texts(200, 1)), "model": model}
    assert steps_for(preflight(both)) == ("duplicates",)
    assert not preflight(normalize(both, ["duplicates"])).flagged


@pytest.mark.trial
def test_common_words_are_those_that_nineteen_of_twenty_texts_have() -> None:
    both = {"human": corpus("human", texts(200, 1)), "model": corpus("model", [" a b" * 3] * 200)}
    assert common_words(both) == 6
    alone = {"human": both["human"]}
    words = sorted(format_measures(both["human"].texts).numbers["words"].tolist())
    assert sum(count >= common_words(alone) for count in words) >= 190
    assert sum(count > common_words(alone) for count in words) < 195
    assert common_words({"human": corpus("human", ["a", ""])}) == 1


def test_the_drawn_texts_are_always_the_same_and_few() -> None:
    whole = corpus("whole", texts(300, 3), prompts(300))
    drawn = drawn_texts(whole, 100)
    assert len(drawn) == 100
    assert drawn.texts == drawn_texts(whole, 100).texts
    assert list(drawn.ids) == sorted(drawn.ids)
    assert drawn_texts(whole, 300) is whole
    assert set(drawn_texts(whole, 299).ids) > set(drawn.ids)


def test_empty_texts_are_drawn_like_others() -> None:
    whole = corpus_from_texts([*texts(300, 4), *[""] * 100], name="m")
    drawn = drawn_texts(whole, 200)
    assert len(drawn) + excluded_empty(drawn) == 200
    assert excluded_empty(drawn) == 50, "a quarter of 200"
    assert repeated_of_all(drawn) == repeated_of_all(whole) == (100, 400)
    assert np.isin(drawn.texts, whole.texts).all()
