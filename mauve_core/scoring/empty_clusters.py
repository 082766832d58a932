"""Clusters that lack a text of one side: how many there are for every candidate, and with which spread.

Where one side has no text, its estimated probability is 0. MAUVE of NeurIPS 2021 takes it as it is; MAUVE* adds half a
text to every cluster (JMLR 2023, section 7.3.2). Many empty clusters say that the two sides differ, or that n is small
for k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import as_percent, with_spread
from mauve_core.base.json_codec import Count, NotNegative, Share
from mauve_core.scoring.result import Candidate, Comparison
from mauve_core.scoring.spread import SeedSpread
from mauve_core.scoring.tables import standings

TITLE = "Empty clusters"

# Columns of :func:`empty_cluster_rows`.
COLUMNS = ("Candidate", "k", "Without a human text", "Without a model text", "Both sides, of 2k")

NOTE = (
    "Clusters of the pairwise partition without a text of that side: mean ± standard deviation over the k-means seeds, "
    "and the mean's share of k. The last column is their sum and its share of the 2k bins of both sides, as in JMLR "
    "2023, table 8."
)


@dataclass(frozen=True)
class EmptyClusters:
    """The empty clusters of one candidate's pairwise partitions.

    Attributes
    ----------
    candidate : str
    k : int
    human, model : SeedSpread
        Number of clusters without a human text, and without a text of the candidate, 0 to k.
    both : SeedSpread
        The sum of the two, 0 to 2k: JMLR 2023, table 8, "across both P and Q".
    """

    candidate: str
    k: int
    human: SeedSpread
    model: SeedSpread
    both: SeedSpread


def empty_clusters(comparison: Comparison) -> tuple[EmptyClusters, ...]:
    """Count the empty clusters of every candidate, in the order given (JMLR 2023, table 8).

    The table counts the bins without a sample, of P's histogram and of Q's, after vector quantization and before
    smoothing; its percentages are of the 2k bins of both. Of several generations, which have a histogram each, the
    number under a seed is the mean of theirs.
    """
    return tuple(_of(comparison, candidate) for candidate in comparison.candidates)


def _of(comparison: Comparison, candidate: Candidate) -> EmptyClusters:
    rows = comparison.generation_rows(candidate.name)
    human = [np.count_nonzero(part.counts(HUMAN) == 0) for part in candidate.partitions]
    model = [
        np.mean([np.count_nonzero(part.with_texts(candidate.name, each).counts(candidate.name) == 0) for each in rows])
        for part in candidate.partitions
    ]
    found = [np.array(each, dtype=np.float64) for each in (human, model)]
    spreads = [SeedSpread.of(each) for each in (*found, found[0] + found[1])]
    return EmptyClusters(candidate.name, candidate.partitions[0].k, *spreads)


def empty_cluster_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return the cells of a row per candidate, unescaped, the closest to the human texts first."""
    found = {each.candidate: each for each in empty_clusters(comparison)}
    return [
        (
            each.candidate,
            f"{each.k:,}",
            _cell(each.human, each.k),
            _cell(each.model, each.k),
            _cell(each.both, 2 * each.k),
        )
        for each in (found[standing.candidate.name] for standing in standings(comparison))
    ]


def _cell(number: SeedSpread, of: int) -> str:
    """``6.4 ± 1.1 (12.5%)``."""
    return f"{with_spread(number.mean, number.sd, 1)} ({as_percent(number.mean / of, 1)})"


class EmptyNumberJson(TypedDict):
    """A number of empty clusters.

    Attributes
    ----------
    mean : float
        Over the k-means seeds.
    sd : float or None
        Standard deviation over the seeds; None with one seed.
    share : float
        That of ``mean`` in k, or in 2k for both sides, 0 to 1.
    """

    mean: NotNegative
    sd: NotNegative | None
    share: Share


class EmptyClustersJson(TypedDict):
    """The empty clusters of one candidate's pairwise partitions.

    Attributes
    ----------
    candidate : str
        Its name.
    k : int
        Number of clusters.
    human, model : EmptyNumberJson
        Clusters without a human text, and without a text of the candidate.
    both : EmptyNumberJson
        The sum of the two, of 2k.
    """

    candidate: str
    k: Count
    human: EmptyNumberJson
    model: EmptyNumberJson
    both: EmptyNumberJson


def empty_clusters_json(comparison: Comparison) -> list[dict[str, Any]]:
    """Return JSON values by candidate, each with the entries of :class:`EmptyClustersJson`."""
    found = []
    for each in empty_clusters(comparison):
        bins = {"human": (each.human, each.k), "model": (each.model, each.k), "both": (each.both, 2 * each.k)}
        numbers = {side: {"mean": n.mean, "sd": n.sd, "share": n.mean / of} for side, (n, of) in bins.items()}
        found.append({"candidate": each.candidate, "k": each.k, **numbers})
    return found
