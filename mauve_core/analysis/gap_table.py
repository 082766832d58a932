"""The frontier integral as a ledger over clusters, and the few clusters that make up most of the gap.

The ledger has one table for what the model adds and one for what it misses. A table of the costliest clusters sums up
the others of its direction in one more row, so that both tables together add up to the frontier integral.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mauve_core.analysis.cluster_names import labelled
from mauve_core.analysis.cluster_table import ADDS, MISSES, has_found
from mauve_core.analysis.what_if import text_weights
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.scoring.result import Partition
from mauve_core.stats.divergences import score_counts
from mauve_core.stats.what_if import Step, dropped, matched, weighted_counts

DIRECTIONS = (ADDS, MISSES)

# Clusters of a direction that have a row of their own.
MOST_SHOWN = 12

# Cluster number of a row that sums up several clusters.
TOGETHER = -1


def ledger_rows(table: pd.DataFrame, direction: str, most: int = MOST_SHOWN) -> pd.DataFrame:
    """Return the costliest clusters of one direction, and the sum of its others.

    Parameters
    ----------
    table : DataFrame
        From ``mauve_core.analysis.cluster_table.with_intervals``.
    direction : {"adds", "misses"}
        Clusters of which the model writes more than people do, or less.
    most : int
        Clusters with a row of their own.

    Returns
    -------
    DataFrame
        cluster (``TOGETHER`` for a sum), clusters (how many the row covers), cost, share (of the frontier integral),
        low, high (of the share; NaN for a sum), human, model (counts), and the columns of texts found, if the table has
        them. The costliest first, then one row with the rest, if there is one. The costs of both directions sum to the
        frontier integral.
    """
    own = np.flatnonzero(table["direction"].to_numpy() == direction)
    columns = {
        "cluster": table["cluster"].to_numpy(),
        "clusters": np.ones(len(table), dtype=np.int64),
        "cost": table["cost"].to_numpy(),
        "share": table["cost_share"].to_numpy(),
        "low": table["low"].to_numpy(),
        "high": table["high"].to_numpy(),
        "human": table["human"].to_numpy(),
        "model": table["model"].to_numpy(),
    }
    counts = ["human", "model"]
    if has_found(table):
        counts += ["found_human", "found_model"]
        columns |= {name: table[name].to_numpy() for name in counts}
    order = own[np.lexsort((columns["cluster"][own], -columns["cost"][own]))]
    shown, rest = order[:most], order[most:]
    sums = [_together(columns, rest, counts)] if rest.size else []
    return pd.DataFrame(
        {
            name: np.append(values[shown], np.array([each[name] for each in sums], dtype=values.dtype))
            for name, values in columns.items()
        }
    )


def _together(columns: dict[str, NDArray[Any]], indices: NDArray[np.intp], counts: Sequence[str]) -> dict[str, float]:
    summed = {name: columns[name][indices].sum() for name in ("clusters", "cost", "share", *counts)}
    return {"cluster": TOGETHER, "low": np.nan, "high": np.nan, **summed}


def row_labels(rows: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Return row titles: a cluster's name and number, or how many are summed up."""
    parts = zip(rows["cluster"].tolist(), rows["clusters"].tolist(), strict=True)
    return [
        labelled(names, int(cluster)) if cluster != TOGETHER else f"{int(number)} more" for cluster, number in parts
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
        From ``mauve_core.stats.what_if.greedy`` on the counts of ``shown``.
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
