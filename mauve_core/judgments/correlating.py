"""Agreement of automatic indicators with a ranking by people (JMLR 2023, section 6.4 and equation 30)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from mauve_core.judgments.ranking import Ranking
from mauve_core.stats.rank_correlation import WorstCase, spearman, worst_case_spearman

# Fewest players for a rank correlation.
FEWEST = 3


@dataclass(frozen=True)
class Indicator:
    """An automatic measure of the same sources.

    Attributes
    ----------
    values : mapping of str to float
        Value by source; sources may be missing.
    sds : mapping of str to float
        Standard deviations over repetitions; a missing one is 0.
    over : str
        What the standard deviations are over, such as "generations"; empty if that is not known.
    higher_is_closer : bool
        Whether a larger value means closer to human text.
    """

    values: Mapping[str, float]
    sds: Mapping[str, float] = field(default_factory=dict)
    higher_is_closer: bool = True
    over: str = ""


@dataclass(frozen=True)
class Correlation:
    """Agreement of one indicator with the players' scores.

    Attributes
    ----------
    indicator : str
        The score, measure or method.
    spearman : float or None
        None if it is undefined; ``note`` says why.
    worst : WorstCase or None
        JMLR 2023, equation 30; None if no standard deviation is known.
    n : int
        Players with both a value and a rank.
    note : str
        What a reader must know; may be empty.
    over : str
        What the standard deviations of the worst case are over.
    """

    indicator: str
    spearman: float | None
    worst: WorstCase | None
    n: int
    note: str = ""
    over: str = ""


def correlations(ranking: Ranking, indicators: Mapping[str, Indicator]) -> tuple[Correlation, ...]:
    """Spearman's correlation of each indicator with the ranking's scores, over the players that have both.

    If smaller is closer, the indicator's sign is flipped, so a positive correlation always means agreement. Infinite
    scores have a rank; undetermined scores have none. Of several groups of players, the most shared one counts.
    """
    return tuple(_correlation(ranking, name, indicator) for name, indicator in indicators.items())


def _correlation(ranking: Ranking, name: str, indicator: Indicator) -> Correlation:
    both = [
        player
        for player in ranking.players
        if not math.isnan(player.score) and math.isfinite(indicator.values.get(player.name, math.nan))
    ]
    groups = sorted({player.group for player in ranking.players})
    players = max(([player for player in both if player.group == group] for group in groups), key=len)
    note = f"{len(groups)} groups of players; the one with the most in common is used." if len(groups) > 1 else ""
    if len(players) < FEWEST:
        return Correlation(
            name, None, None, len(players), f"Fewer than {FEWEST} sources have both a value and a score."
        )
    sign = 1 if indicator.higher_is_closer else -1
    values = [sign * indicator.values[player.name] for player in players]
    deviations = [indicator.sds.get(player.name, 0.0) for player in players]
    scores = [player.score for player in players]
    value = spearman(values, scores)
    if math.isnan(value):
        return Correlation(name, None, None, len(players), "All values or all scores are equal, so they give no order.")
    worst = worst_case_spearman(values, deviations, scores) if any(deviations) else None
    return Correlation(name, value, worst, len(players), note, "" if worst is None else indicator.over)
