"""The main reason why a candidate differs from the human texts, and the costliest cluster that shows it.

The cluster is the one with the largest part of the frontier integral (``mauve_core.analysis.gap_table``) in the
partition that the pages show: pairwise, under the candidate's median seed. What is found is, in this order:

1. a property that separates the two sides by itself within the cluster,
2. a property that separates them over all texts,
3. a property that separates the cluster from all other texts,
4. the cluster's distinctive words.

The second is shown by the costliest cluster that the candidate writes more of and whose texts have the property at
least as much as all of its texts on average, if there is one. Of several properties, the one that separates best is
named. A property separates only if the whole interval of its AUC
lies beyond ``mauve_core.analysis.why.SEPARATES``. All but the second are findings on one cluster and need a cluster
whose difference is stable (``mauve_core.analysis.stability``); and there is no reason for a gap that could be one
between human texts (``mauve_core.analysis.gap_test``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mauve_core.analysis.cluster_table import ADDS
from mauve_core.analysis.why import PropertyEffect, WhySource, property_effects
from mauve_core.base.formatting import as_percent, percent_with_interval
from mauve_core.base.json_codec import Count, NotNegative, Share
from mauve_core.stats.two_groups import Effect
from mauve_core.texts.kinds import property_named
from mauve_core.texts.properties import apart

# Which of the findings above it is.
Where = Literal["cluster", "all", "rest", "words"]

# Label of a cluster whose difference is beyond chance, and the same in the other partitions.
STABLE = "stable"

MOST_WORDS = 3

_COSTLIEST = "the costliest cluster"


@dataclass(frozen=True)
class Reason:
    """The main reason of one candidate.

    Attributes
    ----------
    candidate : str
    cluster : int
        The cluster, pairwise, under the candidate's median seed.
    share, low, high : float
        Its share of the frontier integral with the interval that holds for all clusters at once, in [0, 1].
    p, q : float
        Share of the human texts, and of the candidate's, that are in the cluster.
    direction : {"adds", "misses"}
        Whether the candidate writes more of the cluster than people do, or less.
    where : {"cluster", "all", "rest", "words"}
        What is compared: the two sides in the cluster, or all their texts; the cluster with all other texts; or
        nothing, and words stand for the cluster.
    property_name : str
        Of a property of the items; empty if words stand for the cluster.
    first, second : float
        Means of the property: the candidate and the human texts, or the cluster and all other texts; 0 for words.
    words : tuple of str
        Distinctive words of the cluster, which come from texts; empty if a property is named.
    """

    candidate: str
    cluster: Count
    share: Share
    low: Share
    high: Share
    p: Share
    q: Share
    direction: str
    where: Where
    property_name: str = ""
    first: NotNegative = 0.0
    second: NotNegative = 0.0
    words: tuple[str, ...] = ()

    @property
    def finding(self) -> str:
        """What the candidate does, without numbers: ``repeats itself``; plain text that may hold words of texts."""
        more = self.first > self.second
        if self.where in ("cluster", "all"):
            return property_named(self.property_name).more if more else property_named(self.property_name).less
        if self.where == "rest":
            found = property_named(self.property_name)
            return f"{self._writes} texts that {found.texts_more if more else found.texts_less}"
        return f"{self._writes} texts like {', '.join(f'“{word}”' for word in self.words)}"

    @property
    def detail(self) -> str:
        """The numbers of both sides: ``distinct-4 46% per text against 95% in the costliest cluster``."""
        if self.where == "words":
            own, human = apart(self.q, self.p, as_percent)
            return f"{own} of its texts against {human} in {_COSTLIEST}"
        means = property_named(self.property_name).means(self.first, self.second)
        return (
            means if self.where == "all" else f"{means} {'in' if self.where == 'cluster' else 'outside'} {_COSTLIEST}"
        )

    @property
    def sentence(self) -> str:
        """Finding and numbers: ``repeats itself: distinct-4 46% per text against 95%``; plain text."""
        return f"{self.finding}: {self.detail}"

    @property
    def cost(self) -> str:
        """The cluster's share of the gap: ``25% (18% to 33%) of the gap``."""
        return f"{percent_with_interval(self.share, self.low, self.high)} of the gap"

    @property
    def _writes(self) -> str:
        return "writes more" if self.direction == ADDS else "writes fewer"


def main_reason(
    table: pd.DataFrame, source: WhySource, labels: Sequence[str] | None, words: Sequence[Sequence[str]] | None
) -> Reason | None:
    """Find the main reason of a candidate whose gap the gap test shows; None if nothing is found.

    Parameters
    ----------
    table : DataFrame
        From ``mauve_core.analysis.cost_intervals.costed_table``, of the partition shown by default.
    source : WhySource
        Of the same partition; features are not needed.
    labels : sequence of str or None
        Each cluster's label of stability; None if it could not be determined.
    words : sequence of sequences of str, or None
        Each cluster's distinctive words, the most distinctive first.
    """
    costliest = int(table["cost"].to_numpy().argmax())
    reason = _about(table, source.candidate, costliest)
    cluster = reason.cluster
    human = np.arange(source.labels.size) < source.humans
    inside = source.labels == cluster
    stable = labels is not None and labels[cluster] == STABLE
    sides: tuple[tuple[Where, NDArray[np.bool_], NDArray[np.bool_]], ...] = (
        ("cluster", inside & ~human, inside & human),
        ("all", ~human, human),
        ("rest", inside, ~inside),
    )
    for where, first, second in sides:
        if where != "all" and not stable:
            continue
        found = _clearest(property_effects(source, np.flatnonzero(first), np.flatnonzero(second)))
        if found is not None:
            name, effect = found
            if where == "all":
                reason = _about(table, source.candidate, _showing(table, source, name, effect, costliest))
            return dataclasses.replace(
                reason, where=where, property_name=name, first=effect.first, second=effect.second
            )
    if stable and words is not None and words[cluster]:
        return dataclasses.replace(reason, words=tuple(words[cluster][:MOST_WORDS]))
    return None


def _about(table: pd.DataFrame, candidate: str, place: int) -> Reason:
    """What that row of the table says of its cluster; nothing is found yet but its words."""
    row = table.iloc[place]
    return Reason(
        candidate=candidate,
        cluster=int(row["cluster"]),
        share=float(row["cost_share"]),
        low=float(row["low"]),
        high=float(row["high"]),
        p=float(row["p"]),
        q=float(row["q"]),
        direction=str(row["direction"]),
        where="words",
    )


def _showing(table: pd.DataFrame, source: WhySource, name: str, effect: Effect, costliest: int) -> int:
    """The row of the cluster that shows a property of all of the candidate's texts; the costliest if none does."""
    sign = 1 if effect.first > effect.second else -1
    model = np.arange(source.labels.size) >= source.humans
    values = source.properties[name]
    for place in np.argsort(-table["cost"].to_numpy(), kind="stable").tolist():
        cluster, direction = table["cluster"].iloc[place], table["direction"].iloc[place]
        own = values[model & (source.labels == cluster)]
        own = own[~np.isnan(own)]
        if direction == ADDS and own.size and sign * (float(own.mean()) - effect.first) >= 0:
            return int(place)
    return costliest


def _clearest(effects: Sequence[PropertyEffect]) -> tuple[str, Effect] | None:
    """Return the property that separates best; only one whose means differ in the direction in which it separates."""
    found = [(each.name, each.effect) for each in effects if each.separates and each.effect is not None]
    found = [(name, one) for name, one in found if (one.first - one.second) * one.delta > 0]
    return max(found, key=lambda each: abs(each[1].delta), default=None)
