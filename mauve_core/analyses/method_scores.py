"""Scores of several methods on a stored run, ranks with ties, and where the rankings agree or differ.

    methods_run(run, PRESETS["estimators"])

Each estimator is fitted once per candidate and seed, and all methods are evaluated from the fits. A method that is a
score of the run (k-means with the run's own clusters and constant c) has the leaderboard's ranks, which come from
tests of differences (:mod:`mauve_core.scoring.differences`). Under any other, a candidate shares a group's rank if its
interval over texts overlaps that of the group's first.
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.analyses.measure_terms import CONFIDENCE, GROUPS, group_of
from mauve_core.analyses.method_fits import (
    DRAWING,
    STREAMS,
    WITHOUT_HALVES,
    Binned,
    Fit,
    Likelihoods,
    Models,
    Rows,
    Sides,
    Tokens,
    fit,
)
from mauve_core.analyses.methods import ESTIMATORS, PRESETS, Method, parse_method
from mauve_core.analyses.tasks import Amount, RunTask
from mauve_core.analyses.text_measures import collection_of
from mauve_core.base.config import HUMAN, METHOD_SEEDS, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.extras import asking_for_packages
from mauve_core.base.json_codec import (
    As,
    Count,
    Extended,
    NotBlank,
    NotNegative,
    PValue,
    Settings,
    Within,
    Written,
    from_json,
)
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.catalogue import PACKAGED
from mauve_core.encoders.features import FeatureStore
from mauve_core.encoders.models import load_tokenizer
from mauve_core.encoders.tokenizing import read_texts
from mauve_core.runs import Run
from mauve_core.runs.features import stored_features
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.streams import stream
from mauve_core.scoring.tables import overlap, rank_label, standings, told_apart
from mauve_core.stats.multiple_tests import holm
from mauve_core.stats.rank_correlation import spearman
from mauve_core.stats.resampling import histogram_statistic, jackknife_sd, permutation_test, t_interval
from mauve_core.stats.scores import STAR_SMOOTHING
from mauve_core.stats.units import too_few
from mauve_core.texts.pairing import keys_of, unit_names
from mauve_core.texts.reading import Located

# Attachment name of the table.
ATTACHMENT = "methods"


@dataclass(frozen=True)
class MethodScore:
    """One method's score of a candidate, or of two halves of the human texts.

    Attributes
    ----------
    value : float
        Mean over the seeds.
    sd_seeds : float or None
        Standard deviation over the seeds; None for a deterministic method or one seed.
    sd_texts : float or None
        Standard deviation over texts, from a delete-a-group jackknife; None if unavailable.
    low, high : float or None
        Interval over texts, about 95 %.
    n : int
        Texts of the smaller side.
    p_value : float or None
        Permutation test of P = Q for the first seed; permutes texts within prompts that both sides share. None if not
        requested, or if the method has no bins or has a correction.
    z : float or None
        Standard score of the candidate's MMD against random halves of the human texts, scaled to equal size (see
        ``estimators``): mean 0 and standard deviation about 1 for equal sources. None for other estimators.
    """

    value: Extended
    sd_seeds: NotNegative | None
    sd_texts: NotNegative | None
    low: float | None
    high: float | None
    n: Count
    p_value: PValue | None = None
    z: float | None = None

    def overlaps(self, other: MethodScore) -> bool:
        """Whether the intervals overlap; True if either score has no interval."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return True
        return overlap((self.low, self.high), (other.low, other.high))


@dataclass(frozen=True)
class MethodResult:
    """One method on all candidates.

    Attributes
    ----------
    method : Method
        Its specification, such as ``kmeans:divergence=js``.
    scores : mapping of str to MethodScore
        By candidate.
    ceiling : MethodScore
        Human vs. human: score between two halves of the human texts, about that of a human-like candidate with half as
        many texts.
    seconds : float
        Time of the estimator for all candidates, shared by methods with that estimator.
    notes : tuple of str
        Choices and events of the estimator.
    """

    method: Annotated[Method, Written(str, attrgetter("spec"), parse_method)]
    scores: Mapping[str, MethodScore]
    ceiling: MethodScore | None
    seconds: NotNegative
    notes: tuple[str, ...] = ()

    def closeness(self, names: Sequence[str]) -> NDArray[np.float64]:
        """(len(names),) values with signs such that larger is closer to the human texts."""
        sign = 1.0 if self.method.higher_is_closer else -1.0
        return sign * np.array([self.scores[name].value for name in names])


@dataclass(frozen=True)
class Disagreement:
    """Two candidates that a method orders differently from the first method.

    Attributes
    ----------
    closer, farther : str
        This method's order; the first method of the table has the opposite.
    told_apart : bool
        Whether both methods tell the two apart; otherwise chance may explain the difference.
    """

    method: Method
    closer: str
    farther: str
    told_apart: bool

    @property
    def reason(self) -> str:
        """The papers' comment on the method's estimator."""
        return self.method.reason


@dataclass(frozen=True)
class MethodTable:
    """Several methods on the candidates of a run; the first is the reference for the others.

    Attributes
    ----------
    results : tuple of MethodResult
        By method.
    settings : mapping
        Inputs of the numbers, as plain JSON.
    notes : tuple of str
        Methods that are left out, and other caveats.
    """

    results: tuple[MethodResult, ...]
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.results or any(set(each.scores) != set(self.candidates) for each in self.results):
            raise InputError("A table of methods has no results, or results of different candidates")

    @property
    def candidates(self) -> tuple[str, ...]:
        """Candidates in run order."""
        return tuple(self.results[0].scores)

    def corrected_p_values(self) -> dict[tuple[Method, str], float]:
        """Every p-value after Holm's correction for all tests of the table, by method and candidate."""
        found = {
            (result.method, name): score.p_value
            for result in self.results
            for name, score in result.scores.items()
            if score.p_value is not None
        }
        return dict(zip(found, holm(list(found.values())).tolist(), strict=True)) if found else {}

    def agreement(self) -> NDArray[np.float64]:
        """(methods, methods) Spearman correlations of the candidates' closeness.

        nan if a method ties all candidates, or there is only one.
        """
        if len(self.candidates) < 2:
            return np.full((len(self.results), len(self.results)), np.nan)
        rows = [result.closeness(self.candidates) for result in self.results]
        return np.array([[spearman(a, b) for b in rows] for a in rows])


def stored_methods(run: Run) -> MethodTable | None:
    """The run's stored table, or None; StorageError or InputError if damaged."""
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    table = from_json(MethodTable, values)
    run.require_sources(table.candidates, "The table of methods")
    return table


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
    rest = "by overlapping intervals" if not all(of_run) else ""
    others = f"; the others {rest}" if own and rest else rest
    return f"Ranks: {own}{others}. From the top down, a candidate ties with the first of its group, or opens the next."


# Progress stage; counts fits.
STAGE = "Fitting"

# Progress stage; counts methods. The first method of an estimator takes most of the time.
SPREAD_STAGE = "Leaving out one group after another"

# Progress stage of the permutation tests; counts methods.
TEST_STAGE = "Exchanging between the sides"

# Random halves of the human side for human vs. human.
HALVES = 3


def methods_run(
    run: Run,
    methods: Sequence[Method],
    *,
    seeds: int = METHOD_SEEDS,
    permutations: int = 0,
    models: Models | None = None,
    device: str = "cpu",
    feature_store: FeatureStore | None = None,
    progress: Progress = silent,
) -> MethodTable:
    """Score every candidate of a run by each method; the first method is the reference for the others.

    k-means uses the run's own pairwise partitions, so its MAUVE equals the leaderboard's exactly.

    Parameters
    ----------
    methods : sequence of Method
        At least one, without duplicates.
    seeds : int
        Number of seeds of random estimators; k-means uses the run's seeds.
    permutations : int
        Draws of a permutation test of P = Q for each method with bins and no correction; 0 for none.
    models : Models, optional
        Models of the two sides for direct estimation, which is left out without them.
    device : str
        Device for training neural quantizers and for scoring with ``models``.
    feature_store : FeatureStore, optional
        Source of features that were not kept with the run.
    progress : callable
        May raise CancelledError.

    Returns
    -------
    MethodTable

    Raises
    ------
    InputError
        No method or a duplicate, fewer than 1 seed, features that were not kept, or features that suit no method, or
        packages that are missing for all of them. If only some methods cannot be computed, a note replaces them.
    """
    if not methods or len(set(methods)) < len(methods):
        received = ", ".join(method.spec for method in methods)
        raise InputError("The methods cannot be used", allowed="one or more, no duplicates", received=received)
    if seeds < 1 or permutations < 0:
        received = f"{seeds} seeds, {permutations} permutations"
        raise InputError("The settings are not usable", allowed="at least 1 seed, 0 permutations", received=received)
    work = _Work(run, stored_features(run, feature_store), seeds, device, progress, models)
    estimators = list(dict.fromkeys(method.estimator for method in methods))
    fitted: dict[str, _Fitted] = {}
    total = len(estimators) * (len(run.comparison.candidates) + 1)
    left_out: dict[str, InputError] = {}
    for index, estimator in enumerate(estimators):
        try:
            with asking_for_packages():
                fitted[estimator] = work.fitted(estimator, index * (len(run.comparison.candidates) + 1), total)
        except InputError as error:
            left_out[estimator] = error
    progress(STAGE, total, total)
    possible = [method for method in methods if method.estimator in fitted]
    results = []
    for done, method in enumerate(possible):
        progress(SPREAD_STAGE, done, len(possible))
        results.append(_result(method, fitted[method.estimator]))
    progress(SPREAD_STAGE, len(possible), len(possible))
    if not results:
        raise next(iter(left_out.values()))
    if permutations:
        for done, result in enumerate(results):
            progress(TEST_STAGE, done, len(results))
            results[done] = _tested(result, fitted[result.method.estimator], work, permutations)
        progress(TEST_STAGE, len(results), len(results))
    config = run.comparison.config
    settings: dict[str, Any] = {
        "run": run.id,
        "created": run.created,
        "seeds": seeds,
        "permutations": permutations,
        "groups": GROUPS,
        "confidence": CONFIDENCE,
        "halves": HALVES,
        "config": config.as_dict(),
        "sources": {source.name: {"n": source.n, "digest": source.digest} for source in run.comparison.sources},
    }
    if models is not None and "direct" in fitted:
        settings["models"] = models.described()
    notes = [f"{ESTIMATORS[name].title} is left out: {error}" for name, error in left_out.items()]
    notes += [f"{ESTIMATORS[name].title}, {caveat}" for name in fitted for caveat in _caveats(fitted[name])]
    return MethodTable(tuple(results), settings, tuple(notes))


# Method, candidate and the estimator's parameters -> score and notes of the fits.
Scorer = Callable[[Method, str, Mapping[str, float]], tuple[MethodScore, tuple[str, ...]]]


def scorer(
    run: Run, *, seeds: int = METHOD_SEEDS, feature_store: FeatureStore | None = None, progress: Progress = silent
) -> Scorer:
    """A function that scores one candidate by one method with other parameters of its estimator.

    Random streams and texts left out are those of :func:`methods_run`, so without parameters the scores are equal.
    The parameters are those of ``fitting.PARAMETERS``; the arguments are those of :func:`methods_run`.

    Raises
    ------
    InputError
        Fewer than 1 seed, or features that were not kept.
    """
    if seeds < 1:
        raise InputError("The settings are not usable", allowed="at least 1 seed", received=f"{seeds} seeds")
    return _Work(run, stored_features(run, feature_store), seeds, "cpu", progress).scored


def sides_of(run: Run, candidate: str) -> Sides:
    """The human side and one candidate of a run, for :func:`mauve_core.analyses.method_fits.fit`."""
    return _Work(run, stored_features(run), 1, "cpu", silent).sides(candidate)


@dataclass(frozen=True, eq=False)
class _Fits:
    fits: tuple[Fit, ...]
    sizes: NDArray[np.int64]
    n: int
    # Why units support neither a spread nor a test.
    too_few: str = ""


@dataclass(frozen=True, eq=False)
class _Fitted:
    candidates: Mapping[str, _Fits]
    halves: tuple[_Fits, ...]
    seconds: float


class _Work:
    def __init__(
        self,
        run: Run,
        features: Mapping[str, NDArray[np.float32]],
        seeds: int,
        device: str,
        progress: Progress,
        models: Models | None = None,
    ) -> None:
        self.run, self.features, self.seeds, self.device, self.progress = run, features, seeds, device, progress
        self.score: ScoreConfig = run.comparison.config.score
        self.units = unit_names(keys_of(run.corpora))
        self.groups = {name: group_of(own) for name, own in self.units.items()}
        self.cached: dict[str, Sides] = {}
        self.read: dict[str, Tokens] = {}
        self.words: dict[str, int] = {}
        texts = {name: collection_of(corpus, name) for name, corpus in run.corpora.items()}
        self.likelihoods = None if models is None else Likelihoods(models, texts, device=device, progress=progress)

    def fitted(self, estimator: str, done: int, total: int) -> _Fitted:
        """Fit all candidates, then the halves; the time counts only the candidates."""
        own, halves = self._streams(estimator)
        names = [candidate.name for candidate in self.run.comparison.candidates]
        count = self._seed_count(estimator)
        started, candidates = time.perf_counter(), {}
        seeds = own.spawn(count)
        for step, name in enumerate(names):
            self.progress(STAGE, done + step, total)
            candidates[name] = self._candidate(estimator, name, seeds)
        seconds = time.perf_counter() - started
        self.progress(STAGE, done + len(names), total)
        count = 0 if estimator in WITHOUT_HALVES else HALVES
        return _Fitted(candidates, tuple(self._half(estimator, child) for child in halves.spawn(count)), seconds)

    def scored(self, method: Method, name: str, parameters: Mapping[str, float]) -> tuple[MethodScore, tuple[str, ...]]:
        """One candidate's score by a method whose estimator has other parameters, and notes of its fits."""
        seeds = self._streams(method.estimator)[0].spawn(self._seed_count(method.estimator))
        fits = self._candidate(method.estimator, name, seeds, parameters)
        return _score(method, fits), tuple(dict.fromkeys(note for one in fits.fits for note in one.notes))

    def _streams(self, estimator: str) -> list[SeedSequence]:
        """Random streams of every candidate and of the halves: by name, whatever other estimators there are."""
        base = stream(self.score.seed, "methods")
        key = (*base.spawn_key, zlib.crc32(STREAMS.get(estimator, estimator).encode()))
        return SeedSequence(base.entropy, spawn_key=key).spawn(2)

    def _seed_count(self, estimator: str) -> int:
        return self.seeds if estimator in DRAWING else 1

    def _candidate(
        self, estimator: str, name: str, seeds: Sequence[SeedSequence], parameters: Mapping[str, float] | None = None
    ) -> _Fits:
        sides = self.sides(name)
        sizes = sum(np.bincount(self.groups[side], minlength=GROUPS) for side in (HUMAN, name))
        n = min(len(sides.x_p), len(sides.x_q))
        if estimator == "kmeans":
            partitions = self.run.comparison.candidate(name).partitions
            own = (Binned(part.labels[HUMAN], part.labels[name], part.k, sides) for part in partitions)
            return _Fits(tuple(own), np.asarray(sizes), n, too_few(*(sides.units or ())))
        given = parameters or {}
        fits = tuple(fit(estimator, sides, seed, **given) for seed in seeds)
        return _Fits(fits, np.asarray(sizes), n, too_few(*(sides.units or ())))

    def _half(self, estimator: str, seed: SeedSequence) -> _Fits:
        """One random half of the human texts against the other."""
        cut, child = seed.spawn(2)
        x = self.features[HUMAN]
        order = np.random.default_rng(cut).permutation(len(x))
        first, second = np.sort(order[: len(x) // 2]), np.sort(order[len(x) // 2 : 2 * (len(x) // 2)])
        parts = ([self.tokens(HUMAN)[row] for row in rows] for rows in (first, second))
        sides = Sides(x[first], x[second], (), self.score, lambda: (next(parts), next(parts)), self.device)
        return _Fits((fit(estimator, sides, child),), np.zeros(0, dtype=np.int64), len(first))

    def sides(self, name: str) -> Sides:
        if name not in self.cached:
            pair = (self.groups[HUMAN], self.groups[name])
            present = [group for group in range(GROUPS) if any((side == group).any() for side in pair)]
            jackknife_rows: list[tuple[Rows, Rows]] = [
                (np.flatnonzero(pair[0] != group), np.flatnonzero(pair[1] != group)) for group in present
            ]
            pair_of_features = self.features[HUMAN], self.features[name]
            tokens = partial(self._both_tokens, name)
            ratios = None if self.likelihoods is None else partial(self.likelihoods.ratios, name)
            codes = np.unique([*self.units[HUMAN], *self.units[name]], return_inverse=True)[1]
            units = codes[: len(pair_of_features[0])], codes[len(pair_of_features[0]) :]
            score, progress = self.score, self.progress
            self.cached[name] = Sides(
                *pair_of_features, jackknife_rows, score, tokens, self.device, progress, ratios=ratios, units=units
            )
        return self.cached[name]

    def _both_tokens(self, name: str) -> tuple[Tokens, Tokens]:
        return self.tokens(HUMAN), self.tokens(name)

    def tokens(self, name: str) -> Tokens:
        """Token ids of a side from the encoder's tokenizer, or numbered words if there is none.

        For word vectors and models behind servers the words are those by which word vectors are looked up, so the file
        or server need not exist anymore. For given features they are separated by white space.
        """
        from mauve_core.encoders.catalogue import has_no_tokenizer
        from mauve_core.encoders.word_vectors import words_of

        if name not in self.read:
            texts, encoder = list(self.run.corpora[name].texts), self.run.comparison.config.encoder
            if encoder is None:
                rows = [[self.words.setdefault(word, len(self.words)) for word in text.split()] for text in texts]
            elif has_no_tokenizer(encoder.model):
                split = map(words_of, texts)
                rows = [[self.words.setdefault(word, len(self.words)) for word in words] for words in split]
            else:
                tokenizer = load_tokenizer(encoder.model, encoder.revision)
                rows = read_texts(tokenizer, texts, add_special_tokens=False)["input_ids"]
            self.read[name] = [np.asarray(row, dtype=np.int64) for row in rows]
        return self.read[name]


def _result(method: Method, fitted: _Fitted) -> MethodResult:
    scores = {name: _score(method, fits) for name, fits in fitted.candidates.items()}
    halves = [half.fits[0].value(method) for half in fitted.halves]
    ceiling = None
    if halves:
        ceiling = MethodScore(float(np.mean(halves)), _sd(halves), None, None, None, fitted.halves[0].n)
    notes = tuple(dict.fromkeys(note for fits in fitted.candidates.values() for one in fits.fits for note in one.notes))
    return MethodResult(method, scores, ceiling, fitted.seconds, notes)


def _caveats(fitted: _Fitted) -> list[str]:
    """Each caveat once, with the candidates that it holds for."""
    names: dict[str, list[str]] = {}
    for name, fits in fitted.candidates.items():
        without = [f"neither spread nor test: {fits.too_few}"] if fits.too_few else []
        for caveat in dict.fromkeys([*without, *(caveat for one in fits.fits for caveat in one.caveats)]):
            names.setdefault(caveat, []).append(name)
    return [f"{', '.join(found)}: {caveat}" for caveat, found in names.items()]


def _tested(result: MethodResult, fitted: _Fitted, work: _Work, permutations: int) -> MethodResult:
    """Add a p-value for each candidate if the method has bins and no correction; all share the same permutations."""
    if result.method.correction != "none":
        return result
    scores, notes = dict(result.scores), list[str]()
    seed = stream(work.score.seed, "permutations")
    for name, fits in fitted.candidates.items():
        first = fits.fits[0]
        if fits.too_few or not isinstance(first, Binned):
            continue
        labels = np.concatenate(first.labels)
        statistic = histogram_statistic(labels, first.k, result.method.value, smoothing=result.method.smoothing)
        own = [work.units[side] for side in (HUMAN, name)]
        found = permutation_test(
            statistic,
            *map(len, first.labels),
            permutations=permutations,
            seed=seed,
            units=np.unique([*own[0], *own[1]], return_inverse=True)[1],
            higher_is_closer=result.method.higher_is_closer,
        )
        scores[name] = replace(scores[name], p_value=found.p_value)
        notes += [f"{name}: {note}" for note in found.notes]
    return replace(result, scores=scores, notes=(*result.notes, *notes))


def _score(method: Method, fits: _Fits) -> MethodScore:
    """Mean over the seeds, with the jackknife of that mean."""
    values = [one.value(method) for one in fits.fits]
    mean = float(np.mean(values))
    left_out = [None if fits.too_few else one.left_out(method) for one in fits.fits]
    scores = [one.z for one in fits.fits if one.z is not None]
    z = float(np.mean(scores)) if len(scores) == len(values) else None
    score = MethodScore(mean, _sd(values), None, None, None, fits.n, z=z)
    defined = [row for row in left_out if row is not None]
    if len(defined) < len(left_out):
        return score
    estimates = np.mean(defined, axis=0)
    sizes = fits.sizes[fits.sizes > 0]
    if not (math.isfinite(mean) and np.isfinite(estimates).all()) or len(sizes) < 2:
        return score
    sd = jackknife_sd(mean, estimates, sizes)
    low, high = t_interval(mean, sd, len(sizes), CONFIDENCE, bounds=method.bounds)
    return replace(score, sd_texts=sd, low=low, high=high)


def _sd(values: Sequence[float]) -> float | None:
    if len(values) < 2 or not np.isfinite(values).all():
        return None
    return float(np.std(values, ddof=1))


def _absolute(model: str) -> str:
    """Make the model's path absolute; other model names stay."""
    path = Path(model).expanduser()
    return model if model in PACKAGED or not path.exists() else str(path.absolute())


Model = Annotated[NotBlank, Located(_absolute)]


@dataclass(frozen=True)
class CompareMethodsTask(RunTask):
    """Methods on a stored run; the fields are parameters of :func:`mauve_core.analyses.method_scores.methods_run`.

    ``methods`` are in the format of :func:`mauve_core.analyses.methods.parse_method`; the first one is the
    reference. The models are causal ones for direct estimation; give both or none.
    """

    kind: ClassVar[str] = "methods"
    titled: ClassVar[str] = "methods on"
    attachment: ClassVar[str] = ATTACHMENT

    methods: tuple[str, ...] = tuple(method.spec for method in PRESETS["divergences"])
    seeds: Annotated[int, Within(1, 100)] = METHOD_SEEDS
    permutations: Annotated[int, Within(0, 1_000_000)] = 0
    human_model: Model | None = None
    candidate_model: Model | None = None
    device: NotBlank = "cpu"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.human_model is None) != (self.candidate_model is None):
            given = "the human side" if self.candidate_model is None else "the candidates"
            raise InputError(
                "The models for direct estimation cannot be used",
                allowed="both or neither",
                received=f"only that of {given}, {self.human_model or self.candidate_model!r}",
            )
        if not self.methods or len({parse_method(spec) for spec in self.methods}) < len(self.methods):
            received = ", ".join(self.methods)
            raise InputError("The methods cannot be used", allowed="one or more, no duplicates", received=received)

    @property
    def models(self) -> Models | None:
        """Return the two models; None if they are not named."""
        if self.human_model is None or self.candidate_model is None:
            return None
        return Models(self.human_model, self.candidate_model)

    def amount(self, run: Run) -> Amount:
        """All texts, under the same methods, with as many seeds and permutations."""
        texts = sum(source.n for source in run.comparison.sources)
        settings = f"{self.seeds} seeds", f"{self.permutations} permutations", f"{self.models}"
        return Amount((*sorted(self.methods), *settings), texts, run.comparison.words.count(texts))

    def compute(self, progress: Progress = silent) -> MethodTable:
        """Score the run's candidates and keep the table."""
        run = self.load()
        table = methods_run(
            run,
            [parse_method(spec) for spec in self.methods],
            seeds=self.seeds,
            permutations=self.permutations,
            models=self.models,
            device=self.device,
            progress=progress,
        )
        return self.keep(run, ATTACHMENT, table, progress)

    def _answer(self, run: Run) -> MethodTable | None:
        """The stored table, if it has every method with as many seeds and permutations; of more, those asked for.

        Direct estimation is always computed: files of models may have changed.
        """
        table, wanted = stored_methods(run), [parse_method(spec) for spec in self.methods]
        known = {} if table is None else {each.method: each for each in table.results}
        if table is None or not known.keys() >= set(wanted) or any(each.estimator == "direct" for each in wanted):
            return None
        if [table.settings.get(name) for name in ("seeds", "permutations")] != [self.seeds, self.permutations]:
            return None
        if wanted == list(known):
            return table
        return replace(table, results=tuple(known[each] for each in wanted), notes=())
