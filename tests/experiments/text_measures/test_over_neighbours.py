"""Precision, recall, density and coverage over k: plain loops, and the stored measures."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.analyses.measure_inputs import Collection, MeasureContext
from mauve_core.analyses.measure_terms import OrderOver, in_words
from mauve_core.analyses.measures_over_neighbours import (
    MOST_KS,
    OVER_K,
    USUAL,
    NeighbourTable,
    neighbours,
    neighbours_run,
    numbers_of_neighbours,
    order_sentence,
)
from mauve_core.analyses.text_measures import measure_run
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from tests.synthetic import make_run

pytestmark = pytest.mark.integration

N = 50


@pytest.fixture
def run(own_home):
    return make_run(own_home, n=60, seeds=1, projection=False, names=("close", "shifted"))


def side(name, shift=0.0, n=N, seed=0, generations=None):
    rng = np.random.default_rng([seed, len(name)])
    ids = tuple(f"t{i % (n // 2 if generations else n)}" for i in range(n))
    features = rng.normal(size=(n, 4)) + shift
    return Collection(name, ids, tuple(f"text {i}" for i in range(n)), features=features, generations=generations)


def plain(name, texts, human, k, kept=None, kept_human=None):
    """T by loops over all points; the balls are those of all texts (JMLR 2023, section 7.6; Naeem et al. 2020)."""
    q, p = texts.astype(float), human.astype(float)
    points, centres = (p, q) if name == "recall" else (q, p)
    own, balls = (kept_human, kept) if name == "recall" else (kept, kept_human)
    own = range(len(points)) if own is None else own
    balls = range(len(centres)) if balls is None else balls
    radius = {}
    for i in balls:
        distances = sorted(float(np.linalg.norm(centres[i] - centres[j])) for j in range(len(centres)) if j != i)
        radius[i] = distances[k - 1]
    inside = {(i, j): float(np.linalg.norm(points[j] - centres[i])) <= radius[i] for i in balls for j in own}
    if name in ("precision", "recall"):
        return sum(any(inside[i, j] for i in balls) for j in own) / len(own)
    if name == "density":
        return sum(inside.values()) * len(centres) / (k * len(own) * len(balls))
    return sum(any(inside[i, j] for j in own) for i in balls) / len(balls)


@pytest.mark.parametrize("name", OVER_K)
def test_every_k_is_that_of_plain_loops(name):
    human, model = side(HUMAN), side("q", 0.4)
    table = neighbours(human, {"q": model}, names=[name])
    assert table.ks == tuple(USUAL) == tuple(range(1, 26))
    order = MeasureContext().rng("halves of the human side").permutation(N)
    first, second = (human.features[np.sort(part)] for part in (order[: N // 2], order[N // 2 :]))
    for row in table.line(name, "q"):
        assert row.model.value == pytest.approx(plain(name, model.features, human.features, row.k), abs=1e-12)
        if row.k >= N // 2:  # a half has no such neighbor
            assert (row.human, row.gap) == (None, None)
            assert "no T(P)" in row.note
            continue
        reference = plain(name, first, second, row.k)
        assert row.human.value == pytest.approx(reference, abs=1e-12)
        assert row.gap.value == pytest.approx(abs(row.model.value - reference), abs=1e-12)


@pytest.mark.parametrize("name", OVER_K)
def test_terms_without_some_texts_are_those_of_plain_loops(name):
    human, model = side(HUMAN, n=14), side("q", 0.4, n=12)
    terms = OVER_K[name].over_k(OVER_K[name].terms(model, human, MeasureContext()), (1, 3, 7))
    pairs = [(np.array([0, 2, 5, 7]), np.arange(1, 13)), (np.arange(11), np.array([3, 4]))]
    for k, at_k in zip((1, 3, 7), terms, strict=True):
        expected = [plain(name, model.features, human.features, k, *pair) for pair in pairs]
        assert at_k.values(pairs) == pytest.approx(expected, abs=1e-12)
        assert at_k.value() == pytest.approx(plain(name, model.features, human.features, k), abs=1e-12)


def test_at_their_own_k_they_are_the_stored_measures_to_the_digit(run):
    measurements = measure_run(run, list(OVER_K))
    table = neighbours_run(run)
    own = table.settings["own_neighbours"]
    found = [row for row in table.rows if row.k == own]
    assert len(found) == len(OVER_K) * 2
    for row in found:
        stored = measurements.row(row.measure, row.candidate)
        assert (row.model, row.human, row.gap, row.note) == (stored.model, stored.human, stored.gap, stored.note)
        assert row.model.sd is not None
    tests = {(each.measure, each.first, each.second): each for each in measurements.differences if each.of == "value"}
    for order in table.orders:
        test = tests[order.measure, order.first, order.second]
        signs = (own in order.larger, own in order.smaller)
        assert signs == (test.told_apart and test.difference > 0, test.told_apart and test.difference < 0)


def test_each_k_alone_and_all_together_are_equal_with_generations():
    human = side(HUMAN)
    models = {"q": side("q", 0.4, n=2 * N, generations=(0,) * N + (1,) * N), "r": side("rr", 0.2)}
    together = neighbours(human, models, [2, 9])
    assert together.rows[0].model.generations is not None
    for k in (2, 9):
        alone = neighbours(human, models, [k])
        assert alone.rows == tuple(row for row in together.rows if row.k == k)


def test_larger_k_gives_larger_precision_recall_and_coverage():
    table = neighbours(side(HUMAN), {"q": side("q", 0.4)}, range(1, 21), ["precision", "recall", "coverage"])
    for name in table.measures:
        values = [row.model.value for row in table.line(name, "q")]
        assert values == sorted(values)
        assert values[0] < values[-1]


@pytest.mark.parametrize(
    ("ks", "names"), [([0], None), ([], None), ([N], None), ([2.0], None), ([True], None), ([1], ["zipf"]), ([1], [])]
)
def test_what_cannot_be_used_is_refused(ks, names):
    with pytest.raises(InputError):
        neighbours(side(HUMAN), {"q": side("q")}, ks, names)


def test_too_many_ks_and_missing_features_are_refused():
    with pytest.raises(InputError, match="at most 100"):
        neighbours(side(HUMAN, n=150), {"q": side("q", n=150)}, range(1, MOST_KS + 2))
    bare = Collection(HUMAN, ("a",), ("a",))
    with pytest.raises(InputError, match="features of every side"):
        neighbours(bare, {"q": side("q")}, [1])


def test_the_sentence_counts_pairs_that_turn():
    def table(*orders):
        rows = neighbours(side(HUMAN), {"a": side("q"), "b": side("rr")}, [1, 2], ["precision"]).rows
        return NeighbourTable(rows, tuple(OrderOver("precision", "a", "b", *each) for each in orders))

    none = "Precision tells none of the 1 pair of candidates apart at any k."
    assert order_sentence(table(((), ())), "precision") == none
    assert "1 of the 2 pairs of candidates apart at some k, each in the same order" in order_sentence(
        table(((1, 2), ()), ((), ())), "precision"
    )
    assert "depends on k: 1 of the 2 pairs of candidates is told apart one way" in order_sentence(
        table(((1,), (2,)), ((), (1,))), "precision"
    )
    assert order_sentence(table(), "precision") == ""


def test_numbers_are_read_and_written():
    assert numbers_of_neighbours("1-3,7, 20 - 21") == (1, 2, 3, 7, 20, 21)
    assert in_words((1, 2, 3, 7, 20, 21)) == "1 to 3, 7, 20, 21"
    for wrong in ("", "a", "3-1", "1-", "-4", "1,,2", "1-101", "1.5", "\u00b2"):
        with pytest.raises(InputError):
            numbers_of_neighbours(wrong)


def test_caveats_say_whose_they_are():
    table = neighbours(side(HUMAN), {"q": side("q", 0.4)}, [1, 24, 25], ["precision", "recall"])
    assert any(note.startswith("Precision of q at k = 25: no T(P)") for note in table.notes)
