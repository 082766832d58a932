"""Beginnings of sentences with slots."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.findings.statements import LEAST_TEXTS, TEMPLATES, sentence_starts, templated
from tests.analysis.findings.test_finding import between, every, texts_of


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("In 1984, John Smith went home.", {"in YEAR", "in YEAR NAME", "in YEAR NAME went"}),
        ("it was. “So it is.” He left", {"it was", "so it", "so it is", "he left"}),
        ("12 men\nNever 3,000", {"NUMBER men", "never NUMBER", "never NUMBER NUMBER"}),
        ("Home is home", {"home is", "home is home"}),
        ("", set()),
    ],
)
def test_beginnings_have_slots_for_years_numbers_and_names(text, starts):
    assert sentence_starts([text, "never"])[0] == starts


def test_a_beginning_of_one_side_is_found():
    names = ("Anna", "Boris", "Clara", "David", "Emil")
    model = [f"{text} In {1900 + i}, {names[i % 5]} left." for i, text in enumerate(texts_of(150, 2))]
    human = [f"{text} He left by 1950." for text in texts_of(150, 1)]
    (found,) = [each for each in every(between(human, model)) if each.kind == "template"]
    assert found.statement == (
        "begins sentences with “in YEAR” more often: 100 of 100 texts have a sentence that begins with “in YEAR”, "
        "against 0 of 100 human texts"
    )


def test_rare_beginnings_and_parts_of_others_are_left_out():
    texts = ["one two three four."] * (LEAST_TEXTS - 1) + ["five six seven eight."] * LEAST_TEXTS + ["nine."] * 9
    of_model = np.arange(len(texts)) < 2 * LEAST_TEXTS - 1
    found = list(templated(texts, of_model, np.ones(len(texts), dtype=np.bool_)))
    assert [each.condition for each in found] == ["have a sentence that begins with “five six”"]
    many = [" ".join(f"w{i}x q{i}x." for i in range(2 * TEMPLATES))] * 9 + ["none."] * 9
    assert len(list(templated(many, np.arange(18) < 9, np.ones(18, dtype=np.bool_)))) == TEMPLATES
