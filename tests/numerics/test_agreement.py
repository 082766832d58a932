"""Cohen's kappa against scikit-learn's, and where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from mauve_core.base.errors import InputError
from mauve_core.stats.rank_correlation import cohen_kappa


@pytest.mark.parametrize("seed", range(5))
def test_kappa_is_that_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = rng.random(50) < 0.3
    second = first ^ (rng.random(50) < 0.2 * seed)
    assert cohen_kappa(first, second) == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)


def test_one_answer_alone_has_no_kappa() -> None:
    assert math.isnan(cohen_kappa([True] * 3, [True] * 3))
    assert cohen_kappa([True] * 3, [False] * 3) == 0


@pytest.mark.parametrize(("first", "second"), [([], []), ([True], [True, False]), ([[True]], [[True]])])
def test_answers_that_do_not_match_are_refused(first: list[object], second: list[object]) -> None:
    with pytest.raises(InputError, match="do not match"):
        cohen_kappa(first, second)
