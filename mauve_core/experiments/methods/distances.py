"""Estimators with their own distance: transport, its frontiers between cluster centers, and the MMD.

JMLR 2023, section 7.4.2; Gretton et al., JMLR 2012.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.estimators.kernel_discrepancy import mmd, mmd_left_out
from mauve_core.estimators.transport import barycentric_frontier, frechet_limit, linear_frontier, quantised_cost
from mauve_core.experiments.methods.method import Method
from mauve_core.experiments.methods.sides import Binned, Features, Fit, Rows, Sides
from mauve_core.stats.divergences import Frontier, probabilities

# Random halves of the human side for the z-score of the MMD.
MMD_SPLITS = 100

# Maximum number of clusters for a jackknife of the linear frontier. Each of its 50 costs takes 2 ms for 200 centers and
# grows about as k squared.
SPREAD_LIMIT = 200

# Estimators that share the same k-means clusters.
CLUSTERED = ("quantised-transport", "transport-linear", "transport-barycentric")

Compute = Callable[[Features, Features], float]
LeftOut = Callable[[Features, Features, Sequence[tuple[Rows, Rows]]], NDArray[np.float64]]

# p (k,), q (k,), centers (k, d) -> frontier.
FrontierOf = Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], Frontier]


class Distance(Fit):
    """A distance between the texts themselves, recomputed without each group.

    Parameters
    ----------
    compute : callable
        Features of both sides -> value.
    left_out : callable, optional
        Features of both sides and the rows to keep -> values, if faster than repeated calls of ``compute``.
    """

    def __init__(self, sides: Sides, compute: Compute, left_out: LeftOut | None = None) -> None:
        self._value = compute(sides.x_p, sides.x_q)
        self._sides, self._compute, self._left_out = sides, compute, left_out

    @cached_property
    def _jackknife_values(self) -> NDArray[np.float64]:
        x_p, x_q, pairs = self._sides.x_p, self._sides.x_q, self._sides.jackknife_rows
        if self._left_out is not None:
            return self._left_out(x_p, x_q, pairs)
        return np.array([self._compute(x_p[p], x_q[q]) for p, q in pairs])

    def value(self, method: Method) -> float:  # noqa: ARG002 (such a method has no parts)
        return self._value

    def left_out(self, method: Method) -> NDArray[np.float64] | None:  # noqa: ARG002
        return self._jackknife_values if self._sides.jackknife_rows else None


class Discrepancy(Distance):
    """The MMD with its standard score."""

    def __init__(self, sides: Sides, seed: SeedSequence) -> None:
        found = mmd(sides.x_p, sides.x_q, splits=MMD_SPLITS, seed=seed)
        super().__init__(sides, lambda *_: found.value, partial(mmd_left_out, seed=seed))
        self.notes, self.z = found.notes, found.z


class Frechet(Fit):
    """The Fréchet distance."""

    def __init__(self, sides: Sides) -> None:
        self._sides, self._value = sides, sides.frechet

    def value(self, method: Method) -> float:  # noqa: ARG002
        return self._value

    def left_out(self, method: Method) -> NDArray[np.float64] | None:  # noqa: ARG002
        return self._sides.frechet_left_out if self._sides.jackknife_rows else None


class WithoutBias(Fit):
    """The Fréchet distance between the sources; what is taken off for bias stays while texts are left out."""

    def __init__(self, sides: Sides, seed: SeedSequence) -> None:
        self._has_groups = bool(sides.jackknife_rows)
        known = (sides.frechet, sides.frechet_left_out) if self._has_groups else None
        self._found = frechet_limit(sides.x_p, sides.x_q, seed=seed, parts=sides.jackknife_rows, known=known)
        n, d = min(len(sides.x_p), len(sides.x_q)), sides.x_p.shape[1]
        if self._found.bends:
            self.caveats = (
                f"with {n:,} on a side, the Fréchet distance does not fall as 1/n yet; this is likely still too large",
            )
        elif n <= d:
            self.caveats = (
                f"with {n:,} on a side and {d:,} features, the Fréchet distance may not fall as 1/n yet; this may "
                "still be too large",
            )

    def value(self, method: Method) -> float:  # noqa: ARG002
        return self._found.value

    def left_out(self, method: Method) -> NDArray[np.float64] | None:  # noqa: ARG002
        found = self._found
        return found.left_out - found.at_n + found.value if self._has_groups else None


class Transport(Fit):
    """Transport between k-means centers, which stay fixed while texts are left out."""

    def __init__(self, sides: Sides, seed: SeedSequence) -> None:
        self._bins, self._centres = _clusters(sides, seed)

    def value(self, method: Method) -> float:  # noqa: ARG002
        p, q = map(probabilities, self._bins.counts())
        return quantised_cost(p, q, self._centres)

    def left_out(self, method: Method) -> NDArray[np.float64] | None:  # noqa: ARG002
        found = [quantised_cost(p, q, self._centres) for p, q in _jackknife_histograms(self._bins)]
        return np.array(found) if found else None


class Interpolated(Fit):
    """A frontier of transport costs between fixed clusters, with its area under any scale."""

    def __init__(self, sides: Sides, seed: SeedSequence, frontier: FrontierOf, *, refit: bool, note: str) -> None:
        self._bins, self._centres = _clusters(sides, seed)
        self._frontier, self._refit = frontier, refit
        p, q = map(probabilities, self._bins.counts())
        self._all = frontier(p, q, self._centres)
        too_many = "" if refit else f"; no spread over texts: more than {SPREAD_LIMIT} clusters"
        self.notes = (f"{note} between the centers of {len(self._centres):,} clusters of unit features{too_many}",)

    @cached_property
    def _refitted(self) -> list[Frontier]:
        return [self._frontier(p, q, self._centres) for p, q in _jackknife_histograms(self._bins)]

    def value(self, method: Method) -> float:
        return method.area(self._all)

    def left_out(self, method: Method) -> NDArray[np.float64] | None:
        if not self._refit:
            return None
        found = [method.area(frontier) for frontier in self._refitted]
        return np.array(found) if found else None


def interpolated(name: str, sides: Sides, seed: SeedSequence) -> Fit:
    """Fit ``transport-linear`` or ``transport-barycentric``."""
    if name == "transport-linear":
        note = "exact costs to mixtures"
        return Interpolated(sides, seed, linear_frontier, refit=sides.k <= SPREAD_LIMIT, note=note)
    note = "exact costs to barycenters anywhere in the feature space"
    return Interpolated(sides, seed, barycentric_frontier, refit=True, note=note)


def _clusters(sides: Sides, seed: SeedSequence) -> tuple[Binned, NDArray[np.float64]]:
    found, n = sides.clustered(seed), len(sides.x_p)
    return Binned(found.labels[:n], found.labels[n:], sides.k, sides), found.centers


def _jackknife_histograms(bins: Binned) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    return [(probabilities(p), probabilities(q)) for p, q in zip(*bins.jackknife_counts(), strict=True)]
