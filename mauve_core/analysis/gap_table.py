"""The two errors as a ledger over clusters, and the few clusters that make up most of the gap.

Shares of divergence are as in ``mauve_core.analysis.cluster_table``: they sum to the error and may be negative. A
table of the largest shares sums up the others in separate rows, so that the rows add up to the total.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from mauve_core.analysis.what_if import text_weights
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.numerics.divergences.greedy import Step
from mauve_core.numerics.divergences.kl import mixture_errors
from mauve_core.numerics.divergences.scores import score_counts
from mauve_core.numerics.divergences.smoothing import probabilities
from mauve_core.numerics.divergences.what_if import dropped, matched, weighted_counts
from mauve_core.scoring.result import Partition

ERRORS = ("type_1", "type_2")

MOST_SHOWN = 12
"""Clusters of an error that have a row of their own."""

TOGETHER = -1
"""Cluster number of a row that sums up several clusters."""


def error_totals(
    human: ArrayLike, model: ArrayLike, weight: float, smoothing: str = "none"
) -> dict[str, NDArray[np.float64]]:
    """Return both errors of one or many pairs of histograms, in nats: "type_1" KL(Q|R) and "type_2" KL(P|R), (...).

    Parameters
    ----------
    human, model : (..., k) arrays of int
        Number of each side's texts in each cluster.
    weight : float in (0, 1)
        Weight of P in the mixture R.
    smoothing : str
        A key of ``mauve_core.numerics.divergences.smoothing.SMOOTHINGS``.
    """
    p, q = probabilities(human, smoothing), probabilities(model, smoothing)
    return dict(zip(ERRORS, mixture_errors(p, q, weight, 1 - weight), strict=True))


def ledger_rows(
    table: pd.DataFrame,
    error: str,
    intervals: tuple[NDArray[np.float64], NDArray[np.float64]],
    most: int = MOST_SHOWN,
) -> pd.DataFrame:
    """Return the clusters that add most to an error, and sums of the others.

    Parameters
    ----------
    table : DataFrame
        From ``mauve_core.analysis.cluster_table.cluster_table``.
    error : {"type_1", "type_2"}
    intervals : two (k,) arrays
        Lower and upper end of each cluster's share of the error.
    most : int
        Clusters with a row of their own.

    Returns
    -------
    DataFrame
        cluster (``TOGETHER`` for a sum), clusters (how many the row covers), nats, share (of the error), low, high (of
        the share; NaN for a sum), human, model (counts). The largest first, then the rest that adds to the error, then
        the rest that offsets part of it. nats sum to the error.
    """
    nats = table[f"{error}_nats"].to_numpy()
    columns = {
        "cluster": table["cluster"].to_numpy(),
        "clusters": np.ones(nats.size, dtype=np.int64),
        "nats": nats,
        "share": table[error].to_numpy(),
        "low": intervals[0],
        "high": intervals[1],
        "human": table["human"].to_numpy(),
        "model": table["model"].to_numpy(),
    }
    order = np.lexsort((columns["cluster"], -nats))
    shown, rest = order[:most], order[most:]
    sums = [_together(columns, part) for part in (rest[nats[rest] >= 0], rest[nats[rest] < 0]) if part.size]
    return pd.DataFrame(
        {
            name: np.append(values[shown], np.array([each[name] for each in sums], dtype=values.dtype))
            for name, values in columns.items()
        }
    )


def _together(columns: dict[str, NDArray[Any]], indices: NDArray[np.intp]) -> dict[str, float]:
    summed = {name: columns[name][indices].sum() for name in ("clusters", "nats", "share", "human", "model")}
    return {"cluster": TOGETHER, "low": np.nan, "high": np.nan, **summed}


def row_labels(rows: pd.DataFrame) -> list[str]:
    """Return row names: a cluster's number, or how many are summed up and whether they add or offset."""
    parts = zip(*(rows[name].tolist() for name in ("cluster", "clusters", "nats")), strict=True)
    return [
        str(int(cluster)) if cluster != TOGETHER else f"{int(number)} {'more' if nats >= 0 else 'that offset it'}"
        for cluster, number, nats in parts
    ]


def step_rows(
    steps: Sequence[Step],
    partitions: Sequence[Partition],
    shown: Partition,
    candidate: str,
    *,
    action: str,
    score: str,
    scale: float,
    smoothing: str,
) -> pd.DataFrame:
    """Return the greedy list as a table, with the spread over the k-means seeds.

    The list comes from one partition. Weighting the same texts in the other partitions shows how much of the gain
    depends on one clustering's borders.

    Parameters
    ----------
    steps : sequence of Step
        From ``mauve_core.numerics.divergences.greedy.greedy`` on the counts of ``shown``.
    partitions : sequence of Partition
        One per seed, including ``shown``.
    action : {"match", "drop"}
    score : str
        The score that the list was made by.

    Returns
    -------
    DataFrame
        step (0: unchanged), cluster (``TOGETHER`` at step 0), filled, closed (share of the gap), every score by name
        in ``shown``; mean, sd of ``score`` over the seeds. mean and sd are NaN from the first cluster without
        candidate texts, which no weights can fill; sd is NaN with one seed.
    """
    p, q = shown.counts(HUMAN), shown.counts(candidate)
    first = {name: float(value) for name, value in score_counts(p, q, scale=scale, smoothing=smoothing).items()}
    rows: list[dict[str, object]] = [{"step": 0, "cluster": TOGETHER, "filled": False, "closed": 0.0, **first}]
    for number, step in enumerate(steps, start=1):
        rows.append(
            {"step": number, "cluster": step.cluster, "filled": step.filled, "closed": step.closed, **step.scores}
        )
    weights = [_weights_after(steps[:index], p, q, action) for index in range(len(rows))]
    spreads = _spreads(weights, partitions, shown, candidate, score, scale=scale, smoothing=smoothing)
    return pd.DataFrame(rows).assign(mean=[mean for mean, _ in spreads], sd=[sd for _, sd in spreads])


def _weights_after(
    steps: Sequence[Step], p: NDArray[np.int64], q: NDArray[np.int64], action: str
) -> NDArray[np.float64] | None:
    """Return the (k,) weights of the candidate's texts after these steps; None if no weights achieve them."""
    clusters = [step.cluster for step in steps]
    if action == "drop":
        return dropped(p.size, clusters)
    try:
        return matched(p, q, clusters)
    except InputError:
        return None


def _spreads(
    weights: Sequence[NDArray[np.float64] | None],
    partitions: Sequence[Partition],
    shown: Partition,
    candidate: str,
    score: str,
    *,
    scale: float,
    smoothing: str,
) -> list[tuple[float, float]]:
    """Return the score's mean and standard deviation over the seeds, under each of the weights; NaN for None."""
    usable = [index for index, each in enumerate(weights) if each is not None]
    texts = np.stack([text_weights(shown, candidate, each) for each in weights if each is not None])
    human = np.stack([part.counts(HUMAN) for part in partitions])
    model = np.stack([weighted_counts(part.labels[candidate], part.k, texts) for part in partitions], axis=1)
    values = score_counts(human, model, scale=scale, smoothing=smoothing)[score]
    found = [(np.nan, np.nan)] * len(weights)
    for index, each in zip(usable, values, strict=True):
        found[index] = float(each.mean()), float(each.std(ddof=1)) if len(partitions) > 1 else np.nan
    return found
