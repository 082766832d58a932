"""Maximum mean discrepancy between two samples: with a Gaussian kernel, and with the cubic one of the KID.

Gretton et al., *A Kernel Two-Sample Test*, JMLR 2012: MMD^2 = E k(x, x') + E k(y, y') - 2 E k(x, y), the squared
distance between the means in the space of the kernel. The Gaussian kernel exp(-|x - y|^2 / (2 h^2)) has the median
distance between two texts as h, and is compared with that of humans against humans. The kernel distance (kernel
Inception distance of images: Bińkowski et al., *Demystifying MMD GANs*, ICLR 2018, section 4) has (x y / d + 1)^3 for d
features; unlike the Fréchet distance it does not grow with fewer texts. Reference implementations average over random
subsets; here all pairs are taken, which has the same mean and no chance. Kernel values are computed in blocks of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks
from mauve_core.stats.resampling import draw_splits

# Rows whose kernel values are held at once.
BLOCK = 512

# Most texts for the median distance; from more, a sample of this size is drawn.
MEDIAN_TEXTS = 2000

# Most texts of both sides whose distances are kept while texts are left out: 0.3 GB, and twice that in passing.
DISTANCES_LIMIT = 6000


@dataclass(frozen=True)
class Mmd:
    """MMD^2 between P and Q.

    Attributes
    ----------
    value : float
        Unbiased estimate (U-statistic): about 0 for equal sources, below 0 as often as above.
    biased : float
        Biased estimate (V-statistic): the squared distance between the samples' means, in [0, 2].
    null_mean, null_sd : float
        Mean and standard deviation of the unbiased estimate between random halves of P, scaled to n and m texts.
    z : float
        (value - null_mean) / null_sd. Mean 0 and standard deviation about 1 for equal sources, with a longer right
        tail than a normal variable.
    bandwidth : float
        h, in the unit of the features.
    n, m : int
        Texts of P and of Q.
    splits : int
        Random halves behind the null.
    notes : tuple of str
        Says if the bandwidth is from a sample of the texts.
    """

    value: float
    biased: float
    null_mean: float
    null_sd: float
    z: float
    bandwidth: float
    n: int
    m: int
    splits: int
    notes: tuple[str, ...] = ()


def mmd(
    x_p: ArrayLike,
    x_q: ArrayLike,
    *,
    bandwidth: float | None = None,
    splits: int = 200,
    seed: int | np.random.SeedSequence,
) -> Mmd:
    """MMD^2 of P and Q, with that of humans against humans.

    For equal sources, the variance of the unbiased estimate from a and b texts is proportional to 2 / (a
    (a - 1)) + 4 / (a b) + 2 / (b (b - 1)) (Gretton et al., 2012, section 5). This scales halves of P to n and m.

    Parameters
    ----------
    x_p, x_q : (n, d), (m, d) array
        At least four human and two candidate texts.
    bandwidth : float > 0, optional
        By default :func:`median_bandwidth`.
    splits : int
        Random halves of P, at least 2.
    seed : int or numpy.random.SeedSequence
        Seed of the halves and of the sample for the median.

    Returns
    -------
    Mmd

    Raises
    ------
    InputError
        The features do not fit together, the human texts are all equal, or a setting is out of range.
    """
    x = _pooled(x_p, x_q, least_p=4, least_q=2)
    n, m = len(np.asarray(x_p)), len(np.asarray(x_q))
    splits = _checks.whole("The number of splits", splits, low=2)
    of_median, of_splits = _checks.seed_sequence(seed).spawn(2)
    notes: tuple[str, ...] = ()
    if bandwidth is None:
        width = median_bandwidth(x_p, x_q, seed=of_median)
        if n + m > MEDIAN_TEXTS:
            notes = (
                f"the bandwidth is the median distance among {MEDIAN_TEXTS} of the {n + m} points, drawn at random",
            )
    else:
        width = _checks.positive("The bandwidth", bandwidth)
    human = np.arange(n + m)[None] < n
    value, biased = (float(part[0]) for part in discrepancies(_gaussian_kernel_rows(x, width), human, ~human))
    half = n // 2
    parts = draw_splits(n, half, splits, np.random.default_rng(of_splits))
    values = discrepancies(_gaussian_kernel_rows(x[:n], width), *parts)[0] * np.sqrt(
        _spread(n, m) / _spread(half, half)
    )
    null_mean, null_sd = float(values.mean()), float(values.std(ddof=1))
    if null_sd == 0:
        raise InputError("Halves of the human texts do not differ", allowed="human texts that are not all equal")
    return Mmd(value, biased, null_mean, null_sd, (value - null_mean) / null_sd, width, n, m, splits, notes)


def mmd_left_out(
    x_p: ArrayLike,
    x_q: ArrayLike,
    row_pairs: Sequence[tuple[NDArray[np.integer], NDArray[np.integer]]],
    *,
    seed: int | np.random.SeedSequence,
) -> NDArray[np.float64]:
    """The unbiased estimate on subsets of both sides, each with its own bandwidth, from distances computed once.

    Parameters
    ----------
    x_p, x_q : (n, d), (m, d) array
    row_pairs : sequence of (rows of x_p, rows of x_q)
        The subsets; at least two texts of each side.
    seed : int or numpy.random.SeedSequence
        As in :func:`mmd`: the same seed draws the same texts for a bandwidth.

    Returns
    -------
    (len(row_pairs),) float64 array
        ``mmd(x_p[rows], x_q[columns], seed=seed).value``, up to rounding. Above :data:`DISTANCES_LIMIT` texts, each
        subset computes its distances anew.

    Raises
    ------
    InputError
        See :func:`median_bandwidth`.
    """
    x, n = _pooled(x_p, x_q, least_p=2, least_q=2), len(np.asarray(x_p))
    few = len(x) <= DISTANCES_LIMIT
    distances = _squared_distances(x) if few else np.empty((0, 0))
    of_median = _checks.seed_sequence(seed).spawn(2)[0]
    values = np.empty(len(row_pairs))
    for index, (rows_p, rows_q) in enumerate(row_pairs):
        rows = np.concatenate([rows_p, rows_q + n])
        human = np.arange(rows.size)[None] < len(rows_p)
        if min(len(rows_p), len(rows_q)) < 2:
            raise InputError("A side has too few texts", allowed="two or more of each side")
        drawn = _for_median(rows.size, of_median)
        if few:
            width = _median(distances[np.ix_(rows[drawn], rows[drawn])])
            with np.errstate(under="ignore"):
                kernel = np.exp(distances[np.ix_(rows, rows)] / (-2 * width**2))
            blocks: Iterable[tuple[slice, NDArray[np.float64]]] = [(slice(0, rows.size), kernel)]
        else:
            part = x[rows] - x[rows].mean(axis=0)
            width = _median(_squared_distances(part[drawn]))
            blocks = _gaussian_kernel_rows(part, width)
        values[index] = discrepancies(blocks, human, ~human)[0][0]
    return values


def median_bandwidth(x_p: ArrayLike, x_q: ArrayLike, *, seed: int | np.random.SeedSequence) -> float:
    """The median distance between two texts of both sides together.

    Parameters
    ----------
    x_p, x_q : (n, d), (m, d) array
    seed : int or numpy.random.SeedSequence
        Draws a sample without replacement if there are more than :data:`MEDIAN_TEXTS` texts; otherwise unused.

    Returns
    -------
    float
        Positive, in the unit of the features.

    Raises
    ------
    InputError
        The features do not fit together, or the median is 0 because most texts are equal.
    """
    x = _pooled(x_p, x_q)
    return _median(_squared_distances(x[_for_median(len(x), seed)]))


def _for_median(n: int, seed: int | np.random.SeedSequence) -> NDArray[np.int64]:
    """Rows, out of n texts, for the median."""
    if n <= MEDIAN_TEXTS:
        return np.arange(n)
    return np.random.default_rng(_checks.seed_sequence(seed).spawn(1)[0]).choice(n, MEDIAN_TEXTS, replace=False)


def _median(squared: NDArray[np.float64]) -> float:
    """The median distance between two texts, from squared distances (n, n)."""
    from scipy.spatial.distance import squareform

    median = float(np.median(np.sqrt(squareform(squared, checks=False))))
    if median == 0:
        raise InputError(
            "The median distance between texts is 0",
            allowed="at least half of the pairs of texts with different features",
            todo="Give a bandwidth, or leave out duplicate texts",
        )
    return median


def _squared_distances(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N, N) squared distances, summed from differences, so exactly 0 between equal rows."""
    from scipy.spatial.distance import pdist, squareform

    return np.asarray(squareform(pdist(x, "sqeuclidean")), dtype=np.float64)


def discrepancies(
    rows: Iterable[tuple[slice, NDArray[np.float64]]], first: NDArray[np.bool_], second: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unbiased and biased MMD^2 for each of the (s, N) choices of both sides, from blocks of rows of a kernel matrix.

    The unbiased one is NaN if a side has one row.
    """
    sides = np.concatenate([first, second]).T.astype(np.float64)
    a, b = first.sum(axis=1), second.sum(axis=1)
    if min(a.min(), b.min()) < 1:
        raise InputError("A side has no rows", allowed="at least one row of each side")
    choices = len(first)
    own, across = np.zeros(2 * choices), np.zeros(choices)
    diagonal = np.zeros(2 * choices)
    for rows_of_block, block in rows:
        sums, members = block @ sides, sides[rows_of_block]
        own += (members * sums).sum(axis=0)
        across += (members[:, :choices] * sums[:, choices:]).sum(axis=0)
        diagonal += np.diagonal(block, offset=rows_of_block.start) @ members
    biased = own[:choices] / a**2 + own[choices:] / b**2 - 2 * across / (a * b)
    pairs = own - diagonal
    with np.errstate(divide="ignore", invalid="ignore"):
        unbiased = pairs[:choices] / (a * (a - 1)) + pairs[choices:] / (b * (b - 1)) - 2 * across / (a * b)
    unbiased[(a < 2) | (b < 2)] = np.nan
    return unbiased, biased


def _gaussian_kernel_rows(x: NDArray[np.float64], bandwidth: float) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Blocks of rows of the kernel matrix of (N, d) points near the origin."""
    norms = np.einsum("ij,ij->i", x, x)
    for rows in _checks.row_blocks(len(x), BLOCK):
        squared = np.maximum(norms[rows, None] + norms - 2 * (x[rows] @ x.T), 0.0)
        squared[np.arange(rows.stop - rows.start), np.arange(rows.start, rows.stop)] = 0.0
        with np.errstate(under="ignore"):
            yield rows, np.exp(squared / (-2 * bandwidth**2))


def _spread(a: int, b: int) -> float:
    """Variance of the unbiased estimate for equal sources, up to a factor that depends on kernel and source alone."""
    return 2 / (a * (a - 1)) + 4 / (a * b) + 2 / (b * (b - 1))


def _pooled(x_p: ArrayLike, x_q: ArrayLike, *, least_p: int = 1, least_q: int = 1) -> NDArray[np.float64]:
    """(n + m, d) float64 features of both sides about their common mean, which minimizes rounding of distances."""
    pooled = np.concatenate(_checks.wide_samples(x_p, x_q, least_p=least_p, least_q=least_q))
    return np.asarray(pooled - pooled.mean(axis=0))


DEGREE = 3


def kernel_distance(x_p: ArrayLike, x_q: ArrayLike) -> float:
    """The unbiased estimate: about 0 for equal sources, below 0 as often as above.

    It depends on the unit and the origin of the features, so values compare only within one feature space.

    Parameters
    ----------
    x_p, x_q : (n, d), (m, d) array
        At least two texts of each side.

    Raises
    ------
    InputError
        The features do not fit together, or a side has fewer than two texts.
    """
    n, m = (len(np.asarray(x)) for x in (x_p, x_q))
    return float(kernel_distances(x_p, x_q, [(np.arange(n), np.arange(m))])[0])


def kernel_distances(
    x_p: ArrayLike, x_q: ArrayLike, parts: Sequence[tuple[NDArray[np.integer], NDArray[np.integer]]]
) -> NDArray[np.float64]:
    """The same between subsets of the two samples, from kernel values that are computed once.

    Parameters
    ----------
    x_p, x_q : (n, d), (m, d) array
    parts : sequence of (rows of x_p, rows of x_q)
        Distinct rows, at least two of each side.

    Returns
    -------
    (len(parts),) float64 array

    Raises
    ------
    InputError
        As :func:`kernel_distance`.
    """
    x = np.concatenate(_checks.wide_samples(x_p, x_q, least_p=2, least_q=2))
    n = len(np.asarray(x_p))
    if any(min(len(rows), len(columns)) < 2 for rows, columns in parts):
        raise InputError("A side has too few texts", allowed="two or more of each side")
    of_p, of_q = np.zeros((2, len(parts), len(x)), dtype=np.bool_)
    for index, (rows, columns) in enumerate(parts):
        of_p[index, rows], of_q[index, n + np.asarray(columns)] = True, True
    return discrepancies(_cubic_kernel_rows(x), of_p, of_q)[0]


def _cubic_kernel_rows(x: NDArray[np.float64]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    for rows in _checks.row_blocks(len(x), BLOCK):
        yield rows, (x[rows] @ x.T / x.shape[1] + 1) ** DEGREE
