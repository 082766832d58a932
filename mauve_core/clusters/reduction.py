"""Reduce features for clustering to unit rows and principal components: on the host, on a device, or piece by piece.

The stacked features of both sides are normalized to unit length and projected on the fewest principal components that
explain 90 % of the variance, as in the reference package. NeurIPS 2021, appendix C.3, describes the other order,
``unit_rows="after"``: rows are divided by one common length, projected, and scaled to unit length at the end, so that
the common length changes no result.

The components come from the covariance, a sum over rows in float64. Each side takes one pass over blocks, so a human
side compared with many candidates is read once for all. :class:`Moments` are these sums for features that are never
together in one place. With fewer rows than columns NumPy decomposes the rows, which keeps more digits of components
that explain next to nothing; a device always takes the covariance, and the rows stay there if they fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh_tridiagonal, lapack

from mauve_core.base.errors import InputError
from mauve_core.clusters.devices import DeviceTable, device_work, in_blocks, torch_device
from mauve_core.clusters.features import Stacked, require_usable, stacked
from mauve_core.clusters.lloyd import ROWS_AT_ONCE
from mauve_core.stats import _checks
from mauve_core.stats.threads import parallel_map, single_threaded_blas

if TYPE_CHECKING:
    from torch import Tensor


# When rows are scaled to unit length: before or after they are projected.
UnitRows = Literal["before", "after"]

# Total variance of unit rows at which float32 cannot distinguish the rows: (about 8 units of rounding) squared.
_LEAST_VARIANCE = 1e-12

# Most rows of one product of the covariance: many, because every product is added to a (d, d) sum.
ROWS_SUMMED = 4096

# Share of all components up to which it is faster to compute the needed ones alone.
_FEW = 1 / 8

# Groups of blocks summed in parallel, and the memory limit of their sums. The number depends on the columns alone, so
# sums do not depend on the number of cores.
_GROUPS, _SCATTER_BYTES = 4, 2**30


@dataclass(frozen=True, eq=False)
class Projection:
    """A fitted projection of features to the space of the clusters.

    Attributes
    ----------
    mean : (d,) float64 array
        Mean of the fitted unit rows.
    axes : (d, c) float64 array
        Orthonormal principal components, largest variance first. The largest entry of each in size is positive.
    explained : float
        Share of the variance of the fitted unit rows that the components keep, in (0, 1].
    common_length : float or None
        None if rows are scaled to unit length before they are projected. Otherwise rows are divided by this number, so
        that "unit rows" above are rows of this length, and scaled to unit length after they are projected.
    """

    mean: NDArray[np.float64]
    axes: NDArray[np.float64]
    explained: float
    common_length: float | None = None

    def transform(self, x: ArrayLike | Stacked) -> NDArray[np.float32]:
        """(n, c) coordinates of the (n, d) features; raises InputError like :func:`reduce_features`."""
        table = require_usable(x, least_rows=0)
        return _coordinates([(table, _divisors(table, self.common_length))], self)


@dataclass(frozen=True, eq=False)
class Reduced:
    """Features in the space of the clusters.

    Attributes
    ----------
    array : (n, c) float32 array
        Centered coordinates, or coordinates of unit length if rows are scaled after they are projected. A tensor on the
        device that computed them.
    projection : Projection
    """

    array: NDArray[np.float32]
    projection: Projection

    def on_host(self) -> NDArray[np.float32]:
        """The coordinates in main memory."""
        return self.array if isinstance(self.array, np.ndarray) else self.array.cpu().numpy()


@dataclass(frozen=True)
class Side:
    """One side's unit rows and their contribution to a covariance.

    Attributes
    ----------
    table : Stacked
        (n, d) features in their original precision.
    lengths : (n,) float64 array
        Lengths of the rows, or the common length.
    reference : (d,) float64 array
        Origin of the moments, near the mean: about zero, their differences would lose digits.
    fitted : Stacked
        Rows that the moments describe.
    total : (d,) float64 array
        Sum of unit rows minus the reference.
    scatter : (d, d) float64 array
        Sum of their outer products.
    common_length : float or None
        As in :class:`Projection`.
    on_device : DeviceTable or None
        The rows on the device where they were measured (:mod:`mauve_core.clusters.reduction`).
    """

    table: Stacked
    lengths: NDArray[np.float64]
    reference: NDArray[np.float64]
    fitted: Stacked
    total: NDArray[np.float64]
    scatter: NDArray[np.float64]
    common_length: float | None = None
    on_device: DeviceTable | None = None


def common_length_of(x: ArrayLike | Stacked, unit_rows: UnitRows, *, name: str = "features") -> float | None:
    """None for "before"; for "after" the mean length of the (n, d) rows, by which all sides are divided."""
    return None if unit_rows == "before" else float(_lengths(require_usable(x, name=name)).mean())


def measure_side(
    x: ArrayLike | Stacked,
    *,
    name: str = "features",
    reference: NDArray[np.float64] | None = None,
    fit_rows: NDArray[np.integer] | None = None,
    common_length: float | None = None,
) -> Side:
    """Lengths and moments of one side, in two passes over its rows and without a copy.

    Parameters
    ----------
    x : (n, d) array or Stacked
    name : str
        Name of the array in errors.
    reference : (d,) float64 array, optional
        That of the other side in the reduction; the mean of the first rows by default.
    fit_rows : (r,) array of int, optional
        Rows that count for the moments; all by default.
    common_length : float, optional
        From :func:`common_length_of`, the same for all sides of a reduction.

    Raises
    ------
    InputError
        The input is not a table, values are not finite, or rows are zero (names rows, from 0).
    """
    table = require_usable(x, name=name)
    lengths = _divisors(table, common_length)
    if reference is None:
        rows = table.block(0, ROWS_SUMMED)
        reference = (rows / lengths[: len(rows), None]).mean(axis=0)
    fitted = table if fit_rows is None else Stacked([table], rows=fit_rows)
    inverse = 1 / (lengths if fit_rows is None else lengths[fit_rows])
    parts = _checks.row_blocks(len(fitted), min(ROWS_SUMMED, -(-len(fitted) // _GROUPS)))

    groups = min(_GROUPS, len(parts), max(1, _SCATTER_BYTES // (8 * table.shape[1] ** 2)))

    def moments(group: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        total, scatter = np.zeros(table.shape[1]), np.zeros((table.shape[1],) * 2)
        for part in parts[group::groups]:
            about = np.multiply(fitted.block(part.start, part.stop), inverse[part, None], dtype=np.float64)
            about -= reference
            total += about.sum(axis=0)
            scatter += about.T @ about  # NumPy sees the one operand and computes half of it
        return total, scatter

    moments_by_group = parallel_map(moments, range(groups))
    total = np.sum([total for total, _ in moments_by_group], axis=0)
    scatter = np.sum([scatter for _, scatter in moments_by_group], axis=0)
    return Side(table, lengths, reference, fitted, total, scatter, common_length)


def reduce_features(
    x: ArrayLike | Stacked,
    *,
    explained_variance: float = 0.9,
    fit_rows: NDArray[np.integer] | None = None,
    unit_rows: UnitRows = "before",
    device: str = "cpu",
) -> Reduced:
    """Normalize rows to unit length and keep the fewest principal components that reach a share of the variance.

    Parameters
    ----------
    x : (n, d) array or Stacked
        Features of all sides stacked, n at least 2.
    explained_variance : float in (0, 1]
        Share of the variance to reach; 1 keeps every component with variance.
    fit_rows : (r,) array of int, optional
        Rows whose mean and variance decide the components; all by default. Every row is projected.
    unit_rows : {"before", "after"}
        Whether rows are scaled to unit length before or after they are projected. After it, a row at the mean stays at
        the origin.
    device : str
        As in :func:`mauve_core.clusters.k_means.kmeans`.

    Returns
    -------
    Reduced

    Raises
    ------
    InputError
        Values are not finite (names rows), rows are zero (names them), or all rows are equal.
    """
    check_share(explained_variance)
    table = stacked(x)
    _checks.require_rows(len(table), 2, "features")
    length = common_length_of(table, unit_rows)
    measure = measure_side
    if device != "cpu":
        measure = partial(measure_side_on, device)
    side = measure(table, fit_rows=fit_rows, common_length=length)
    return reduce_sides([side], explained_variance=explained_variance, device=device)


def reduce_sides(sides: Sequence[Side], *, explained_variance: float = 0.9, device: str = "cpu") -> Reduced:
    """:func:`reduce_features` of several sides, in order; each may take part in any number of such calls.

    Parameters
    ----------
    sides : sequence of Side
        With one common reference, one common length or none, and together at least 2 rows.
    explained_variance : float in (0, 1]
    device : str
        Where the sides were measured.

    Raises
    ------
    InputError
        All rows are equal, or the share is out of range.
    """
    if device != "cpu":
        return reduce_sides_on(device, sides, explained_variance=explained_variance)
    check_share(explained_variance)
    with single_threaded_blas():
        mean, variances, directions = _principal_axes(sides, explained_variance)
    components, explained = components_for(variances, explained_variance, sum(len(side.fitted) for side in sides))
    projection = Projection(mean, oriented(directions[:, :components]), explained, sides[0].common_length)
    return Reduced(_coordinates([(side.table, side.lengths) for side in sides], projection), projection)


def oriented(directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """The (d, c) directions, each with the sign that makes its largest entry in size positive."""
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])]
    return directions * np.where(largest < 0, -1.0, 1.0)


def components_for(variances: NDArray[np.float64], explained_variance: float, n: int) -> tuple[int, float]:
    """Fewest components that reach a share of the variance of n rows, and the share that they reach.

    Raises
    ------
    InputError
        All rows are equal.
    """
    total = float(variances.sum())
    if total <= _LEAST_VARIANCE:
        raise InputError(
            "All features are equal, so there is nothing to compare",
            allowed="texts that differ",
            received=f"{n} rows in one direction",
            todo="Check that the texts of both sides are not copies of a single text",
        )
    shares = np.cumsum(variances) / total
    # The last share is 1 up to rounding; a tiny slack keeps explained_variance=1 from asking for too much.
    components = min(int(np.searchsorted(shares, explained_variance - 1e-12)) + 1, len(shares))
    return components, float(min(shares[components - 1], 1.0))


def check_share(explained_variance: float) -> None:
    """InputError unless the share of variance is in (0, 1]."""
    if not 0 < explained_variance <= 1:
        raise InputError(
            "The share of variance is not usable", allowed="a number in (0, 1]", received=repr(explained_variance)
        )


def scatter_axes(
    scatter: NDArray[np.float64], n: int, share: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Variances (largest first) and directions (d, r) from the (d, d) sum of outer products of n centered rows.

    Directions that are not needed to reach the share of the variance may be left out.
    """
    # By Cauchy and Schwarz, the largest c variances are at most sqrt(c) times the root of the sum of all their squares.
    fewest = (share * np.trace(scatter)) ** 2 / max(float((scatter**2).sum()), np.finfo(np.float64).tiny)
    if share < 1 and fewest <= _FEW * len(scatter):
        values, vectors = _leading(scatter, n, share)
    else:
        values, vectors = np.linalg.eigh(scatter)
    return _with_variance(np.maximum(values[::-1], 0.0), vectors[:, ::-1], n)


def _leading(scatter: NDArray[np.float64], n: int, share: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """As ``np.linalg.eigh``, with the vectors of the largest values alone that :func:`components_for` asks for."""
    d = len(scatter)
    reflectors, diagonal, beside, factors, _ = lapack.dsytrd(scatter, lower=1, lwork=64 * d)
    values = eigh_tridiagonal(diagonal, beside, eigvals_only=True, lapack_driver="sterf")
    count, _ = components_for(np.maximum(values[::-1], 0.0) / n, share, n)
    chosen = {"select": "i", "select_range": (d - count, d - 1)}
    try:
        vectors = eigh_tridiagonal(diagonal, beside, lapack_driver="stemr", **chosen)[1]
    except np.linalg.LinAlgError:  # many equal variances
        return np.linalg.eigh(scatter)
    turned, _, _ = lapack.dormqr("L", "N", reflectors[1:, :-1], factors, vectors[1:], lwork=64 * count)
    return values, np.concatenate([vectors[:1], turned])


def row_axes(centred: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same from (n, d) centered rows, for fewer rows than columns."""
    _, singular, transposed = np.linalg.svd(centred, full_matrices=False)
    return _with_variance(singular**2, transposed.T, len(centred))


def _with_variance(
    values: NDArray[np.float64], directions: NDArray[np.float64], n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rank = rank_of(values, max(n, len(directions)))
    return values[:rank] / n, directions[:, :rank]


def rank_of(values: NDArray[np.float64], size: int) -> int:
    """Variances, largest first, that are more than rounding in a matrix whose longer side is ``size``; at least 1."""
    return max(1, int((values > values[0] * size * np.finfo(np.float64).eps).sum()))


def _coordinates(tables: Sequence[tuple[Stacked, NDArray[np.float64]]], projection: Projection) -> NDArray[np.float32]:
    """Coordinates of all rows of tables with their lengths, in float32, as precise as a unit row's own rounding."""
    offsets = np.cumsum([0, *(len(table) for table, _ in tables)])
    array = np.empty((offsets[-1], projection.axes.shape[1]), dtype=np.float32)
    axes, mean = projection.axes.astype(np.float32), projection.mean.astype(np.float32)

    def project(index: int, part: slice) -> None:
        table, lengths = tables[index]
        about = table.block(part.start, part.stop) * (1 / lengths[part, None]).astype(np.float32)
        about -= mean
        rows = array[offsets[index] + part.start : offsets[index] + part.stop]
        np.matmul(about, axes, out=rows)
        if projection.common_length is not None:
            norms = np.linalg.norm(rows, axis=1, keepdims=True)
            np.divide(rows, norms, out=rows, where=norms > 0)

    parallel_map(
        lambda task: project(*task),
        [(index, part) for index, (table, _) in enumerate(tables) for part in _parts(table)],
    )
    return array


def _parts(table: Stacked) -> list[slice]:
    return _checks.row_blocks(len(table), ROWS_AT_ONCE)


def _divisors(table: Stacked, common_length: float | None) -> NDArray[np.float64]:
    """(n,) numbers by which the rows are divided before they are projected."""
    return _lengths(table) if common_length is None else np.full(len(table), common_length)


def _lengths(table: Stacked) -> NDArray[np.float64]:
    def lengths(part: slice) -> NDArray[np.float64]:
        rows = table.block(part.start, part.stop)
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64)))

    return np.concatenate([np.zeros(0), *parallel_map(lengths, _parts(table))])


def _principal_axes(
    sides: Sequence[Side], share: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mean (d,), variances (largest first) and directions (d, r), as many as the share asks for, in float64."""
    n, d = sum(len(side.fitted) for side in sides), len(sides[0].reference)
    shift = np.sum([side.total for side in sides], axis=0) / n
    mean = sides[0].reference + shift
    if n >= d:
        scatter = np.sum([side.scatter for side in sides], axis=0) - n * np.outer(shift, shift)
        return mean, *scatter_axes(scatter, n, share)
    rows = np.concatenate([side.fitted.block(0, len(side.fitted)) for side in sides]).astype(np.float64)
    divisors = sides[0].common_length or np.linalg.norm(rows, axis=1, keepdims=True)
    return mean, *row_axes(rows / divisors - mean)


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over n rows of d features, about the origin and in float64: of unit rows, or of rows as they are.

    Attributes
    ----------
    n : int
    length : float
        Sum of the lengths of the rows.
    total : (d,) float64 array
    scatter : (d, d) float64 array
        Sum of the outer products.
    """

    n: int
    length: float
    total: NDArray[np.float64]
    scatter: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.floating], unit_rows: UnitRows, *, name: str = "features") -> Moments:
        """Return the moments of (n, d) features; of unit rows for "before", of rows as they are for "after".

        Raises
        ------
        InputError
            Values are not finite, or rows are zero (names rows, from 0).
        """
        table = require_usable(rows, name=name)
        d = table.shape[1]
        length, total, scatter = 0.0, np.zeros(d), np.zeros((d, d))
        with single_threaded_blas():
            for _, block in table.blocks(ROWS_SUMMED):
                part = block.astype(np.float64)
                norms = np.linalg.norm(part, axis=1)
                if unit_rows == "before":
                    part /= norms[:, None]
                length += float(norms.sum())
                total += part.sum(axis=0)
                scatter += part.T @ part
        return cls(len(table), length, total, scatter)


def added(moments: Iterable[Moments]) -> Moments:
    """Return the moments of all rows together, added in the given order.

    Raises
    ------
    InputError
        Rows have different widths.
    """
    total: Moments | None = None
    for one in moments:
        if total is None:
            total = Moments(one.n, one.length, one.total.copy(), one.scatter.copy())
            continue
        if one.total.size != total.total.size:
            raise InputError(
                "Shards have features of different width",
                allowed=f"{total.total.size} columns in each",
                received=str(one.total.size),
            )
        total.total[:] += one.total
        total.scatter[:] += one.scatter
        total = Moments(total.n + one.n, total.length + one.length, total.total, total.scatter)
    if total is None:
        raise InputError("There are no features to reduce")
    return total


def projection_from(moments: Moments, explained_variance: float, common_length: float | None = None) -> Projection:
    """Return the projection on the fewest principal components that keep a share of the variance.

    Parameters
    ----------
    moments : Moments
        Of all rows; of rows as they are if there is a common length.
    explained_variance : float in (0, 1]
    common_length : float, optional
        As in :class:`mauve_core.clusters.reduction.Projection`.

    Raises
    ------
    InputError
        All rows are equal, or the share is out of range.
    """
    check_share(explained_variance)
    length = common_length or 1.0
    mean = moments.total / moments.n / length
    with single_threaded_blas():
        scatter = moments.scatter / length**2 - moments.n * np.outer(mean, mean)
        variances, directions = scatter_axes(scatter, moments.n, explained_variance)
    components, explained = components_for(variances, explained_variance, moments.n)
    return Projection(mean, oriented(directions[:, :components]), explained, common_length)


def measure_side_on(
    device: str,
    x: ArrayLike | Stacked,
    *,
    name: str = "features",
    reference: NDArray[np.float64] | None = None,
    fit_rows: NDArray[np.integer] | None = None,
    common_length: float | None = None,
) -> Side:
    """:func:`mauve_core.clusters.reduction.measure_side` on a device, where the rows stay if they fit."""
    import torch

    table = stacked(x, name=name)
    place = torch_device(device)
    with device_work(place):
        rows = DeviceTable(table, place)
        lengths = _lengths_on(rows, common_length)
        if lengths is None:
            require_usable(table, name=name)  # says which rows are not finite, or zero
            raise AssertionError("the device and the host disagree about rows")  # pragma: no cover
        if reference is None:
            first = rows.block(slice(0, ROWS_SUMMED)).double()
            origin = (first / lengths[: len(first), None]).mean(0)
        else:
            origin = torch.from_numpy(reference).to(place)
        fitted = rows if fit_rows is None else DeviceTable(Stacked([table], rows=fit_rows), place)
        inverse = 1 / (lengths if fit_rows is None else lengths[torch.from_numpy(fit_rows).to(place)])
        total = torch.zeros(table.shape[1], dtype=torch.float64, device=place)
        scatter = torch.zeros((table.shape[1],) * 2, dtype=torch.float64, device=place)

        def add(part: slice) -> None:
            about = fitted.block(part).double().mul_(inverse[part, None]).sub_(origin)
            products, sums = about.T @ about, about.sum(0)
            scatter.add_(products)
            total.add_(sums)

        in_blocks(add, len(fitted), 3 * 8 * table.shape[1])
        return Side(
            table,
            lengths.cpu().numpy(),
            origin.cpu().numpy(),
            fitted.table,
            total.cpu().numpy(),
            scatter.cpu().numpy(),
            common_length,
            on_device=rows,
        )


def reduce_sides_on(device: str, sides: Sequence[Side], *, explained_variance: float = 0.9) -> Reduced:
    """:func:`mauve_core.clusters.reduction.reduce_sides` on a device, where the coordinates stay.

    ``sides`` are from :func:`measure_side_on` with the same device.
    """
    import torch

    check_share(explained_variance)
    place = torch_device(device)
    n = sum(len(side.fitted) for side in sides)
    shift = np.sum([side.total for side in sides], axis=0) / n
    covariance = np.sum([side.scatter for side in sides], axis=0) - n * np.outer(shift, shift)
    with device_work(place):
        values, vectors = torch.linalg.eigh(torch.from_numpy(covariance).to(place))
        variances = np.maximum(values.cpu().numpy()[::-1], 0.0) / n
        rank = rank_of(variances, max(n, len(variances)))
        components, explained = components_for(variances[:rank], explained_variance, n)
        axes = with_signs(vectors.flip(1)[:, :components])
        mean = sides[0].reference + shift
        projection = Projection(mean, axes.cpu().numpy(), explained, sides[0].common_length)
        center, narrow = torch.from_numpy(mean.astype(np.float32)).to(place), axes.float()
        found = torch.empty((sum(len(side.table) for side in sides), components), dtype=torch.float32, device=place)
        start = 0
        for side in sides:
            rows = side.on_device or DeviceTable(side.table, place)
            inverse = torch.from_numpy((1 / side.lengths).astype(np.float32)).to(place)
            _project_on(rows, inverse, center, narrow, out=found[start : start + len(rows)])
            start += len(rows)
        if sides[0].common_length is not None:
            norms = found.norm(dim=1, keepdim=True)
            found.div_(torch.where(norms > 0, norms, 1.0))
        return Reduced(cast("NDArray[np.float32]", found), projection)  # as its docstring says


def with_signs(axes: Tensor) -> Tensor:
    """(d, c) axes whose largest entries are positive, as on every device."""
    import torch

    largest = axes.gather(0, axes.abs().argmax(0, keepdim=True))
    return axes * torch.where(largest < 0, -1.0, 1.0)


def _project_on(rows: DeviceTable, inverse: Tensor, mean: Tensor, axes: Tensor, out: Tensor) -> None:
    """Fill ``out`` with the coordinates of the rows, each divided by its length."""

    def project(part: slice) -> None:
        out[part] = (rows.block(part) * inverse[part, None] - mean) @ axes

    in_blocks(project, len(rows), 4 * (2 * len(axes) + axes.shape[1]))


def _lengths_on(rows: DeviceTable, common_length: float | None) -> Tensor | None:
    """(n,) float64 numbers by which the rows are divided; None if a row is not finite, or zero."""
    import torch

    found = torch.empty(len(rows), dtype=torch.float64, device=rows.device)

    def measure(part: slice) -> None:
        found[part] = rows.block(part).double().square_().sum(1).sqrt_()

    in_blocks(measure, len(rows), 2 * 8 * rows.table.shape[1])
    if not bool((torch.isfinite(found) & (found > 0)).all()):
        return None
    return found if common_length is None else torch.full_like(found, common_length)
