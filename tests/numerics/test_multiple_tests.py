"""Holm's correction: equal to the procedure it stands for, whatever the order of the tests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mauve_core.base.errors import InputError
from mauve_core.stats.multiple_tests import holm

# Of few values, so that many are equal, as those of permutation tests are.
rows = arrays(np.float64, st.integers(0, 12), elements=st.integers(0, 40).map(lambda i: i / 40))


def rejected(p_values, level):
    """Holm's procedure step by step: from the smallest p-value up, until one is above level / (tests that are left)."""
    found = set()
    for place in sorted(range(len(p_values)), key=lambda i: p_values[i]):
        if p_values[place] > level / (len(p_values) - len(found)):
            break
        found.add(place)
    return found


@given(rows, st.floats(0.001, 0.999))
def test_an_adjusted_value_is_the_level_at_which_the_procedure_rejects(p_values, level):
    adjusted = holm(p_values)
    assume((np.abs(adjusted - level) > 1e-9).all())  # at the level itself, rounding decides
    assert {place for place, value in enumerate(adjusted) if value <= level} == rejected(p_values, level)


@given(rows, st.randoms())
def test_the_order_of_the_tests_does_not_matter(p_values, random):
    order = list(range(len(p_values)))
    random.shuffle(order)
    assert np.array_equal(holm(p_values[order]), holm(p_values)[order])
    assert (holm(p_values) >= p_values).all()


def test_a_hand_made_example():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02], rel=1e-15)
    assert holm([0.6]) == [0.6]
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    assert holm([]).shape == (0,)


@pytest.mark.parametrize("wrong", [[1.1], [-0.1], [float("nan")], [[0.1]], 0.1, ["a"]])
def test_what_is_no_row_of_p_values_is_refused(wrong):
    with pytest.raises(InputError):
        holm(wrong)
