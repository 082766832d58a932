"""The spread of measures against what repeated samples show, and how texts are grouped."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mauve_core.analyses.feature_measures import exchange_p_value, split_by_id
from mauve_core.analyses.measure_inputs import Collection, MeasureContext, Tokens
from mauve_core.analyses.measure_terms import GROUPS, group_of, groups_of, replicate, value_of
from mauve_core.analyses.measures_over_lengths import OVER_LENGTH
from mauve_core.analyses.text_measures import MEASURES, measure

TEXTS = 200


class Given(MeasureContext):
    """MeasureContext whose tokens are the numbers that stand in the texts."""

    def tokens(self, texts, progress=None) -> Tokens:
        rows = [np.array(text.split(), dtype=np.int64) for text in texts.texts]
        return Tokens(np.concatenate(rows), np.array([len(row) for row in rows]))


def side(rng, name, n=TEXTS, shift=0.0, texts=True):
    """Texts of 20 to 60 tokens from a Zipf-like source, each about a subject of its own; 10 Gaussian features."""
    words = ("",) * n
    if texts:
        subjects = rng.integers(0, 300, size=n)
        lengths = rng.integers(20, 60, size=n)
        rows = [
            np.minimum(rng.zipf(1.3, size=m) + s * (rng.random(m) < 0.3), 5000)
            for m, s in zip(lengths, subjects, strict=True)
        ]
        words = tuple(" ".join(map(str, row)) for row in rows)
    features = rng.normal(size=(n, 10)) + shift
    return Collection(name, tuple(f"{name}{i}" for i in range(n)), words, features=features)


def samples_of(name, repeats, seed, **options):
    """T(Q) and its jackknife sd in independent samples of both sides."""
    item, found = OVER_LENGTH[name], []
    for child in np.random.SeedSequence(seed).spawn(repeats):
        rng = np.random.default_rng(child)
        human, model = side(rng, "p", **options), side(rng, "q", shift=0.5, **options)
        groups = groups_of(human), groups_of(model)
        terms = item.terms(model, human, Given(seed=int(rng.integers(2**31))))
        replicates = replicate(terms, groups[1], groups[0], relational=item.relational)
        sizes = groups[1].sizes + (groups[0].sizes if item.relational else 0)
        value, note = value_of(replicates, sizes, item.bounds)
        assert not note
        found.append((value.value, value.sd))
    return np.array(found).T


@pytest.mark.trial
@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("length", True),
        ("distinct", True),
        ("zipf", True),
        ("self-bleu", True),
        ("discriminator", False),
        ("density", False),
        ("vendi", False),
        ("frechet", False),
    ],
)
def test_the_jackknife_agrees_with_repeated_samples(name, texts):
    values, sds = samples_of(name, 60, 1, texts=texts)
    # The standard deviation of 60 samples is known to 9 %, the root mean square of 60 estimates with 19 degrees of
    # freedom to 2 %: a third is 3.5 standard errors.
    assert np.sqrt(np.mean(sds**2)) == pytest.approx(values.std(ddof=1), rel=1 / 3)


@pytest.mark.trial
@pytest.mark.parametrize("name", ["precision", "recall", "coverage"])
def test_the_spread_of_a_manifold_is_a_little_too_wide_at_worst(name):
    """Whether a point is covered hangs on single balls, and a jackknife makes too much of such jumps."""
    values, sds = samples_of(name, 60, 2, texts=False)
    ratio = np.sqrt(np.mean(sds**2)) / values.std(ddof=1)
    assert 0.75 < ratio < 2


def test_the_group_of_a_text_follows_from_its_id_alone():
    ids = [f"prompt {i}" for i in range(4000)]
    labels = group_of(ids)
    np.testing.assert_array_equal(labels[::-1], group_of(ids[::-1]))
    # Binomial counts of mean 200: five standard deviations are 70.
    assert np.bincount(labels, minlength=GROUPS) == pytest.approx(200, abs=70)
    assert group_of(["a", "b", "c"]).tolist() == [8, 8, 15], "the same on every machine and in every process"


def test_without_a_group_its_texts_are_gone():
    groups = groups_of(side(np.random.default_rng(0), "p", n=30, texts=False))
    for size, jackknife_rows in zip(groups.sizes, groups.jackknife_rows, strict=True):
        assert (jackknife_rows is None) if size == 0 else (len(jackknife_rows) == 30 - size)


def test_equal_replicates_have_no_spread_and_say_so():
    texts = Collection("q", tuple(map(str, range(60))), tuple(f"{i} 61 62 63" for i in range(60)))
    row = measure(texts, {"q": texts}, ["repetition"], context=Given()).rows[0]
    assert (row.model.value, row.model.sd) == (0, None)
    assert "leaving out any group changes nothing" in row.note


def test_sides_of_unequal_size_are_noted_where_that_matters():
    rng = np.random.default_rng(0)
    human, model = side(rng, "p", n=60), side(rng, "q", n=50)
    found = measure(human, {"q": model}, ["distinct", "length"], context=Given())
    assert "50 here, 60 in P" in found.row("distinct", "q").note
    assert found.row("length", "q").note == ""


def test_relational_measures_compare_halves_of_the_human_side():
    human = side(np.random.default_rng(0), "p", n=101, texts=False)
    row = measure(human, {"q": human}, ["precision"], context=Given()).rows[0]
    assert "two random halves of P (50 and 51)" in row.note
    assert row.model.value == 1  # each text lies in its own ball
    assert row.human.value < 1
    assert row.gap.value == pytest.approx(1 - row.human.value)


class TestSplitById:
    shares = (0.25, 0.15, 0.15, 0.15, 0.15, 0.15)

    def test_an_id_is_in_one_part_on_both_sides(self):
        sides = [[str(i) for i in range(100)], [str(i) for i in range(40, 120)]]
        parts = split_by_id(sides, self.shares, np.random.default_rng(0))
        of = [dict(zip(side, part, strict=True)) for side, part in zip(sides, np.split(parts, [100]), strict=True)]
        assert all(of[0][i] == of[1][i] for i in map(str, range(40, 100)))

    @pytest.mark.parametrize("shared", [True, False])
    def test_each_side_has_its_shares(self, shared):
        sides = [[str(i) for i in range(200)], [str(i if shared else 1000 + i) for i in range(200)]]
        parts = split_by_id(sides, self.shares, np.random.default_rng(0))
        for part in np.split(parts, [200]):
            assert np.bincount(part).tolist() == [50, 30, 30, 30, 30, 30]


def test_both_texts_of_a_prompt_are_tested_on_together():
    """Where the two have equal features exactly one of the two answers is right, whatever the classifier learnt."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(120, 200))
    ids = tuple(map(str, range(120)))
    human, model = (Collection(name, ids, ("",) * 120, features=features) for name in ("p", "q"))
    assert MEASURES["discriminator"].terms(model, human, MeasureContext()).value() == 0.5


class TestExchangeOfLabels:
    def p_value(self, answers, y, units, seed=0):
        return exchange_p_value(*map(np.asarray, (answers, y, units)), np.random.default_rng(seed))

    def test_units_are_exchanged_as_plain_loops_would(self):
        """A pair, a unit of two texts of each side, one of one and two, and one-sided units."""
        y = [0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0, 1]
        units = [0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 4, 5, 6]
        answers = [0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1]
        swapped = ([0, 1], [1, 0]), ([0, 0, 1, 1], [1, 1, 0, 0]), ([0, 1, 1], [1, 0, 1], [1, 1, 0])
        singles = set(itertools.permutations([0, 1, 0, 1]))
        accuracies = [
            sum(a == b for a, b in zip(answers, itertools.chain(*draw), strict=True))
            for draw in itertools.product(*swapped, singles)
        ]
        observed = sum(a == b for a, b in zip(answers, y, strict=True))
        exact = np.mean([each >= observed for each in accuracies])
        # Four standard errors of 999 draws, and that the observed labels count as one.
        assert self.p_value(answers, y, units) == pytest.approx(exact, abs=4 * (exact / 999) ** 0.5 + 0.001)

    @pytest.mark.parametrize(("whole", "most"), [(True, 0.081), (False, 1)])
    def test_texts_that_are_alike_are_no_evidence(self, whole, most):
        """A unit's texts get one answer; exchanged one by one, they would show a difference that is none."""
        rng, found = np.random.default_rng(0), []
        for seed in range(200):
            y, units = np.repeat([0, 1], 50), np.repeat(np.arange(20), 5)
            answers = np.repeat(rng.integers(2, size=20), 5)
            found.append(self.p_value(answers, y, units if whole else np.arange(100), seed) <= 0.05)
        assert np.mean(found) <= most
        assert whole or np.mean(found) > 0.15

    def test_without_anything_to_exchange_there_is_no_p_value(self):
        assert self.p_value([0, 1, 1], [0, 0, 0], [0, 1, 1]) is None

    def test_the_note_has_it(self):
        rng = np.random.default_rng(0)
        human, near, far = (side(rng, "p", texts=False, shift=shift) for shift in (0, 0, 2))
        notes = [MEASURES["discriminator"].terms(texts, human, MeasureContext()).note for texts in (near, far)]
        p_near, p_far = (float(note.partition("p = ")[2].partition(" ")[0]) for note in notes)
        assert p_far == 0.001 < 0.05 < p_near
