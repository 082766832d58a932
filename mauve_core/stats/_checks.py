"""Checks of arguments, shared by stats, clusters and estimators."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError

# Tolerance for the sum of a distribution: room for the rounding of a million additions, not for a mistake.
SUM_TOLERANCE = 1e-9

# Rows converted to float64 at once.
ROWS_AT_ONCE = 4096

# Names of the human features and the candidate's in errors.
NAMES = "features of P", "features of Q"

# Most rows that an error names; it counts further ones.
ROWS_SHOWN = 5


def distributions(p: ArrayLike, q: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``p`` and ``q`` as float64 arrays of one shape (..., k), each row a probability vector.

    Raises
    ------
    InputError
        Rows are not finite, negative, or do not sum to 1 within 1e-9, or shapes do not broadcast over the same bins.
    """
    left, right = _distribution(p, "p"), _distribution(q, "q")
    if left.shape[-1] != right.shape[-1]:
        raise InputError(
            "p and q have different numbers of bins",
            allowed="two histograms over the same bins",
            received=f"{left.shape[-1]} and {right.shape[-1]} bins",
        )
    try:
        left, right = np.broadcast_arrays(left, right)
    except ValueError as error:
        raise InputError(
            "The leading axes of p and q do not match",
            allowed="shapes that broadcast",
            received=f"{left.shape} and {right.shape}",
        ) from error
    return left, right


def features(x: ArrayLike, *, least_rows: int = 1, name: str = "features") -> NDArray[np.float32]:
    """``x``, which errors call ``name``, as an (n, d) float32 array of finite numbers.

    Raises
    ------
    InputError
        The array is not two-dimensional, has no columns or too few rows, or numbers are not finite (names rows).
    """
    array = numbers(x, f"The array of {name}")
    require_table(array, name)
    require_rows(len(array), least_rows, name)
    with np.errstate(over="ignore"):
        array = array.astype(np.float32, copy=False)
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        raise not_finite(name, name_rows(~finite))
    return array


def require_table(array: NDArray[np.generic], name: str) -> None:
    """InputError unless the array, which the error calls ``name``, has two dimensions and columns."""
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(
            f"The {name} do not form a table with one row per text",
            allowed="an array of shape (n, d) with d at least 1",
            received=f"shape {array.shape}",
        )


def require_rows(rows: int, least: int, name: str) -> None:
    """InputError for a table of fewer than ``least`` rows."""
    if rows < least:
        raise InputError(
            f"Too few rows of {name}", allowed=f"at least {least}", received=str(rows), todo="Give more texts"
        )


def not_finite(name: str, where: str) -> InputError:
    """The error for a table with such values in the rows that ``where`` names."""
    return InputError(
        f"The {name} hold values that are not finite in float32 (NaN, infinite or beyond 3e38)",
        allowed="finite numbers",
        received=f"such values in {where}",
        todo="Encode those texts again, or leave them out",
    )


def two_samples(
    x_p: ArrayLike, x_q: ArrayLike, *, least_p: int = 1, least_q: int = 1, names: tuple[str, str] = NAMES
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The features of the human side and of the candidate, which errors call ``names``, as float32 tables.

    Raises
    ------
    InputError
        As :func:`features` for either side, or the dimensions differ.
    """
    left = features(x_p, least_rows=least_p, name=names[0])
    right = features(x_q, least_rows=least_q, name=names[1])
    if left.shape[1] != right.shape[1]:
        raise InputError(
            "The two samples have different dimensions",
            allowed="features of one encoder",
            received=f"{left.shape[1]} and {right.shape[1]}",
        )
    return left, right


def wide_samples(
    x_p: ArrayLike, x_q: ArrayLike, *, least_p: int = 1, least_q: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """:func:`two_samples` in float64, with the original digits."""
    two_samples(x_p, x_q, least_p=least_p, least_q=least_q)
    return np.asarray(x_p, dtype=np.float64), np.asarray(x_q, dtype=np.float64)


def mixture_weights(weights: ArrayLike) -> NDArray[np.float64]:
    """(m,) float64 weights of P in a mixture; InputError unless they increase within [0, 1]."""
    grid = numbers(weights, "The array of mixture weights").astype(np.float64)
    inside = grid.ndim == 1 and grid.size > 0 and grid[0] >= 0 and grid[-1] <= 1
    if not inside or not (np.diff(grid) > 0).all():
        raise InputError("The mixture weights are not usable", allowed="increasing numbers from 0 to 1")
    return grid


def numbers(values: ArrayLike, what: str) -> NDArray[np.floating]:
    """``values`` as a real array: float32 and float64 stay, integers and booleans become float64."""
    array = np.asarray(real_numbers(values, what))
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def real_numbers(values: ArrayLike, what: str) -> NDArray[np.generic]:
    """``values`` as an array of any real type; a memory map stays one."""
    try:
        array = np.asanyarray(values)
    except ValueError as error:
        raise InputError(f"{what} is ragged", allowed="rows of equal length") from error
    if array.dtype.kind not in "fiub":
        raise InputError(f"{what} does not hold real numbers", allowed="real numbers", received=f"dtype {array.dtype}")
    return array


def positive(name: str, value: float) -> float:
    """``value`` as a positive finite float."""
    if not 0 < value < np.inf:
        raise InputError(f"{name} is not usable", allowed="a positive finite number", received=repr(value))
    return float(value)


def whole(name: str, value: int, *, low: int) -> int:
    """``value`` as an int of at least ``low``; rejects booleans and fractions."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < low:
        raise InputError(f"{name} is not usable", allowed=f"a whole number of at least {low}", received=repr(value))
    return int(value)


def row_blocks(n: int, size: int = ROWS_AT_ONCE) -> list[slice]:
    """Slices of at most ``size`` rows that cover n rows in order."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def name_rows(chosen: NDArray[np.bool_]) -> str:
    """``row 3`` or ``7 rows (0, 1, 2, 3, 4, ...)``: the true rows of ``chosen``, counted from 0."""
    rows = np.flatnonzero(chosen)
    shown = ", ".join(str(row) for row in rows[:ROWS_SHOWN])
    if rows.size == 1:
        return f"row {shown}"
    return f"{rows.size} rows ({shown}{', ...' if rows.size > ROWS_SHOWN else ''})"


def _distribution(values: ArrayLike, name: str) -> NDArray[np.float64]:
    array = numbers(values, name).astype(np.float64, copy=False)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InputError(f"{name} has no bins", allowed="an array of shape (..., k)", received=f"shape {array.shape}")
    if not np.isfinite(array).all() or (array < 0).any():
        raise InputError(f"{name} is not a distribution", allowed="finite numbers that are not negative")
    sums = array.sum(axis=-1)
    if array.size and np.abs(sums - 1).max() > SUM_TOLERANCE:
        worst = float(sums.flat[int(np.abs(sums - 1).argmax())])
        raise InputError(
            f"{name} is not a distribution",
            allowed="numbers that sum to 1 over the last axis",
            received=f"a sum of {worst:.12g}",
            todo="Turn counts into probabilities with mauve_core.stats.divergences.probabilities",
        )
    return array


def seed_sequence(seed: int | np.random.SeedSequence) -> np.random.SeedSequence:
    """A copy of the sequence: spawning from the caller's own would change the next call."""
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    return np.random.SeedSequence(whole("The seed", seed, low=0))


def require_device(device: str) -> None:
    """InputError if torch cannot compute on ``device``."""
    import torch

    try:
        torch.zeros(1, device=device) + 1
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InputError(
            "The device is not usable",
            allowed="a device that torch can use here, such as cpu or cuda",
            received=repr(device),
        ) from error
