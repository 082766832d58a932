"""Estimators without bins against a plain twin of the whole of each, from features to MAUVE, by every expectation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SeedSequence

from mauve_core.analyses.method_fits import Sides, fit
from mauve_core.analyses.methods import ESTIMATORS, Method
from mauve_core.base.config import ScoreConfig
from mauve_core.estimators.ratios import direct_ratios, principal_coordinates
from tests.experiments.methods import plain_estimators as plain

pytestmark = pytest.mark.integration

SEED = SeedSequence(11)
# Of MAUVE. The classifier's solver stops at a gradient of 1e-4, the twin's only at the minimum; the others agree but
# for rounding.
TOLERANCES = {"knn": 1e-9, "kde": 1e-9, "gaussian": 1e-9, "classifier": 2e-3, "direct": 1e-12}
N, M, D = 60, 53, 14


def features(case):
    """Sides of unequal size and spread. In ``far`` one candidate text lies among the human ones and has no neighbor of
    its own side, so that its ratio is infinite."""
    rng = np.random.default_rng(3)
    if case == "near":
        x_p, x_q = rng.normal(size=(N, D)), 0.4 + 1.2 * rng.normal(size=(M, D))
    else:
        x_p, x_q = rng.normal(size=(N, D)), 9 + 1.5 * rng.normal(size=(M, D))
        x_q[7] = x_p.mean(axis=0)
    return x_p.astype(np.float32), x_q.astype(np.float32)


def twin(name, x_p, x_q):
    if name == "gaussian":
        return plain.gaussian(x_p, x_q, SEED, principal_coordinates(x_p, x_q, 10)[0][0])
    if name == "classifier":
        return plain.classifier(x_p, x_q, SEED)
    return getattr(plain, name)(x_p, x_q)


@pytest.mark.parametrize("case", ["near", "far"])
@pytest.mark.parametrize("name", ["knn", "kde", "classifier", "gaussian"])
def test_mauve_is_that_of_the_papers_formulas(name, case):
    x_p, x_q = features(case)
    found = fit(name, Sides(x_p, x_q, (), ScoreConfig(), lambda: ([], [])), SEED)
    ratios = twin(name, x_p, x_q)
    values = {}
    for expectation in ESTIMATORS[name].expectations:
        values[expectation] = found.value(Method(name, expectation=expectation))
        expected = plain.mauve(*ratios, expectation, plain.CONSTANTS[name])
        assert values[expectation] == pytest.approx(expected, abs=TOLERANCES[name])
    assert set(values) == {"union", "other"}
    assert abs(values["union"] - values["other"]) > 10 * TOLERANCES[name]


def test_the_far_sides_have_an_infinite_ratio_at_a_text_of_the_other_side():
    x_p, x_q = features("far")
    assert np.isposinf(plain.knn(x_p, x_q)[1]).sum() == 1


@pytest.mark.parametrize("expectation", ESTIMATORS["direct"].expectations)
def test_direct_mauve_is_that_of_the_papers_formula(expectation):
    rng = np.random.default_rng(4)
    human, candidate = rng.normal(-50, 9, N), rng.normal(-45, 7, M)
    given = (human, human + rng.normal(-0.4, 2, N), candidate + rng.normal(-0.9, 2, M), candidate)
    sides = Sides(*features("near"), (), ScoreConfig(), lambda: ([], []), ratios=lambda: direct_ratios(*given))
    found = fit("direct", sides, SEED).value(Method("direct", expectation=expectation))
    assert found == pytest.approx(plain.mauve(*plain.direct(*given), expectation, 0.5), abs=TOLERANCES["direct"])


@pytest.mark.parametrize("name", ["knn", "kde"])
def test_without_a_group_the_expectation_is_over_the_other_texts(name):
    x_p, x_q = features("near")
    rows = np.arange(3, N), np.arange(4, M)
    found = fit(name, Sides(x_p, x_q, [rows], ScoreConfig(), lambda: ([], [])), SEED)
    (left,) = found.left_out(Method(name, expectation="other"))
    ratios = twin(name, x_p[rows[0]], x_q[rows[1]])
    assert left == pytest.approx(plain.mauve(*ratios, "other", 10.0), abs=TOLERANCES[name])
