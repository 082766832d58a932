"""Methods on a stored run: fit each estimator once per candidate and seed, then evaluate all methods from the fits."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, METHOD_SEEDS, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.extras import asking_for_packages
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.features import FeatureStore
from mauve_core.encoders.models import load_tokenizer
from mauve_core.encoders.tokenizing import read_texts
from mauve_core.experiments.methods.direct import Likelihoods, Models
from mauve_core.experiments.methods.fitting import DRAWING, STREAMS, WITHOUT_HALVES, fit
from mauve_core.experiments.methods.kinds import ESTIMATORS
from mauve_core.experiments.methods.method import Method
from mauve_core.experiments.methods.sides import Binned, Fit, Rows, Sides, Tokens
from mauve_core.experiments.methods.table import MethodResult, MethodScore, MethodTable
from mauve_core.experiments.text_measures.spread import CONFIDENCE, GROUPS, group_of
from mauve_core.experiments.text_measures.stored import collection_of
from mauve_core.runs import Run
from mauve_core.runs.features import stored_features
from mauve_core.scoring.streams import stream
from mauve_core.stats.resampling import histogram_statistic, jackknife_sd, permutation_test, t_interval
from mauve_core.stats.units import too_few
from mauve_core.texts.pairing import keys_of, unit_names

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
    """The human side and one candidate of a run, for :func:`mauve_core.experiments.methods.fitting.fit`."""
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
