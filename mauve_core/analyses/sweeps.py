"""Sweeps of a stored run: its candidates' scores over one setting, with a spread over seeds at each point.

Settings are text length (NeurIPS 2021, figure 4; JMLR 2023, figure 8), numbers of texts and clusters and the decoder's
parameter (NeurIPS 2021, appendix, figures 7 and 8), and the scaling constant (figure 5). Number of clusters, texts per
side and tokens per text need new clusters: each uses the pairwise partition (P with one Q) and the run's own random
streams, so a point at the run's own setting has the run's own clusters. The scaling constant and the decoder's
parameter use the run's partitions; nothing is encoded or clustered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import AXES, HUMAN, SCALE_BOUNDS, Over, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import As, Count, RangedByName, Settings, dataclass_to_json, from_json
from mauve_core.base.progress import Progress, silent
from mauve_core.decoding.decoders import Decoder, parse_decoder
from mauve_core.encoders import PrefixEncoder, feature_key
from mauve_core.encoders.features import FeatureStore
from mauve_core.runs import Run
from mauve_core.runs.checkpoints import FinishedParts
from mauve_core.runs.features import stored_features
from mauve_core.scoring.partitioning import MIN_TEXTS, clustering_seeds, partition, partitions, reduced_together
from mauve_core.scoring.result import Candidate, Partition, SeedSpread
from mauve_core.scoring.sides import FEW_PER_CLUSTER
from mauve_core.scoring.streams import stream
from mauve_core.stats.scores import LASTING, SCORES, score_counts
from mauve_core.stats.units import together
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import require_words
from mauve_core.texts.metadata import python_values
from mauve_core.texts.pairing import units_to_draw


@dataclass(frozen=True)
class SweepPoint:
    """One candidate at one value.

    Attributes
    ----------
    value : float
        Value of the setting.
    candidate : str
        The point's line: the candidate's name; for ``over="decoder"`` the decoder's family and parameter, as in
        ``nucleus p``.
    source : str
        Candidate whose texts were scored.
    n : int
        Texts of the smaller side.
    k : int
        Clusters.
    scores : mapping of str to SeedSpread
        For each name of ``mauve_core.stats.scores.SCORES``.
    """

    value: float
    candidate: str
    source: str
    n: Count
    k: Count
    scores: Annotated[Mapping[str, SeedSpread], RangedByName({name: score.bounds for name, score in SCORES.items()})]

    def __post_init__(self) -> None:
        if not set(self.scores) >= LASTING:
            raise InputError("A point of a sweep lacks scores", allowed=", ".join(sorted(LASTING)))


@dataclass(frozen=True)
class Sweep:
    """Scores of a run's candidates over one setting.

    Attributes
    ----------
    over : {"length", "n", "k", "scale", "decoder"}
        The setting.
    points : tuple of SweepPoint
        Grouped by line in the run's order of candidates, each in ascending value.
    settings : mapping
        Fixed settings and inputs of the numbers, as plain JSON.
    notes : tuple of str
        What the spread covers, exclusions with reasons, and other caveats.
    """

    over: Over
    points: tuple[SweepPoint, ...]
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def candidates(self) -> tuple[str, ...]:
        """The lines, in order."""
        return tuple(dict.fromkeys(point.candidate for point in self.points))

    @property
    def values(self) -> tuple[float, ...]:
        """All values of any point, ascending."""
        return tuple(sorted({point.value for point in self.points}))

    def line(self, candidate: str) -> tuple[SweepPoint, ...]:
        """The points of one line in ascending value; InputError lists the lines."""
        found = tuple(point for point in self.points if point.candidate == candidate)
        if not found:
            raise InputError(f"No line {candidate!r} in this sweep", allowed=", ".join(self.candidates))
        return found


def require_axis(over: object) -> Over:
    """Validate ``over``; InputError lists the axes."""
    for axis in AXES:
        if over == axis:
            return axis
    raise InputError("There is no such sweep", allowed=", ".join(AXES), received=repr(over))


def attachment_name(over: str) -> str:
    """Attachment name of a sweep."""
    return f"sweep-{over}"


def require_positive(values: Sequence[float]) -> None:
    """Raise InputError for a value that has no place on a logarithmic axis."""
    if min(values) <= 0:
        raise InputError("A value of the sweep cannot be used", allowed="numbers above 0", received=f"{min(values):g}")


def stored_sweep(run: Run, over: Over) -> Sweep | None:
    """The run's stored sweep over that axis, or None; InputError if ``over`` is no axis.

    StorageError or InputError if the stored sweep is damaged.
    """
    values = run.attachment(attachment_name(require_axis(over)))
    if values is None:
        return None
    sweep = from_json(Sweep, values)
    run.require_sources((point.source for point in sweep.points), "The sweep")
    if sweep.over != over or not sweep.points:
        raise InputError("The sweep is over a different setting", allowed=over, received=sweep.over)
    if over != "decoder":  # its lines are named after decoder families, and its values have ranges of their own
        run.require_sources(sweep.candidates, "The sweep")
        require_positive(sweep.values)
    return sweep


# Progress stage; counts partitions.
STAGE = "Clustering"


@dataclass(frozen=True)
class Request:
    """A sweep request; ``values`` None takes the axis' defaults, ``seeds`` None the run's number.

    ``finished`` saves points for a restart; None saves none.
    """

    run: Run
    values: Sequence[float] | None
    seeds: int | None
    device: str
    feature_store: FeatureStore
    progress: Progress
    finished: FinishedParts | None = None

    @property
    def score(self) -> ScoreConfig:
        """The run's settings with the requested number of seeds."""
        own = self.run.comparison.config.score
        return own if self.seeds is None else replace(own, seeds=self.seeds)

    @property
    def names(self) -> tuple[str, ...]:
        """Candidates in run order."""
        return tuple(candidate.name for candidate in self.run.comparison.candidates)

    @property
    def fewest(self) -> int:
        """Number of texts of the smallest side, including the human side."""
        return min(source.n for source in self.run.comparison.sources)

    def stored_seeds(self) -> int:
        """Number of seeds for an axis that reads the run's own partitions; InputError if the run has fewer."""
        stored = self.run.comparison.config.score.seeds
        seeds = stored if self.seeds is None else self.seeds
        if seeds > stored:
            raise InputError(
                "This sweep uses the run's own partitions, and there are fewer of them",
                allowed=f"1 to {stored} seeds",
                received=str(seeds),
            )
        return seeds


@dataclass(frozen=True)
class Swept:
    """Result of an axis: points in any order, and notes."""

    points: tuple[SweepPoint, ...]
    notes: tuple[str, ...]


class Collector:
    """Collects points as they finish; a point that cannot be clustered is left out with a note.

    It starts with the previously finished points; see :meth:`missing`.
    """

    def __init__(self, request: Request, values: Sequence[float]) -> None:
        self._request = request
        self._left_out: list[str] = []
        wanted = [(float(value), name) for value in values for name in request.names]
        self._points = {key: point for key in wanted if (point := self._stored_point(*key)) is not None}
        self._done, self._total = (len(found) * request.score.seeds for found in (self._points, wanted))
        request.progress(STAGE, self._done, self._total)

    def missing(self, value: float, candidate: str) -> bool:
        """Whether the point is still to be computed."""
        return (float(value), candidate) not in self._points

    def advance(self) -> None:
        """Count a finished partition."""
        self._done += 1
        self._request.progress(STAGE, self._done, self._total)

    @contextmanager
    def point(self, value: float, candidate: str) -> Iterator[list[Partition]]:
        """Yield the list for the point's partitions, one per seed; an InputError becomes a note."""
        before, parts = self._done, list[Partition]()
        try:
            yield parts
        except InputError as error:
            self._left_out.append(f"{candidate} at {value:g} is left out: {error}")
            self._done = before + self._request.score.seeds
        else:
            point = point_of(value, candidate, parts, self._request.score.scale)
            self._points[float(value), candidate] = point
            if self._request.finished is not None:
                self._request.finished.keep(_name(value, candidate), dataclass_to_json(point))

    def finished(self, notes: Iterable[str]) -> Swept:
        """All points and the nonempty notes; InputError without any point."""
        if not self._points:
            raise InputError("No point of this sweep could be scored", received=self._left_out[0])
        return Swept(tuple(self._points.values()), (*filter(None, notes), *self._left_out))

    def _stored_point(self, value: float, candidate: str) -> SweepPoint | None:
        found = None if self._request.finished is None else self._request.finished.get(_name(value, candidate))
        with suppress(InputError):  # if the stored point is invalid, compute it again
            return None if found is None else from_json(SweepPoint, found)
        return None


def point_of(value: float, candidate: str, parts: Sequence[Partition], scale: float) -> SweepPoint:
    """Scores of one candidate from its partitions, one per seed (JMLR 2023, sections 3.2 and 4.1)."""
    p, q = (np.stack([part.counts(side) for part in parts]) for side in (HUMAN, candidate))
    scores = score_counts(p, q, scale=scale)
    n = min(int(p[0].sum()), int(q[0].sum()))
    spreads = {name: SeedSpread.of(scores[name].tolist()) for name in SCORES}
    return SweepPoint(float(value), candidate, candidate, n, parts[0].k, spreads)


def whole_values(what: str, values: Sequence[float], low: int, high: int) -> tuple[int, ...]:
    """Distinct whole numbers, ascending; InputError for none, or one not whole or outside ``low`` to ``high``."""
    allowed = f"whole numbers from {low} to {high}"
    _require(what, values, lambda value: low <= value <= high and value == int(value), allowed)
    return tuple(sorted({int(value) for value in values}))


def positive_values(what: str, values: Sequence[float]) -> tuple[float, ...]:
    """Distinct positive finite numbers, ascending; InputError if there are none or one is invalid."""
    _require(what, values, lambda value: value > 0, "positive finite numbers")
    return tuple(sorted({float(value) for value in values}))


def numbers_within(what: str, values: Sequence[float], low: float, high: float) -> tuple[float, ...]:
    """Distinct numbers, ascending; InputError if there are none or one is outside ``low`` to ``high``."""
    _require(what, values, lambda value: low <= value <= high, f"numbers from {low:g} to {high:g}")
    return tuple(sorted({float(value) for value in values}))


def halved(top: int, low: int, most: int) -> tuple[int, ...]:
    """``top``, its half, its quarter ...: at most ``most`` values, none below ``low``, ascending."""
    values = [round(top / 2**step) for step in range(most)]
    return tuple(sorted({top, *(value for value in values if value >= low)}))


def _name(value: float, candidate: str) -> str:
    return f"{float(value)!r} {candidate}"


def _require(what: str, values: Sequence[float], usable: Callable[[float], bool], allowed: str) -> None:
    wrong = [value for value in values if not (_is_number(value) and usable(value))]
    if wrong or not len(values):
        received = ", ".join(map(str, wrong)) if wrong else "no value"
        raise InputError(f"{what} cannot be swept over these values", allowed=allowed, received=received)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True)
class RunPrefixes:
    """The texts of a run, to be cut and encoded with the run's own settings; InputError if it has no encoder.

    Attributes
    ----------
    run : Run
    store : FeatureStore
    device : str
        Device of the encoder.
    progress : callable
        May raise CancelledError.
    """

    run: Run
    store: FeatureStore
    device: str = "auto"
    progress: Progress = silent

    def __post_init__(self) -> None:
        if self.run.comparison.config.encoder is None:
            raise InputError(
                f"Run {self.run.id} was made from given features, so its texts cannot be cut and encoded again",
                allowed="a run with an encoder",
            )

    @cached_property
    def tokens(self) -> dict[str, NDArray[np.int32]]:
        """(n,) tokens of the texts of every source as the run has them, special ones included."""
        return {
            name: self._encoder.token_lengths(texts, store=self.store, progress=self.progress)
            for name, texts in self._texts.items()
        }

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest text."""
        return max(int(lengths.max()) for lengths in self.tokens.values())

    def features(self, name: str, lengths: Sequence[int]) -> dict[int, NDArray[np.float32]]:
        """(n, d) features of one source's texts, cut at each of ``lengths`` tokens.

        At a length that cuts none of its texts they are the run's own. No text becomes longer than the run has it.
        """
        texts, longest = self._texts[name], int(self.tokens[name].max())
        source = next(source for source in self.run.comparison.sources if source.name == name)
        own = self.run.features(name)
        reached = {length: min(length, longest) for length in lengths}
        arrays: dict[int, NDArray[np.float32]] = {}
        if own is not None and feature_key(texts, self._encoder.config) == source.features_key:
            arrays[longest] = own
        missing = sorted(set(reached.values()) - arrays.keys())

        def tell(stage: str, done: int, total: int) -> None:
            self.progress(f"{stage} of {name}", done, total)

        if missing:
            found = self._encoder.encode_prefixes(texts, missing, store=self.store, progress=tell)
            arrays |= {length: features.array for length, features in found.items()}
        return {length: arrays[place] for length, place in reached.items()}

    def notes(self, lengths: Sequence[int]) -> list[str]:
        """How many texts each of ``lengths`` cuts, and what counts as a token."""
        tokens = np.concatenate(list(self.tokens.values()))
        reached = ", ".join(f"{int((tokens >= length).sum()):,} at {length}" for length in lengths)
        with_prompt = self._encoder.config.with_prompt
        return [
            f"Of {len(tokens):,} texts on all sides, the numbers with at least that many tokens: {reached}. The others "
            "are used whole.",
            "Tokens are the encoder's, including special ones"
            + ("; prompt and text are counted together, the prompt first." if with_prompt else "."),
        ]

    @cached_property
    def _encoder(self) -> PrefixEncoder:
        config = self.run.comparison.config.encoder
        if config is None:
            raise TypeError("checked before")
        return PrefixEncoder(config, device=self.device)

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        with_prompt = self._encoder.config.with_prompt
        return {name: list(corpus.encoder_inputs(with_prompt)) for name, corpus in self.run.corpora.items()}


# Default values of an axis.
MOST_POINTS = 6

# Smallest default values of clusters and tokens.
FEWEST_CLUSTERS, SHORTEST = 8, 8

# Features of each source.
Sides = Mapping[str, NDArray[np.float32]]


def usual_ks(request: Request) -> tuple[int, ...]:
    """Default numbers of clusters, including the run's own."""
    return _beside(halved(request.fewest // 2, FEWEST_CLUSTERS, MOST_POINTS), _own_ks(request))


def usual_ns(request: Request) -> tuple[int, ...]:
    """Default numbers of texts per side."""
    return halved(request.fewest, _least_texts(request), MOST_POINTS)


def usual_lengths(longest: int) -> tuple[int, ...]:
    """Default numbers of tokens per text, if the longest text has ``longest``."""
    return halved(longest, SHORTEST, MOST_POINTS)


def over_k(request: Request) -> Swept:
    """Sweep the number of clusters; each pair of sides is projected once and clustered at every k."""
    fewest, score, features = request.fewest, request.score, stored_features(request.run, request.feature_store)
    ks = whole_values("The number of clusters", _values(request, usual_ks(request)), 2, fewest)
    collector = Collector(request, ks)
    for name, seeds in _candidates(request):
        pair = _pair(features, name)
        reduced, sizes = reduced_together(pair, score), {side: len(array) for side, array in pair.items()}
        for k in (k for k in ks if collector.missing(k, name)):
            with collector.point(k, name) as parts:
                for index, seed in enumerate(seeds):
                    at_k = replace(score, k=k)
                    parts.append(partition("pairwise", reduced, sizes, seed_index=index, seed=seed, score=at_k))
                    collector.advance()
    items, thin = request.run.comparison.words.items, ", ".join(str(k) for k in ks if fewest < FEW_PER_CLUSTER * k)
    return collector.finished(
        [
            f"The run's own k is {', '.join(map(str, _own_ks(request)))}.",
            f"At k = {thin}, a cluster has fewer than {FEW_PER_CLUSTER} {items} per side: mostly noise."
            if thin
            else "",
        ]
    )


def over_n(request: Request) -> Swept:
    """Sweep the texts per side, drawn by each seed without replacement; smaller sets are subsets of larger ones.

    For one seed, all candidates use the same human texts. A candidate with the same prompts follows them.
    """
    fewest, score, features = request.fewest, request.score, stored_features(request.run, request.feature_store)
    ns = whole_values(
        "The number of texts per side", _values(request, usual_ns(request)), _least_texts(request), fewest
    )
    collector = Collector(request, ns)
    orders = drawing_orders(request)
    for name, seeds in _candidates(request):
        pair = _pair(features, name)
        for n in (n for n in ns if collector.missing(n, name)):
            with collector.point(n, name) as parts:
                if all(len(array) == n for array in pair.values()):
                    parts += partitions("pairwise", pair, seeds, score, collector.advance)
                    continue
                for index, seed in enumerate(seeds):
                    drawn = {side: array[np.sort(orders[side][index][:n])] for side, array in pair.items()}
                    reduced, sizes = reduced_together(drawn, score), dict.fromkeys(drawn, n)
                    parts.append(partition("pairwise", reduced, sizes, seed_index=index, seed=seed, score=score))
                    collector.advance()
    items = request.run.comparison.words.items
    all_equal = {source.n for source in request.run.comparison.sources} == {fewest}
    return collector.finished(
        [
            f"Each seed draws its own {items}, so the spread includes their choice besides the k-means starts; "
            + (
                f"at n = {fewest}, nothing is drawn."
                if all_equal
                else f"the sides differ in size, so {items} are drawn at every n."
            ),
            f"k is {score.k} at every n."
            if score.k
            else f"k follows n: a tenth of the {items} per side, from 2 to 5,000.",
            f"Fewer {items} flatter a candidate: compare only points of equal n.",
        ]
    )


def over_length(request: Request) -> Swept:
    """Sweep the tokens per text on both sides; longer texts are truncated at the end, shorter ones stay whole."""
    require_words(request.run.comparison.human.kind, "The sweep over length")
    prefixes = RunPrefixes(request.run, request.feature_store, request.device, request.progress)
    values = _values(request, usual_lengths(prefixes.longest))
    lengths = whole_values("The length of the texts", values, 1, prefixes.longest)
    features = {name: prefixes.features(name, lengths) for name in request.run.corpora}
    collector = Collector(request, lengths)
    for name, seeds in _candidates(request):
        for length in (length for length in lengths if collector.missing(length, name)):
            with collector.point(length, name) as parts:
                pair = _pair({side: arrays[length] for side, arrays in features.items()}, name)
                parts += partitions("pairwise", pair, seeds, request.score, collector.advance)
    return collector.finished(prefixes.notes(lengths))


def drawing_orders(request: Request) -> dict[str, list[NDArray[np.int64]]]:
    """The order in which each source's texts are drawn, (n,) rows per source and seed: unit by unit.

    The human order depends only on the seed. A candidate whose units are human ones, too, such as prompts, follows it;
    any other has its own order.
    """
    orders: dict[str, list[NDArray[np.int64]]] = {name: [] for name in (HUMAN, *request.names)}
    corpora = request.run.corpora
    human = units_to_draw({HUMAN: corpora[HUMAN]})[HUMAN]
    units = {name: units_to_draw({HUMAN: corpora[HUMAN], name: corpora[name]}) for name in request.names}
    for seed in stream(request.score.seed, "subsets").spawn(request.score.seeds):
        of_human, of_others = seed.spawn(2)
        first = together(np.random.default_rng(of_human).permutation(len(human)), human)
        orders[HUMAN].append(first)
        for name, both in units.items():
            own = together(np.random.default_rng(of_others).permutation(len(corpora[name])), both[name])
            if np.isin(both[name], both[HUMAN]).all():
                known, place = np.unique(both[HUMAN][first], return_index=True)
                own = own[np.argsort(place[np.searchsorted(known, both[name][own])], kind="stable")]
            orders[name].append(own)
    return orders


def _own_ks(request: Request) -> list[int]:
    return sorted({candidate.partitions[0].k for candidate in request.run.comparison.candidates})


def _least_texts(request: Request) -> int:
    return max(MIN_TEXTS, request.score.k or 0)


def _values(request: Request, default: Sequence[int]) -> Sequence[float]:
    return default if request.values is None else request.values


def _candidates(request: Request) -> list[tuple[str, list[SeedSequence]]]:
    """Each candidate with the k-means seeds of its pairwise partitions, starting with the run's own."""
    seeds = clustering_seeds(request.score)["pairwise"]
    return [(name, seeds) for name in request.names]


def _pair(features: Sides, name: str) -> dict[str, NDArray[np.float32]]:
    return {HUMAN: features[HUMAN], name: features[name]}


def _beside(values: Sequence[int], own: Sequence[int]) -> tuple[int, ...]:
    """``values`` plus ``own``; each added value replaces the nearest one by ratio, but never the largest."""
    grid = set(values)
    for value in own:
        inner = sorted(grid - {max(values), *own})
        if value not in grid and inner:
            grid.remove(min(inner, key=lambda other: abs(math.log(other / value))))
        grid.add(value)
    return tuple(sorted(grid))


# Default values of c, besides the run's own.
SCALES = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0)

# Metadata column for the decoder, as written by ``mauve-lens generate``.
COLUMN = "decoder"

# Position of ancestral sampling on a line.
ANCESTRAL = {"nucleus p": 1.0, "temperature t": 1.0}

# Meaning of a line's ends, for the note.
LIMITS = {
    "nucleus p": "greedy decoding is the limit p -> 0",
    "temperature t": "greedy decoding is the limit t -> 0",
    "top-k k": "ancestral sampling is any k from the vocabulary size up, greedy decoding is k = 1",
}


def usual_scales(request: Request) -> tuple[float, ...]:
    """Default values of c, including the run's own."""
    return tuple(sorted({*SCALES, request.run.comparison.config.score.scale}))


def over_scale(request: Request) -> Swept:
    """Sweep the constant c of MAUVE; the other scores do not depend on it and repeat at every value."""
    comparison, seeds = request.run.comparison, request.stored_seeds()
    values = usual_scales(request) if request.values is None else request.values
    scales = numbers_within("The scaling constant", values, *SCALE_BOUNDS)
    points = []
    for done, candidate in enumerate(comparison.candidates):
        request.progress("Scoring", done, len(comparison.candidates))
        points += [point_of(scale, candidate.name, candidate.partitions[:seeds], scale) for scale in scales]
    request.progress("Scoring", len(comparison.candidates), len(comparison.candidates))
    return Swept(
        tuple(points),
        (
            "c stretches MAUVE and MAUVE*: candidates whose frontiers do not cross keep their order. The frontier "
            "integral and the mid-point do not depend on c.",
            f"The run's own c is {comparison.config.score.scale:g}.",
        ),
    )


def over_decoder(request: Request) -> Swept:
    """Sweep the decoder's parameter: one line per decoder that has candidates with different values."""
    if request.values is not None:
        raise InputError(
            "A sweep over decoders takes its values from the run's candidates", todo="Leave the values out"
        )
    seeds, comparison = request.stored_seeds(), request.run.comparison
    lines: dict[str, list[SweepPoint]] = {}
    ancestral: list[Candidate] = []
    notes: list[str] = []
    for candidate in comparison.candidates:
        decoder, reason = decoder_of(candidate.name, request.run.corpora[candidate.name])
        placed = None if decoder is None else line_and_value(decoder)
        if placed is not None:
            line, value = placed
            lines.setdefault(line, []).append(_own_point(request, value, line, candidate, seeds))
        elif decoder is not None and decoder.kind.name == "ancestral":
            ancestral.append(candidate)
        else:
            notes.append(f"{candidate.name} is left out: {reason or 'no single parameter of its decoder varies'}.")
    for line, value in ANCESTRAL.items():
        if line in lines:
            lines[line] += [_own_point(request, value, line, candidate, seeds) for candidate in ancestral]
    varying = {line: points for line, points in lines.items() if len({point.value for point in points}) > 1}
    if not varying:
        raise _no_line(request)
    notes += [f"{line} is left out: it has only one value." for line in lines if line not in varying]
    notes += [f"{line}: {LIMITS[line]}." for line in varying if line in LIMITS]
    request.progress("Reading scores", len(request.names), len(request.names))
    return Swept(tuple(point for points in varying.values() for point in points), tuple(notes))


def decoder_of(name: str, corpus: Corpus) -> tuple[Decoder | None, str]:
    """The decoder of a candidate, from its name or from the column ``decoder``.

    Returns
    -------
    decoder : Decoder or None
        None if neither spells one out, or they differ. ``nucleus`` alone does not specify p.
    reason : str
        Why there is none; empty otherwise.
    """
    column = set(python_values(corpus.metadata[COLUMN])) if COLUMN in corpus.metadata else set()
    written = next(iter(column)) if len(column) == 1 else None
    named, labelled = _spelled(name), _spelled(written) if isinstance(written, str) else None
    if named is not None and labelled is not None and named.spec != labelled.spec:
        return None, f"its name says {named.spec}, its texts {labelled.spec}"
    decoder = named or labelled
    return decoder, "" if decoder else "neither its name nor its texts say which decoder and value were used"


def line_and_value(decoder: Decoder) -> tuple[str, float] | None:
    """A decoder's line and its value there; None unless exactly one parameter varies.

    Other parameters that differ from their defaults (``no-repeat`` of beam search) become part of the line's name.
    """
    moving = [parameter for parameter in decoder.kind.parameters if not parameter.quiet]
    if len(moving) != 1:
        return None
    line = f"{decoder.kind.name} {moving[0].name}"
    for parameter in decoder.kind.parameters:
        if parameter.quiet and decoder.values[parameter.name] != parameter.default:
            line += f", {parameter.name}={decoder.values[parameter.name]:g}"
    return line, float(decoder.values[moving[0].name])


def _spelled(text: str) -> Decoder | None:
    """Parse a decoder if the text gives every parameter without a default."""
    try:
        decoder = parse_decoder(text)
    except InputError:
        return None
    written = {setting.partition("=")[0].strip() for setting in text.partition(":")[2].split(",")}
    return decoder if {p.name for p in decoder.kind.parameters if not p.quiet} <= written else None


def _own_point(request: Request, value: float, line: str, candidate: Candidate, seeds: int) -> SweepPoint:
    scores = {name: SeedSpread.of(candidate.scores[name].values[:seeds]) for name in candidate.scores}
    n = min(request.run.comparison.human.n, candidate.source.n)
    return SweepPoint(value, line, candidate.name, n, candidate.partitions[0].k, scores)


def _no_line(request: Request) -> InputError:
    return InputError(
        f"Run {request.run.id} has no two candidates of the same decoder with different values",
        allowed="such as nucleus:p=0.9 and nucleus:p=0.95, as a candidate's name or in its column 'decoder'",
        received=", ".join(request.names),
        todo="Generate texts with several values (mauve-lens generate --decoder nucleus:p=0.9 --decoder nucleus:p=0.95 "
        "...), then compare them in one run",
    )


_AXES: dict[Over, Callable[[Request], Swept]] = {
    "length": over_length,
    "n": over_n,
    "k": over_k,
    "scale": over_scale,
    "decoder": over_decoder,
}

_USUAL: dict[Over, Callable[[Request], Sequence[float]]] = {"n": usual_ns, "k": usual_ks, "scale": usual_scales}


def usual_values(run: Run, over: Over) -> tuple[float, ...] | None:
    """Default values of :func:`sweep_run`.

    None for "length", which depends on the texts, and for "decoder", which takes no values.
    """
    usual = _USUAL.get(require_axis(over))
    return None if usual is None else tuple(usual(Request(run, None, None, "auto", FeatureStore(), silent)))


def sweep_run(
    run: Run,
    over: Over,
    values: Sequence[float] | None = None,
    *,
    seeds: int | None = None,
    device: str = "auto",
    feature_store: FeatureStore | None = None,
    finished: FinishedParts | None = None,
    progress: Progress = silent,
) -> Sweep:
    """Score every candidate of a run against its human side at several values of one setting.

    The partition is pairwise, as published, and all other settings are the run's own. At the run's own value the
    scores equal the run's exactly.

    Parameters
    ----------
    over : {"length", "n", "k", "scale", "decoder"}
        "length": tokens to which both sides are cut. "n": texts per side, drawn again by each seed. "k": clusters.
        "scale": the constant c. "decoder": the run's own scores, by the parameter of each candidate's decoder.
    values : sequence of numbers, optional
        Default depends on the axis; "decoder" takes none.
    seeds : int, optional
        Seeds of each point; default the run's number, which is also the maximum for "scale" and "decoder".
    device : str
        For "length"; see :func:`mauve_core.encoders.encode`.
    feature_store : FeatureStore, optional
        Default the user's own; "length" reads and writes features there.
    finished : FinishedParts, optional
        Saves and restores finished points of "length", "n" and "k".
    progress : callable
        May raise CancelledError; finished features stay in the store.

    Raises
    ------
    InputError
        Values or seeds out of range; a run without encoder ("length"), without kept features ("n", "k"), or without
        two candidates of one decoder ("decoder").
    ModelUnavailableError, StorageError, CancelledError
        As raised by ``encode`` ("length").
    """
    axis = require_axis(over)
    store = FeatureStore() if feature_store is None else feature_store
    request = Request(run, None if values is None else tuple(values), seeds, device, store, progress, finished)
    settings = _settings(request)
    swept = _AXES[axis](request)
    notes = (*swept.notes, "One seed shows no spread.") if request.score.seeds == 1 else swept.notes
    return Sweep(axis, _in_order(swept.points), settings, notes)


def _settings(request: Request) -> dict[str, Any]:
    comparison = request.run.comparison
    return {
        "run": request.run.id,
        "created": request.run.created,
        "partition": "pairwise",
        "seeds": request.score.seeds,
        "config": comparison.config.as_dict(),
        "sources": {source.name: {"n": source.n, "digest": source.digest} for source in comparison.sources},
    }


def _in_order(points: Sequence[SweepPoint]) -> tuple[SweepPoint, ...]:
    """Points grouped by line in order of first appearance, each in ascending value."""
    order = {line: index for index, line in enumerate(dict.fromkeys(point.candidate for point in points))}
    return tuple(sorted(points, key=lambda point: (order[point.candidate], point.value)))
