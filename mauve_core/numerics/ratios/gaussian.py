"""Ratios of two fitted Gaussians at points drawn from them (JMLR 2023, appendix C, equations 45 and 46).

Each side's features are modeled as normal in a few principal coordinates, with the mean and covariance of the sample.
A mean over fresh draws gives the integral over the two normal distributions. The error from non-normal features does
not shrink with more texts: two distant modes against one are missed altogether (example 30).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.ratios.log_ratios import LogRatios, principal_coordinates

# Principal components to keep; the paper uses 5 or 10 and finds that scores break down at 100.
COMPONENTS = 10
# Draws from each Gaussian, B in equation 46.
DRAWS = 10_000
# Added to every variance, in units of the mean variance of the union. The paper adds nothing; without it a side with
# fewer texts than components, or with copies alone, has no density.
RIDGE = 1e-6

_Array = NDArray[np.float64]


def gaussian_ratios(
    x_p: ArrayLike,
    x_q: ArrayLike,
    *,
    components: int = COMPONENTS,
    draws: int = DRAWS,
    ridge: float = RIDGE,
    seed: int | np.random.SeedSequence,
) -> LogRatios:
    """log p / q of the Gaussians fitted to each side, at draws from them.

    Parameters
    ----------
    x_p, x_q, components
        See :func:`mauve_core.numerics.ratios.log_ratios.principal_coordinates`; two rows or more on each side.
    draws : int
        Points drawn from each Gaussian. The error of their mean falls with the root of their number.
    ridge : float >= 0
        Added to the variance in every direction, in units of the mean variance of the union.
    seed : int or numpy.random.SeedSequence
        Each side's draws have their own stream, spawned from it; a given sequence is not changed.

    Returns
    -------
    LogRatios
        at_p and at_q of length ``draws``, unrelated to the texts' order; finite.

    Raises
    ------
    InputError
        Features are not usable, a side has fewer than two rows, a setting is out of range, or a covariance is singular.
    """
    draws = _checks.whole("The number of draws", draws, low=1)
    if not 0 <= ridge < np.inf:
        raise InputError("The ridge is not usable", allowed="a finite number, not negative", received=repr(ridge))
    u_p, u_q, note = principal_coordinates(x_p, x_q, components, least_rows=2)
    added = ridge * float(np.concatenate([u_p, u_q]).var(axis=0).mean())
    fits = [_fit(side, added, whose) for side, whose in ((u_p, "human"), (u_q, "candidate's"))]
    sides = []
    for (mean, factor), stream in zip(fits, _checks.seed_sequence(seed).spawn(2), strict=True):
        points = mean + np.random.default_rng(stream).standard_normal((draws, len(mean))) @ factor.T
        log_p, log_q = (_log_density(points, *fit) for fit in fits)
        sides.append(log_p - log_q)
    return LogRatios(sides[0], sides[1], (note, f"{draws:,} draws from each side"))


def _fit(side: _Array, added: float, whose: str) -> tuple[_Array, _Array]:
    """Mean (c,) and lower Cholesky factor (c, c) of the covariance, with n - 1 in its denominator."""
    mean = side.mean(axis=0)
    centred = side - mean
    covariance = centred.T @ centred / (len(side) - 1) + added * np.eye(len(mean))
    try:
        return mean, np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError as error:
        raise InputError(
            f"The covariance of the {whose} features is singular",
            allowed="texts that differ in every direction",
            received=f"{len(side)} texts in {len(mean)} dimensions",
            todo="Keep fewer components, give more texts, or use a larger ridge",
        ) from error


def _log_density(points: _Array, mean: _Array, factor: _Array) -> _Array:
    """Log density of a Gaussian without the factor (2 pi)^(-c / 2), which cancels in the ratio."""
    whitened = solve_triangular(factor, (points - mean).T, lower=True)
    return np.asarray(-np.einsum("ij,ij->j", whitened, whitened) / 2 - np.log(np.diagonal(factor)).sum())
