"""After normalizing, what was flagged is flagged no more; and the drawn texts stand for all."""

from __future__ import annotations

import unicodedata

import pytest

from mauve_core.analysis.format_kinds import KINDS
from mauve_core.analysis.format_steps import common_words, drawn_texts, steps_for
from mauve_core.analysis.preflight import preflight
from mauve_core.base.config import HUMAN
from mauve_core.corpus import Corpus
from mauve_core.corpus.normalizing import normalize
from tests.planted_formats import corpus, planted, prompts, texts

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


def test_the_drawn_texts_are_always_the_same_and_few() -> None:
    whole = corpus("whole", texts(300, 3), prompts(300))
    drawn = drawn_texts(whole, 100)
    assert len(drawn) == 100
    assert drawn.texts == drawn_texts(whole, 100).texts
    assert list(drawn.ids) == sorted(drawn.ids)
    assert drawn_texts(whole, 300) is whole
    assert set(drawn_texts(whole, 299).ids) > set(drawn.ids)
