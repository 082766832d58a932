"""Measures match texts by prompt: ids may be anything where prompts are equal, and decide where they are not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from mauve_core.analyses.measure_inputs import Collection, MeasureContext, Tokens
from mauve_core.analyses.measure_terms import GROUPS, Measurements, group_of
from mauve_core.analyses.measures_over_lengths import over_lengths
from mauve_core.analyses.measures_over_neighbours import neighbours
from mauve_core.analyses.text_measures import measure
from mauve_core.base.progress import Progress, silent
from mauve_core.stats.resampling import jackknife_sd

pytestmark = pytest.mark.integration

N = 80
IDS = tuple(map(str, range(N)))
PROMPTS = tuple(f"prompt {i}" for i in range(N))
NAMES = ("length", "discriminator", "density")


class WordContext(MeasureContext):
    """Takes words for tokens, so that no tokenizer is loaded."""

    def tokens(self, texts: Collection, progress: Progress = silent) -> Tokens:
        return self.words(texts)


def side(name: str, shift: int) -> Collection:
    """Texts whose length follows the prompt, so that pairing narrows the spread of a difference."""
    rng = np.random.default_rng(len(name))
    words = np.arange(N) % 17 + rng.integers(1, 4, size=N) + shift
    features = rng.normal(size=(N, 4)) + shift / 4
    return Collection(
        name, IDS, tuple(" ".join([f"{name}{i}", *"a" * (n - 1)]) for i, n in enumerate(words)), PROMPTS, features
    )


HUMAN_SIDE = side("people", 0)
CANDIDATES = {"one": side("one", 1), "another": side("another", 2)}


def in_another_order(texts: Collection) -> Collection:
    """The texts in another order, numbered in that order."""
    order = np.random.default_rng(0).permutation(N)
    return dataclasses.replace(texts.take(order), ids=IDS)


def renamed(texts: Collection) -> Collection:
    return dataclasses.replace(texts, ids=tuple(f"{texts.name} {i}" for i in IDS))


def without_prompts(texts: Collection) -> Collection:
    return dataclasses.replace(texts, prompts=None)


def measured(change: Callable[[Collection], Collection], names: tuple[str, ...] = NAMES) -> Measurements:
    candidates = {name: change(texts) for name, texts in CANDIDATES.items()}
    return measure(HUMAN_SIDE, candidates, names, context=WordContext())


@pytest.fixture(scope="module")
def by_id() -> Measurements:
    """Nobody has prompts, and equal ids are equal prompts."""
    candidates = {name: without_prompts(texts) for name, texts in CANDIDATES.items()}
    return measure(without_prompts(HUMAN_SIDE), candidates, NAMES, context=WordContext())


def test_other_ids_of_equal_prompts_change_no_number(by_id: Measurements) -> None:
    found = measured(renamed)
    assert (found.rows, found.differences) == (by_id.rows, by_id.differences)
    assert all(test.paired and test.n == N for test in found.tests("length"))


def test_another_order_of_equal_prompts_changes_no_number(by_id: Measurements) -> None:
    found = measured(in_another_order, ("length", "density"))
    for name in ("length", "density"):
        for test, expected in zip(found.tests(name), by_id.tests(name), strict=True):
            assert (test.paired, test.n) == (True, N)
            assert test.p_value == pytest.approx(expected.p_value, rel=1e-9)
            assert test.low == pytest.approx(expected.low, rel=1e-9)
    unpaired = measure(
        without_prompts(HUMAN_SIDE),
        {name: without_prompts(in_another_order(texts)) for name, texts in CANDIDATES.items()},
        ("length",),
        context=WordContext(),
    )
    (test,), (other,) = found.tests("length"), unpaired.tests("length")
    assert other.high - other.low > 1.5 * (test.high - test.low), "groups of unrelated prompts widen the interval"


def test_a_side_without_prompts_leaves_the_ids_to_decide(by_id: Measurements) -> None:
    found = measured(without_prompts)
    assert (found.rows, found.differences) == (by_id.rows, by_id.differences)
    (test,) = measured(lambda texts: without_prompts(renamed(texts)), ("length",)).tests("length")
    assert (test.paired, test.n) == (False, 2 * N)
    of_lines = measured(lambda texts: dataclasses.replace(without_prompts(texts), numbered=True), ("length",))
    assert [(test.paired, test.n) for test in of_lines.tests("length")] == [(False, 2 * N)]


def test_all_texts_of_a_prompt_are_left_out_together() -> None:
    quarter = tuple(f"prompt {i // 4}" for i in range(N))
    sides = [dataclasses.replace(renamed(each), prompts=quarter) for each in (HUMAN_SIDE, CANDIDATES["one"])]
    row = measure(sides[0], {"one": sides[1]}, ("length",), context=WordContext()).rows[0]
    groups = group_of([sides[0].ids[4 * (i // 4)] for i in range(N)])  # a prompt is named by its first text
    words = np.array([len(text.split()) for text in sides[1].texts])
    filled = [group for group in range(GROUPS) if (groups == group).any()]
    left_out = np.array([words[groups != group].mean() for group in filled])
    sizes = np.array([(groups == group).sum() for group in filled])
    assert row.model.sd == pytest.approx(jackknife_sd(words.mean(), left_out, sizes), rel=1e-9)


@pytest.mark.trial
def test_tables_over_k_and_over_length_match_by_prompt_too() -> None:
    changed = {name: renamed(texts) for name, texts in CANDIDATES.items()}
    bare = {name: without_prompts(texts) for name, texts in CANDIDATES.items()}
    people = without_prompts(HUMAN_SIDE)
    one, other = (neighbours(p, q, (3, 5), ("density",)) for p, q in ((HUMAN_SIDE, changed), (people, bare)))
    assert (one.rows, one.orders) == (other.rows, other.orders)
    cut, expected = (
        over_lengths(p, q, (4, 8), ("distinct",), context=WordContext())
        for p, q in ((HUMAN_SIDE, changed), (people, bare))
    )
    assert (cut.rows, cut.orders) == (expected.rows, expected.orders)
