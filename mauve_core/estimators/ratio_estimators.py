"""Density ratios of two samples: from neighbors, from kernel densities, from a classifier, from Gaussians.

**Neighbors** (JMLR 2023, section 4.2; Noshad et al., ISIT 2017): the share of P's over that of Q's sample among the k
nearest in the union, the point itself left out (equation 23). A ratio may be 0 or infinite. Those tied with the k-th
share the remaining places, or the result would depend on the order of the texts.
**Kernel densities** (section 4.2.3): the mean of Gaussian kernels of one bandwidth h on both sides, the point itself
left out. The paper does not say how to choose h; here it minimizes the log loss of eta = p / (p + q), whose expectation
is log 2 - JS(P, Q) plus the mean KL divergence of eta from the truth. Sides of one source get wide kernels and ratios
near 1; from few texts in many dimensions the divergence tends to be too small. Scott's rule, also available, is too
narrow from about five dimensions on: points in the tails have no neighbors, and noise passes for divergence.
**Classifier** (section 4.3, equations 28 and 29): logistic regression on half of each side gives m eta / (n (1 - eta))
on the other half; the penalty is chosen by log loss within the training half, which rewards calibrated probabilities.
**Gaussians** (appendix C, equations 45 and 46) with the mean and covariance of each side in a few principal
coordinates, at fresh draws. The error from features that are not normal does not shrink with more texts (example 30).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular

from mauve_core.base.errors import InputError
from mauve_core.estimators.ratios import LEAST_VARIANCE, NAMES, LogRatios, infinite_notes, principal_coordinates
from mauve_core.stats import _checks

# The papers' k (JMLR 2023, figure 9).
NEIGHBOURS = 50
# Principal components to keep. The paper finds fewer than 50 crucial, and 5 or 10 enough (sections 4.2.2, 7.3.1).
COMPONENTS = 10

# Rows whose distances to all others are held at once.
BLOCK = 512
# Squared distances tie within this share of the squared lengths: the rounding of a matrix product.
SLACK = 1e-9
# Largest difference of two mirrored entries of a Gram matrix, relative to its largest entry: room for float32.
_ASYMMETRY = 1e-6

_Array = NDArray[np.float64]


def knn_ratios(x_p: ArrayLike, x_q: ArrayLike, *, k: int = NEIGHBOURS, components: int = COMPONENTS) -> LogRatios:
    """log p / q at every point from its neighbors in the principal coordinates of the union (algorithm 2).

    Parameters
    ----------
    x_p, x_q, components
        See :func:`mauve_core.estimators.ratios.principal_coordinates`.
    k : int
        Neighbors, fewer than n + m. The bias falls with k over the sample size, the noise with k.

    Returns
    -------
    LogRatios
        One per text, in order; deterministic.

    Raises
    ------
    InputError
        Features are not usable, or there are too few texts for k.
    """
    u_p, u_q, note = principal_coordinates(x_p, x_q, components)
    points = np.concatenate([u_p, u_q])
    squares = np.einsum("ij,ij->i", points, points)

    def distances(part: slice) -> _Array:
        return np.asarray(squares[part, None] + squares - 2 * (points[part] @ points.T))

    return _ratios(distances, squares, len(u_p), k, note)


def knn_ratios_from_gram(gram: ArrayLike, n: int, *, k: int = NEIGHBOURS) -> LogRatios:
    """The same from a kernel between texts, such as a string kernel (JMLR 2023, section 7.5.4).

    Parameters
    ----------
    gram : (n + m, n + m) array
        Kernel values K of the union, P's texts first; squared distances are K_ii + K_jj - 2 K_ij.
    n : int
        Human texts.
    k : int
        Neighbors, fewer than n + m.

    Returns
    -------
    LogRatios

    Raises
    ------
    InputError
        The matrix is not symmetric and finite with a non-negative diagonal, or n or k does not fit it.
    """
    array = _checks.numbers(gram, "The Gram matrix")
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not np.isfinite(array).all():
        raise InputError(
            "The Gram matrix is not usable", allowed="a square table of finite numbers", received=f"shape {array.shape}"
        )
    n = _checks.whole("The number of human texts", n, low=1)
    if n >= len(array):
        raise InputError("The Gram matrix has no rows for the candidate's texts", allowed=f"more than {n} rows")
    largest = np.abs(array).max()
    mirrored = all(
        np.allclose(array[part], array[:, part].T, rtol=0.0, atol=_ASYMMETRY * largest)
        for part in _checks.row_blocks(len(array))
    )
    diagonal = np.diagonal(array).astype(np.float64)
    if not mirrored or (diagonal < 0).any():
        raise InputError(
            "The Gram matrix is not that of a kernel",
            allowed="a symmetric matrix with no negative number on its diagonal",
        )

    def distances(part: slice) -> _Array:
        return np.asarray(diagonal[part, None] + diagonal - 2 * array[part].astype(np.float64))

    return _ratios(distances, diagonal, n, k)


def _ratios(distances: Callable[[slice], _Array], squares: _Array, n: int, k: int, *notes: str) -> LogRatios:
    """Ratios from a function that returns rows of squared distances; ``squares`` are the points' squared lengths."""
    total = len(squares)
    k = _checks.whole("The number of neighbors", k, low=1)
    if k >= total:
        raise InputError(
            "Too few texts for this many neighbors",
            allowed=f"at least {k + 1} on both sides together",
            received=str(total),
            todo="Give more texts, or use fewer neighbors",
        )
    counts = np.empty((2, total))
    for part in _checks.row_blocks(total, BLOCK):
        near = distances(part)
        rows = np.arange(part.stop - part.start)
        near[rows, part.start + rows] = np.inf
        counts[:, part] = _shares(near, squares[part], n, k)
    with np.errstate(divide="ignore"):
        logs = np.log(counts[0] / n) - np.log(counts[1] / (total - n))
    at_p, at_q = logs[:n], logs[n:]
    return LogRatios(at_p, at_q, (f"{k} neighbors", *notes, *infinite_notes(at_p, at_q)))


def _shares(near: _Array, squares: _Array, n: int, k: int) -> _Array:
    """(2, rows) neighbors among the first n columns and among the others, k in all; ties at the k-th count in part."""
    reach = np.partition(near, k - 1, axis=1)[:, k - 1]
    slack = SLACK * (squares + np.maximum(reach, 0.0))
    closer, within = near < (reach - slack)[:, None], near <= (reach + slack)[:, None]
    counts = np.empty((2, len(near)))
    inside = closer.sum(axis=1)
    tied = within.sum(axis=1) - inside
    for side, columns in enumerate((slice(None, n), slice(n, None))):
        sure = closer[:, columns].sum(axis=1)
        # The product comes first: if all ties lie on one side, both counts are whole, and 0 is exactly 0.
        counts[side] = sure + (k - inside) * (within[:, columns].sum(axis=1) - sure) / tied
    return counts


BANDWIDTHS = ("log-loss", "scott")
# The bandwidth search runs from a quarter of Scott's to eight times it. Texts with copies on their own side would be
# told apart best by ever narrower kernels, sides of one source by ever wider ones, with all ratios 1.
_OCTAVES = (-2.0, 3.0)
# Steps of the search, in octaves: first over the whole range, then around the best. A parabola through the last three
# losses then gives the bandwidth, so that it changes smoothly when texts are left out.
_COARSE, _FINE = 0.5, 0.125
# Points per side, evenly spaced in its order, whose log loss decides the bandwidth; all are kernel centers.
_JUDGED = 1000


def kde_ratios(
    x_p: ArrayLike,
    x_q: ArrayLike,
    *,
    bandwidth: float | str = "log-loss",
    times: float = 1.0,
    components: int = COMPONENTS,
) -> LogRatios:
    """log p / q at every point from kernel densities in the principal coordinates of the union.

    Parameters
    ----------
    x_p, x_q, components
        See :func:`mauve_core.estimators.ratios.principal_coordinates`; two rows or more on each side.
    bandwidth : float > 0, "log-loss" or "scott"
        Standard deviation of the kernel in every direction, or how to choose it; see the module docstring.
    times : float > 0
        Factor of that bandwidth, to see how much depends on the choice.

    Returns
    -------
    LogRatios
        One per text, in order; finite and deterministic.

    Raises
    ------
    InputError
        Features, the bandwidth or its factor are not usable, a side has fewer than two rows, or a side has equal rows
        only and the bandwidth is to be chosen.
    """
    u_p, u_q, note = principal_coordinates(x_p, x_q, components, least_rows=2)
    factor = _checks.positive("The factor of the bandwidth", times)
    given, chosen = _bandwidth(u_p, u_q, bandwidth)
    width = given * factor
    if factor != 1:
        chosen = f", {factor:g} times {given:.4g}{chosen}"
    widths = np.array([width])
    at_p = log_densities(u_p, u_p, widths, own=np.arange(len(u_p))) - log_densities(u_p, u_q, widths)
    at_q = log_densities(u_q, u_p, widths) - log_densities(u_q, u_q, widths, own=np.arange(len(u_q)))
    return LogRatios(at_p[0], at_q[0], (f"bandwidth {width:.4g}{chosen}", note))


def scott_bandwidth(u_p: _Array, u_q: _Array) -> float:
    """Scott's rule for both sides: their standard deviation, pooled over sides and directions, times n^(-1 / (d + 4)).

    n is the number of points of the smaller side, d their dimension; the sides' means do not count.
    """
    squares = sum(float(((side - side.mean(axis=0)) ** 2).sum()) for side in (u_p, u_q))
    deviation = np.sqrt(squares / ((len(u_p) + len(u_q)) * u_p.shape[1]))
    return float(deviation * min(len(u_p), len(u_q)) ** (-1 / (u_p.shape[1] + 4)))


def log_densities(points: _Array, sample: _Array, widths: _Array, *, own: NDArray[np.intp] | None = None) -> _Array:
    """Log of the mean of Gaussian kernels around a sample, without the factor (2 pi)^(-d / 2) h^-d.

    Parameters
    ----------
    points, sample : (r, c), (n, c) array
    widths : (w,) array
        Bandwidths h.
    own : (r,) array of int, optional
        Index of each point in the sample, to leave it out.

    Returns
    -------
    (w, r) float64 array
        In nats, finite; the largest term is factored out of the sum, so nothing underflows.
    """
    squares, centres = (np.einsum("ij,ij->i", side, side) for side in (points, sample))
    logs = np.empty((len(widths), len(points)))
    for part in _checks.row_blocks(len(points), BLOCK):
        halves = (squares[part, None] + centres) / 2 - points[part] @ sample.T
        np.maximum(halves, 0.0, out=halves)
        if own is not None:
            halves[np.arange(len(halves)), own[part]] = np.inf
        least = halves.min(axis=1)
        halves -= least[:, None]
        for row, width in enumerate(widths):
            with np.errstate(under="ignore"):
                sums = np.exp(halves / -(width**2)).sum(axis=1)
            logs[row, part] = np.log(sums) - least / width**2
    return np.asarray(logs - np.log(len(sample) - (own is not None)))


def _bandwidth(u_p: _Array, u_q: _Array, bandwidth: float | str) -> tuple[float, str]:
    """The bandwidth and, if it was not given, a note on the choice."""
    if not isinstance(bandwidth, str):
        return _checks.positive("The bandwidth", bandwidth), ""
    if bandwidth not in BANDWIDTHS:
        raise InputError(
            "Unknown bandwidth",
            allowed=f"a positive number, {' or '.join(BANDWIDTHS)}",
            received=repr(bandwidth),
        )
    scott = scott_bandwidth(u_p, u_q)
    if scott**2 <= LEAST_VARIANCE * np.concatenate([u_p, u_q]).var(axis=0).mean():
        raise InputError(
            "No bandwidth suits sides without spread",
            allowed="rows that differ within a side",
            todo="Give a bandwidth, or compare texts that differ",
        )
    if bandwidth == "scott":
        return scott, " by Scott's rule"
    octaves = _least_loss(u_p, u_q, scott)
    edge = ", at an end of the range" if octaves in _OCTAVES else ""
    return float(scott * 2**octaves), f" by leave-one-out log loss, {2**octaves:.3g} times Scott's rule{edge}"


def _least_loss(u_p: _Array, u_q: _Array, unit: float) -> float:
    """Bandwidth of the least log loss, as log2 of its ratio to ``unit``."""
    low, high = _OCTAVES
    coarse = np.arange(low, high + _COARSE / 2, _COARSE)
    best = coarse[_log_losses(u_p, u_q, unit * 2**coarse).argmin()]
    fine = np.arange(max(low, best - _COARSE), min(high, best + _COARSE) + _FINE / 2, _FINE)
    losses = _log_losses(u_p, u_q, unit * 2**fine)
    place = int(losses.argmin())
    if place in (0, len(fine) - 1):
        return float(fine[place])
    before, least, after = losses[place - 1 : place + 2]
    slope, bend = after - before, after - 2 * least + before
    return float(fine[place] - (_FINE / 2 * slope / bend if bend > 0 else 0.0))


def _log_losses(u_p: _Array, u_q: _Array, widths: _Array) -> _Array:
    """(w,) log loss of the probability that a point belongs to its side, the point left out: the mean of both sides."""
    losses = np.zeros(len(widths))
    for own, other in ((u_p, u_q), (u_q, u_p)):
        judged = np.unique(np.linspace(0, len(own) - 1, min(len(own), _JUDGED)).astype(np.intp))
        points = own[judged]
        odds = log_densities(points, own, widths, own=judged) - log_densities(points, other, widths)
        losses += np.logaddexp(0.0, -odds).mean(axis=1) / 2
    return losses


FOLDS = 5
# Inverse strengths of the quadratic penalty for cross-validation. In these units the paper's range, 1/n to 1e-3/n on
# the mean loss, is 1 to 1000; with fewer texts than features, stronger penalties work better.
PENALTIES = tuple(float(c) for c in np.logspace(-6, 3, 10))
ITERATIONS = 2000


def classifier_ratios(
    x_p: ArrayLike,
    x_q: ArrayLike,
    *,
    penalties: Sequence[float] = PENALTIES,
    seed: int | np.random.SeedSequence,
) -> LogRatios:
    """log p / q at the texts of a random half of each side, from a classifier trained on the other halves.

    Features are centered and divided by one number, their overall standard deviation in the training half. The penalty
    then means the same for every encoder, and rotating the features changes nothing.

    Parameters
    ----------
    x_p, x_q : (n, d) and (m, d) array
        Features of the human side and of the candidate, ten rows or more each.
    penalties : sequence of float > 0
        Inverse strengths to choose from.
    seed : int or numpy.random.SeedSequence
        Decides the halves and folds; a given sequence is not changed.

    Returns
    -------
    LogRatios
        at_p of length n - n // 2 and at_q of length m - m // 2, in the texts' order; finite.

    Raises
    ------
    InputError
        Features are not usable or all equal, there are too few texts, or a penalty is not positive.
    """
    left, right = _checks.two_samples(x_p, x_q, least_p=2 * FOLDS, least_q=2 * FOLDS, names=NAMES)
    strengths = [_checks.positive("The inverse strength of the penalty", strength) for strength in penalties]
    if not strengths:
        raise InputError("No penalty to choose from was given", allowed="one or more")
    halves = [
        _halves(len(side), stream)
        for side, stream in zip((left, right), _checks.seed_sequence(seed).spawn(2), strict=True)
    ]
    learned = np.concatenate([side[half[0]] for side, half in zip((left, right), halves, strict=True)])
    centre = learned.mean(axis=0, dtype=np.float64)
    deviation = np.sqrt(np.mean((learned - centre) ** 2))
    if deviation**2 <= LEAST_VARIANCE * np.mean(centre**2):
        raise InputError("All features are equal, so there is nothing to learn", allowed="texts that differ")
    sizes = [len(half[0]) for half in halves]
    log_odds, notes = _fit_classifier((learned - centre) / deviation, sizes, strengths)
    prior = np.log(sizes[1] / sizes[0])
    at_p, at_q = (
        log_odds((side[half[1]] - centre) / deviation) + prior for side, half in zip((left, right), halves, strict=True)
    )
    return LogRatios(at_p, at_q, (f"learned from {sizes[0]} points of P and {sizes[1]} of Q", *notes))


def _halves(n: int, seed: np.random.SeedSequence) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Training rows, in random order, and test rows, in their own order."""
    order = np.random.default_rng(seed).permutation(n)
    return order[: n // 2], np.sort(order[n // 2 :])


def _fit_classifier(
    x: _Array, sizes: list[int], strengths: list[float]
) -> tuple[Callable[[_Array], _Array], tuple[str, ...]]:
    """Fit to rows, humans first: a function that gives the log odds of being human, and notes on the fit."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegressionCV

    fold_of = np.concatenate([np.arange(size) % FOLDS for size in sizes])  # the rows are in random order
    model = LogisticRegressionCV(
        Cs=strengths,
        cv=[(np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(FOLDS)],
        scoring="neg_log_loss",
        l1_ratios=(0.0,),
        max_iter=ITERATIONS,
        use_legacy_attributes=False,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(x, np.repeat([1, 0], sizes))
    notes = [f"inverse penalty {float(model.C_):.4g} by {FOLDS}-fold log loss"]
    if any(issubclass(item.category, ConvergenceWarning) for item in caught):
        notes.append(f"a fit stopped after {ITERATIONS:,} iterations")
    return model.decision_function, tuple(notes)


# Draws from each Gaussian, B in equation 46.
DRAWS = 10_000
# Added to every variance, in units of the mean variance of the union. The paper adds nothing; without it a side with
# fewer texts than components, or with copies alone, has no density.
RIDGE = 1e-6


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
        See :func:`mauve_core.estimators.ratios.principal_coordinates`; two rows or more on each side.
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
    fits = [_fit_gaussian(side, added, whose) for side, whose in ((u_p, "human"), (u_q, "candidate's"))]
    sides = []
    for (mean, factor), stream in zip(fits, _checks.seed_sequence(seed).spawn(2), strict=True):
        points = mean + np.random.default_rng(stream).standard_normal((draws, len(mean))) @ factor.T
        log_p, log_q = (_log_density(points, *fit) for fit in fits)
        sides.append(log_p - log_q)
    return LogRatios(sides[0], sides[1], (note, f"{draws:,} draws from each side"))


def _fit_gaussian(side: _Array, added: float, whose: str) -> tuple[_Array, _Array]:
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
