"""``mauve-lens compare --engine``, ``shard-run`` and ``shard-merge``: corpora in shards, on any number of machines."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, get_args

from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.base.files import home
from mauve_core.base.formatting import file_size, printable, with_plain_spaces
from mauve_core.base.progress import format_seconds
from mauve_core.base.validation import Count
from mauve_core.cli.options import (
    add_device_option,
    add_encoder_options,
    add_output_options,
    add_score_options,
    encoder_config,
    name_default_encoder,
    named,
    progress_of,
    results_only,
    run_table,
    score_config,
    write,
    write_json,
)
from mauve_core.cli.shard_costs import ENCODING, estimated, titled
from mauve_core.scoring.comparison_json import ScoresJson
from mauve_core.scoring.tables import aligned
from mauve_core.shards.plan import RUN_TEXTS, StoredAs

if TYPE_CHECKING:
    from mauve_core.shards.engines import Engine
    from mauve_core.shards.plan import Plan, Work
    from mauve_core.shards.result import ShardedComparison
    from mauve_core.shards.tasks import Task
    from mauve_core.store import Run

_SHARDS = (
    "a quoted pattern, folder, .manifest or one file of Parquet, JSONL or .npy shards, here or at a URL "
    "('s3://bucket/human/*.parquet')"
)
_NOT_IN_SHARDS = ("file", "by", "reference", "features", "normalize", "equalize", "metadata_field")


class ShardedSideJson(TypedDict):
    """One side in shards.

    Attributes
    ----------
    name : str
        ``human``, or the candidate's name.
    shards : int
        Number of shards.
    n : int
        Texts that count.
    left_out : mapping of str to int
        Other rows by reason.
    digest : str
        SHA-256 of the shards' digests.
    """

    name: str
    shards: Count
    n: Count
    left_out: dict[str, Count]
    digest: str


class ShardedCandidateJson(TypedDict):
    """One candidate over all texts.

    Attributes
    ----------
    name : str
        Its name.
    k : int
        Number of clusters.
    sampled : int
        Rows on which k-means started.
    counts : str
        SHA-256 of the histograms of both sides under every seed.
    scores : ScoresJson
        With their spread.
    """

    name: str
    k: Count
    sampled: Count
    counts: str
    scores: ScoresJson


class ShardedJson(TypedDict):
    """Scores over all texts of corpora in shards.

    Attributes
    ----------
    sides : list of ShardedSideJson
        The human side first.
    candidates : list of ShardedCandidateJson
        In the order in which they were named.
    digest : str
        SHA-256 of what decides the result, and of the result: equal on every engine.
    engine : str
        What carried out the tasks.
    run : str or None
        Id of the stored run, a sample of the texts; None for shards of features.
    """

    sides: list[ShardedSideJson]
    candidates: list[ShardedCandidateJson]
    digest: str
    engine: str
    run: str | None


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = commands.add_parser(
        "shard-run",
        description="Encodes every N-th shard, from the I-th on. Start one on each machine, then shard-merge on one.",
    )
    run.add_argument("part", metavar="I/N", help="which of how many parts, from 1/N to N/N")
    run.add_argument("--human", required=True, metavar="SHARDS", help=_SHARDS)
    run.add_argument("--model", action="append", required=True, metavar="NAME=SHARDS", help="one per candidate")
    _add_work_option(run, required=True)
    _add_plan_options(run)
    for part in ("text", "prompt", "id"):
        run.add_argument(f"--{part}-field", metavar="FIELD", help=f"field with the {part}; default: guessed")
    add_encoder_options(run)
    add_score_options(run)
    run.add_argument("--workers", type=_positive, metavar="N", help="tasks at once; default: one a core")
    _add_estimate_option(run)
    add_output_options(run, table=True)
    run.set_defaults(run=_run)
    merge = commands.add_parser("shard-merge", description="Also encodes what no shard-run has encoded.")
    _add_work_option(merge, required=True)
    _add_engine_option(merge, default="local")
    add_device_option(merge)
    _add_estimate_option(merge)
    merge.add_argument("--out", metavar="RUN", help="name of the stored run; default: built from the candidates")
    merge.add_argument("--no-map", action="store_true", help="leave out the two-dimensional map of the sample")
    add_output_options(merge, table=True)
    merge.set_defaults(run=_merge)


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``compare`` for corpora in shards."""
    group = parser.add_argument_group(
        "corpora in shards", f"with --engine, --human and --model take {_SHARDS}; --json is that of shard-merge"
    )
    _add_engine_option(group, default=None)
    _add_work_option(group, required=False)
    _add_plan_options(group)
    _add_estimate_option(group)


def compare_in_shards(args: argparse.Namespace) -> int:
    """Carry out ``compare --engine``."""
    given = [f"--{name.replace('_', '-')}" for name in _NOT_IN_SHARDS if getattr(args, name)]
    if given:
        raise InputError(f"{', '.join(given)} cannot be combined with --engine", todo="Leave it out")
    if not args.human or not args.model:
        raise InputError("--engine needs both sides", allowed="--human SHARDS --model NAME=SHARDS")
    for name in ("text_field", "prompt_field", "id_field"):
        values = getattr(args, name) or []
        if len(values) > 1:
            raise InputError(f"--{name.replace('_', '-')} is given {len(values)} times", allowed="once with --engine")
        setattr(args, name, values[0] if values else None)
    from mauve_core.shards.plan import Work

    plan = _plan(args)
    return _finish(args, Work.begin(args.work or home() / "shards" / plan.digest()[:16], plan))


def _run(args: argparse.Namespace) -> int:
    part = _part(args.part)
    if args.json and not args.estimate:
        raise InputError("shard-run prints no JSON of its own", todo="Leave out --json, or give it with --estimate")
    from mauve_core.shards.compare import encode_tasks
    from mauve_core.shards.engines import LocalEngine
    from mauve_core.shards.pace import Pace
    from mauve_core.shards.plan import Work
    from mauve_core.shards.tasks import remaining

    work = Work.begin(args.work, _plan(args))
    tasks, progress = encode_tasks(work, args.device, part), progress_of(args)
    with _closing(LocalEngine(args.workers)) as engine:
        if estimated(args, work, engine, tasks):
            return 0
        left, pace = remaining(tasks), Pace(work)
        done = len(tasks) - len(left)

        def advance(task: Task, _: int) -> None:
            nonlocal done
            done += 1
            progress(pace.after(ENCODING, task), done, len(tasks))

        with results_only():
            progress(ENCODING, done, len(tasks))
            engine.run(work.folder, left, advance)
    write(f"Part {args.part}: {len(tasks):,} shards are encoded.")
    write(f"When all parts are: mauve-lens shard-merge --work {args.work}")
    return 0


def _merge(args: argparse.Namespace) -> int:
    from mauve_core.shards.plan import Work

    return _finish(args, Work.open(args.work))


def _finish(args: argparse.Namespace, work: Work) -> int:
    from mauve_core.shards.compare import compare_shards, encode_tasks
    from mauve_core.shards.engines import engine_for
    from mauve_core.tasks.over_shards import store_sample

    progress, run = titled(progress_of(args)), None
    with _closing(engine_for(args.engine, args.workers)) as engine:
        if estimated(args, work, engine, encode_tasks(work, args.device)):
            return 0
        with results_only():
            found = compare_shards(work, engine, device=args.device, progress=progress)
    with results_only():
        if work.plan.encoder is not None:
            name = args.out or f"{HUMAN} vs {', '.join(work.plan.candidates)}"
            run = store_sample(name, work, found, projection=not args.no_map, progress=progress)
    if args.json:
        write_json(_json(found, run), "shard-merge")
        return 0
    write(_table(found))
    if run is not None:
        write(f"\n{run_table(run)}\n\nStored as run {run.id}, a sample. In the browser: mauve-lens app")
    return 0


def _json(found: ShardedComparison, run: Run | None) -> dict[str, Any]:
    from mauve_core.scoring.comparison_json import scores_json

    return {
        "sides": [
            {
                "name": side.name,
                "shards": side.shards,
                "n": side.n,
                "left_out": dict(side.left_out),
                "digest": side.digest,
            }
            for side in found.sides
        ],
        "candidates": [
            {
                "name": one.name,
                "k": one.k,
                "sampled": one.sampled,
                "counts": one.counts,
                "scores": scores_json(one.scores),
            }
            for one in found.candidates
        ],
        "digest": found.digest(),
        "engine": found.engine,
        "run": None if run is None else run.id,
    }


def _table(found: ShardedComparison) -> str:
    from mauve_core.experiments.over_shards import over_all_rows

    columns, rows = over_all_rows(found)
    human = found.sides[0]
    lines = [f"Over all texts: {human.n:,} human texts in {human.shards:,} shards", ""]
    lines.append(aligned([columns, *(tuple(printable(with_plain_spaces(cell)) for cell in row) for row in rows)]))
    passes = [
        (one.name, f"{one.tasks:,}", format_seconds(one.seconds), file_size(one.peak_bytes)) for one in found.passes
    ]
    lines += ["", aligned([("Pass", "Tasks", "Time", "Most memory of a process"), *passes])]
    lines += ["", f"Engine: {found.engine}. Digest: {found.digest()}"]
    return "\n".join(lines)


def _plan(args: argparse.Namespace) -> Plan:
    from mauve_core.shards.compare import plan_of
    from mauve_core.shards.places import holds_features, list_shards
    from mauve_core.shards.texts import Named

    models = named(args.model, "--model")
    encoder: EncoderConfig | None = None
    if not holds_features(list_shards(args.human)[0]):
        encoder = encoder_config(args)
        name_default_encoder(args)
    return plan_of(
        args.human,
        models,
        encoder=encoder,
        score=score_config(args),
        named=Named(args.text_field, args.prompt_field, args.id_field),
        stored_as=args.stored_as,
        run_texts=args.run_texts,
    )


def _part(text: str) -> tuple[int, int]:
    """Parse I/N into the index from 0 and the number of parts."""
    first, slash, of = text.partition("/")
    if not (slash and first.isdigit() and of.isdigit() and 1 <= int(first) <= int(of)):
        raise InputError("The part cannot be used", allowed="I/N with I from 1 to N, such as 3/8", received=repr(text))
    return int(first) - 1, int(of)


@contextmanager
def _closing(engine: Engine) -> Iterator[Engine]:
    try:
        yield engine
    finally:
        engine.close()


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _add_engine_option(parser: argparse._ActionsContainer, *, default: str | None) -> None:
    parser.add_argument(
        "--engine",
        metavar="ENGINE",
        default=default,
        help="local: processes of this machine; ray: a Ray cluster of its own; ray:ADDRESS: one that runs"
        + ("" if default is None else f"; default: {default}"),
    )
    parser.add_argument(
        "--workers", type=_positive, metavar="N", help="tasks at once; default: one a core, or a GPU of Ray"
    )


def _add_work_option(parser: argparse._ActionsContainer, *, required: bool) -> None:
    what = "folder for what the passes write, which all machines see; finished tasks in it are not repeated"
    default = "" if required else "; default: one in the home folder"
    parser.add_argument("--work", type=Path, required=required, metavar="FOLDER", help=what + default)


def _add_estimate_option(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="only time samples of some shards, and print texts, tokens, hours and disk with their uncertainty; "
        "--json is that of shard-run",
    )


def _add_plan_options(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--stored-as",
        choices=get_args(StoredAs),
        default="float32",
        help="precision of features on disk; default: float32",
    )
    parser.add_argument(
        "--run-texts",
        type=_positive,
        default=RUN_TEXTS,
        metavar="N",
        help=f"texts of each side that are kept for the app; default: {RUN_TEXTS:,}",
    )
