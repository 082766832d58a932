"""Rank sources from ratings: Bradley-Terry scores with intervals, and notes on what the ratings cannot decide.

JMLR 2023, section 6.4 and appendix E.1. Definitely and slightly count the same. The paper gives each tie to either
side by a coin; half a win for both is the mean of that.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import TieRule
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import plural, verb, written
from mauve_core.base.json_codec import Written
from mauve_core.judgments.ratings import OPTIONS, Rating, held
from mauve_core.stats.bradley_terry import (
    BradleyTerryFit,
    fit_bradley_terry,
    require_players,
    score_intervals,
    standard_errors,
)
from mauve_core.texts import Corpus

# Share of ties that the published instructions allow.
MANY_TIES = 0.1

# Sources with finite scores that make a ranking, if there are as many.
LEAST_PLACED = 3

_Floats = NDArray[np.float64]


def _plain(number: float) -> float | str | None:
    return None if math.isnan(number) else number if math.isfinite(number) else str(number)


# A number that may be infinite (JSON "inf" or "-inf") or undetermined (nan, JSON null).
Fitted = Annotated[
    float,
    Written(Literal["inf", "-inf"] | float | None, _plain, lambda value: math.nan if value is None else float(value)),
]


@dataclass(frozen=True)
class Player:
    """A source under the Bradley-Terry model.

    Attributes
    ----------
    name : str
        The source.
    rank : int or None
        1 is the most preferred of its group; players whose intervals overlap that of the first with a rank share it.
        None if the ratings do not place the player.
    tied : bool
        Whether another player has the same rank.
    score : float
        Mean 0 over the finite scores of its group; +inf never lost, -inf never won, nan undetermined.
    low, high : float
        Interval; an infinite end is unbounded.
    se : float or None
        Standard error from the Fisher information; None if the score is not finite.
    group : int
        Scores are comparable within one group only; 0 for all if ratings link every source.
    wins, losses, ties : int
        As rated.
    """

    name: str
    rank: int | None
    tied: bool
    score: Fitted
    low: Fitted
    high: Fitted
    se: float | None
    group: int
    wins: int
    losses: int
    ties: int


@dataclass(frozen=True)
class Ranking:
    """Players, the best first, group by group.

    Attributes
    ----------
    question : str
        What was asked; empty if the table of ratings does not say.
    players : tuple of Player
        The best first, group by group.
    wins : tuple of tuple of float
        wins[i][j]: times player i was preferred to player j, with ties by ``tie_rule``; in the order of ``players``.
    n : int
        Ratings used.
    raters, ties, excluded : int
        Raters and ties among them, and ratings of this question left out.
    tie_rule : {"half", "random"}
        A tie is half a win for each, or a win for one by coin flip.
    bootstrap : int
        Number of replicates behind the intervals.
    confidence : float
        Confidence level of the intervals.
    notes : tuple of str
        Sentences that a reader must know.
    """

    question: str
    players: tuple[Player, ...]
    wins: tuple[tuple[float, ...], ...]
    n: int
    raters: int
    ties: int
    excluded: int
    tie_rule: TieRule
    bootstrap: int
    confidence: float
    notes: tuple[str, ...]

    @property
    def is_too_early(self) -> bool:
        """Whether fewer than three sources have a finite score, or fewer than two of two, so that nothing is ranked."""
        return sum(math.isfinite(player.score) for player in self.players) < min(LEAST_PLACED, len(self.players))


def rank(
    ratings: Iterable[Rating],
    sources: Sequence[str],
    question: str,
    *,
    corpora: Mapping[str, Corpus] | None = None,
    ties: TieRule = "half",
    bootstrap: int = 500,
    confidence: float = 0.95,
    seed: int = 0,
    min_seconds: float = 0.0,
) -> Ranking:
    """Bradley-Terry scores of ``sources`` from the ratings of one question.

    Parameters
    ----------
    ratings : iterable of Rating
        Of any questions and sources; those of other questions are skipped, those of other sources skipped and counted.
    sources : sequence of str
        The players, two or more, at most ``score_intervals.MOST_PLAYERS``.
    question : str
    corpora : mapping of str to Corpus, optional
        The current texts; ratings of other texts are left out and counted.
    ties : {"half", "random"}
        Half a win for both sides, or a win for one by a coin (as published), the same for the same seed and ratings.
    bootstrap : int
        Replicates behind the intervals, at least 100.
    confidence : float in (0, 1)
    seed : int
    min_seconds : float
        Faster ratings are left out and counted (25 as published); those of unknown time stay.

    Raises
    ------
    InputError
        A setting is out of range, there are fewer than two sources or too many, or no rating of this question is left.
    """
    if ties not in get_args(TieRule):
        raise InputError("Unknown rule for ties", allowed=", ".join(get_args(TieRule)), received=repr(ties))
    require_players(len(sources))
    if len(set(sources)) != len(sources) or len(sources) < 2:
        raise InputError("A ranking needs at least two sources", allowed="different names", received=", ".join(sources))
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError("The seed cannot be used", allowed="a whole number of at least 0", received=repr(seed))
    names = tuple(sources)
    of_question = [rating for rating in ratings if rating.question == question]
    used, notes = _used(of_question, names, corpora, min_seconds)
    if not used:
        raise InputError(
            f"There are no ratings on the question {question!r} to rank by",
            received=" ".join(notes) or "no ratings",
            todo="Rate some pairs first, or import ratings",
        )
    coins, resampling = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    rated = _tables(used, names)
    wins, tied = _tossed(*rated, coins) if ties == "random" else rated
    table = wins + (tied + tied.T) / 2
    fit = fit_bradley_terry(table)
    ends = score_intervals(wins, tied, fit, replicates=bootstrap, confidence=confidence, rng=resampling)
    players = _players(names, fit, *ends, standard_errors(table, fit), rated)
    order = [names.index(player.name) for player in players]
    n_ties = int(rated[1].sum())
    return Ranking(
        question=question,
        players=tuple(players),
        wins=tuple(tuple(float(value) for value in table[i, order]) for i in order),
        n=len(used),
        raters=len({rating.rater for rating in used}),
        ties=n_ties,
        excluded=len(of_question) - len(used),
        tie_rule=ties,
        bootstrap=bootstrap,
        confidence=confidence,
        notes=(*notes, *_reading_notes(used, n_ties), *_placing_notes(names, fit)),
    )


def _used(
    of_question: Sequence[Rating], sources: Sequence[str], corpora: Mapping[str, Corpus] | None, min_seconds: float
) -> tuple[list[Rating], list[str]]:
    """The ratings that count, and a sentence for each reason that excludes others."""
    notes = []
    used = [rating for rating in of_question if rating.left in sources and rating.right in sources]
    if len(used) < len(of_question):
        left = len(of_question) - len(used)
        notes.append(f"{plural(left, 'rating')} of other sources {verb(left, 'was', 'were')} left out.")
    if corpora is not None:
        current, gone = held(used, corpora)
        used = list(current)
        if gone:
            notes.append(
                f"{plural(gone, 'rating')} of texts that no longer exist {verb(gone, 'was', 'were')} left out."
            )
    slow = [rating for rating in used if rating.seconds is None or rating.seconds >= min_seconds]
    if len(slow) < len(used):
        left, were = len(used) - len(slow), verb(len(used) - len(slow), "was", "were")
        notes.append(f"{plural(left, 'rating')} made in under {min_seconds:g} seconds {were} left out.")
    return slow, notes


def _tables(ratings: Sequence[Rating], sources: Sequence[str]) -> tuple[_Floats, _Floats]:
    """(n, n) wins of i over j, and (n, n) ties with i on the left; ties do not count as wins."""
    index_of = {name: index for index, name in enumerate(sources)}
    wins, ties = np.zeros((2, len(sources), len(sources)))
    for rating in ratings:
        left, right, side = index_of[rating.left], index_of[rating.right], OPTIONS.index(rating.option) - 2
        if side == 0:
            ties[left, right] += 1
        else:
            winner, loser = (left, right) if side < 0 else (right, left)
            wins[winner, loser] += 1
    return wins, ties


def _tossed(wins: _Floats, ties: _Floats, rng: np.random.Generator) -> tuple[_Floats, _Floats]:
    """Assign each tie as a win to one side, pair by pair, so that the order of the ratings does not matter."""
    both = np.triu(ties + ties.T, k=1).astype(np.int64)
    first = rng.binomial(both, 0.5)
    return wins + first + (both - first).T, np.zeros_like(ties)


def _players(
    sources: Sequence[str],
    fit: BradleyTerryFit,
    low: _Floats,
    high: _Floats,
    errors: _Floats,
    rated: tuple[_Floats, _Floats],
) -> list[Player]:
    wins, ties = rated
    falling = np.where(np.isnan(fit.scores), np.inf, -fit.scores)
    order = sorted(range(len(sources)), key=lambda i: (fit.group[i], math.isnan(fit.scores[i]), falling[i], sources[i]))
    ranks: dict[int, tuple[int, int]] = {}  # player -> (group, rank)
    leader, counted = -1, Counter[int]()
    for i in order:
        if math.isnan(fit.scores[i]):
            continue
        group = int(fit.group[i])
        counted[group] += 1
        if counted[group] == 1 or high[i] < low[leader]:
            leader = i
            ranks[i] = group, counted[group]
        else:
            ranks[i] = ranks[leader]
    sharing = Counter(ranks.values())
    return [
        Player(
            name=sources[i],
            rank=ranks[i][1] if i in ranks else None,
            tied=i in ranks and sharing[ranks[i]] > 1,
            score=float(fit.scores[i]),
            low=float(low[i]),
            high=float(high[i]),
            se=float(errors[i]) if math.isfinite(errors[i]) else None,
            group=int(fit.group[i]),
            wins=int(wins[i].sum()),
            losses=int(wins[:, i].sum()),
            ties=int(ties[i].sum() + ties[:, i].sum()),
        )
        for i in order
    ]


def _reading_notes(used: Sequence[Rating], ties: int) -> list[str]:
    raters = len({rating.rater for rating in used})
    notes = [
        "The intervals treat rated pairs as independent; answers of one rater resemble each other, "
        "so the intervals are too narrow rather than too wide."
    ]
    if raters == 1:
        notes.append("All ratings are from one rater: this is what that person prefers.")
    if ties == len(used):
        notes.append("Every answer is a tie: resampling gives only ties, so the zero-width intervals mean little.")
    elif ties > MANY_TIES * len(used):
        are = verb(ties, "is a tie", "are ties")
        notes.append(f"{ties} of {len(used)} answers {are}; the published instructions allow one in ten.")
    return notes


def _placing_notes(sources: Sequence[str], fit: BradleyTerryFit) -> list[str]:
    names = np.array(sources, dtype=object)
    notes = []
    groups = [", ".join(names[fit.group == group]) for group in np.unique(fit.group)]
    if len(groups) > 1:
        notes.append(
            f"No ratings link these groups, so scores are comparable only within a group: {'; '.join(groups)}."
        )
    ends = (
        (np.inf, "never lost to a source that has a score or that links them to one: their scores have no upper limit"),
        (
            -np.inf,
            "never won against a source that has a score or that links them to one: their scores have no lower limit",
        ),
    )
    for end, meaning in ends:
        if (fit.scores == end).any():
            notes.append(f"{', '.join(names[fit.scores == end])} {meaning}.")
    if np.isnan(fit.scores).any():
        notes.append(f"The ratings do not place {', '.join(names[np.isnan(fit.scores)])}.")
    for component in np.unique(fit.component[np.isinf(fit.scores)]):
        members = fit.component == component
        if members.sum() > 1:
            among = ", ".join(
                f"{n} {written(s, 1, signed=True)}" for n, s in zip(names[members], fit.within[members], strict=True)
            )
            notes.append(f"Scores among these alone: {among}.")
    return notes
