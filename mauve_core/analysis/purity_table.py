"""Clusters by their purity in one column: the most frequent value of each, and its share with an interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from mauve_core.analysis.cluster_table import wilson_interval
from mauve_core.base.errors import InputError
from mauve_core.stats.attributes import purity
from mauve_core.texts.metadata import is_missing


def purest_clusters(labels: ArrayLike, k: int, cells: NDArray[Any]) -> pd.DataFrame:
    """Return every cluster that has a text with a value, the purest first.

    Clusters are sorted by the lower end of the interval, so that a cluster of one text does not lead.

    Parameters
    ----------
    labels : (n,) array of int
        Cluster of each text, 0 to k - 1.
    k : int
    cells : (n,) object array
        Value of each text, None if it has none.

    Returns
    -------
    DataFrame
        cluster, value (its most frequent, as text; ties go to the value that is more frequent in all texts), count
        (texts here with that value), n (texts here with a value), share (count / n), low, high (Wilson's 95 % interval
        of the share, as if the value had been chosen beforehand), of_all (share of the value in all texts).

    Raises
    ------
    InputError
        Arrays that do not fit each other, or no text with a value.
    """
    clusters = np.asarray(labels)
    if clusters.shape != cells.shape:
        raise InputError("Labels and values do not match", allowed=f"{cells.shape}", received=f"{clusters.shape}")
    present = np.array([not is_missing(cell) for cell in cells.tolist()], dtype=bool)
    if not present.any():
        raise InputError("No text has a value", allowed="at least one value that is not missing")
    names, codes, totals = np.unique([str(cell) for cell in cells[present]], return_inverse=True, return_counts=True)
    order = np.argsort(-totals, kind="stable")
    codes = np.argsort(order)[codes.ravel()]
    found = purity(clusters[present], k, codes)
    sizes = np.bincount(clusters[present], minlength=k)
    filled = np.flatnonzero(sizes)
    top, n = found.top[filled], sizes[filled]
    count = np.rint(found.by_cluster[filled] * n).astype(np.int64)
    low, high = wilson_interval(count, n)
    table = pd.DataFrame(
        {
            "cluster": filled,
            "value": [str(names[order[code]]) for code in top],
            "count": count,
            "n": n,
            "share": count / n,
            "low": low,
            "high": high,
            "of_all": found.share[top],
        }
    )
    return table.sort_values(["low", "n", "cluster"], ascending=[False, False, True], ignore_index=True)
