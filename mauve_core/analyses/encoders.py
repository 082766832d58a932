"""Scores of a run's texts under several encoders, each with the run's own settings, and how far the encoders agree.

    encoders_run(run, [parse_encoder("minilm", run.comparison.config.encoder)])

An encoder is written as one word:

    minilm                                       a model with its own pooling and last layer
    smollm2-135m:pooling=mean,layer=0            averages of a model's token embeddings, its word vectors
    glove.txt                                    a file of word vectors

Settings that decide how much of a text is read (tokens, precision, prompt) are the run's own unless given. NeurIPS
2021, figure 5; JMLR 2023, section 7.5 and table 11; ICLR 2023, figures 5 to 12. Each encoder's scores are also
correlated with measures that need no encoder: text measures and human ratings.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mauve_core.analyses.human_ranking import Indicator, correlations, measure_indicators, rank
from mauve_core.analyses.tasks import RunTask
from mauve_core.analyses.text_measures import stored_measurements
from mauve_core.base.config import (
    HUMAN,
    QUESTIONS,
    USUAL_ENCODERS,
    CompareConfig,
    EncoderConfig,
    names_server,
    parse_server_name,
)
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.base.json_codec import As, Count, NotBlank, NotNegative, RangedByName, Settings, Within, from_json
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.catalogue import PACKAGED, has_no_tokenizer, names_files, names_our_own
from mauve_core.encoders.devices import with_known_precision
from mauve_core.encoders.features import FeatureStore
from mauve_core.findings.verdicts import SCORE, Elsewhere
from mauve_core.runs import Run
from mauve_core.runs.ratings import RatingStore
from mauve_core.scoring.compare import compare
from mauve_core.scoring.result import Comparison, Difference, Estimate, Scores, shared_scores
from mauve_core.scoring.tables import shared_ranks
from mauve_core.stats.rank_correlation import spearman
from mauve_core.stats.scores import SCORES
from mauve_core.texts.kinds import Kind, kind_of

_DEFAULTS = EncoderConfig()
_PARTS = tuple(item.name for item in dataclasses.fields(EncoderConfig))[1:]
_NUMBERS = ("layer", "max_tokens")
_OF_THE_RUN = ("max_tokens", "with_prompt", "dtype")


def parse_encoder(spec: str, own: EncoderConfig | None = None) -> EncoderConfig:
    """Read ``MODEL`` or ``MODEL:setting=value,setting=value``.

    Parameters
    ----------
    spec : str
        The settings are fields of :class:`mauve_core.base.config.EncoderConfig`; a colon without an equals sign behind
        it belongs to the model's path.
    own : EncoderConfig, optional
        The run's own encoder, whose ``max_tokens``, ``with_prompt`` and ``dtype`` apply unless given. Word vectors
        and models behind servers have one precision.

    Raises
    ------
    InputError
        An unknown or repeated setting, or a value that is not possible.
    """
    model, settings = _split(spec)
    given: dict[str, Any] = {}
    for setting in filter(None, settings.split(",")):
        name, _, value = (part.strip() for part in setting.partition("="))
        if name not in _PARTS or name in given:
            allowed = f"each at most once: {', '.join(_PARTS)}"
            raise InputError("The encoder cannot be read", allowed=allowed, received=spec)
        given[name] = _value(name, value, spec)
    usual = {name: getattr(own or _DEFAULTS, name) for name in _OF_THE_RUN}
    if has_no_tokenizer(model):
        usual["dtype"] = _DEFAULTS.dtype
    return EncoderConfig(**{"model": model, **usual, **given})


def written(config: EncoderConfig, own: EncoderConfig | None = None) -> str:
    """Return the word that :func:`parse_encoder` reads back, without settings that it fills in."""
    usual = parse_encoder(config.model, own)
    parts = [
        f"{name}={_text(getattr(config, name))}" for name in _PARTS if getattr(config, name) != getattr(usual, name)
    ]
    return f"{config.model}:{','.join(parts)}" if parts else config.model


def with_absolute_path(spec: str) -> str:
    """Return the word with an existing file or folder as an absolute path; other models stay."""
    model, settings = _split(spec)
    path = Path(model).expanduser()
    if model in PACKAGED or not path.exists():
        return spec
    return f"{path.absolute()}:{settings}" if settings else str(path.absolute())


def usual_encoders(kind: Kind | None = None) -> tuple[str, ...]:
    """Return those of :func:`offered_encoders` whose weights are on this machine; default: for texts."""
    if kind is None or kind.has_words:
        return tuple(spec for spec in USUAL_ENCODERS if PACKAGED[_split(spec)[0]].locate() is not None)
    return tuple(model.name for model in kind.offer.models() if model.ready)


def offered_encoders(kind: Kind) -> tuple[str, ...]:
    """Return the encoders to choose from for items of a kind: ``USUAL_ENCODERS`` for texts, else all with a line."""
    return USUAL_ENCODERS if kind.has_words else tuple(model.name for model in kind.offer.models())


def encoder_titles(configs: Sequence[EncoderConfig | None]) -> tuple[str, ...]:
    """Return a short name of each encoder, different for different ones; the first is the run's own, and may be None.

    A title has the model's name without its folder, then the settings that differ from a model's own, and the length,
    precision or prompt where they differ from the first encoder's.
    """
    base = next((config for config in configs if config is not None), _DEFAULTS)
    short = [_title(config, base, whole=False) for config in configs]
    return tuple(
        title if short.count(title) == 1 else _title(config, base, whole=True)
        for title, config in zip(short, configs, strict=True)
    )


def _title(config: EncoderConfig | None, base: EncoderConfig, *, whole: bool) -> str:
    if config is None:
        return "features given"
    parts = [config.model if whole else _short(config.model)]
    for name in _PARTS:
        value, usual = getattr(config, name), getattr(base if name in _OF_THE_RUN else _DEFAULTS, name)
        if value == usual or (name == "dtype" and has_no_tokenizer(config.model)):
            continue
        parts.append(str(value) if name in ("pooling", "revision", "dtype") else f"{name} {_text(value)}")
    return " · ".join([parts[0], *(part.replace("_", " ") for part in parts[1:])])


def _short(model: str) -> str:
    return parse_server_name(model).model if names_server(model) else model.rstrip("/").rpartition("/")[2]


def _split(spec: str) -> tuple[str, str]:
    model, colon, settings = spec.rpartition(":")
    return (model.strip(), settings) if colon and "=" in settings else (spec.strip(), "")


def _value(name: str, value: str, spec: str) -> Any:
    if name == "with_prompt":
        if value not in ("yes", "no"):
            raise InputError("The encoder cannot be read", allowed="with_prompt=yes or with_prompt=no", received=spec)
        return value == "yes"
    if name not in _NUMBERS:
        return value
    try:
        return int(value)
    except ValueError as error:
        raise InputError(f"The encoder's {name} is not a whole number", received=spec) from error


def _text(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


# Attachment name of the table.
ATTACHMENT = "encoders"

# Fewest candidates for a rank correlation: two have only two orders.
FEWEST = 3


_Scores: TypeAlias = Annotated[Scores, RangedByName({name: score.bounds for name, score in SCORES.items()})]


@dataclass(frozen=True)
class EncoderResult:
    """All candidates under one encoder, from pairwise partitions.

    Attributes
    ----------
    encoder : EncoderConfig or None
        None for features that were given.
    scores : mapping of str to mapping of str to Estimate
        By candidate, then by score.
    ceiling : mapping of str to Estimate, or None
        Scores of one half of the human texts against the other; None if they could not be halved.
    differences : tuple of Difference
        Tests of every two candidates under every score.
    dimension : int or None
        Of the features; None if they were not kept.
    tokens_median : float or None
        Median length of the human texts in the encoder's tokens, after cutting; None if unknown.
    cut : int
        Texts of all sources that the encoder cut.
    notes : tuple of str
        What a reader of the features must know.
    """

    encoder: EncoderConfig | None
    scores: Mapping[str, _Scores]
    ceiling: _Scores | None
    differences: tuple[Difference, ...]
    dimension: Annotated[int, Within(1, 2**31)] | None = None
    tokens_median: NotNegative | None = None
    cut: Count = 0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.scores:
            raise InputError("An encoder has no candidates")
        names = self.score_names
        tested = [(each.first, each.second, each.score) for each in self.differences if each.score in names]
        if sorted(tested) != sorted((*pair, score) for pair in combinations(self.scores, 2) for score in names):
            raise InputError("The tested differences are not those of every two candidates' scores")

    @property
    def score_names(self) -> tuple[str, ...]:
        """As :attr:`Comparison.score_names`."""
        return shared_scores([*self.scores.values(), *([self.ceiling] if self.ceiling else [])])

    def closeness(self, score: str, names: Sequence[str]) -> NDArray[np.float64]:
        """(len(names),) means with signs such that larger is closer to the human texts."""
        sign = 1.0 if SCORES[score].higher_is_closer else -1.0
        return sign * np.array([self.scores[name][score].mean for name in names])

    def told_apart(self, score: str, one: str, other: str) -> bool:
        """Whether the test tells two candidates apart."""
        return next(
            each.told_apart
            for each in self.differences
            if each.score == score and {each.first, each.second} == {one, other}
        )

    def ranks(self, score: str) -> dict[str, tuple[int, bool]]:
        """Rank of each candidate and whether it is shared, by the rule of the leaderboard; closest first."""
        names = list(self.scores)
        order = [names[index] for index in np.argsort(-self.closeness(score, names), kind="stable")]
        found = shared_ranks(order, lambda one, other: one == other or not self.told_apart(score, one, other))
        return dict(zip(order, found, strict=True))


@dataclass(frozen=True)
class Reversal:
    """Two candidates that two encoders order differently.

    Attributes
    ----------
    closer, farther : str
        Order of the first encoder; the second one has the opposite.
    told_apart : bool
        Whether the tests of both encoders tell the two apart; otherwise chance may explain the difference.
    """

    closer: str
    farther: str
    told_apart: bool


@dataclass(frozen=True)
class EncoderTable:
    """Several encoders on the candidates of a run; the first is the run's own.

    Attributes
    ----------
    results : tuple of EncoderResult
        By encoder.
    settings : mapping
        Inputs of the numbers, as plain JSON.
    notes : tuple of str
        What a reader of the table must know.
    """

    results: tuple[EncoderResult, ...]
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.results or any(set(each.scores) != set(self.candidates) for each in self.results):
            raise InputError("A table of encoders has no results, or results of different candidates")
        encoders = [each.encoder for each in self.results]
        if None in encoders[1:] or len(set(encoders)) < len(encoders):
            raise InputError("A table of encoders names one twice")

    @property
    def candidates(self) -> tuple[str, ...]:
        """Candidates in run order."""
        return tuple(self.results[0].scores)

    @property
    def score_names(self) -> tuple[str, ...]:
        """The scores under every encoder, in display order."""
        return shared_scores(dict.fromkeys(each.score_names) for each in self.results)

    @property
    def titles(self) -> tuple[str, ...]:
        """A short name of each encoder; all differ."""
        return encoder_titles([result.encoder for result in self.results])

    def agreement(self, score: str) -> NDArray[np.float64]:
        """(encoders, encoders) Spearman correlations of the candidates' closeness by one score.

        nan if an encoder ties all candidates, or there are fewer than ``FEWEST``.
        """
        if len(self.candidates) < FEWEST:
            return np.full((len(self.results), len(self.results)), np.nan)
        rows = [result.closeness(score, self.candidates) for result in self.results]
        return np.array([[spearman(one, other) for other in rows] for one in rows])

    def reversals(self, score: str, one: int, other: int) -> tuple[Reversal, ...]:
        """Return the pairs of candidates that two encoders order differently, those that both tell apart first."""
        first, second = self.results[one], self.results[other]
        found = []
        for pair in combinations(self.candidates, 2):
            ours, theirs = (np.subtract(*each.closeness(score, pair)) for each in (first, second))
            if ours * theirs < 0:
                closer, farther = pair if ours > 0 else pair[::-1]
                apart = all(each.told_apart(score, closer, farther) for each in (first, second))
                found.append(Reversal(closer, farther, bool(apart)))
        return tuple(sorted(found, key=lambda item: not item.told_apart))


def stored_encoders(run: Run) -> EncoderTable | None:
    """The run's stored table, or None; StorageError or InputError if damaged or of another run."""
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    table = from_json(EncoderTable, values)
    run.require_sources(table.candidates, "The table of encoders")
    return table


def elsewhere(run: Run) -> tuple[Elsewhere, ...]:
    """The run's candidates under the program's own encoders but the run's, as a verdict takes them; pages show damage.

    Each at its usual pooling and layer; what was not compared is left out.
    """
    try:
        table = stored_encoders(run)
    except MauveLensError:
        return ()
    own = run.comparison.config.encoder
    found = []
    for result in () if table is None else table.results[1:]:
        encoder = result.encoder
        if encoder is None or (own is not None and encoder.model == own.model) or not names_our_own(encoder.model):
            continue
        if (encoder.pooling, encoder.layer) == ("auto", -1):
            apart = {frozenset((each.first, each.second)) for each in result.differences if _tells(each)}
            found.append(Elsewhere(encoder.model, tuple(result.ranks(SCORE)), frozenset(apart)))
    return tuple(found)


def _tells(tested: Difference) -> bool:
    return tested.score == SCORE and tested.told_apart


def encoders_run(
    run: Run,
    encoders: Sequence[EncoderConfig],
    *,
    feature_store: FeatureStore | None = None,
    device: str = "auto",
    progress: Progress = silent,
) -> EncoderTable:
    """Score every candidate of a run under its own encoder and others.

    The scores of the run's own encoder are those of its leaderboard. Every other encoder gets a comparison of its own:
    the same texts, seeds, k, share of variance and scaling constant, and tests of every two candidates.

    Parameters
    ----------
    encoders : sequence of EncoderConfig
        At least one besides the run's own, without duplicates.
    feature_store : FeatureStore, optional
        Keeps features, so that stopped work resumes where it was; by default the user's own.
    device : str
        "auto", "cpu", "cuda", ...
    progress : callable
        May raise CancelledError.

    Raises
    ------
    InputError, ModelUnavailableError, StorageError
        No other encoder or a duplicate, an unknown model, or no encoder that can read the texts; see ``compare``. If
        only some encoders cannot read the texts, a note replaces them.
    """
    own, encoders = run.comparison.config.encoder, with_known_precision(encoders, device)
    others = [encoder for encoder in encoders if encoder != own]
    if not others or len(set(encoders)) < len(encoders):
        received = ", ".join(encoder_titles(encoders))
        allowed = "one or more besides the run's own, no duplicates"
        raise InputError("The encoders cannot be used", allowed=allowed, received=received)
    check = kind_of(run.comparison.human.kind).offer.check
    for encoder in others:
        check(encoder.model, encoder.revision)
    store = FeatureStore() if feature_store is None else feature_store
    results, left_out = [_own(run)], dict[str, InputError]()
    for title, encoder in zip(encoder_titles([own, *others])[1:], others, strict=True):

        def tell(stage: str, done: int, total: int, title: str = title) -> None:
            progress(f"{title}: {stage}", done, total)

        try:
            results.append(_under(run, encoder, store, device, tell))
        except InputError as error:
            left_out[title] = error
    if len(results) == 1:
        raise next(iter(left_out.values()))
    comparison = run.comparison
    settings = {
        "run": run.id,
        "created": run.created,
        "config": comparison.config.as_dict(),
        "sources": {source.name: {"n": source.n, "digest": source.digest} for source in comparison.sources},
    }
    notes = tuple(f"{title} is left out: {error}" for title, error in left_out.items())
    return EncoderTable(tuple(results), settings, notes)


def _own(run: Run) -> EncoderResult:
    features = run.features(HUMAN)
    return _result_of(run.comparison, None if features is None else features.shape[1])


def _under(run: Run, encoder: EncoderConfig, store: FeatureStore, device: str, progress: Progress) -> EncoderResult:
    corpora = {name: dataclasses.replace(corpus, notes=()) for name, corpus in run.corpora.items()}
    comparison = compare(
        corpora[HUMAN],
        {candidate.name: corpora[candidate.name] for candidate in run.comparison.candidates},
        CompareConfig(encoder=encoder, score=run.comparison.config.score, projection=False),
        feature_store=store,
        device=device,
        progress=progress,
    )
    stored = store.get(comparison.human.features_key)
    found = _result_of(comparison, None if stored is None else stored.array.shape[1])
    notes = dict.fromkeys(note for source in comparison.sources for note in source.notes)
    return dataclasses.replace(found, notes=tuple(notes))


def _result_of(comparison: Comparison, dimension: int | None) -> EncoderResult:
    return EncoderResult(
        encoder=comparison.config.encoder,
        scores={candidate.name: candidate.scores for candidate in comparison.candidates},
        ceiling=None if comparison.halves is None else comparison.halves.scores,
        differences=comparison.differences,
        dimension=dimension,
        tokens_median=comparison.human.tokens_median,
        cut=sum(source.cut for source in comparison.sources),
    )


@dataclass(frozen=True)
class Reference:
    """Spearman's correlation of every encoder's score with one other measure of the candidates.

    Attributes
    ----------
    title : str
        Name of the text measure, or the question of the ratings.
    kind : str
        "measure" or "ratings".
    values : tuple of float or None
        By encoder, + for agreement; None if undefined.
    n : int
        Candidates with both values.
    """

    title: str
    kind: str
    values: tuple[float | None, ...]
    n: int


def references(run: Run, table: EncoderTable, score: str) -> tuple[tuple[Reference, ...], str]:
    """Return the correlations with the gaps of the run's text measures and with its ratings, if any.

    Returns
    -------
    tuple of Reference
    str
        Why measures or ratings are missing although there are some; empty if none are.
    """
    found: list[Reference] = []
    problems: list[str] = []
    for read in (_with_measures, _with_ratings):
        try:
            found += read(run, table, score)
        except MauveLensError as error:
            problems.append(str(error))
    return tuple(found), " ".join(problems)


def _with_measures(run: Run, table: EncoderTable, score: str) -> list[Reference]:
    measurements = stored_measurements(run)
    gaps = {} if measurements is None else measure_indicators(measurements)
    return [_with_measure(title, gap, table, score) for title, gap in gaps.items()]


def _with_measure(title: str, gap: Indicator, table: EncoderTable, score: str) -> Reference:
    names = [name for name in table.candidates if math.isfinite(gap.values.get(name, math.nan))]
    if len(names) < FEWEST:
        return Reference(title, "measure", (None,) * len(table.results), len(names))
    closeness = [-gap.values[name] for name in names]
    values = (spearman(result.closeness(score, names), closeness) for result in table.results)
    return Reference(title, "measure", tuple(None if math.isnan(value) else value for value in values), len(names))


def _with_ratings(run: Run, table: EncoderTable, score: str) -> list[Reference]:
    ratings = RatingStore(run.ratings_path).list()
    sources = [source.name for source in run.comparison.sources]
    numbered = {str(index): _indicator(result.scores, score) for index, result in enumerate(table.results)}
    found = []
    for question in QUESTIONS if ratings else ():
        try:
            ranking = rank(ratings, sources, question, corpora=run.corpora)
        except InputError:  # no rating of this question is left
            continue
        rows = correlations(ranking, numbered)
        found.append(Reference(question, "ratings", tuple(row.spearman for row in rows), rows[0].n))
    return found


def _indicator(scores: Mapping[str, Mapping[str, Estimate]], score: str) -> Indicator:
    return Indicator(
        {name: each[score].mean for name, each in scores.items()}, higher_is_closer=SCORES[score].higher_is_closer
    )


@dataclass(frozen=True)
class CompareEncodersTask(RunTask):
    """Encoders on a stored run.

    Attributes
    ----------
    encoders : tuple of str or None
        In the format of :func:`mauve_core.analyses.encoders.parse_encoder`; None takes those that are on this
        machine. The run's own encoder is always compared.
    device : str
        ``auto``, ``cpu``, ``cuda`` ...
    """

    kind: ClassVar[str] = "encoders"
    titled: ClassVar[str] = "encoders on"
    attachment: ClassVar[str] = ATTACHMENT
    kept: ClassVar[str] = "features already computed"

    encoders: tuple[NotBlank, ...] | None = None
    device: NotBlank = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.encoders is not None and len({parse_encoder(spec) for spec in self.encoders}) < len(self.encoders):
            received = ", ".join(self.encoders)
            raise InputError("The encoders cannot be used", allowed="no duplicates", received=received)

    def absolute(self) -> Self:
        encoders = None if self.encoders is None else tuple(with_absolute_path(spec) for spec in self.encoders)
        return dataclasses.replace(super().absolute(), encoders=encoders)

    def compute(self, progress: Progress = silent) -> EncoderTable:
        """Score the run's candidates under every encoder and keep the table."""
        run = self.load()
        found = encoders_run(run, self._encoders(run), device=self.device, progress=progress)
        return self.keep(run, ATTACHMENT, found, progress)

    def _answer(self, run: Run) -> EncoderTable | None:
        """The stored table, if it has every encoder; of more, those that are asked for.

        Encoders from files are always compared: the files may have changed.
        """
        table = stored_encoders(run)
        own, encoders = run.comparison.config.encoder, self._encoders(run)
        wanted = [own, *(each for each in encoders if each != own)]
        known = {} if table is None else {each.encoder: each for each in table.results}
        from_files = any(names_files(each.model) for each in wanted[1:] if each is not None)
        if table is None or len(wanted) == 1 or not known.keys() >= set(wanted) or from_files:
            return None
        if len(wanted) == len(known):
            return table
        return dataclasses.replace(table, results=tuple(known[each] for each in wanted), notes=())

    def _encoders(self, run: Run) -> list[EncoderConfig]:
        specs = usual_encoders(kind_of(run.comparison.human.kind)) if self.encoders is None else self.encoders
        return list(dict.fromkeys(parse_encoder(spec, run.comparison.config.encoder) for spec in specs))
