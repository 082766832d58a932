"""Data frames with the numbers that the app shows: scores, tests of pairs, clusters, ledger, texts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mauve_core.analyses.gap import DIRECTIONS, MOST_SHOWN, TOGETHER, ledger_rows
from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.findings.clusters import cluster_table, costed_table, exchange_rate, gap_test, ordered
from mauve_core.findings.precomputed import run_cluster_names, run_exchange_rate, run_gap_test, run_why_source
from mauve_core.findings.why_cards import central_texts
from mauve_core.runs import Run
from mauve_core.scoring.result import Comparison, Partition
from mauve_core.stats.scores import SCORES
from mauve_core.texts.metadata import python_values

if TYPE_CHECKING:
    import pandas as pd


# Weight of P in the mixture at which the errors of a cluster are given.
WEIGHT = 0.5

PAIRS = (
    "first",
    "second",
    "score",
    "difference",
    "low",
    "high",
    "p_value",
    "p_adjusted",
    "detectable",
    "told_apart",
    "paired",
    "n",
)
# How the columns of metadata begin, before the field's name.
METADATA = "metadata."

COSTS = ("cost", "cost_share", "low", "high")


def scores(comparison: Comparison) -> pd.DataFrame:
    """Return every score of every candidate, a row for each.

    Returns
    -------
    DataFrame
        candidate, score, partition ("pairwise" or "joint"), mean, sd (over k-means seeds; NaN with one seed), low, high
        (bootstrap interval over texts), n (texts of the candidate).
    """
    import pandas as pd

    rows = [
        {
            "candidate": candidate.name,
            "score": name,
            "partition": kind,
            "mean": estimate.mean,
            "sd": np.nan if estimate.sd is None else estimate.sd,
            "low": estimate.low,
            "high": estimate.high,
            "n": candidate.source.n_scored,
        }
        for candidate in comparison.candidates
        for kind, estimates in (("pairwise", candidate.scores), ("joint", candidate.joint_scores))
        for name in SCORES
        if (estimate := estimates.get(name)) is not None
    ]
    return pd.DataFrame(rows)


def pairs(comparison: Comparison) -> pd.DataFrame:
    """Return the tests of every two candidates under every score, a row for each.

    Returns
    -------
    DataFrame
        first, second, score, difference (first minus second), low, high, p_value, p_adjusted (Holm, over the pairs),
        detectable (true difference found with probability .8), told_apart, paired (whether the two have units in
        common), n (units in common, or, without any, of both).
    """
    import pandas as pd

    rows = [{name: getattr(each, name) for name in PAIRS} for each in comparison.differences]
    return pd.DataFrame(rows, columns=list(PAIRS))


def clusters(
    of: Comparison | Run,
    candidate: str | None = None,
    *,
    kind: PartitionKind = "pairwise",
    seed: int | None = None,
) -> pd.DataFrame:
    """Return the clusters of a candidate under one partition, those that cost most first.

    Parameters
    ----------
    candidate : str, optional
        May be left out if there is only one.
    seed : int, optional
        Index of a k-means seed; by default that of the median MAUVE, whose clusters the app shows.

    Returns
    -------
    DataFrame
        The columns of ``mauve_core.findings.clusters.cluster_table`` without the errors at a weight, after name
        (made of words of the texts: a comparison has none), with low and high: the simultaneous interval of
        ``cost_share``. Where exchanged texts leave as large a gap (``mauve_core.findings.clusters``), costs and their
        intervals are NaN, and the clusters are ordered by the difference of their shares.

    Raises
    ------
    InputError
        An unknown candidate or seed, or no candidate named where there are several.
    """
    comparison = of.comparison if isinstance(of, Run) else of
    candidate = comparison.the_candidate(candidate).name
    partition = comparison.partition(kind, candidate, seed)
    if not isinstance(of, Run):
        explains = gap_test(of, kind, candidate).explains
        return _cluster_table(of, candidate, partition, exchange_rate(of, kind, candidate) if explains else None)
    explains = run_gap_test(of, kind, candidate).explains
    rate = run_exchange_rate(of, kind, candidate) if explains else None
    table = _cluster_table(comparison, candidate, partition, rate)
    names = run_cluster_names(of, kind, candidate, partition.seed)
    table.insert(1, "name", [names[cluster] for cluster in table["cluster"]])
    return table


def ledger(
    of: Comparison | Run,
    candidate: str | None = None,
    *,
    kind: PartitionKind = "pairwise",
    seed: int | None = None,
    most: int = MOST_SHOWN,
) -> pd.DataFrame:
    """Return the ledger of a candidate's gap: what the model adds and what it misses, as shares of the whole.

    Parameters
    ----------
    most : int
        Clusters of either direction with a row of their own; one more row sums up the others.

    Returns
    -------
    DataFrame
        direction ("adds", "misses"), cluster (missing where a row sums up several), name (as in :func:`clusters`),
        clusters (how many the row covers), cost (part of the frontier integral), share (of the whole, 0 to 1), low,
        high (the simultaneous interval of share; NaN for a sum), human, model (counts). The shares of all rows sum to
        1.

    Raises
    ------
    InputError
        As in :func:`clusters`; or exchanged texts leave as large a gap, so that there is none to explain.
    """
    import pandas as pd

    table = clusters(of, candidate, kind=kind, seed=seed)
    if table["cost"].isna().any():
        comparison = of.comparison if isinstance(of, Run) else of
        tested = gap_test(comparison, kind, comparison.the_candidate(candidate).name)
        raise InputError(tested.in_words(comparison.words).rstrip("."), todo="Look at clusters(), which needs no gap")
    if most < 1:
        raise InputError("most cannot be used", allowed="1 or more clusters", received=str(most))
    parts = [ledger_rows(table, direction, most) for direction in DIRECTIONS]
    rows = pd.concat(parts, ignore_index=True)
    directions = [direction for direction, part in zip(DIRECTIONS, parts, strict=True) for _ in range(len(part))]
    rows.insert(0, "direction", directions)
    if "name" in table.columns:
        names = table.set_index("cluster")["name"]
        rows.insert(2, "name", [names.get(cluster, "") for cluster in rows["cluster"]])
    return rows.assign(cluster=rows["cluster"].astype("Int64").mask(rows["cluster"] == TOGETHER))


def _cluster_table(comparison: Comparison, candidate: str, partition: Partition, rate: float | None) -> pd.DataFrame:
    """Return the clusters with their costs, at that rate of exchanged texts; None leaves the costs out."""
    if rate is None:
        table = cluster_table(partition.counts(HUMAN), partition.counts(candidate), WEIGHT)
        table = ordered(table.assign(**dict.fromkeys(COSTS, np.nan)), "difference")
    else:
        table = costed_table(comparison, partition.kind, candidate, partition.seed, WEIGHT, rate=rate)
        table = ordered(table, "cost")
    return table.drop(columns=["type_1_nats", "type_2_nats"])


def texts(
    run: Run,
    candidate: str | None = None,
    *,
    cluster: int | None = None,
    kind: PartitionKind = "pairwise",
    seed: int | None = None,
    vectors: bool = False,
) -> pd.DataFrame:
    """Return the human texts and a candidate's with their clusters.

    Parameters
    ----------
    candidate : str, optional
        May be left out if there is only one.
    cluster : int, optional
        Only the texts of this cluster, on each side the nearest to its center first; by default all texts, in the order
        of their files.
    seed : int, optional
        As for :func:`clusters`.
    vectors : bool
        Whether to add the features.

    Returns
    -------
    DataFrame
        source (``human`` or the candidate's name), id, cluster, text, prompt (None without), x and y (NaN without a
        map), vector (lists of float, if asked for), and ``metadata.NAME`` for each field of metadata.

    Raises
    ------
    InputError
        An unknown candidate, seed or cluster, no candidate named where there are several, or vectors of a run that was
        stored without features.
    """
    import pandas as pd

    candidate = run.comparison.the_candidate(candidate).name
    partition = run.comparison.partition(kind, candidate, seed)
    sides = [_side(run, source, partition.labels[source], vectors) for source in (HUMAN, candidate)]
    if cluster is not None:
        central = central_texts(run_why_source(run, kind, candidate, partition.seed), cluster)
        sides = [side.iloc[rows] for side, rows in zip(sides, central, strict=True)]
    return pd.concat(sides, ignore_index=True)


def storable(table: pd.DataFrame) -> pd.DataFrame:
    """Return :func:`texts` with metadata of mixed types as JSON, for formats whose columns have one type."""
    mixed = [name for name in map(str, table) if name.startswith(METADATA) and table[name].dtype == object]
    return table.assign(**{name: [json.dumps(value) for value in python_values(table[name])] for name in mixed})


def _side(run: Run, source: str, labels: NDArray[np.int32], vectors: bool) -> pd.DataFrame:
    import pandas as pd

    corpus = run.corpora[source]
    x, y = _positions(run, source)
    columns = {
        "source": [source] * len(corpus),
        "id": list(corpus.ids),
        "cluster": labels,
        "text": list(corpus.texts),
        "prompt": [None] * len(corpus) if corpus.prompts is None else list(corpus.prompts),
        "x": x,
        "y": y,
    }
    if vectors:
        features = run.features(source)
        if features is None:
            raise InputError(f"Run {run.id} was stored without features", todo="Leave the vectors out")
        columns["vector"] = [row.tolist() for row in features]
    about = corpus.metadata.add_prefix(METADATA).reset_index(drop=True)
    return pd.concat([pd.DataFrame(columns), about], axis="columns")


def _positions(run: Run, source: str) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Where the map shows the texts; NaN without a map."""
    sources = run.comparison.sources
    sizes = [each.n for each in sources]
    place = [each.name for each in sources].index(source)
    if run.comparison.projection is None:
        return np.full(sizes[place], np.nan), np.full(sizes[place], np.nan)
    start = sum(sizes[:place])
    own = run.comparison.projection[start : start + sizes[place]]
    return own[:, 0], own[:, 1]
