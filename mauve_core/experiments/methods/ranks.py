"""Ranks of the candidates under each method, with ties.

A method that is a score of the run (k-means with the run's own clusters and constant c) has the leaderboard's ranks,
which come from tests of differences (:mod:`mauve_core.scoring.differences`). Under any other method, a candidate joins
a group, and shares its rank, if its interval over texts overlaps that of the group's first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from mauve_core.experiments.methods.kinds import ESTIMATORS
from mauve_core.experiments.methods.method import Method
from mauve_core.experiments.methods.table import Disagreement, MethodResult, MethodScore, MethodTable
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import rank_label, standings, told_apart
from mauve_core.stats.divergences import STAR_SMOOTHING

Joined = Literal["", "test", "overlap", "unknown"]

# Stands beside a method whose ranks are the leaderboard's.
MARK = "†"

# Divergence and summary -> the score of the same two histograms; AUC is 1 - MAUVE, Jensen-Shannon the mid-point.
_SCORES = {
    ("kl", "mauve"): "mauve",
    ("kl", "auc"): "mauve",
    ("kl", "frontier-integral"): "frontier_integral",
    ("kl", "mid"): "mid",
    ("kl", "jensen-shannon"): "mid",
    ("js", "divergence"): "mid",
    ("fi-kl", "divergence"): "frontier_integral",
}


@dataclass(frozen=True)
class MethodStanding:
    """A candidate under one method.

    Attributes
    ----------
    place : int
        1 for the closest to the human texts; equal values keep the run's order.
    rank : int
        Place of the first of its group.
    tied : bool
        Whether the group has other members.
    joined : {"", "test", "overlap", "unknown"}
        How the candidate joins the previous one's group: not at all, because a test does not tell it from the group's
        first, because their intervals overlap, or because one of the two has no interval.
    as_leaderboard : bool
        Whether the rank is that of the leaderboard.
    """

    candidate: str
    place: int
    rank: int
    tied: bool
    joined: Joined
    score: MethodScore
    as_leaderboard: bool = False

    @property
    def label(self) -> str:
        """``2``; ``2=`` for a shared rank; ``3?`` if no interval separates it from others."""
        no_interval = self.joined == "unknown" or self.score.low is None
        unknown = self.tied and no_interval and not self.as_leaderboard
        return f"{self.place}?" if unknown else rank_label(self.rank, self.tied)


def score_of(method: Method, comparison: Comparison | None) -> str | None:
    """Name of the run's score that a method ranks by; None for a method that is none of them.

    A method takes all generations of a candidate together, so with several generations it is no score of the run.
    """
    if comparison is None or method.estimator != "kmeans" or method.correction != "none":
        return None
    if any(source.generations > 1 for source in comparison.sources):
        return None
    name = _SCORES.get((method.divergence, method.summary))
    if name == "mauve" and (method.scale or ESTIMATORS["kmeans"].scale) != comparison.config.score.scale:
        return None
    if method.smoothing == "none":
        return name
    return "mauve_star" if name == "mauve" and method.smoothing == STAR_SMOOTHING else None


def method_standings(
    result: MethodResult, candidates: Sequence[str], comparison: Comparison | None
) -> list[MethodStanding]:
    """Candidates from closest to farthest.

    ``comparison`` is the run's; None ranks every method by intervals.
    """
    score = score_of(result.method, comparison)
    if score is not None and comparison is not None:
        return [
            MethodStanding(
                each.candidate.name,
                place,
                each.rank,
                each.tied,
                "test" if each.rank < place else "",
                result.scores[each.candidate.name],
                as_leaderboard=True,
            )
            for place, each in enumerate(standings(comparison, score), start=1)
        ]
    return _by_intervals(result, candidates)


def _by_intervals(result: MethodResult, candidates: Sequence[str]) -> list[MethodStanding]:
    names = [candidates[index] for index in np.argsort(-result.closeness(candidates), kind="stable")]
    ranks: list[int] = []
    joins: list[Joined] = []
    for position, score in enumerate((result.scores[name] for name in names), start=1):
        first = result.scores[names[ranks[-1] - 1]] if ranks else None
        if first is None or not score.overlaps(first):
            ranks.append(position)
            joins.append("")
        else:
            ranks.append(ranks[-1])
            joins.append("unknown" if score.low is None or first.low is None else "overlap")
    return [
        MethodStanding(name, position, rank, ranks.count(rank) > 1, joined, result.scores[name])
        for position, (name, rank, joined) in enumerate(zip(names, ranks, joins, strict=True), start=1)
    ]


def disagreements(table: MethodTable, comparison: Comparison | None) -> tuple[Disagreement, ...]:
    """Every pair of candidates that a method orders differently from the table's first, those told apart first.

    A method tells two candidates apart as it ranks them: by the leaderboard's test, or by disjoint intervals.
    """
    first, *others = table.results
    found = []
    for result in others:
        for one, other in combinations(table.candidates, 2):
            ours, theirs = (item.closeness((one, other)) for item in (first, result))
            if (ours[0] - ours[1]) * (theirs[0] - theirs[1]) >= 0:
                continue
            closer, farther = (one, other) if theirs[0] > theirs[1] else (other, one)
            apart = all(_told_apart(item, one, other, comparison) for item in (first, result))
            found.append(Disagreement(result.method, closer, farther, apart))
    return tuple(sorted(found, key=lambda item: not item.told_apart))


def _told_apart(result: MethodResult, one: str, other: str, comparison: Comparison | None) -> bool:
    score = score_of(result.method, comparison)
    if score is None or comparison is None:
        return not result.scores[one].overlaps(result.scores[other])
    return told_apart(comparison, score, one, other)


def about_ranks(table: MethodTable, comparison: Comparison | None) -> str:
    """Say which methods have the leaderboard's ranks, and how the others' come about."""
    of_run = [score_of(result.method, comparison) is not None for result in table.results]
    own = f"rows marked {MARK} as on the leaderboard, by tests of differences" if any(of_run) else ""
    rest = "by overlapping intervals over texts" if not all(of_run) else ""
    others = f"; the others {rest}" if own and rest else rest
    return f"Ranks: {own}{others}. From the top down, a candidate ties with the first of its group, or opens the next."
