"""Perturbation probes of a stored run: how its score responds to deliberate changes of texts or other items.

    probe_run(run, [parse_perturbation("drop-articles"), parse_perturbation("shuffle-words")])

ICLR 2023, section 6.2: the texts of one source are split into an untouched reference half and a perturbed comparison
half, which are clustered together and compared. The untouched comparison half gives the noise floor; texts of other
sources replace it as a baseline. No unit (:mod:`mauve_core.stats.units`) has texts in both halves unless
units are too few for a test. Perturbations that pair texts, such as ``swap-halves``, pair them within the comparison
half, so that no part of the reference half enters it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.analyses.frozen_clusters import freeze_clusters
from mauve_core.analyses.probe_results import (
    ATTACHMENT,
    PROBE_SCORES,
    Flow,
    LineKind,
    ProbeLine,
    ProbeTable,
    detectable_by,
    permutations_for,
    split_test,
)
from mauve_core.analyses.sweeps import STAGE, Request
from mauve_core.analyses.tasks import Amount, RunTask, Splits, settings_in_words
from mauve_core.base.config import HUMAN, PROBE_SPLITS, ScoreConfig
from mauve_core.base.config import PROBE_SPLITS as SPLITS
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import plural, significant, verb
from mauve_core.base.json_codec import NotBlank, Seeds
from mauve_core.base.progress import Progress, Told, silent
from mauve_core.base.words import Words
from mauve_core.clusters.k_means import default_k
from mauve_core.encoders.features import FeatureStore
from mauve_core.runs import Run
from mauve_core.runs.features import stored_features
from mauve_core.scoring.partitioning import MIN_TEXTS, partitions
from mauve_core.scoring.result import Partition, SeedSpread
from mauve_core.scoring.streams import stream
from mauve_core.stats.divergences import mauve, probabilities
from mauve_core.stats.f_divergences import CLUSTER_SMOOTHING, FIVE
from mauve_core.stats.multiple_tests import POWER
from mauve_core.stats.resampling import PermutationTest
from mauve_core.stats.units import together, too_few
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import ItemEncoder, PerturbedCorpus, kind_of, parse_perturbation
from mauve_core.texts.pairing import keys_of, prompt_names, units_among, units_to_draw
from mauve_core.texts.perturbations import CONTROL, PROBES, Perturbation, dosed, require_of

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """One split.

    Attributes
    ----------
    reference, comparison : (n,) int64 arrays
        Disjoint rows of the source, ascending.
    others : mapping of str to (n,) int64 array
        Rows of other sources that replace the comparison half; sources with fewer than n texts are missing.
    units : (2 n,) int64 array
        Unit of each text of the reference and of the comparison half.
    seeds : tuple of SeedSequence
        k-means seeds, the same for every comparison with the reference half.
    exchange : SeedSequence
        Seed of the test, which deals the units of both halves anew; the same for every perturbation.
    """

    reference: Rows
    comparison: Rows
    others: Mapping[str, Rows]
    units: Rows
    seeds: tuple[SeedSequence, ...]
    exchange: SeedSequence


def usable_rows(corpus: Corpus, rows: Sequence[int] | None) -> Rows:
    """The chosen rows of a source, ascending; all by default.

    InputError if a row is out of range or repeated, or if there are too few for two halves.
    """
    chosen = np.arange(len(corpus)) if rows is None else np.sort(np.asarray(list(rows)))
    in_range = chosen.dtype.kind in "iu" and np.all((chosen >= 0) & (chosen < len(corpus)))
    if chosen.size and not (in_range and len(np.unique(chosen)) == len(chosen)):
        raise InputError(
            "The rows do not select texts", allowed=f"whole numbers from 0 to {len(corpus) - 1}, each once"
        )
    if len(chosen) < 2 * MIN_TEXTS:
        raise InputError(
            f"Too few {kind_of(corpus.kind).words.items} of {corpus.name!r} for two halves",
            allowed=f"at least {2 * MIN_TEXTS}",
            received=str(len(chosen)),
        )
    return chosen.astype(np.int64)


def split_rows(
    corpora: Mapping[str, Corpus], source: str, rows: Rows, seed: int, splits: int, seeds: int
) -> tuple[Split, ...]:
    """Split the rows of a source into random halves of equal size.

    Rows are left out so that units stay whole: as many as the largest unit has less one, and one more of an odd number.
    Another source is represented by its first text for each of the comparison half's prompts if it has them all,
    otherwise by texts drawn without replacement, those of the reference half's units last.
    """
    cuts, draws, starts, exchanges = (child.spawn(splits) for child in stream(seed, "probes").spawn(4))
    units = np.full(len(corpora[source]), -1)
    units[rows] = units_to_draw({source: corpora[source].take(rows)})[source]
    n = (len(rows) - int(np.bincount(units[rows]).max()) + 1) // 2
    prompts = prompt_names(keys_of(corpora))
    indices = {
        name: {prompt: row for row, prompt in reversed(list(enumerate(prompts[name])))}
        for name, corpus in corpora.items()
        if name != source and len(corpus) >= n
    }
    known = {name: units_to_draw({source: corpora[source], name: corpora[name]}) for name in indices}
    result = []
    for cut, draw, start, exchange in zip(cuts, draws, starts, exchanges, strict=True):
        order = together(np.random.default_rng(cut).permutation(rows), units)
        free = order[~np.isin(units[order], units[order[:n]])]
        reference, comparison = np.sort(order[:n]), np.sort(free[:n])
        wanted = [prompts[source][row] for row in comparison]
        others = {}
        for name, index in indices.items():
            if len(set(wanted)) == n and all(prompt in index for prompt in wanted):
                others[name] = np.array([index[prompt] for prompt in wanted], dtype=np.int64)
            else:
                drawn = np.random.default_rng(draw).permutation(len(corpora[name]))
                near = np.isin(known[name][name][drawn], known[name][source][reference])
                others[name] = np.sort(drawn[np.argsort(near, kind="stable")][:n]).astype(np.int64)
        of_halves = units[np.concatenate([reference, comparison])]
        result.append(Split(reference, comparison, others, of_halves, tuple(start.spawn(seeds)), exchange))
    return tuple(result)


# The perturbations of ICLR 2023, section 6.2, besides the control.
PAPER = tuple(map(parse_perturbation, PROBES))

# Number of dose bands; texts are encoded band by band, so that other doses reuse stored features.
BANDS = 10

_Array = NDArray[np.float32]


def probe_run(
    run: Run,
    perturbations: Sequence[Perturbation] | None = None,
    *,
    source: str = HUMAN,
    rows: Sequence[int] | None = None,
    splits: int = PROBE_SPLITS,
    seeds: int | None = None,
    device: str = "auto",
    encoder: ItemEncoder | None = None,
    feature_store: FeatureStore | None = None,
    progress: Progress = silent,
) -> ProbeTable:
    """Perturb half of a source's items and compare them with the other half.

    Parameters
    ----------
    perturbations : sequence of Perturbation, optional
        Without duplicates; the control is always included. Default: ``probes`` of the kind of items, which for texts
        are those of ICLR 2023 (``PAPER``).
    source : str
        Source of the items.
    rows : sequence of int, optional
        Items of the source to use; all by default.
    splits : int
        Number of random splits into halves, from 1 to 100.
    seeds : int, optional
        k-means seeds of each split; default the run's number.
    device : str
        Device of the encoder.
    encoder : optional
        Replaces the run's own.
    feature_store : FeatureStore, optional
        Store for new features; default the user's own.
    progress : callable
        May raise CancelledError; finished features stay in the store.

    Raises
    ------
    InputError
        Settings out of range, unknown source, no encoder or kept features, too few items, a perturbation of other
        items, a pattern that is too slow, or originals of images that have gone or changed.
    """
    kind = kind_of(run.comparison.human.kind)
    if not kind.probes:
        raise InputError(f"Nothing perturbs {kind.words.items}", allowed="a run of texts or images")
    given = tuple(map(parse_perturbation, kind.probes)) if perturbations is None else perturbations
    chosen = [item for item in given if item != CONTROL]
    for item in chosen:
        require_of(kind.words.items, item, kind.perturbations)
    if len(set(chosen)) < len(chosen) or not 1 <= splits <= 100:
        received = f"{', '.join(item.spec for item in given)}; {splits} splits"
        raise InputError("The probes are not usable", allowed="no duplicates; 1 to 100 splits", received=received)
    store = FeatureStore() if feature_store is None else feature_store
    request = Request(run, None, seeds, device, store, progress)
    if source not in run.corpora:
        raise InputError(f"No source named {source!r} in this run", allowed=", ".join(run.corpora))
    work = Work(request, source, usable_rows(run.corpora[source], rows), splits, encoder, len(chosen))
    control = work.control()
    treated = [work.treated(item) for item in chosen]
    flows, kept_share = work.flows(treated)
    lines = (control, *work.lines(treated, flows))
    notes = _notes(work, treated, kept_share)
    return ProbeTable(source, lines, _settings(work, rows, splits), notes, kind.name, run.comparison.human.source)


@dataclass(frozen=True, eq=False)
class _Treated:
    """A perturbation of every split's comparison half: features, changed items, and notes."""

    perturbation: Perturbation
    features: tuple[_Array, ...]
    changed: tuple[NDArray[np.bool_], ...]
    notes: tuple[str, ...]


class Work:
    """Steps of :func:`probe_run`: splits, perturbed halves, flows and scores."""

    def __init__(
        self, request: Request, source: str, rows: Rows, splits: int, encoder: ItemEncoder | None, tests: int
    ) -> None:
        self.request, self.source, self.rows = request, source, rows
        self.run, self.score = request.run, request.score
        self.corpus = self.run.corpora[source]
        self.kind = kind_of(self.corpus.kind)
        self.features = stored_features(request.run, request.feature_store)
        self.splits = split_rows(self.run.corpora, source, rows, self.score.seed, splits, self.score.seeds)
        self.encoder, self.tests, self.permutations = encoder, tests, permutations_for(tests)

    def control(self) -> ProbeLine:
        """Score the untouched halves, and say what a test of such halves detects before anything is encoded."""
        own, progress = self.features[self.source], _Counter(self.request.progress, len(self.splits) * self.score.seeds)
        halves = [own[split.comparison] for split in self.splits]
        line = self._line("control", CONTROL.spec, halves, 0.0, self.tests, progress)
        if line.detectable is not None:
            self.request.progress(Told(self._foretold(line.n, line.detectable)), 1, 1)
        return line

    def _foretold(self, n: int, drop: float) -> str:
        several, items = self.tests > 1, self.kind.words.items
        halves = f"With halves of {n:,} {items}" + (f" and {self.tests} perturbations" if several else "")
        if drop < 1:
            return f"{halves}, a drop of MAUVE of {significant(drop)} is detected with probability {POWER:g}."
        todo = f"take more {items}" + (" or fewer perturbations" if several else "")
        return f"{halves}, no drop of MAUVE is likely to be detected: {todo}."

    def treated(self, item: Perturbation) -> _Treated:
        """The perturbed comparison halves.

        Items are perturbed once for all splits. Exchanges between texts run within each half instead, so that no part
        of the reference half enters.
        """
        halves = [split.comparison for split in self.splits]
        groups = halves if item.kind.part is not None else [np.unique(np.concatenate(halves))]
        perturbed = []
        for group in groups:
            part = self.corpus.take(group)
            done = self.kind.perturb(part, item, seed=self.score.seed, progress=self.request.progress)
            perturbed.append((group, self._encoded(item, group, done), done))
        if len(perturbed) == 1:
            perturbed *= len(halves)
        indices = [np.searchsorted(group, half) for half, (group, _, _) in zip(halves, perturbed, strict=True)]
        features = tuple(array[rows] for rows, (_, array, _) in zip(indices, perturbed, strict=True))
        changed = tuple(done.changed[rows] for rows, (_, _, done) in zip(indices, perturbed, strict=True))
        return _Treated(item, features, changed, perturbed[0][2].notes)

    def _encoded(self, item: Perturbation, rows: Rows, done: PerturbedCorpus) -> _Array:
        """Features of those rows after the perturbation; unchanged items reuse the run's own."""
        array = np.array(self.features[self.source][rows])
        dose = np.array([dosed(self.score.seed, i) for i in done.corpus.ids])

        def tell(stage: str, count: int, total: int) -> None:
            self.request.progress(f"{stage}: {item.title}", count, total)

        for band in range(BANDS):
            indices = np.flatnonzero(done.changed & (np.floor(dose * BANDS) == band))
            if indices.size:
                part = done.corpus.take(indices)
                array[indices] = self._encoder().encode(part, store=self.request.feature_store, progress=tell).array
        return array

    def _encoder(self) -> ItemEncoder:
        if self.encoder is None:
            config = self.run.comparison.config.encoder
            if config is None:
                items = self.kind.words.items
                raise InputError(
                    f"Run {self.run.id} was made from given features, so changed {items} cannot be encoded",
                    allowed="a run with an encoder",
                )
            self.encoder = self.kind.encoder(config, self.request.device)
        return self.encoder

    def flows(self, treated: Sequence[_Treated]) -> tuple[list[Flow], float]:
        """Clusters of the first split's comparison half before and after, in the run's first joint partition."""
        if not treated:
            return [], 1.0
        partition, half = self.run.comparison.joint[0], self.splits[0].comparison
        clusters = freeze_clusters(partition, self.features, self.run.comparison.config.score)
        before = np.asarray(partition.labels[self.source])[half].astype(np.int32)
        ids, flows = tuple(self.corpus.ids[i] for i in half), []
        for item in treated:
            after = before.copy()
            after[item.changed[0]] = clusters.nearest(item.features[0][item.changed[0]])
            flows.append(Flow(partition.k, ids, before, after))
        return flows, clusters.kept_share

    def lines(self, treated: Sequence[_Treated], flows: Sequence[Flow]) -> tuple[ProbeLine, ...]:
        """Score the perturbations and the other sources."""
        others = list(self.splits[0].others)
        total = (len(treated) + len(others)) * len(self.splits) * self.score.seeds
        progress, result = _Counter(self.request.progress, total), []
        tests = max(1, sum(any(each.any() for each in item.changed) for item in treated))
        for item, flow in zip(treated, flows, strict=True):
            changed = float(np.mean(np.concatenate(item.changed)))
            line = self._line("perturbation", item.perturbation.spec, item.features, changed, tests, progress)
            result.append(replace(line, flow=flow, notes=item.notes))
        for name in others:
            arrays = [self.features[name][split.others[name]] for split in self.splits]
            result.append(self._line("source", name, arrays, 1.0, 0, progress))
        return tuple(result)

    def _line(
        self, kind: LineKind, name: str, arrays: Sequence[_Array], changed: float, tests: int, progress: _Counter
    ) -> ProbeLine:
        """Score a half of every split; ``tests`` perturbations share the level of the test, 0 for no test."""
        values: dict[str, list[float]] = {measure: [] for measure in PROBE_SCORES}
        found_by: list[PermutationTest] = []
        for split, array in zip(self.splits, arrays, strict=True):
            sides = {"reference": self.features[self.source][split.reference], "comparison": array}
            parts = partitions("pairwise", sides, split.seeds, self.score, progress.advance)
            for measure, found in self._scores(parts).items():
                values[measure] += found
            if tests:
                found_by.append(split_test(parts, self.score.scale, self.permutations, split.exchange, split.units))
        n = len(self.splits[0].reference)
        scores = {measure: SeedSpread.of(found) for measure, found in values.items()}
        k = self.score.k or default_k(n, n)
        p_values = tuple(each.p_value for each in found_by) if kind == "perturbation" else ()
        detectable = detectable_by(found_by, self.score.scale, tests) if found_by else None
        return ProbeLine(kind, name, n, k, changed, scores, p_values=p_values, detectable=detectable)

    def _scores(self, parts: Sequence[Partition]) -> dict[str, list[float]]:
        """Each measure for each k-means seed; P is the reference half."""
        counts = [np.stack([part.counts(side) for part in parts]) for side in parts[0].labels]
        p, q = (probabilities(count, CLUSTER_SMOOTHING) for count in counts)
        found = {measure: np.asarray(value(p, q)) for measure, value in FIVE.items()}
        found["mauve"] = mauve(probabilities(counts[0]), probabilities(counts[1]), self.score.scale)
        return {measure: found[measure].tolist() for measure in PROBE_SCORES}


class _Counter:
    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._done, self._total = progress, 0, total
        progress(STAGE, 0, total)

    def advance(self) -> None:
        self._done += 1
        self._progress(STAGE, self._done, self._total)


def _settings(work: Work, rows: Sequence[int] | None, splits: int) -> dict[str, object]:
    comparison, score = work.run.comparison, work.score
    return {
        "run": work.run.id,
        "created": work.run.created,
        "rows": None if rows is None else work.rows.tolist(),
        "splits": splits,
        "seeds": score.seeds,
        "seed": score.seed,
        "scale": score.scale,
        "smoothing": CLUSTER_SMOOTHING,
        "permutations": work.permutations,
        "config": comparison.config.as_dict(),
        "sources": {source.name: {"n": source.n, "digest": source.digest} for source in comparison.sources},
    }


def _notes(work: Work, treated: Sequence[_Treated], kept_share: float) -> tuple[str, ...]:
    n, score, words = len(work.splits[0].reference), work.score, work.kind.words
    notes = [
        f"Halves of {n:,} {words.items}; splits: {len(work.splits)}; k-means seeds per split: {score.seeds}. "
        + (
            f"Splits share {words.items}, so the spread is narrower than it would be for new {words.items}."
            if len(work.splits) > 1
            else f"One split says nothing about the spread over {words.items}."
        ),
        f"Divergences: {CLUSTER_SMOOTHING.title()}-smoothed clusters. MAUVE: unsmoothed ones, c = {score.scale:g}.",
        _on_flow(work.score, kept_share, words) if treated else "",
        _on_left_out(len(work.rows) - 2 * n, words),
        _on_units(too_few(units_among({work.source: work.corpus.take(work.rows)})[work.source]), words),
    ]
    notes += [
        f"{name} is left out: it has fewer than {n:,} {words.items}."
        for name in work.run.corpora
        if name not in (work.source, *work.splits[0].others)
    ]
    cut = next(source.cut for source in work.run.comparison.sources if source.name == work.source)
    if cut and treated:
        notes.append(
            f"{plural(cut, 'text')} of {work.source} {verb(cut, 'is', 'are')} longer than the encoder's limit. Such "
            "texts are perturbed whole and then cut, so words from beyond the cut may move in."
        )
    return tuple(filter(None, notes))


def _on_left_out(count: int, words: Words) -> str:
    if count > 1:
        left_out = f"{count:,} {words.items} are left out of each split"
        return f"{left_out}: halves are of one size and share no {words.group} or document."
    return f"One {words.item} is left out of each split because their number is odd." if count else ""


def _on_units(few: str, words: Words) -> str:
    return f"The test takes {words.items} for independent, which they may not be: {few}." if few else ""


def _on_flow(score: ScoreConfig, share: float, words: Words) -> str:
    note = "The flow shows the first split's comparison half in the run's joint clusters under its first seed"
    if share == 1:
        return f"{note}."
    return (
        f"{note}. {1 - share:.2%} of the run's own {words.items} are nearer to another centroid than to that of their "
        f"cluster (k-means stops after {score.max_iterations} iterations): that much movement means nothing."
    )


@dataclass(frozen=True)
class ProbeTask(RunTask):
    """Perturbation probes of a stored run; the fields are parameters of :func:`probe_run`.

    ``perturbations`` are in the format of :func:`mauve_core.texts.kinds.parse_perturbation`. None stands for those
    that are usual for the run's kind of items.
    """

    kind: ClassVar[str] = "probes"
    titled: ClassVar[str] = "probes of"
    kept: ClassVar[str] = "features already computed"

    perturbations: tuple[str, ...] | None = None
    source: NotBlank = HUMAN
    rows: tuple[int, ...] | None = None
    splits: Splits = SPLITS
    seeds: Seeds | None = None
    device: NotBlank = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        specs = self.perturbations or ()
        if len({parse_perturbation(spec) for spec in specs}) < len(specs):
            raise InputError("The perturbations cannot be used", allowed="no duplicates", received=", ".join(specs))

    def specs(self, run: Run) -> tuple[str, ...]:
        """Return the perturbations of that run, which may be the usual ones."""
        return kind_of(run.comparison.human.kind).probes if self.perturbations is None else self.perturbations

    def encodings(self, run: Run) -> int:
        """Return the number of changed items to encode at most; exchanges between texts run within each half."""
        n = (len(run.corpora[self.source]) if self.rows is None else len(self.rows)) // 2
        once = n if self.splits == 1 else min(2 * n, n * self.splits)
        parts = (parse_perturbation(spec).kind.part for spec in self.specs(run))
        return sum(once if part is None else n * self.splits for part in parts)

    def amount(self, run: Run) -> Amount:
        """The changed items, under the same perturbations and encoder."""
        encoder = settings_in_words(run.comparison.config.encoder)
        changed = self.encodings(run)
        words = f"{changed:,} changed {run.comparison.words.items}"
        return Amount((*sorted(self.specs(run)), encoder), changed, words, "all")

    def compute(self, progress: Progress = silent) -> ProbeTable:
        """Probe the run and keep the table."""
        run = self.load()
        table = probe_run(
            run,
            [parse_perturbation(spec) for spec in self.specs(run)],
            source=self.source,
            rows=self.rows,
            splits=self.splits,
            seeds=self.seeds,
            device=self.device,
            progress=progress,
        )
        return self.keep(run, ATTACHMENT, table, progress)
