"""Cluster table: counts of two sides over clusters, behind the histogram, the detail panel and the map's log ratio.

p is the human share of a cluster, q the candidate's. A cluster's share of an error is its own term of the divergence
(``mauve_core.numerics.divergences.kl.error_shares``; JMLR 2023, section 3.1) over the divergence. Shares sum to 1; a
share is negative if that side is below the mixture.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from mauve_core.base.errors import InputError
from mauve_core.numerics.divergences.kl import error_shares, mixture_errors
from mauve_core.numerics.divergences.smoothing import probabilities

CONFIDENCE = 0.95
REPLICATES = 400
"""Resamples for the intervals of the error shares: enough for two digits of a 95 % interval."""

ORDERS = {
    "difference": "Difference p − q",
    "p": "Human share p",
    "q": "Model share q",
    "type_1": "Type I error",
    "type_2": "Type II error",
    "cluster": "Cluster number",
}
"""Columns by which the histogram can be sorted; all descending except the cluster number."""

MIXTURE_MARGIN = 0.01
"""Pages keep this distance from weights 0 and 1, where an error can be infinite and its shares mean nothing."""


def cluster_table(human: ArrayLike, model: ArrayLike, weight: float, smoothing: str = "none") -> pd.DataFrame:
    """Return a table with one row per cluster.

    Parameters
    ----------
    human, model : (k,) arrays of int
        Number of each side's texts in each cluster; neither side is empty.
    weight : float in (0, 1)
        Weight of P in the mixture R.
    smoothing : str
        A key of ``mauve_core.numerics.divergences.smoothing.SMOOTHINGS``. Applies to the errors; p and q are plain
        shares of the counts.

    Returns
    -------
    DataFrame
        cluster, human, model (counts), p, q, difference (p - q), log2_ratio (of shares with Krichevsky-Trofimov
        smoothing, so that an empty side stays finite), type_1_nats, type_2_nats (the cluster's terms of KL(Q|R) and
        KL(P|R): negative where q, or p, is below the mixture), type_1, type_2 (the same as shares of the two
        divergences; 0 if an error is 0, and far beyond ±1 if the histograms nearly agree).

    Raises
    ------
    InputError
        Counts of different length, an empty side, or a weight outside (0, 1).
    """
    counts = [np.asarray(side, dtype=np.int64) for side in (human, model)]
    if not 0 < weight < 1:
        raise InputError("The mixture weight is not usable", allowed="a number between 0 and 1", received=repr(weight))
    p, q = (probabilities(side) for side in counts)
    smooth_p, smooth_q = (probabilities(side, "krichevsky-trofimov") for side in counts)
    sides = probabilities(counts[0], smoothing), probabilities(counts[1], smoothing)
    errors, totals = error_shares(*sides, weight), mixture_errors(*sides, weight, 1 - weight)
    return pd.DataFrame(
        {
            "cluster": np.arange(counts[0].size),
            "human": counts[0],
            "model": counts[1],
            "p": p,
            "q": q,
            "difference": p - q,
            "log2_ratio": np.log2(smooth_p / smooth_q),
            "type_1_nats": errors[0],
            "type_2_nats": errors[1],
            "type_1": _of_total(errors[0], totals[0]),
            "type_2": _of_total(errors[1], totals[1]),
        }
    )


def ordered(table: pd.DataFrame, order: str) -> pd.DataFrame:
    """Sort the rows by a column of ``ORDERS``, descending (the cluster number: ascending), ties by number."""
    return table.sort_values([order, "cluster"], ascending=[order == "cluster", True], ignore_index=True)


def wilson_interval(
    count: ArrayLike, n: ArrayLike, confidence: float = CONFIDENCE
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the score interval of a share (Wilson 1927): it stays in [0, 1] and has width even at 0 and n.

    Parameters
    ----------
    count : (...) array of int, 0 to n
    n : (...) array of int > 0
    confidence : float in (0, 1)

    Returns
    -------
    low, high : (...) float64 arrays
    """
    counts, n = np.asarray(count, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if (n <= 0).any() or (counts < 0).any() or (counts > n).any():
        raise InputError("A share needs a count between 0 and n > 0", received=f"n = {n}")
    z2 = float(ndtri((1 + confidence) / 2)) ** 2
    centre = (counts + z2 / 2) / (n + z2)
    half = np.sqrt(z2 * (counts * (n - counts) / n + z2 / 4)) / (n + z2)
    low = np.where(counts == 0, 0.0, np.clip(centre - half, 0, 1))
    return low, np.where(counts == n, 1.0, np.clip(centre + half, 0, 1))


def resampled_counts(
    human: ArrayLike, model: ArrayLike, *, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (REPLICATES, k) histograms of resamples of each side's texts."""
    drawn = []
    for side, stream in zip((human, model), np.random.SeedSequence(seed).spawn(2), strict=True):
        counts = np.asarray(side, dtype=np.int64)
        drawn.append(np.random.default_rng(stream).multinomial(counts.sum(), probabilities(counts), size=REPLICATES))
    return drawn[0], drawn[1]


def error_intervals(
    human: ArrayLike,
    model: ArrayLike,
    weight: float,
    smoothing: str = "none",
    *,
    resampled: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Compute bootstrap intervals over texts of each cluster's shares of the two errors, with fixed clusters.

    A share is a term over an error. A replicate is its linearization at the estimate, share + (term - share x error) /
    estimated error, because two resamples that nearly agree have a tiny error, and dividing by it means nothing.
    Intervals are centered, see ``mauve_core.numerics.resampling.bootstrap.centred_interval``.

    Parameters
    ----------
    human, model, weight, smoothing
        As in :func:`cluster_table`.
    resampled : two (REPLICATES, k) int64 arrays, optional
        From :func:`resampled_counts` of the same counts; they serve every weight and smoothing.

    Returns
    -------
    dict
        "type_1" and "type_2" -> (low, high), each (k,), shares of the error, at ``CONFIDENCE``; 0 if an error is 0.
    """
    sides = probabilities(human, smoothing), probabilities(model, smoothing)
    estimates, totals = error_shares(*sides, weight), mixture_errors(*sides, weight, 1 - weight)
    p, q = (probabilities(draws, smoothing) for draws in resampled or resampled_counts(human, model))
    replicates, errors = error_shares(p, q, weight), mixture_errors(p, q, weight, 1 - weight)
    intervals = {}
    for index, name in enumerate(("type_1", "type_2")):
        total, shares = totals[index], _of_total(estimates[index], totals[index])
        moves = _of_total(replicates[index] - shares * errors[index][:, np.newaxis], total)
        low, high = np.quantile(moves, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
        intervals[name] = (shares + low - moves.mean(axis=0), shares + high - moves.mean(axis=0))
    return intervals


def value_counts(human: pd.Series | None, model: pd.Series | None, in_human: Any, in_model: Any) -> pd.DataFrame:
    """Count each value of a metadata column inside a cluster, and in all texts of each side.

    Parameters
    ----------
    human, model : Series or None
        The column on each side; None if that side has no such column.
    in_human, in_model : arrays of int
        Rows of the cluster's texts on each side.

    Returns
    -------
    DataFrame
        value (text, "(missing)" for a gap), human, all_human, model, all_model (counts); only values found in the
        cluster, the most frequent first, ties in alphabetical order.
    """
    columns = {}
    for name, series, rows in (("human", human, in_human), ("model", model, in_model)):
        values = pd.Series([], dtype=object) if series is None else series.astype(object)
        texts = values.map(lambda value: "(missing)" if pd.isna(value) else str(value))
        inside = texts.iloc[np.asarray(rows, dtype=np.intp)] if series is not None else texts
        columns[name], columns[f"all_{name}"] = inside.value_counts(), texts.value_counts()
    table = pd.DataFrame(columns).fillna(0).astype(int).rename_axis("value").reset_index()
    table = table[(table["human"] + table["model"]) > 0]
    table["sum"] = table["human"] + table["model"]
    table = table.sort_values(["sum", "value"], ascending=[False, True], ignore_index=True)
    return table[["value", "human", "all_human", "model", "all_model"]]


def _of_total(terms: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    return terms / total if total > 0 else np.zeros_like(terms)
