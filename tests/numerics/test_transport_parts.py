"""Parts of two samples against the plug-in cost of each part alone."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.estimators import transport as module
from mauve_core.estimators.transport import plug_in_cost, plug_in_parts

# Both end at a least cost of one linear program; sums of up to 120 products in other orders.
ROUNDING = 1e-11


def samples(n, m, d, *, copies=False, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, d)), rng.normal(size=(m, d)) + 0.4
    if copies:  # degenerate: many plans of the same cost
        x, y = np.round(x), np.round(y)
        y[: min(n, m) // 2] = x[: min(n, m) // 2]
    return x, y


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize(("n", "m", "d"), [(60, 60, 8), (60, 41, 3), (25, 60, 40), (1, 60, 2)])
def test_a_part_costs_what_it_costs_alone(n, m, d, copies):
    x, y = samples(n, m, d, copies=copies)
    rng = np.random.default_rng(1)
    parts = [(np.arange(n), np.arange(m))]
    for share in (0.95, 0.5, 0.1):
        parts.append(tuple(np.sort(rng.choice(size, max(1, int(share * size)), replace=False)) for size in (n, m)))
    alone = [plug_in_cost(x[rows], y[columns]) for rows, columns in parts]
    np.testing.assert_allclose(plug_in_parts(x, y, parts), alone, rtol=ROUNDING, atol=ROUNDING)


def test_no_parts_and_what_is_refused(monkeypatch):
    x, y = samples(5, 6, 2)
    assert plug_in_parts(x, y, []).shape == (0,)
    with pytest.raises(InputError, match="no texts of one side"):
        plug_in_parts(x, y, [(np.arange(5), np.arange(0))])
    with pytest.raises(InputError, match="different dimensions"):
        plug_in_parts(x, y[:, :1], [])
    monkeypatch.setattr(module, "EXACT_LIMIT", 5)
    with pytest.raises(InputError, match="at most 5"):
        plug_in_parts(x, y, [])
