"""Sources ranked by people's ratings, and how well automatic indicators agree with that ranking.

Bradley-Terry scores with intervals, and notes on what the ratings cannot decide (JMLR 2023, section 6.4 and appendix
E.1). Definitely and slightly count the same; the paper gives each tie to either side by a coin, and half a win for
both is the mean of that. Indicators are the run's scores, the gaps of its text measures, and other methods; each
measures a candidate's closeness to the human texts, so the human side has none (JMLR 2023, tables 4, 9, 10; ICLR 2023,
figure 2). The worst case of a correlation (equation 30) takes standard deviations of one kind for all indicators: over
generations, as in the paper, if every candidate has several under every indicator, or its decoder draws nothing, so
that they would be the same (methods then have none); otherwise over texts, by the jackknife of the text measures. That
of a score leaves out a group of prompts on both sides and in all generations, at the run's clusters. Every indicator
says which.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mauve_core.analyses.measure_terms import GROUPS, MIN_TEXTS, Measurements, group_of
from mauve_core.analyses.method_scores import MethodTable, stored_methods
from mauve_core.analyses.methods import Method
from mauve_core.analyses.text_measures import decoder_of, measure_title, stored_measurements
from mauve_core.base.config import HUMAN, TieRule
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.base.formatting import plural, verb, written
from mauve_core.base.json_codec import Written
from mauve_core.decoding import parse_decoder
from mauve_core.runs import Run
from mauve_core.runs.ratings import OPTIONS, Rating, held
from mauve_core.scoring.result import Comparison, Partition
from mauve_core.stats.bradley_terry import (
    BradleyTerryFit,
    fit_bradley_terry,
    require_players,
    score_intervals,
    standard_errors,
)
from mauve_core.stats.rank_correlation import WorstCase, spearman, worst_case_spearman
from mauve_core.stats.resampling import jackknife_sd
from mauve_core.stats.scores import SCORES, score_counts
from mauve_core.texts import Corpus
from mauve_core.texts.pairing import keys_of, unit_names

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


Groups = NDArray[np.int64]


def score_sds_over_texts(run: Run) -> dict[str, dict[str, float]]:
    """Standard deviation over texts of each pairwise score's mean over seeds (and generations), by score and candidate.

    Candidates with fewer than ``MIN_TEXTS`` texts on a side are left out.
    """
    comparison = run.comparison
    groups = {name: group_of(prompts) for name, prompts in unit_names(keys_of(run.corpora)).items()}
    found: dict[str, dict[str, float]] = {score: {} for score in comparison.score_names}
    for candidate in comparison.candidates:
        name, human = candidate.name, groups[HUMAN]
        if min(comparison.human.n, candidate.source.n_scored) < MIN_TEXTS:
            continue
        generations = [(rows, groups[name][rows]) for rows in comparison.generation_rows(name)]
        sizes = _sizes(human) + np.mean([_sizes(own) for _, own in generations], axis=0)
        present = np.flatnonzero(sizes)
        without = []
        for rows, own in generations:
            parts = [part.with_texts(name, rows) for part in candidate.partitions]
            p, q = (_left_out(parts, *side)[present] for side in ((HUMAN, human), (name, own)))
            without.append(score_counts(p, q, scale=comparison.config.score.scale))
        for score in comparison.score_names:
            left_out = np.mean([each[score].mean(axis=1) for each in without], axis=0)
            found[score][name] = jackknife_sd(candidate.scores[score].mean, left_out, sizes[present])
    return found


def _sizes(groups: Groups) -> Groups:
    return np.bincount(groups, minlength=GROUPS)


def _left_out(partitions: Sequence[Partition], side: str, groups: Groups) -> NDArray[np.int64]:
    """(GROUPS, seeds, k) number of texts in each cluster without each group."""
    found = []
    for part in partitions:
        within = np.bincount(groups * part.k + part.labels[side], minlength=GROUPS * part.k).reshape(GROUPS, part.k)
        found.append(part.counts(side) - within)
    return np.stack(found, axis=1)


# What standard deviations are over.
TEXTS, GENERATIONS = "texts", "generations"

# A run -> standard deviations by score and candidate.
SdsOverTexts = Callable[[Run], Mapping[str, Mapping[str, float]]]


def run_indicators(run: Run, sds: SdsOverTexts = score_sds_over_texts) -> tuple[dict[str, Indicator], tuple[str, ...]]:
    """The run's scores, and what is stored of its text measures and methods; also why any of these are missing.

    ``sds`` gives the scores' standard deviations over texts; a caller may keep them.
    """
    measurements, problems = None, []
    try:
        measurements = stored_measurements(run)
    except MauveLensError as error:
        problems.append(str(error))
    generations = _repeated(run.comparison, measurements, _written_once(run))
    found = score_indicators(run, generations=generations, sds=sds)
    if measurements is not None:
        found |= measure_indicators(measurements, generations=generations)
    try:
        table = stored_methods(run)
        found |= {} if table is None else method_indicators(table, generations=generations)
    except MauveLensError as error:
        problems.append(str(error))
    return found, tuple(problems)


def _written_once(run: Run) -> set[str]:
    """Candidates with one generation because their decoder draws nothing at random."""
    found = set()
    for candidate in run.comparison.candidates:
        spec = decoder_of(candidate.name, run.corpora[candidate.name])
        if candidate.source.generations == 1 and spec is not None and not parse_decoder(spec).is_random:
            found.add(candidate.name)
    return found


def _repeated(comparison: Comparison, measurements: Measurements | None, fixed: set[str]) -> bool:
    """Whether the spread over generations of every indicator is known: some candidate has one, and the others' is 0."""
    several = {each.name for each in comparison.candidates if each.source.generations > 1}
    if not several or several | fixed != {each.name for each in comparison.candidates}:
        return False
    rows = () if measurements is None else measurements.rows
    gaps = [row.gap for row in rows if row.candidate in several and row.gap is not None]
    return all(gap.generations is not None for gap in gaps)


def score_indicators(
    run: Run, *, generations: bool = False, sds: SdsOverTexts = score_sds_over_texts
) -> dict[str, Indicator]:
    """Mean of every pairwise score, by title, and its standard deviation over texts, or over generations."""
    candidates, found = run.comparison.candidates, {}
    over_texts = {} if generations else sds(run)
    for score in run.comparison.score_names:
        estimates = {candidate.name: candidate.scores[score] for candidate in candidates}
        over_generations = {name: each.generations_sd for name, each in estimates.items()}
        found[SCORES[score].title] = Indicator(
            {name: estimate.mean for name, estimate in estimates.items()},
            {name: sd for name, sd in over_generations.items() if sd is not None} if generations else over_texts[score],
            SCORES[score].higher_is_closer,
            GENERATIONS if generations else TEXTS,
        )
    return found


def measure_indicators(measurements: Measurements, *, generations: bool = False) -> dict[str, Indicator]:
    """Gap to the human side, |T(Q) - T(P)|, by title, with its standard deviation over texts, or over generations;
    smaller is closer.

    Measures without a gap for any candidate are left out.
    """
    found = {}
    for measure in measurements.measures:
        rows = [measurements.row(measure, candidate) for candidate in measurements.candidates]
        gaps = {row.candidate: row.gap for row in rows if row is not None and row.gap is not None}
        if gaps:
            found[f"{measure_title(measure)}, gap"] = Indicator(
                {name: gap.value for name, gap in gaps.items()},
                {
                    name: sd
                    for name, gap in gaps.items()
                    if (sd := gap.generations_sd if generations else gap.sd) is not None
                },
                higher_is_closer=False,
                over=GENERATIONS if generations else TEXTS,
            )
    return found


def method_indicators(table: MethodTable, *, generations: bool = False) -> dict[str, Indicator]:
    """Value of every method, with its standard deviation over texts, by title.

    That over generations is unknown, because methods take all generations together.

    Plain k-means is left out: it is the run's own MAUVE.
    """
    return {
        result.method.title: Indicator(
            {name: score.value for name, score in result.scores.items()},
            {}
            if generations
            else {name: score.sd_texts for name, score in result.scores.items() if score.sd_texts is not None},
            result.method.higher_is_closer,
            "" if generations else TEXTS,
        )
        for result in table.results
        if result.method != Method()
    }
