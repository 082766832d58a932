"""The plug-in transport cost (JMLR 2023, section 7.4.2) on many parts of the same two samples, as a jackknife asks for.

Distances between texts do not change while others are left out, so they are taken once. The dual potentials of the
whole problem nearly solve that of a large part; the network simplex starts from them and ends at the same least cost.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics.transport.costs import _PIVOTS, EXACT_LIMIT, _two_samples, squared_distances

_Array = NDArray[np.float64]
_Potentials = tuple[_Array, _Array]


def plug_in_parts(
    x_p: ArrayLike, x_q: ArrayLike, parts: Sequence[tuple[NDArray[np.integer], NDArray[np.integer]]]
) -> _Array:
    """The exact cost between parts of the two samples, each text of a part with the same mass.

    Parameters
    ----------
    x_p, x_q : (n, d), (m, d) array
        Features of the human and of the candidate texts.
    parts : sequence of (rows of x_p, rows of x_q)
        Quickest where each holds most of the rows.

    Returns
    -------
    (len(parts),) float64 array
        ``plug_in_cost(x_p[rows], x_q[columns], seed=0).value`` for each, to rounding.

    Raises
    ------
    InputError
        Features that do not fit together, more than :data:`mauve_core.numerics.transport.costs.EXACT_LIMIT` texts of
        a side, or a part without any.
    """
    x, y = _two_samples(x_p, x_q)
    most = max(len(x), len(y))
    if most > EXACT_LIMIT:
        raise InputError(
            "Too many texts for an exact transport cost", allowed=f"at most {EXACT_LIMIT} of a side", received=str(most)
        )
    if any(min(len(rows), len(columns)) == 0 for rows, columns in parts):
        raise InputError("A part has no texts of one side", allowed="at least one text of each side")
    costs = squared_distances(x, y)
    _, (u, v) = _solved(costs, None)
    return np.array([_solved(costs[np.ix_(*part)], (u[part[0]], v[part[1]]))[0] for part in parts])


def _solved(costs: _Array, start: _Potentials | None) -> tuple[float, _Potentials]:
    """The least cost between uniform masses on rows and columns, and dual potentials that prove it."""
    import ot  # type: ignore[import-untyped, unused-ignore]

    p, q = (np.full(size, 1 / size) for size in costs.shape)
    plan, log = ot.emd(p, q, costs, numItermax=_PIVOTS, log=True, potentials_init=start)
    if log["warning"] is not None:
        raise InputError("The transport problem was not solved", received=str(log["warning"]))
    rows, columns = np.nonzero(plan)
    return float((plan[rows, columns] * costs[rows, columns]).sum()), (np.asarray(log["u"]), np.asarray(log["v"]))
