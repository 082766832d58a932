"""Unit rows and principal components on a device; see :mod:`mauve_core.numerics.feature_space.reduction`.

Moments are summed in float64, as there. The components always come from the covariance: where there are fewer rows than
columns, NumPy decomposes the rows themselves, which keeps more digits of components that explain next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.numerics.device.memory import DeviceTable, device_work, in_blocks, torch_device
from mauve_core.numerics.feature_space.reduction import (
    ROWS_SUMMED,
    Projection,
    Reduced,
    Side,
    check_share,
    components_for,
    rank_of,
)
from mauve_core.numerics.feature_space.stacked import Stacked, require_usable, stacked

if TYPE_CHECKING:
    from torch import Tensor


def measure_side_on(
    device: str,
    x: ArrayLike | Stacked,
    *,
    name: str = "features",
    reference: NDArray[np.float64] | None = None,
    fit_rows: NDArray[np.integer] | None = None,
    common_length: float | None = None,
) -> Side:
    """:func:`mauve_core.numerics.feature_space.reduction.measure_side` on a device, where the rows stay if they fit."""
    import torch

    table = stacked(x, name=name)
    place = torch_device(device)
    with device_work(place):
        rows = DeviceTable(table, place)
        lengths = _lengths(rows, common_length)
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
    """:func:`mauve_core.numerics.feature_space.reduction.reduce_sides` on a device, where the coordinates stay.

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
            _project(rows, inverse, center, narrow, out=found[start : start + len(rows)])
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


def _project(rows: DeviceTable, inverse: Tensor, mean: Tensor, axes: Tensor, out: Tensor) -> None:
    """Fill ``out`` with the coordinates of the rows, each divided by its length."""

    def project(part: slice) -> None:
        out[part] = (rows.block(part) * inverse[part, None] - mean) @ axes

    in_blocks(project, len(rows), 4 * (2 * len(axes) + axes.shape[1]))


def _lengths(rows: DeviceTable, common_length: float | None) -> Tensor | None:
    """(n,) float64 numbers by which the rows are divided; None if a row is not finite, or zero."""
    import torch

    found = torch.empty(len(rows), dtype=torch.float64, device=rows.device)

    def measure(part: slice) -> None:
        found[part] = rows.block(part).double().square_().sum(1).sqrt_()

    in_blocks(measure, len(rows), 2 * 8 * rows.table.shape[1])
    if not bool((torch.isfinite(found) & (found > 0)).all()):
        return None
    return found if common_length is None else torch.full_like(found, common_length)
