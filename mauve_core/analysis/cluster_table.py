"""Cluster table: counts of two sides over clusters, behind the histogram, the detail panel and the map's log ratio.

p is the human share of a cluster, q the candidate's. The cost of a cluster is its part of the frontier integral
(JMLR 2023, section 3.2), (p + q) / 2 - p q / (p - q) log(p / q) (``stats.divergences.integral_terms``): 0 if
p = q, otherwise positive, whichever side has more. Costs sum to the frontier integral, so their shares sum to 1. The
terms of the two errors at one mixture weight (``error_shares`` in the same module; JMLR 2023, section 3.1) can be
negative and offset each other, so they are given in nats, not as shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.scoring.result import Partition
from mauve_core.stats.divergences import error_shares, integral_terms, probabilities

CONFIDENCE = 0.95
# Direction of a cluster: the model writes more of it than people do, or less.
ADDS, MISSES = "adds", "misses"

# Columns by which the histogram can be sorted, as far as a table has them; all descending but the cluster number.
ORDERS = {
    "cost": "Cost",
    "difference": "Difference p − q",
    "p": "Human share p",
    "q": "Model share q",
    "type_1_nats": "Type I error",
    "type_2_nats": "Type II error",
    "found": "Texts found",
    "cluster": "Cluster number",
}


def cluster_table(human: ArrayLike, model: ArrayLike, weight: float, smoothing: str = "none") -> pd.DataFrame:
    """Return a table with one row per cluster.

    Parameters
    ----------
    human, model : (k,) arrays of int
        Number of each side's texts in each cluster; neither side is empty.
    weight : float in (0, 1)
        Weight of P in the mixture R.
    smoothing : str
        A key of ``mauve_core.stats.divergences.SMOOTHINGS``. Applies to costs and errors; p and q are
        plain shares of the counts.

    Returns
    -------
    DataFrame
        cluster, human, model (counts), p, q, difference (p - q), log2_ratio (of shares with Krichevsky-Trofimov
        smoothing, so that an empty side stays finite), cost (part of the frontier integral, >= 0), cost_share (the
        same as a share of it, 0 to 1; 0 if it is 0), direction (``ADDS`` if q > p, ``MISSES`` if p > q, each smoothed
        as in the cost; empty if they are equal), type_1_nats, type_2_nats (the cluster's terms of KL(Q|R) and KL(P|R):
        negative where q, or p, is below the mixture).

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
    errors, costs = error_shares(*sides, weight), integral_terms(*sides)
    return pd.DataFrame(
        {
            "cluster": np.arange(counts[0].size),
            "human": counts[0],
            "model": counts[1],
            "p": p,
            "q": q,
            "difference": p - q,
            "log2_ratio": np.log2(smooth_p / smooth_q),
            "cost": costs,
            "cost_share": of_total(costs),
            "direction": np.select([sides[1] > sides[0], sides[0] > sides[1]], [ADDS, MISSES], ""),
            "type_1_nats": errors[0],
            "type_2_nats": errors[1],
        }
    )


def with_intervals(table: pd.DataFrame, low: NDArray[np.float64], high: NDArray[np.float64]) -> pd.DataFrame:
    """Add low and high, the ends of each cluster's interval of ``cost_share`` (``analysis.cost_intervals``).

    Tables of gaps that are no larger than chance (``mauve_core.analysis.gap_test``) do without, and nothing shows
    their costs.
    """
    return table.assign(low=low, high=high)


def with_found(
    table: pd.DataFrame, partition: Partition, candidate: str, found: Mapping[str, NDArray[np.bool_]]
) -> pd.DataFrame:
    """Add the texts of a search in each cluster: ``found_human``, ``found_model``, and ``found`` of both sides.

    ``found`` says by source which of its texts were found.
    """
    human, model = (
        np.bincount(partition.labels[name][found[name]], minlength=partition.k) for name in (HUMAN, candidate)
    )
    return table.assign(found_human=human, found_model=model, found=human + model)


def has_found(table: pd.DataFrame) -> bool:
    """Whether the table has the columns of :func:`with_found`."""
    return "found" in table.columns


def has_costs(table: pd.DataFrame) -> bool:
    """Whether costs may be shown: only with the intervals of :func:`with_intervals`."""
    return {"low", "high"} <= set(table.columns)


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


def of_total(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """(..., k) costs as shares of their sum; 0 if the sum is 0."""
    total = costs.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(costs, total, out=np.zeros_like(costs), where=total > 0))
