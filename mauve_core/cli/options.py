"""Shared by several commands: option groups, output of results, and the name and version of each shape of ``--json``.

A shape has its name from the first command that prints it. The version stands in the output as ``schema``, such as
``mauve-lens/compare/1``, except where that is a list. Whoever changes a shape raises its version
(``tests/cli/test_schemas.py``), so that scripts notice.

Before long work on a stored run a command says how long it takes, from jobs of the app and commands that were done on
this machine (:mod:`mauve_core.jobs.estimates`).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypedDict, get_args

from mauve_core.analyses.tasks import Amount, NewRunTask, RunTask, unheeded
from mauve_core.base.config import DEFAULT_MODEL, PAPERS_MODEL, Dtype, EncoderConfig, Pooling, ScoreConfig, UnitRows
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.base.formatting import UNBROKEN, printable, with_plain_spaces
from mauve_core.base.json_codec import Count, dataclass_to_json
from mauve_core.base.json_schema import Schema, json_schema
from mauve_core.base.progress import ConsoleProgress, Progress, silent
from mauve_core.cli.parser import Store
from mauve_core.decoding.decoders import DECODERS, MOST_ROWS, DecoderKind
from mauve_core.encoders.catalogue import with_weights
from mauve_core.findings.sentences import Sentence
from mauve_core.jobs import estimates
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.serialization import DifferenceJson, ScoresJson, to_json
from mauve_core.scoring.tables import aligned, to_table
from mauve_core.texts.kinds import Kind, kind_at
from mauve_core.texts.normalizing_steps import ALLOWED, parse_steps

if TYPE_CHECKING:
    from mauve_core.shards.plan import ShardedCandidate, ShardedComparison, ShardedSide


# The field of an output that names its shape and version.
FIELD = "schema"


class OfRun(TypedDict):
    """What was found about a stored run.

    Attributes
    ----------
    run : str
        Id of the stored run.
    """

    run: str


@dataclass(frozen=True)
class Shape:
    """The shape of an output.

    Attributes
    ----------
    version : int
        From 1; raised whenever the schema changes in more than its descriptions.
    kind : str
        ``module:name`` of its annotation; without a package, the module is one of this package.
    commands : tuple of str
        All that print it.
    named : bool
        Whether outputs have the field ``FIELD``; a list has no place for it.
    """

    version: int
    kind: str
    commands: tuple[str, ...]
    named: bool = True

    @property
    def id(self) -> str:
        """Such as ``mauve-lens/compare/1``; an action follows its command after a hyphen."""
        return f"mauve-lens/{self.commands[0].replace(' ', '-')}/{self.version}"


SHAPES = (
    Shape(1, "shapes:RunJson", ("compare", "study", "runs show", "runs again")),
    Shape(1, "sharding:ShardedJson", ("shard-merge",)),
    Shape(1, "sharding:ShardCostsJson", ("shard-run",)),
    Shape(1, "shapes:GateJson", ("gate",)),
    Shape(1, "shapes:MeasureJson", ("measure",)),
    Shape(1, "shapes:MethodsJson", ("methods",)),
    Shape(1, "shapes:EncodersJson", ("encoders",)),
    Shape(1, "clusters:ClustersJson", ("clusters",)),
    Shape(1, "clusters:TextsJson", ("texts",)),
    Shape(1, "shapes:ExplainJson", ("explain",)),
    Shape(1, "shapes:DiversityJson", ("diversity",)),
    Shape(1, "shapes:TestJson", ("test",), named=False),
    Shape(1, "shapes:RankingsJson", ("ratings rank",)),
    Shape(1, "shapes:ProbeJson", ("probe",)),
    Shape(1, "shapes:AttributesJson", ("attributes",)),
    Shape(1, "mauve_core.analyses.published:PublishedJson", ("published",)),
    Shape(1, "shapes:SweepJson", ("sweep",)),
    Shape(1, "stored:RunsJson", ("runs", "runs list")),
    Shape(1, "stored:BinJson", ("runs bin",)),
    Shape(1, "stored:DiskJson", ("runs disk",)),
    Shape(1, "stored:RunsComparedJson", ("runs compare",)),
    Shape(1, "working:JobsJson", ("jobs",)),
    Shape(1, "working:LogJson", ("jobs log",)),
)


def shape_of(command: str) -> Shape:
    """Return the shape that a command prints, such as ``runs show``; InputError lists the commands."""
    for shape in SHAPES:
        if command in shape.commands:
            return shape
    raise InputError(
        f"There is no schema for {command!r}: no command of that name prints JSON",
        allowed=", ".join(name for shape in SHAPES for name in shape.commands),
        todo="See: mauve-lens schema",
    )


def schema_of(shape: Shape) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a shape; imports the command that prints it."""
    module, _, name = shape.kind.partition(":")
    where = module if "." in module else f"{__package__}.{module}"
    schema = json_schema(getattr(import_module(where), name))
    if shape.named:
        for each in schema.get("anyOf", [schema]):
            _add_schema_name(each, shape.id)
    dialect = schema.pop("$schema")
    title = f"mauve-lens {' / '.join(shape.commands)} --json"
    return {"$schema": dialect, "$id": shape.id, "title": title, **schema}


def _add_schema_name(schema: Schema, identifier: str) -> None:
    """Add the field that names the shape, as the first."""
    about = {"const": identifier, "description": "Shape and version of this output; see mauve-lens schema."}
    schema["properties"] = {FIELD: about, **schema["properties"]}
    schema["required"] = [FIELD, *schema["required"]]


def without_descriptions(schema: Any) -> Any:
    """Return the schema without what only people read: equal shapes, equal values."""
    if isinstance(schema, dict):
        kept = {name: each for name, each in schema.items() if not _is_prose(name, each)}
        return {name: without_descriptions(each) for name, each in kept.items()}
    if isinstance(schema, Sequence) and not isinstance(schema, str):
        return [without_descriptions(each) for each in schema]
    return schema


def _is_prose(name: str, value: Any) -> bool:
    """Whether an entry is a text of the schema; a field of that name has a schema of its own as value."""
    return name in ("title", "description") and isinstance(value, str)


def compute_with_pace(task: RunTask, progress: Progress, *, quiet: bool) -> Any:
    """Carry out the task; unless ``quiet``, standard error says beforehand how much work it is, and how long it takes
    if that is known.
    """
    amount = task.amount(task.load())
    if amount is None:
        return task.compute(progress)
    encoded, announced = False, quiet

    def report(stage: str, done: int, total: int) -> None:
        nonlocal encoded, announced
        if not announced:  # not earlier, as settings may still be refused
            announced = True
            sys.stderr.write(f"{printable(_pace_sentence(task, amount))}\n")
            sys.stderr.flush()
        encoded = encoded or estimates.is_encoding(stage)
        progress(stage, done, total)

    begun = time.monotonic()
    found = task.compute(report)
    if (amount.encodes != "none") == encoded:
        with suppress(MauveLensError):  # a disk that refuses an estimate costs no result
            estimates.remember(task.kind, amount, time.monotonic() - begun)
    return found


def _pace_sentence(task: RunTask, amount: Amount) -> str:
    known = estimates.estimate(task.kind, amount)
    lasts = "How long this takes is not known before it was done here once" if known is None else known.text
    kept = f" Ctrl-C stops it and keeps {task.kept}." if task.kept else ""
    return f"{task.title[:1].upper()}{task.title[1:]}: {amount.words}. {lasts}.{kept}"


_NEED_NO_CHECK = ("auto", "cpu")

# Characters of a line of running text.
LINE = 110

_DEFAULTS = EncoderConfig()
_DEFAULT_ENCODER = (
    f"{with_weights(DEFAULT_MODEL)}, included with the program; the papers use {PAPERS_MODEL}, fetched from the hub"
)
_DEFAULT_TAKEN = (
    f"Encoder: {with_weights(DEFAULT_MODEL)}, the default; the papers use --encoder {PAPERS_MODEL}, which is fetched "
    "from the Hugging Face hub"
)
_SCORE = ScoreConfig()
_PRECISIONS = "tf32 needs an NVIDIA device that has it; auto is bfloat16 on a CUDA device that has it, else float32"
ENCODER_OPTIONS = ("encoder", "revision", "pooling", "layer", "max_tokens", "dtype", "with_prompt")
SCORE_OPTIONS = (
    "k",
    "seeds",
    "seed",
    "scale",
    "bootstrap",
    "confidence",
    "explained_variance",
    "unit_rows",
    "restarts",
)


def require_device(device: str) -> None:
    """Raise InputError if this machine lacks the device."""
    if device not in _NEED_NO_CHECK:
        from mauve_core.encoders.devices import resolve_devices  # imports torch

        resolve_devices(device)


class _Device(Store):
    """The name of a device that this machine has.

    Commands with engines check it later, as a cluster may have it; so do those that read files, because a missing file
    is told sooner than torch is imported (``parser.set_defaults(reads_files=True)``).
    """

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if not hasattr(namespace, "engine") and not hasattr(namespace, "reads_files"):
            require_device(values)
        super().__call__(parser, namespace, values, option_string)


def add_encoder_options(parser: argparse.ArgumentParser, *, default: str = _DEFAULT_ENCODER) -> None:
    """Add options for encoding texts. Omitted options are None, to tell them from explicit defaults.

    ``default`` describes the encoder used if none is named.
    """
    group = parser.add_argument_group("encoder")
    models = (
        "catalog name, Hugging Face id, local folder or GGUF file, LoRA adapter or BASE+ADAPTER, "
        "a file of word vectors (.txt, .vec, also .gz), "
        "or openai:URL#model; "
        f"default: {default}"
    )
    group.add_argument("--encoder", metavar="MODEL", help=models)
    group.add_argument("--revision", help="commit, tag or branch of a hub model")
    group.add_argument("--pooling", choices=get_args(Pooling), help=f"default: {_DEFAULTS.pooling}, the model's own")
    group.add_argument("--layer", type=int, metavar="N", help=f"hidden layer; default: {_DEFAULTS.layer} (the last)")
    group.add_argument(
        "--max-tokens", type=int, metavar="N", help=f"length at which texts are cut; default: {_DEFAULTS.max_tokens}"
    )
    group.add_argument("--dtype", choices=get_args(Dtype), help=f"precision; {_PRECISIONS}; default: {_DEFAULTS.dtype}")
    group.add_argument("--with-prompt", action="store_true", default=None, help="encode the prompt with the text")
    add_device_option(group, of="auto, cpu, cuda, cuda:1, mps ...")


def of_run(command: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Return the command, for which the run ``args.id``, if any, is looked up before it imports what is slow."""

    def run(args: argparse.Namespace) -> int:
        if args.id is not None:
            RunStore().folder_of(args.id)
        return command(args)

    return run


def add_device_option(
    group: argparse._ActionsContainer, *, of: str = "auto, cpu, cuda, cuda:1 ...", default: str = "auto"
) -> None:
    """Add ``--device``. A device that this machine lacks is refused at once, also where no work is left for it."""
    group.add_argument("--device", action=_Device, default=default, help=f"{of}; default: {default}")


def encoder_config(args: argparse.Namespace, of: str | None = None, field: str | None = None) -> EncoderConfig:
    """The requested encoder; ``of`` is a file or folder whose kind of items, in ``field``, decides the default."""
    if args.encoder is not None and not args.encoder.strip():
        allowed = "a catalog name, a Hugging Face id, a folder or a file"
        raise InputError("--encoder is empty", allowed=allowed, received=repr(args.encoder))
    settings = {name: getattr(args, name) for name in ENCODER_OPTIONS if getattr(args, name) is not None}
    model = settings.pop("encoder", None) or (DEFAULT_MODEL if of is None else kind_at(of, field).model)
    return EncoderConfig(model=model, **settings)


def name_default_encoder(args: argparse.Namespace, of: str | None = None, field: str | None = None) -> None:
    """Say on standard error which encoder and precision are taken if none is named, unless ``--quiet``.

    Call it as work begins. ``of`` and ``field`` are as for :func:`encoder_config`.
    """
    if args.quiet:
        return
    if args.encoder is None:
        kind = None if of is None else kind_at(of, field)
        said = _DEFAULT_TAKEN if kind is None or kind.has_words else _default_for(kind)
        sys.stderr.write(f"{said}\n")
    if args.dtype == "auto":
        from mauve_core.encoders.devices import choose_precision  # imports torch

        note = choose_precision(encoder_config(args), args.device or "auto").note
        sys.stderr.write(f"Precision: {note}\n" if note else "")


def _default_for(kind: Kind) -> str:
    return f"Encoder: {kind.model}, the default for {kind.words.items}; name another with --encoder"


def add_score_options(parser: argparse.ArgumentParser, *, with_map: bool = True) -> None:
    """Add options for scoring features. Omitted options are None."""
    group = parser.add_argument_group("scores")
    group.add_argument(
        "--k", type=int, metavar="N", help="number of clusters; default: a tenth of the smaller side, at most 5000"
    )
    group.add_argument("--seeds", type=int, metavar="N", help=f"number of k-means seeds; default: {_SCORE.seeds}")
    group.add_argument("--seed", type=int, metavar="N", help=f"seed of all random numbers; default: {_SCORE.seed}")
    group.add_argument("--scale", type=float, metavar="C", help=f"scaling constant of MAUVE; default: {_SCORE.scale:g}")
    group.add_argument(
        "--bootstrap", type=int, metavar="N", help=f"resamples of the texts; default: {_SCORE.bootstrap}"
    )
    group.add_argument(
        "--confidence", type=float, help=f"confidence level of the intervals; default: {_SCORE.confidence:g}"
    )
    group.add_argument(
        "--explained-variance",
        type=float,
        metavar="SHARE",
        help=f"share of variance kept by PCA; default: {_SCORE.explained_variance:g}",
    )
    group.add_argument(
        "--unit-rows",
        choices=get_args(UnitRows),
        help="whether features are scaled to unit length before PCA, as in the reference package, or after it, as "
        f"NeurIPS 2021 describes; default: {_SCORE.unit_rows}",
    )
    group.add_argument("--restarts", type=int, metavar="N", help=f"k-means starts per seed; default: {_SCORE.restarts}")
    if with_map:
        group.add_argument("--no-map", action="store_true", help="leave out the two-dimensional map of the texts")


def score_config(args: argparse.Namespace) -> ScoreConfig:
    """The requested scores."""
    return ScoreConfig(**{name: getattr(args, name) for name in SCORE_OPTIONS if getattr(args, name) is not None})


def add_normalize_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--normalize``, which changes texts; without it they stay as they are."""
    parser.add_argument(
        "--normalize",
        metavar="STEP,...",
        help=f"change the texts of every side before they are encoded: {ALLOWED}; default: nothing",
    )


def add_skip_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--skip-unencodable``; without it texts that the encoder refuses are an error."""
    parser.add_argument(
        "--skip-unencodable",
        action="store_true",
        help="leave out texts that the encoder has no vector for, and count them",
    )


def normalize_steps(args: argparse.Namespace) -> tuple[str, ...] | None:
    """The requested steps in order; None without any."""
    if args.normalize is None:
        return None
    return parse_steps(spec.strip() for spec in args.normalize.split(","))


def add_decoder_options(parser: argparse.ArgumentParser) -> None:
    """Add options for generation: decoders, lengths and repeats."""
    parser.add_argument(
        "--decoder",
        action="append",
        required=True,
        metavar="NAME[:PARAMETER=VALUE,...]",
        help=f"{', '.join(map(_example, DECODERS.values()))}; omitted values are as shown; b, and k of contrastive, at "
        f"most {MOST_ROWS}; one or more",
    )
    parser.add_argument("--max-new-tokens", type=int, default=128, metavar="N", help="default: 128")
    parser.add_argument("--min-new-tokens", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument(
        "--repeats",
        type=int,
        default=1,
        metavar="R",
        help="generations: continuations of each prompt, for the spread of a score over generations; a decoder that "
        "draws nothing writes one; default: 1",
    )


def _example(kind: DecoderKind) -> str:
    """A decoder's written form with its default values."""
    values = [f"{p.name}={'...' if p.default is None else f'{p.default:g}'}" for p in kind.parameters]
    return f"{kind.name}:{','.join(values)}" if values else kind.name


def add_name_option(parser: argparse.ArgumentParser, default: str = "") -> None:
    """Add ``--name``, that of the run to store, and its alias ``--out``; required without a ``default``."""
    what = f"default: {default}" if default else "required"
    parser.add_argument("--name", "--out", required=not default, metavar="RUN", help=f"name of the stored run; {what}")


def add_output_options(parser: argparse.ArgumentParser, *, table: bool = False) -> None:
    """Add ``--quiet``; before it ``--json``, if the result is a table."""
    if table:
        parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def add_again_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--again``; without it, a stored result of the same request is printed at once."""
    parser.add_argument("--again", action="store_true", help="compute anew what is already stored with the run")


def progress_of(args: argparse.Namespace) -> Progress:
    """Lines on standard error, unless ``--quiet``."""
    return silent if args.quiet else ConsoleProgress()


def write(text: str) -> None:
    """Write a result to standard output."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def write_json(values: Mapping[str, Any] | Sequence[Mapping[str, Any]], command: str | None = None) -> None:
    """Write exactly one JSON value to standard output; with escapes where its encoding lacks a character.

    An object that a command prints with ``--json`` begins with the name and version of its shape.
    """
    if command is not None and isinstance(values, Mapping):
        values = {FIELD: shape_of(command).id, **values}
    text = json.dumps(values, ensure_ascii=False, indent=2, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(values, indent=2, allow_nan=False)
    write(text)


@contextlib.contextmanager
def results_only() -> Iterator[None]:
    """Redirect library output to standard error, so that standard output holds only results."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def make_run(
    args: argparse.Namespace,
    task: NewRunTask,
    where: Callable[[Run], str],
    measured: Callable[[Run], str] = lambda _: "",
    **more_arguments: Any,
) -> int:
    """Make a run, print its leaderboard and ``where`` it is, or one JSON object, and return the exit status.

    The leaderboard is printed as soon as the run is stored; its map, if any, and what ``measured`` returns follow.
    The task's ``make`` also gets ``more_arguments``.
    """
    as_json, out = getattr(args, "json", False), sys.stdout

    def show(run: Run) -> None:
        with contextlib.redirect_stdout(out):
            write(f"{run_table(run)}\n\n{where(run)}")

    with results_only():
        run = task.make(progress_of(args), stored=unheeded if as_json else show, **more_arguments)
    more = "" if as_json else measured(run)
    if as_json:
        write_json(run_json(run), "compare")
    elif more:
        write(f"\n{more}")
    return 0


def run_json(run: Run) -> dict[str, Any]:
    """A run's comparison and id, with its verdict, what its preflight found, its empty clusters, and the scores over
    all texts if it is from shards."""
    from mauve_core.analyses.attached_results import verdict  # imports SciPy, which other commands do not need
    from mauve_core.findings.precomputed import run_preflight
    from mauve_core.scoring.tables import empty_clusters_json

    return {
        "verdict": verdict(run).as_dict(),
        **to_json(run.comparison),
        "preflight": dataclass_to_json(run_preflight(run)),
        "empty_clusters": empty_clusters_json(run.comparison),
        "over_all_texts": over_all_json(run),
        "run": run.id,
    }


def run_table(run: Run) -> str:
    """A run's verdict and leaderboard; between them, copied texts and formats in which a candidate differs."""
    from mauve_core.findings.format_checks import steps_for, to_text
    from mauve_core.findings.precomputed import run_preflight

    found = run_preflight(run)
    parts = [verdict_text(run), to_table(run.comparison)]
    if found.shown:
        steps = ",".join(steps_for(found))
        encoder = "" if run.comparison.config.encoder else " --encoder MODEL"
        todo = f"\n  Normalize both sides: mauve-lens runs again {run.id} --normalize {steps}{encoder}" if steps else ""
        parts.insert(1, f"{to_text(found, run.comparison.words)}{todo}")
    return "\n\n".join(parts)


def verdict_text(run: Run) -> str:
    """A run's verdict for a terminal, a paragraph for each sentence."""
    from mauve_core.analyses.attached_results import verdict

    return sentences_text(verdict(run).sentences)


def sentences_text(sentences: Iterable[Sentence]) -> str:
    """Sentences for a terminal, a paragraph each."""

    def text(part: str) -> str:  # non-breaking spaces are not printable, and lines must not break there
        return UNBROKEN.join(map(printable, part.split(UNBROKEN)))

    written = (each.written(printable, text) for each in sentences)
    lines = (textwrap.fill(each, LINE, break_long_words=False, break_on_hyphens=False) for each in written)
    return with_plain_spaces("\n".join(lines))


def show_result(
    args: argparse.Namespace,
    command: str,
    task: RunTask,
    table: Callable[[Any], str],
    notes: Callable[[Any], Iterable[str]],
    more: str,
    derived: Callable[[Any], Mapping[str, Any]] = lambda _: {},
) -> int:
    """Perform a task on a stored run, print a table with notes or one JSON object, and return the exit status.

    ``more`` says what else the JSON holds; ``derived`` gives entries that follow from the result.
    """
    found, where = stored_or_computed(args, task)
    if args.json:
        write_json({**dataclass_to_json(found), **derived(found), "run": task.run}, command)
        return 0
    write(table(found))
    for note in notes(found):
        write(f"  {printable(note)}")
    write(f"\n{where} {more}: add --json")
    return 0


def stored_or_computed(args: argparse.Namespace, task: RunTask) -> tuple[Any, str]:
    """A task's result and a sentence on where it is kept.

    A command with ``--again`` takes the result that is stored with the run, if that answers the task.
    """
    with results_only():
        found = None if getattr(args, "again", True) else task.stored()
        if found is None:
            return compute_with_pace(task, progress_of(args), quiet=args.quiet), f"Saved with run {task.run}."
        day = task.load().attached_on(task.attachment)
    return found, f"Stored with run {task.run} on {day}; --again computes it anew."


class ShardedSideJson(TypedDict):
    """One side in shards.

    Attributes
    ----------
    name : str
        ``human``, or the candidate's name.
    shards : int
        Number of shards, from 1.
    n : int
        Texts that were compared, of all shards; rows of features count as texts.
    left_out : mapping of str to int
        Other rows by reason, such as ``empty``; only reasons that occur.
    fields : mapping of str to (str or None)
        Where texts, prompts and ids come from; null for no field, and empty for shards of features.
    digest : str
        SHA-256 of the shards' digests, 64 hexadecimal digits.
    """

    name: str
    shards: Count
    n: Count
    left_out: dict[str, Count]
    fields: dict[str, str | None]
    digest: str


class OverAllCandidateJson(TypedDict):
    """Scores of one candidate over all texts.

    Attributes
    ----------
    name : str
        Its name.
    k : int
        Number of clusters of its pairwise partition, from 2.
    sampled : int
        Rows, one per text of either side, on which k-means started; it then went over all of them.
    counts : str
        SHA-256 of the histograms of both sides under every seed, 64 hexadecimal digits.
    scores : ScoresJson
        With their spread over k-means seeds and their bootstrap interval over groups of prompts.
    """

    name: str
    k: Count
    sampled: Count
    counts: str
    scores: ScoresJson


class OverAllJson(TypedDict):
    """Scores over all texts of corpora in shards.

    Attributes
    ----------
    sides : list of ShardedSideJson
        The human side first.
    candidates : list of OverAllCandidateJson
        In the order in which they were named.
    differences : list of DifferenceJson
        Tests of every two candidates whose numbers of texts differ by at most 1 %; ``n`` counts groups of prompts. If
        the run has all texts, its own tests.
    closest : str
        Sentences: who is closest to the human texts over all texts, or who cannot be told apart; and what speaks
        against it.
    is_sample : bool
        Whether the run leaves out some of these texts, so that its own scores are those of a sample.
    digest : str
        SHA-256 of what decides the result, and of the result, 64 hexadecimal digits: that of ``shard-merge``.
    """

    sides: list[ShardedSideJson]
    candidates: list[OverAllCandidateJson]
    differences: list[DifferenceJson]
    closest: str
    is_sample: bool
    digest: str


def over_all_json(run: Run) -> dict[str, Any] | None:
    """What :class:`OverAllJson` describes; None if the run is not from shards.

    Raises StorageError or InputError if the scores are damaged.
    """
    from mauve_core.analyses.over_shards import is_sample, stored_over_shards

    found = stored_over_shards(run)
    if found is None:
        return None
    return {
        "sides": list(map(side_json, found.sides)),
        "candidates": list(map(candidate_json, found.candidates)),
        **answers_json(found, run),
        "is_sample": is_sample(run, found),
        "digest": found.digest(),
    }


def over_all_parts(run: Run) -> list[str]:
    """Paragraphs and tables of the scores over all texts, and that the run is a sample; none if it is not from shards.

    Raises StorageError or InputError if they are damaged.
    """
    from mauve_core.analyses.over_shards import ABOUT, answers_over_all, sample_sentence, stored_over_shards

    found = stored_over_shards(run)
    if found is None:
        return []
    return [
        f"Over all texts, from shards\n{sentences_text(answers_over_all(found, run))}",
        side_lines(found.sides),
        over_all_table(found),
        textwrap.fill(with_plain_spaces(ABOUT), LINE, break_on_hyphens=False),
        sample_sentence(run, found),
    ]


def side_json(side: ShardedSide) -> dict[str, Any]:
    """What :class:`ShardedSideJson` describes."""
    from mauve_core.shards.plan import PARTS

    return {
        "name": side.name,
        "shards": side.shards,
        "n": side.n,
        "left_out": dict(side.left_out),
        "fields": dict(zip(PARTS, side.fields or (), strict=False)),
        "digest": side.digest,
    }


def candidate_json(candidate: ShardedCandidate) -> dict[str, Any]:
    """What :class:`OverAllCandidateJson` describes."""
    from mauve_core.scoring.serialization import scores_json

    return {
        "name": candidate.name,
        "k": candidate.k,
        "sampled": candidate.sampled,
        "counts": candidate.counts,
        "scores": scores_json(candidate.scores),
    }


def answers_json(found: ShardedComparison, run: Run | None) -> dict[str, Any]:
    """The tests between candidates, and who is closest in sentences."""
    from mauve_core.analyses.over_shards import answers_over_all, settled
    from mauve_core.scoring.serialization import difference_json

    return {
        "differences": [difference_json(each) for each in settled(found, run).differences],
        "closest": with_plain_spaces(" ".join(map(str, answers_over_all(found, run)))),
    }


def side_lines(sides: Iterable[ShardedSide]) -> str:
    """Say how many texts each side has, where they come from and what was left out."""
    return "\n".join(map(_side_line, sides))


def over_all_table(found: ShardedComparison) -> str:
    """Numbers of texts and scores with their spread, the best candidate first."""
    from mauve_core.analyses.over_shards import over_all_rows

    columns, rows = over_all_rows(found)
    return aligned([columns, *(tuple(printable(with_plain_spaces(cell)) for cell in row) for row in rows)])


def _side_line(side: ShardedSide) -> str:
    from mauve_core.shards.plan import PARTS

    said = f"{side.name}: {side.n:,} texts in {side.shards:,} shards"
    if side.fields is not None:
        said += f" ({', '.join(f'{part} from {name}' for part, name in zip(PARTS, side.fields, strict=True) if name)})"
    if side.left_out:
        said += f"; left out: {', '.join(f'{count:,} {reason}' for reason, count in side.left_out.items())}"
    return printable(said)
