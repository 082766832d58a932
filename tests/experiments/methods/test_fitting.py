"""Estimators that are fitted again without groups of texts: what they share changes no digit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import SeedSequence

from mauve_core.analyses.method_fits import Sides, fit
from mauve_core.analyses.methods import Method
from mauve_core.base.config import ScoreConfig
from mauve_core.estimators import ratios as module

pytestmark = pytest.mark.integration

GROUPS = 4


def sides():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(120, 30)), rng.normal(size=(110, 30)) + 0.3
    labels = np.arange(120) % GROUPS, np.arange(110) % GROUPS
    jackknife_rows = [tuple(np.flatnonzero(side != group) for side in labels) for group in range(GROUPS)]
    return Sides(x.astype(np.float32), y.astype(np.float32), jackknife_rows, ScoreConfig(), lambda: ([], []))


def found(name, given, seed):
    one = fit(name, given, SeedSequence(seed))
    return one.value(Method(name)), list(one.left_out(Method(name)))


def test_estimators_on_the_same_sides_project_once_and_lose_no_digit(monkeypatch):
    asked = [("knn", 0), ("kde", 0), ("gaussian", 0), ("gaussian", 1)]
    alone = [found(name, sides(), seed) for name, seed in asked]
    projections = []
    plain = module._projected
    monkeypatch.setattr(module, "_projected", lambda *given: projections.append(1) or plain(*given))
    shared = sides()
    assert [found(name, shared, seed) for name, seed in asked] == alone
    assert len(projections) == 1 + GROUPS


@pytest.mark.parametrize("name", ["knn", "kde", "gaussian"])
def test_without_a_group_an_estimator_has_the_value_of_the_other_texts(name):
    given = sides()
    _, values = found(name, given, 3)
    alone = []
    for rows_p, rows_q in given.jackknife_rows:
        part = Sides(given.x_p[rows_p], given.x_q[rows_q], (), given.score, given.tokens)
        alone.append(fit(name, part, SeedSequence(3)).value(Method(name)))
    assert values == alone
    assert len(set(alone)) == GROUPS


def test_quantizers_work_in_the_space_that_the_run_asks_for():
    before, after = sides(), replace(sides(), score=ScoreConfig(unit_rows="after"))
    np.testing.assert_allclose(np.linalg.norm(after.reduced, axis=1), 1, atol=1e-6)
    assert np.linalg.norm(before.reduced, axis=1).std() > 0.01
