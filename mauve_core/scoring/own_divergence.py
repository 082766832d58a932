"""Divergences from elsewhere: a function of two histograms, applied to the clusters of a comparison like its scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.numerics.divergences.smoothing import added_count, probabilities
from mauve_core.scoring.estimates import Spread, estimate_of, generation_sides
from mauve_core.scoring.replicates import TwoSides, count_blocks
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.spread import Estimate

# A function of (k,) probabilities of the human side and of the model's, with a number as its value.
Divergence = Callable[[NDArray[np.float64], NDArray[np.float64]], Any]


def divergence(
    comparison: Comparison,
    function: Divergence,
    *,
    kind: PartitionKind = "pairwise",
    smoothing: str = "none",
    bounds: tuple[float, float] = (0.0, np.inf),
) -> dict[str, Estimate]:
    """Apply a divergence to the histograms of every candidate, with the spread that the scores have.

    Parameters
    ----------
    function : callable
        Called with two arrays of k probabilities each, of the human texts and of the candidate's, for every k-means
        seed, and for every resample of the texts under it.
    kind : {"pairwise", "joint"}
    smoothing : str
        As in :func:`mauve_core.numerics.divergences.smoothing.probabilities`; without, some probabilities are 0.
    bounds : (float, float)
        The smallest and the largest value that there can be; intervals end there.

    Returns
    -------
    dict of str to Estimate
        By candidate: mean and standard deviation over k-means seeds, and the bootstrap interval over texts, at the
        comparison's confidence level.

    Raises
    ------
    InputError
        A value is no finite number within the bounds, or the smoothing is unknown. What the function itself raises
        passes through.

    Examples
    --------
    >>> import numpy as np
    >>> from mauve_core import compare
    >>> rng = np.random.default_rng(0)
    >>> texts = {name: [f"{name} {number}" for number in range(40)] for name in ("human", "greedy")}
    >>> features = {"human": rng.normal(size=(40, 8)), "greedy": rng.normal(1, size=(40, 8))}
    >>> result = compare(texts["human"], {"greedy": texts["greedy"]}, features=features, seeds=3, draw_map=False)
    >>> distances = result.divergence(lambda p, q: np.abs(p - q).sum() / 2)
    >>> distances["greedy"]
    <Estimate 0... ± 0... (0... to ...), 3 seeds>
    """
    added_count(smoothing)  # raises InputError before anything is drawn
    confidence = comparison.config.score.confidence
    found = {}
    for candidate in comparison.candidates:
        sides = generation_sides(comparison, kind, candidate.name)
        spreads = [_spread(each, comparison, function, smoothing, bounds) for each in sides]
        found[candidate.name] = estimate_of(_side_by_side(spreads), confidence, bounds)
    return found


def _spread(
    sides: TwoSides, comparison: Comparison, function: Divergence, smoothing: str, bounds: tuple[float, float]
) -> Spread:
    values: NDArray[np.float64] | None = None
    resampled, rate = [], 1.0
    for block in count_blocks(sides, comparison.config.score):
        if values is None:
            values = _applied(function, block.p, block.q, smoothing, bounds)
        resampled.append(_applied(function, block.p_resampled, block.q_resampled, smoothing, bounds))
        rate = block.rate
    return Spread(np.empty(0) if values is None else values, np.concatenate(resampled), rate=rate)


def _applied(
    function: Divergence,
    p_counts: NDArray[np.int64],
    q_counts: NDArray[np.int64],
    smoothing: str,
    bounds: tuple[float, float],
) -> NDArray[np.float64]:
    """Apply the function along the last axis."""
    p, q = probabilities(p_counts, smoothing), probabilities(q_counts, smoothing)
    values = np.empty(p.shape[:-1])
    for place in np.ndindex(values.shape):
        values[place] = _number(function(p[place].copy(), q[place].copy()), bounds)
    return values


def _number(value: Any, bounds: tuple[float, float]) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InputError(
            "The divergence returned no number", allowed="a finite number", received=type(value).__name__
        ) from error
    if not np.isfinite(number):
        raise InputError(
            "The divergence is not finite",
            allowed="a finite number",
            received=str(number),
            todo="Smooth the histograms, such as smoothing='krichevsky-trofimov', so that no probability is 0",
        )
    if not bounds[0] <= number <= bounds[1]:
        raise InputError(
            "The divergence is out of its bounds",
            allowed=f"{bounds[0]:g} to {bounds[1]:g}",
            received=str(number),
            todo="Give the bounds that it has: divergence(function, bounds=(low, high))",
        )
    return number


def _side_by_side(spreads: Sequence[Spread]) -> Spread:
    """Return the spreads of several generations as one."""
    if len(spreads) == 1:
        return spreads[0]
    values = np.concatenate([each.values for each in spreads])
    rate = float(np.mean([each.rate for each in spreads]))
    return Spread(values, np.concatenate([each.resampled for each in spreads], axis=1), len(spreads), rate)
