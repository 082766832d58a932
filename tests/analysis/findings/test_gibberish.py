"""Rows of rare words, and common words and letters in orders that no reference text has."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mauve_core.findings.finding import find
from mauve_core.findings.statements import ROW, Sides, garbled, new_orders, new_spellings, rarest_rows
from tests.analysis.findings.test_finding import between, every, texts_of

pytestmark = pytest.mark.integration


def scrambled(text: str, rng: np.random.Generator, words: int = ROW + 2) -> str:
    """The text with letters at random after its second word."""
    letters = np.array(list("bcdfghklmnprstvxz"))
    row = ["".join(rng.choice(letters, size=rng.integers(4, 9))) for _ in range(words)]
    start, rest = text.split(" ", 2)[:2], text.split(" ", 2)[2]
    return " ".join([*start, *row, rest])


def shuffled(text: str, rng: np.random.Generator) -> str:
    return " ".join(rng.permutation(text.split()))


def ordered(n: int, seed: int) -> list[str]:
    """Sentences whose words have an order."""
    rng = np.random.default_rng(seed)
    nouns, verbs = ("river", "stone", "garden", "market", "letter", "window"), ("crossed", "found", "left", "passed")
    return [
        " ".join(f"the {rng.choice(nouns)} {rng.choice(verbs)} a {rng.choice(nouns)} in spring." for _ in range(6))
        for _ in range(n)
    ]


def test_rarity_is_the_mean_of_the_rarest_row():
    row = [str(index) for index in range(ROW)]
    tokens = [row, [*row, "common"], ["common", *row[1:], "new"], ["short"], ["x"] * ROW]
    found = rarest_rows(tokens, np.array([True, True, False, True, False]))
    in_both, in_one, in_none = (-math.log2((count + 0.5) / 4) for count in (2, 1, 0))
    assert found[0] == pytest.approx(-math.log2(1.5 / 3))  # one of the two others has the whole row
    assert found[1] == pytest.approx(((ROW - 1) * -math.log2(1.5 / 3) - math.log2(0.5 / 3)) / ROW)
    assert found[2] == pytest.approx(max((ROW - 1) * in_both + in_one, (ROW - 1) * in_both + in_none) / ROW)
    assert found[3] == -math.inf
    assert found[4] == pytest.approx(in_none)


def test_orders_are_those_of_common_words_alone():
    words = [["a", "b", "a"], ["a", "b", "x"], ["b", "b", "y"], ["a", "b", "b"], ["a", "z"]]
    found = new_orders(words, np.array([True, True, False, False, False]))
    assert found[:4].tolist() == [0.5, 0.0, 1.0, 0.5]  # b a is in no other; b x has a word that is in no other; b b
    assert math.isnan(found[4])


def test_spellings_are_those_of_words_of_letters():
    words = [["cat", "cot", "1999"], ["cat"], ["cta", "cat"], ["1999"]]
    found = new_spellings(words, np.array([True, True, False, False]))
    assert found[:3].tolist() == [0.5, 0.0, 0.5]
    assert math.isnan(found[3])


@pytest.mark.parametrize("share", [1.0, 0.35])
def test_gibberish_is_found_and_comes_first(share):
    rng = np.random.default_rng(0)
    changed = rng.random(200) < share
    texts = [scrambled(text, rng) if change else text for text, change in zip(texts_of(200, 2), changed, strict=True)]
    found = between(texts_of(200, 1), texts)
    assert (found[0].kind, found[0].direction) == ("gibberish", "more")
    assert found[0].share_human <= 0.05
    assert set(np.flatnonzero(changed)) <= set(found[0].texts)
    assert len(found[0].texts) <= changed.sum() + 10


def test_shuffled_words_are_found():
    rng = np.random.default_rng(0)
    found = every(between(ordered(150, 1), [shuffled(text, rng) for text in ordered(150, 2)]))
    (order,) = [each for each in found if each.kind == "word order"]
    assert order.direction == "more"
    assert order.share_model > 0.9 > 0.1 > order.share_human


def test_the_reference_favours_neither_side() -> None:
    """Of texts of one source, neither side's tested texts are nearer to the reference, whatever the sides' sizes."""
    humans, models, gaps = 200, 60, []
    for seed in range(30):
        texts = [*texts_of(humans, 2 * seed), *texts_of(models, 2 * seed + 1)]
        of_model = np.arange(len(texts)) >= humans
        suggesting = np.random.default_rng(seed).random(len(texts)) < 0.4
        values = [
            measure([text.lower().split() for text in texts], suggesting & ~of_model)
            for measure in (rarest_rows, new_orders)
        ]
        gaps.append([np.nanmean(each[of_model & ~suggesting]) - np.nanmean(each[~of_model]) for each in values])
    mean, error = np.mean(gaps, axis=0), np.std(gaps, axis=0) / math.sqrt(len(gaps))
    assert (np.abs(mean) < 4 * error).all()


def test_a_reference_text_does_not_count_for_itself():
    """Else the human texts that suggest limits would look more usual than those that are tested."""
    texts = [scrambled(text, np.random.default_rng(index)) for index, text in enumerate(texts_of(100, 1))]
    reference = np.arange(100) < 40
    found = rarest_rows([text.split() for text in texts], reference)
    assert found[reference].mean() == pytest.approx(found[~reference].mean(), abs=0.1)


def test_texts_without_words_are_measured_as_nothing():
    texts = ("...", "", "!") * 20
    has = [each.has for each in garbled(texts, np.arange(60) >= 30, np.arange(60) % 2 == 0)]
    assert not np.any(has)
    assert find(Sides("m", texts, 30, np.arange(60))) == ()
