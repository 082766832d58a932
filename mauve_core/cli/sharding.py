"""``mauve-lens compare --engine``, ``shard-run`` and ``shard-merge``: corpora in shards, on any number of machines."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.base.extras import require_map
from mauve_core.base.files import home
from mauve_core.base.formatting import plural, printable, verb
from mauve_core.cli.options import (
    add_device_option,
    add_encoder_options,
    add_name_option,
    add_output_options,
    add_score_options,
    encoder_config,
    name_default_encoder,
    progress_of,
    require_device,
    results_only,
    run_table,
    score_config,
    write,
    write_json,
)
from mauve_core.cli.shard_costs import ENCODING, estimated, titled
from mauve_core.cli.sharding_output import sharded_json, sharded_table
from mauve_core.cli.text_files import models_of, source_and_field, source_fields
from mauve_core.shards.plan import RUN_TEXTS, StoredAs
from mauve_core.shards.result import PARTS

if TYPE_CHECKING:
    from mauve_core.experiments.clusters_over_shards import ClustersOverAll
    from mauve_core.shards.engines import Engine
    from mauve_core.shards.plan import Plan, Work
    from mauve_core.shards.result import ShardedComparison
    from mauve_core.shards.tasks import Task
    from mauve_core.shards.texts import Named
    from mauve_core.store import Run

_SHARDS = (
    "a quoted pattern, folder, .manifest or one file of Parquet, JSONL or .npy shards, here or at a URL "
    "('s3://bucket/human/*.parquet')"
)
# Files that a message names.
MOST_NAMED = 3

PAGES_LEFT = "Stopped before all pages of the run were prepared: each is when you open it."
RUN_LEFT = "Stopped before the run was stored: the same command stores it, and encodes nothing again."

_NOT_IN_SHARDS = (
    "file",
    "by",
    "reference",
    "features",
    "normalize",
    "equalize",
    "skip_unencodable",
    "seen",
    "metadata_field",
    "quoting",
    "generation",
    "group_field",
)


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
        run.add_argument(
            f"--{part}-field",
            action="append",
            metavar="[NAME=]FIELD",
            help=f"field with the {part}, of all sides or of NAME (human or a model's); default: guessed",
        )
    run.set_defaults(metadata_field=None, quoting=None, generation=None, group_field=None)
    add_encoder_options(run)
    add_score_options(run, with_map=False)
    _add_workers_option(run)
    _add_estimate_option(run)
    run.add_argument("--json", action="store_true", help="with --estimate: one JSON object instead of a table")
    add_output_options(run)
    run.set_defaults(run=_run)
    merge = commands.add_parser("shard-merge", description="Also encodes what no shard-run has encoded.")
    _add_work_option(merge, required=True)
    _add_engine_option(merge, default="local")
    add_device_option(merge)
    _add_estimate_option(merge)
    add_name_option(merge, "built from the candidates")
    merge.add_argument("--no-map", action="store_true", help="leave out the two-dimensional map of the sample")
    add_output_options(merge, table=True)
    merge.set_defaults(run=_merge)


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``compare`` for corpora in shards."""
    group = parser.add_argument_group(
        "corpora in shards",
        f"with --engine, --human and --model take {_SHARDS}; not with {', '.join(map(_option, _NOT_IN_SHARDS))} "
        "or --dtype auto; --json is that of shard-merge",
    )
    _add_engine_option(group, default=None)
    _add_work_option(group, required=False)
    _add_plan_options(group)
    _add_estimate_option(group)


def compare_in_shards(args: argparse.Namespace) -> int:
    """Carry out ``compare --engine``."""
    given = [_option(name) for name in _NOT_IN_SHARDS if getattr(args, name)]
    if given:
        raise InputError(f"{', '.join(given)} cannot be combined with --engine", todo="Leave it out")
    if not args.human or not args.model:
        raise InputError("--engine needs both sides", allowed="--human SHARDS --model NAME=SHARDS")
    from mauve_core.shards.plan import Work

    plan = _plan(args)
    return _finish(args, Work.begin(args.work or home() / "shards", plan))


def _run(args: argparse.Namespace) -> int:
    part = _part(args.part)
    if args.json and not args.estimate:
        raise InputError("shard-run prints no JSON of its own", todo="Leave out --json, or give it with --estimate")
    plan = _plan(args)
    from mauve_core.shards.checking import SameFields
    from mauve_core.shards.compare import encode_tasks
    from mauve_core.shards.engines import LocalEngine
    from mauve_core.shards.passes import Pace
    from mauve_core.shards.plan import Work
    from mauve_core.shards.tasks import remaining

    work = Work.begin(args.work, plan)
    tasks, progress = encode_tasks(work, args.device, part), progress_of(args)
    with _closing(LocalEngine(args.workers)) as engine:
        if estimated(args, work, engine, tasks):
            return 0
        pace, fields = Pace(work), SameFields(work)
        done = len(tasks) - len(remaining(tasks))

        def advance(task: Task, _: int) -> None:
            nonlocal done
            fields.add(*task.args[:2])
            done += 1
            progress(pace.after(ENCODING, task), done, len(tasks))

        with results_only():
            progress(ENCODING, done, len(tasks))
            engine.run(work.folder, tasks, advance)
    write(f"Part {args.part}: {plural(len(tasks), 'shard')} {verb(len(tasks), 'is', 'are')} encoded.")
    write(f"When all parts are: mauve-lens shard-merge --work {work.folder}")
    return 0


def _merge(args: argparse.Namespace) -> int:
    from mauve_core.shards.plan import open_current

    return _finish(args, open_current(Path(args.work)))


def _finish(args: argparse.Namespace, work: Work) -> int:
    from mauve_core.experiments.clusters_over_shards import clusters_over_all
    from mauve_core.shards.compare import compare_shards, encode_tasks
    from mauve_core.shards.engines import engine_for
    from mauve_core.shards.failures import remade
    from mauve_core.tasks.over_shards import store_sample, stored_before

    progress, run = titled(progress_of(args)), None
    stored: list[Run] = []
    if not args.engine.startswith("ray"):
        require_device(args.device)
    if work.plan.encoder is not None and not args.no_map and not args.estimate:
        require_map()
    with _closing(engine_for(args.engine, args.workers)) as engine:
        if estimated(args, work, engine, encode_tasks(work, args.device)):
            return 0

        @remade
        def scored() -> tuple[ShardedComparison, ClustersOverAll]:
            return compare_shards(work, engine, device=args.device, progress=progress), clusters_over_all(work)

        with results_only():
            found, clusters = scored()
    try:
        if work.plan.encoder is not None:
            name, with_map = args.name or f"{HUMAN} vs {', '.join(work.plan.candidates)}", not args.no_map
            with results_only():
                run = stored_before(name, work, found, clusters, projection=with_map) or store_sample(
                    name, work, found, clusters, projection=with_map, progress=progress, stored=stored.append
                )
    except KeyboardInterrupt:
        _print_results(args, found, clusters, next(iter(stored), None))
        sys.stderr.write(f"{PAGES_LEFT if stored else RUN_LEFT}\n")
        raise
    _print_results(args, found, clusters, run)
    if found.texts_missing is not None:
        raise InputError(f"The scores are complete; texts or phrases of clusters are missing: {found.texts_missing}")
    return 0


def _print_results(
    args: argparse.Namespace, found: ShardedComparison, clusters: ClustersOverAll, run: Run | None
) -> None:
    """Print the scores over all texts, and those of the stored run if there is one."""
    from mauve_core.experiments.over_shards import is_sample

    if args.json:
        write_json(sharded_json(found, clusters, run), "shard-merge")
        return
    write(sharded_table(found, clusters, run))
    if run is not None:
        what = "In the sample that is stored" if is_sample(run, found) else "With all texts, stored"
        write(f"\n{what} as run {run.id}:\n\n{run_table(run)}\n\nIn the browser: mauve-lens app")


def _option(name: str) -> str:
    return "FILE" if name == "file" else f"--{name.replace('_', '-')}"


def _note_other_files(where: str) -> None:
    """Say on standard error which files of a folder are not shards, as a renamed one would be."""
    from mauve_core.shards.places import other_files

    other = other_files(where)
    if other:
        names = ", ".join(other[:MOST_NAMED]) + (", …" if len(other) > MOST_NAMED else "")
        left_out = f"Left out of {where}, because they are not shards: {plural(len(other), 'file')} ({names})"
        sys.stderr.write(f"{printable(left_out)}\n")


def _plan(args: argparse.Namespace) -> Plan:
    from mauve_core.shards.places import holds_features, list_shards
    from mauve_core.shards.plan import plan_of

    models = models_of(args)
    sides = [HUMAN, *models]
    for where in (args.human, *models.values()):
        _note_other_files(where)
    encoder: EncoderConfig | None = None
    if not holds_features(list_shards(args.human)[0]):
        encoder = encoder_config(args)
        name_default_encoder(args)
    return plan_of(
        args.human,
        models,
        encoder=encoder,
        score=score_config(args),
        named={name: _fields(args, name, sides) for name in sides},
        stored_as=args.stored_as,
        run_texts=args.run_texts,
    )


def _fields(args: argparse.Namespace, side: str, sides: Sequence[str]) -> Named:
    from mauve_core.shards.texts import Named

    for part in PARTS:
        for value in getattr(args, f"{part}_field") or ():
            name, field = source_and_field(value, sides)
            if part == "text" and not field.rpartition("=")[2]:
                raise InputError("--text-field names no field", allowed="[NAME=]FIELD", received=repr(value))
            if name is None and "=" in field:
                raise InputError(f"--{part}-field names an unknown side", allowed=", ".join(sides), received=value)
    found = source_fields(args, side, sides)
    return Named(found["text_field"], found["prompt_field"], found["id_field"])


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
    _add_workers_option(parser)


def _add_workers_option(parser: argparse._ActionsContainer) -> None:
    what = "most tasks at once; default: while encoding one per GPU, if there are any; otherwise one per core"
    parser.add_argument("--workers", type=_positive, metavar="N", help=what)


def _add_work_option(parser: argparse._ActionsContainer, *, required: bool) -> None:
    what = "folder for what the passes write, which all machines see; what is finished or encoded in it is not repeated"
    default = "" if required else "; default: shards in MAUVE_LENS_HOME"
    parser.add_argument("--work", required=required, metavar="FOLDER", help=what + default)


def _add_estimate_option(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="only time samples of some shards, and print texts, tokens and time of encoding, with 95%% intervals, "
        "time of an iteration of k-means and of counting phrases, and disk; --json is that of shard-run",
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
