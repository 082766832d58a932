"""Where in a text encoders look: the beginning of human texts shuffled against their end shuffled.

    positions_run(run, [parse_encoder("minilm", run.comparison.config.encoder)])

One half of the human texts is perturbed and compared with the other, as in a probe (ICLR 2023, section 6.2), under
each encoder. A causal model's last token has seen the whole text but reflects its end most: shuffling the last 30% of
the words then changes its features more than shuffling the 70% before them, and errors there stay unnoticed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mauve_core.analyses.encoders import encoder_titles, parse_encoder, usual_encoders, with_absolute_path
from mauve_core.analyses.probe_results import ProbeLine, ProbeTable
from mauve_core.analyses.probes import Rows, Split, split_rows, usable_rows
from mauve_core.analyses.tasks import RunTask
from mauve_core.base.config import HUMAN, POSITION_PROBES, POSITION_TEXTS, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import as_percent, significant
from mauve_core.base.json_codec import As, Count, NotBlank, Ranged, Settings, Within, from_json
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.catalogue import LAST_TOKEN, check_model, names_files
from mauve_core.encoders.devices import with_known_precision
from mauve_core.encoders.features import FeatureStore
from mauve_core.runs import Run
from mauve_core.scoring.partitioning import MIN_TEXTS, partitions
from mauve_core.scoring.result import SeedSpread
from mauve_core.scoring.streams import stream
from mauve_core.stats.divergences import probabilities
from mauve_core.stats.f_divergences import CLUSTER_SMOOTHING, FIVE, FIVE_BOUNDS
from mauve_core.texts.kinds import parse_perturbation
from mauve_core.texts.perturbations import Perturbation, perturb

POSITIONS = tuple(map(parse_perturbation, POSITION_PROBES))

POSITION_SCORE = "jensen-shannon"

_POOLINGS = {
    "auto": "the model's own pooling",
    "last": "the last token",
    "first": "the first token",
    "mean": "the mean over tokens",
}


def positions_sentence(table: ProbeTable) -> str:
    """Say which part of a text these features read; empty unless a beginning and a shorter end were shuffled.

    Features are said to read mostly the end if shuffling it changes the divergence more than shuffling the beginning,
    under every split and seed.
    """
    first, last = (_line(table, item.kind.name) for item in POSITIONS)
    if first is None or last is None:
        return ""
    shares = [float(_perturbation(line).values["words"]) for line in (first, last)]
    if shares[0] < shares[1]:
        return ""
    pairs = zip(first.scores[POSITION_SCORE].values, last.scores[POSITION_SCORE].values, strict=True)
    farther = [after > before for before, after in pairs]
    gains = [significant(table.over_control(line, POSITION_SCORE).mean) for line in (last, first)]
    shuffled = (
        f"Shuffling the last {as_percent(shares[1])} of the words raises the Jensen-Shannon divergence by {gains[0]}, "
        f"shuffling the first {as_percent(shares[0])} by {gains[1]}"
    )
    if not all(farther):
        return f"{shuffled}: no sign that these features{_pooled(table)} read mostly the end of a text."
    return (
        f"{shuffled}, less under every split and seed: these features{_pooled(table)} read mostly the end of a text "
        "and may miss what happens before. Alternatives are the mean over tokens and a masked model such as RoBERTa."
    )


def _line(table: ProbeTable, kind: str) -> ProbeLine | None:
    """The first line of that kind that perturbs all texts."""
    lines = (line for line in table.lines if line.kind == "perturbation")
    return next((each for each in lines if (p := _perturbation(each)).kind.name == kind and p.dose == 1), None)


def _perturbation(line: ProbeLine) -> Perturbation:
    return parse_perturbation(line.name)


def _pooled(table: ProbeTable) -> str:
    """The pooling in parentheses; empty if the table does not say."""
    config = table.settings.get("config")
    encoder = config.get("encoder") if isinstance(config, dict) else None
    pooling = encoder.get("pooling") if isinstance(encoder, dict) else None
    if pooling == "auto" and isinstance(encoder, dict) and encoder.get("model") in LAST_TOKEN:
        pooling = "last"
    return f" ({_POOLINGS[pooling]})" if pooling in _POOLINGS else ""


# Attachment name of the table.
ATTACHMENT = "positions"

_Array = NDArray[np.float32]


_Spread: TypeAlias = Annotated[SeedSpread, Ranged(*FIVE_BOUNDS[POSITION_SCORE])]


@dataclass(frozen=True)
class EncoderPositions:
    """Jensen-Shannon divergence, in nats, of a half of the human texts from the other, untouched half.

    Attributes
    ----------
    encoder : EncoderConfig
        All settings of the encoder.
    untouched, beginning, end : SeedSpread
        Of the half as it is, with the first 70% of the words shuffled, and with the last 30%; over k-means seeds, the
        same ones for all three.
    """

    encoder: EncoderConfig
    untouched: _Spread
    beginning: _Spread
    end: _Spread

    def __post_init__(self) -> None:
        counts = {len(each.values) for each in (self.untouched, self.beginning, self.end)}
        if len(counts) > 1:
            raise InputError("The divergences of an encoder are not those of the same seeds")

    @property
    def reads_the_end(self) -> bool:
        """Whether the shuffled end is farther than the longer shuffled beginning, under every seed."""
        return all(end > beginning for beginning, end in zip(self.beginning.values, self.end.values, strict=True))

    def over_untouched(self, shuffled: SeedSpread) -> SeedSpread:
        """Divergence minus that of the untouched half, seed by seed."""
        pairs = zip(shuffled.values, self.untouched.values, strict=True)
        return SeedSpread.of([value - floor for value, floor in pairs])


@dataclass(frozen=True)
class PositionTable:
    """Several encoders on the human texts of a run; the first is the run's own.

    Attributes
    ----------
    results : tuple of EncoderPositions
        By encoder.
    n : int
        Texts of each half.
    settings : mapping
        Inputs of the numbers, as plain JSON.
    notes : tuple of str
        Encoders that are left out.
    """

    results: tuple[EncoderPositions, ...]
    n: Count
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        encoders = [each.encoder for each in self.results]
        if not encoders or len(set(encoders)) < len(encoders):
            raise InputError("A table of positions has no encoder, or names one twice")

    @property
    def titles(self) -> tuple[str, ...]:
        """A short name of each encoder; all differ."""
        return encoder_titles([result.encoder for result in self.results])


def positions_run(
    run: Run,
    encoders: Sequence[EncoderConfig],
    *,
    texts: int = POSITION_TEXTS,
    feature_store: FeatureStore | None = None,
    device: str = "auto",
    progress: Progress = silent,
) -> PositionTable:
    """Shuffle the beginning and the end of human texts, and compare them under the run's own encoder and others.

    Parameters
    ----------
    encoders : sequence of EncoderConfig
        Without duplicates; the run's own is always included.
    texts : int
        Human texts to read, two halves of them: drawn at random if the run has more.
    feature_store : FeatureStore, optional
        Keeps features, so that stopped work resumes where it was; by default the user's own.
    device : str
        "auto", "cpu", "cuda", ...
    progress : callable
        May raise CancelledError.

    Raises
    ------
    InputError, ModelUnavailableError, StorageError
        A duplicate, a run of given features, too few texts, an unknown model, or one that cannot read the texts. If
        only some of the other encoders cannot read them, a note replaces them.
    """
    own = run.comparison.config.encoder
    if own is None:
        raise InputError(
            f"Run {run.id} was made from given features, so changed texts cannot be encoded",
            allowed="a run with an encoder",
        )
    encoders = with_known_precision(encoders, device)
    if len(set(encoders)) < len(encoders):
        raise InputError("The encoders cannot be used", allowed="no duplicates", received=str(encoder_titles(encoders)))
    chosen = [own, *(each for each in encoders if each != own)]
    for encoder in chosen:
        check_model(encoder.model, encoder.revision)
    store = FeatureStore() if feature_store is None else feature_store
    rows, split = _drawn(run, texts)
    found, notes = list[EncoderPositions](), list[str]()
    for title, encoder in zip(encoder_titles(chosen), chosen, strict=True):

        def tell(stage: str, done: int, total: int, title: str = title) -> None:
            progress(f"{title}: {stage}", done, total)

        try:
            found.append(_under(run, rows, split, encoder, store, device, tell))
        except InputError as error:
            if encoder == own:
                raise
            notes.append(f"{title} is left out: {error}")
    return PositionTable(tuple(found), len(split.reference), _settings(run, split), tuple(notes))


def stored_positions(run: Run) -> PositionTable | None:
    """The run's stored table, or None; StorageError or InputError if damaged."""
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    return from_json(PositionTable, values)


def _drawn(run: Run, texts: int) -> tuple[Rows, Split]:
    """The human texts that are read, ascending, and their two halves."""
    human, score = run.corpora[HUMAN], run.comparison.config.score
    order = np.random.default_rng(stream(score.seed, "probes")).permutation(len(human))
    rows = usable_rows(human, np.sort(order[:texts]).tolist())
    return rows, split_rows({HUMAN: human}, HUMAN, rows, score.seed, 1, score.seeds)[0]


def _under(
    run: Run, rows: Rows, split: Split, encoder: EncoderConfig, store: FeatureStore, device: str, progress: Progress
) -> EncoderPositions:
    from mauve_core.encoders import Encoder

    human, score = run.corpora[HUMAN], run.comparison.config.score
    reader = Encoder(encoder, device=device)

    def encoded(of: Rows, item: Perturbation | None = None) -> _Array:
        part = human.take(of)
        if item is not None:
            part = dataclasses.replace(part, texts=perturb(part.texts, part.ids, item, seed=score.seed).texts)
        found = reader.encode(part.encoder_inputs(encoder.with_prompt), store=store, progress=progress)
        return np.asarray(found.array, dtype=np.float32)

    whole = encoded(rows)
    reference, untouched = (whole[np.searchsorted(rows, half)] for half in (split.reference, split.comparison))

    def divergence(comparison: _Array) -> SeedSpread:
        sides = {"reference": reference, "comparison": comparison}
        parts = partitions("pairwise", sides, split.seeds, score, lambda: None)
        counts = [np.stack([part.counts(side) for part in parts]) for side in parts[0].labels]
        p, q = (probabilities(count, CLUSTER_SMOOTHING) for count in counts)
        return SeedSpread.of(np.asarray(FIVE[POSITION_SCORE](p, q)).tolist())

    shuffled = [divergence(encoded(split.comparison, item)) for item in POSITIONS]
    return EncoderPositions(encoder, divergence(untouched), *shuffled)


def _settings(run: Run, split: Split) -> dict[str, Any]:
    comparison, human = run.comparison, run.comparison.human
    return {
        "run": run.id,
        "created": run.created,
        "perturbations": [item.spec for item in POSITIONS],
        "human_texts": 2 * len(split.reference),
        "smoothing": CLUSTER_SMOOTHING,
        "config": comparison.config.as_dict(),
        "sources": {HUMAN: {"n": human.n, "digest": human.digest}},
    }


@dataclass(frozen=True)
class PositionsTask(RunTask):
    """Encoders on the human texts of a stored run.

    Attributes
    ----------
    encoders : tuple of str or None
        In the format of :func:`mauve_core.analyses.encoders.parse_encoder`; None takes those of a stored table, or
        those that are on this machine. The run's own encoder is always among them.
    texts : int
        Human texts to read.
    device : str
        ``auto``, ``cpu``, ``cuda`` ...
    """

    kind: ClassVar[str] = "positions"
    titled: ClassVar[str] = "where encoders look on"
    kept: ClassVar[str] = "features already computed"
    attachment: ClassVar[str] = ATTACHMENT

    encoders: tuple[NotBlank, ...] | None = None
    texts: Annotated[int, Within(2 * MIN_TEXTS, 1_000_000)] = POSITION_TEXTS
    device: NotBlank = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.encoders is not None and len({parse_encoder(spec) for spec in self.encoders}) < len(self.encoders):
            received = ", ".join(self.encoders)
            raise InputError("The encoders cannot be used", allowed="no duplicates", received=received)

    def absolute(self) -> Self:
        encoders = None if self.encoders is None else tuple(with_absolute_path(spec) for spec in self.encoders)
        return dataclasses.replace(super().absolute(), encoders=encoders)

    def compute(self, progress: Progress = silent) -> PositionTable:
        """Shuffle the beginning and the end of the texts under every encoder, and keep the table."""
        run = self.load()
        found = positions_run(run, self._encoders(run), texts=self.texts, device=self.device, progress=progress)
        return self.keep(run, ATTACHMENT, found, progress)

    def _answer(self, run: Run) -> PositionTable | None:
        """The stored table, if it has every encoder on as many texts; of more, those that are asked for."""
        table, own = stored_positions(run), run.comparison.config.encoder
        asked = self._encoders(run) if self.encoders or table is None else [each.encoder for each in table.results]
        others = [each for each in asked if each != own]
        known = {} if table is None else {each.encoder: each for each in table.results}
        if table is None or own is None or not known.keys() >= {own, *others}:
            return None
        texts = min(self.texts, run.comparison.human.n) // 2 * 2
        if table.settings.get("human_texts") != texts or any(names_files(each.model) for each in others):
            return None
        if len(known) == 1 + len(others):
            return table
        return dataclasses.replace(table, results=tuple(known[each] for each in (own, *others)), notes=())

    def _encoders(self, run: Run) -> list[EncoderConfig]:
        specs = usual_encoders() if self.encoders is None else self.encoders
        return list(dict.fromkeys(parse_encoder(spec, run.comparison.config.encoder) for spec in specs))
