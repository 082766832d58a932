"""``mauve-lens compare --engine``, ``shard-run`` and ``shard-merge``: corpora in shards, on any number of machines.

What a comparison will take is said as a sentence before it begins, or as a table or JSON (``--estimate``); results are
the scores over all texts, and the clusters.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, get_args

from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.base.extras import require_map
from mauve_core.base.files import home
from mauve_core.base.formatting import NONE, file_size, plural, printable, significant, verb, with_plain_spaces
from mauve_core.base.json_codec import Count, NotNegative, Share
from mauve_core.base.progress import Paced, Progress, format_seconds
from mauve_core.cli.input_files import models_of, source_and_field, source_fields
from mauve_core.cli.options import (
    OverAllCandidateJson,
    ShardedSideJson,
    add_device_option,
    add_encoder_options,
    add_name_option,
    add_output_options,
    add_score_options,
    answers_json,
    candidate_json,
    encoder_config,
    name_default_encoder,
    over_all_table,
    progress_of,
    require_device,
    results_only,
    run_table,
    score_config,
    sentences_text,
    side_json,
    side_lines,
    write,
    write_json,
)
from mauve_core.findings.sentences import Sentence
from mauve_core.scoring.serialization import DifferenceJson
from mauve_core.scoring.tables import aligned
from mauve_core.shards.plan import PARTS, RUN_TEXTS, StoredAs

if TYPE_CHECKING:
    import pandas as pd

    from mauve_core.analyses.over_shards import CandidateOverAll, ClustersOverAll, SideOverAll
    from mauve_core.runs import Run
    from mauve_core.shards.costs import Estimate, Span
    from mauve_core.shards.engines import Engine
    from mauve_core.shards.plan import Pass, Plan, ShardedComparison, Work
    from mauve_core.shards.tasks import Task
    from mauve_core.shards.texts import Named


ENCODING = "Encoding shards"
_TITLES = {
    "check": "Checking shards",
    "estimate": "Timing shards",
    "encode": ENCODING,
    "project": "Projecting shards",
    "start": "Clustering the sample",
    "sum": "Clustering all rows",
    "label": "Labeling rows",
    "keep": "Choosing texts of clusters",
    "fetch": "Reading texts of clusters",
    "count": "Counting phrases",
}

# Seconds from which times are given in hours.
HOURS_FROM = 3600


class SpanJson(TypedDict):
    """A number that was extrapolated from sampled shards.

    Attributes
    ----------
    value : float
        The estimate, in the unit of the field that holds it.
    low, high : float or None
        Ends of its 95 % interval, in the same unit; null if too few shards were sampled to have one.
    """

    value: NotNegative
    low: NotNegative | None
    high: NotNegative | None


class ShardCostsJson(TypedDict):
    """What a command over shards has to do, and what follows.

    Attributes
    ----------
    shards : int
        Shards that the command encodes, from 1.
    finished : int
        Those of these shards that are encoded already, 0 to ``shards``.
    sampled : int
        Those of these shards whose beginning was read and timed, 0 to ``shards``.
    texts : SpanJson
        Number of texts in all these shards, finished ones too.
    most_texts : int or None
        Most texts that these shards can have, by footers of Parquet and headers of features; null for other shards.
    tokens : SpanJson
        Number of tokens that the encoder reads of these texts; 0 for shards of features.
    worker_seconds : SpanJson
        Seconds for which workers encode what is left, added up; 0 for shards of features.
    wall_seconds : SpanJson
        Seconds until they have encoded it.
    encoders : int
        Number of tasks at once while texts are encoded, from 1: one per GPU, if there are any.
    workers : int
        Number of tasks at once in the passes that follow, from 1.
    device : str
        Where samples were encoded, such as ``cuda``; empty for shards of features.
    columns : int
        Number of columns of the features.
    components : int
        Number of principal components of the sampled rows, 1 to ``columns``; all columns where these rows are too few.
    k : int
        Number of clusters of the largest partition.
    iteration_worker_seconds : float
        Seconds for which workers are busy in an iteration of k-means over all rows, added up.
    counting_worker_seconds : SpanJson
        Seconds for which workers count phrases, added up, if all texts are in clusters whose phrases are counted.
    disk_bytes : float
        Bytes that the work folder will yet take, for the shards of all parts.
    free_bytes : int
        Bytes that are free on the disk of the work folder.
    """

    shards: Count
    finished: Count
    sampled: Count
    texts: SpanJson
    most_texts: Count | None
    tokens: SpanJson
    worker_seconds: SpanJson
    wall_seconds: SpanJson
    encoders: Count
    workers: Count
    device: str
    columns: Count
    components: Count
    k: Count
    iteration_worker_seconds: NotNegative
    counting_worker_seconds: SpanJson
    disk_bytes: NotNegative
    free_bytes: Count


def estimated(args: argparse.Namespace, work: Work, engine: Engine, tasks: Sequence[Task]) -> bool:
    """Say what is to come; whether that is all that was asked for.

    Raises
    ------
    InputError
        Shards cannot be read, there are fewer texts than clusters, or the disk is too small for what is to come.
    """
    from mauve_core.shards.costs import estimate, require_room
    from mauve_core.shards.passes import require_enough_rows, require_readable

    progress = titled(progress_of(args))
    with results_only():
        require_readable(work, tasks, progress)
        require_enough_rows(work)
        found = estimate(work, engine, tasks, device=args.device, always=args.estimate, progress=progress)
    if found is None:
        if args.estimate:
            raise InputError("This part has no shards to estimate", allowed="at most as many parts as there are shards")
        return False
    if not args.estimate:
        if not args.quiet:
            announce(found)
        require_room(found, work)
    elif args.json:
        write_json(costs_json(found), "shard-run")
    else:
        write(costs_table(found))
    return bool(args.estimate)


def titled(progress: Progress) -> Progress:
    """Call passes by what people read."""

    def report(stage: str, done: int, total: int) -> None:
        title = _TITLES.get(stage, stage)
        progress(Paced(title, stage.pace) if isinstance(stage, Paced) else title, done, total)

    return report


def costs_json(found: Estimate) -> dict[str, Any]:
    """Return what :class:`ShardCostsJson` describes."""
    spans = {
        "texts": found.texts,
        "tokens": found.tokens,
        "worker_seconds": found.seconds,
        "wall_seconds": found.wall,
        "counting_worker_seconds": found.counting,
    }
    return {
        "shards": found.shards,
        "finished": found.finished,
        "sampled": found.sampled,
        "most_texts": found.most,
        **{name: span._asdict() for name, span in spans.items()},
        "encoders": found.encoders,
        "workers": found.workers,
        "device": found.device,
        "columns": found.width,
        "components": found.components,
        "k": found.k,
        "iteration_worker_seconds": found.iteration_seconds,
        "disk_bytes": found.disk,
        "free_bytes": found.free,
    }


def announce(found: Estimate) -> None:
    """Write what is to come to standard error, before it begins."""
    sys.stderr.write(f"{printable(with_plain_spaces(costs_sentences(found)))}\n")
    sys.stderr.flush()


def costs_sentences(found: Estimate) -> str:
    """Say how much there is to encode, how long that, an iteration and phrases take, and what the disk will hold."""
    from mauve_core.shards.passes import amount

    parts = [f"{found.finished:,} of {found.shards:,} shards are encoded."] if found.finished else []
    what = _texts(found)
    if found.device:
        parts.append(f"{what}, about {amount(found.tokens.value)} tokens.")
        parts.append(
            f"Encoding with {plural(found.encoders, 'worker')} on {found.device}: {_hours(found.wall.value)}"
            f"{_range(found.wall)}; {_hours(found.seconds.value)} of one worker."
        )
    else:
        parts.append(f"{what}, whose features need no encoding.")
    workers = "" if found.workers == found.encoders else f" with {plural(found.workers, 'worker')}"
    iteration = _hours(found.iteration_seconds / found.workers)
    parts.append(f"k-means{workers}: {iteration} an iteration over all texts.")
    if found.counting.value:
        most = found.counting.value if found.counting.high is None else found.counting.high
        parts.append(f"Counting phrases: at most {_hours(most / found.workers)}.")
    parts.append(f"Work folder: {file_size(found.disk)} of the {file_size(found.free)} that are free.")
    return " ".join(parts)


def costs_table(found: Estimate) -> str:
    """The same as a table, with the 95 % interval of what was extrapolated."""
    from mauve_core.shards.passes import amount

    rows = [("In all", "Estimate", "95% interval")]
    done = f", {found.finished:,} of them encoded" if found.finished else ""
    rows.append(("Shards", f"{found.shards:,}{done}", f"from samples of {found.sampled:,}"))
    at_most = "at most " if _none_left_out(found) else ""
    rows.append(("Texts", f"{at_most}{amount(found.texts.value)}", _ends(found.texts, amount)))
    if found.device:
        rows.append(("Tokens", amount(found.tokens.value), _ends(found.tokens, amount)))
        left = " what is left" if found.finished else ""
        encoding = f"Encoding{left}, {plural(found.encoders, 'worker')} on {found.device}"
        rows.append((encoding, _hours(found.wall.value), _ends(found.wall, _hours)))
        rows.append((f"Encoding{left}, time of all workers", _hours(found.seconds.value), _ends(found.seconds, _hours)))
    shape = f"k = {found.k:,}, {found.components:,} of {found.width:,} components"
    iteration = f"k-means, each iteration, {plural(found.workers, 'worker')}"
    rows.append((iteration, _hours(found.iteration_seconds / found.workers), shape))
    rows.append(("k-means, time of all workers", _hours(found.iteration_seconds), ""))
    if found.counting.value:
        counting = found.counting.times(1 / found.workers)
        what = f"Counting phrases, at most, {plural(found.workers, 'worker')}"
        rows.append((what, _hours(counting.value), _ends(counting, _hours)))
    rows.append(("Work folder", file_size(found.disk), ""))
    enough = "" if found.disk <= found.free else "too little"
    rows.append(("Free on its disk", file_size(found.free), enough))
    return aligned([tuple(map(printable, map(with_plain_spaces, row))) for row in rows])


def _texts(found: Estimate) -> str:
    """Format "15,032 texts (±1%)"; or "At most 15,032 texts" where shards say their rows and samples leave out none."""
    from mauve_core.shards.passes import amount

    texts = f"{amount(found.texts.value)} texts"
    return f"At most {texts}" if _none_left_out(found) else f"{texts}{_margin(found.texts)}"


def _none_left_out(found: Estimate) -> bool:
    """Whether texts are counted as rows of shards that are yet to be encoded, of which some may be left out."""
    return bool(found.device) and found.finished < found.shards and found.texts.value == found.most


def _hours(seconds: float) -> str:
    if seconds < HOURS_FROM:
        return format_seconds(seconds)
    hours = seconds / 3600
    said = significant(hours, 2 if hours < 10 else 3)
    return f"{said} hour{'' if said == '1' else 's'}"


def _range(span: Span) -> str:
    if span.low is None or span.high is None:
        return ""
    low, high = _hours(span.low), _hours(span.high)
    if low == high:
        return ""
    same = low.rpartition(" ")[2] == high.rpartition(" ")[2] and low.count(" ") == 1 == high.count(" ")
    return f" ({low.rpartition(' ')[0] if same else low} to {high.rpartition(' ')[0] if same else high})"


def _margin(span: Span) -> str:
    if span.high is None or not span.value or span.high == span.value:
        return ""
    return f" (±{significant(100 * (span.high / span.value - 1), 1)}%)"


def _ends(span: Span, form: Any) -> str:
    if span.low is None or span.high is None or span.low == span.high:
        return ""
    return f"{form(span.low)} to {form(span.high)}"


# Clusters of a candidate.
MOST = 5

# Phrases of a side in a table.
MOST_PHRASES = 2


class CountedPhraseJson(TypedDict):
    """A phrase that one side of a cluster uses more often than the other.

    Attributes
    ----------
    text : str
        Its words in lower case.
    human, model : int
        Number of texts of either side of the cluster that have it, counted in all texts.
    """

    text: str
    human: Count
    model: Count


class SideOverAllJson(TypedDict):
    """One side of a cluster of all texts.

    Attributes
    ----------
    n : int
        Number of texts of the side in the cluster, of all its texts.
    share : float
        Part of all texts of the side that are in the cluster, 0 to 1.
    low, high : float
        Ends of the 95 % interval of the share, 0 to 1, which holds for all clusters and both sides at once.
    phrases : list of CountedPhraseJson
        Phrases that the side uses more often than the other in this cluster, proposed by random texts.
    """

    n: Count
    share: Share
    low: Share
    high: Share
    phrases: list[CountedPhraseJson]


class ClusterOverAllJson(TypedDict):
    """One cluster of all texts.

    Attributes
    ----------
    number : int
        Number of the cluster in the partition, from 0 to k - 1; not a rank.
    name : str
        Words that distinguish its texts.
    human, model : SideOverAllJson
        Both sides.
    """

    number: Count
    name: str
    human: SideOverAllJson
    model: SideOverAllJson


def clusters_json(found: ShardedComparison, candidate: CandidateOverAll) -> list[ClusterOverAllJson]:
    """The first clusters of a candidate."""
    from mauve_core.analyses.over_shards import share_table

    rows = [row for _, row in share_table(found, candidate).head(MOST).iterrows()]
    return [
        {
            "number": cluster.number,
            "name": cluster.name,
            "human": _side(cluster.human, row, "p"),
            "model": _side(cluster.model, row, "q"),
        }
        for cluster, row in zip(candidate.clusters, rows, strict=False)
    ]


def _side(side: SideOverAll, row: pd.Series, share: str) -> SideOverAllJson:
    return {
        "n": side.n,
        "share": float(row[share]),
        "low": float(row[f"{share}_low"]),
        "high": float(row[f"{share}_high"]),
        "phrases": [{"text": phrase.text, "human": phrase.human, "model": phrase.model} for phrase in side.phrases],
    }


def cluster_lines(found: ShardedComparison, candidate: CandidateOverAll) -> list[str]:
    """A sentence and a table of the first clusters of a candidate, after an empty line; nothing without clusters."""
    from mauve_core.analyses.over_shards import cluster_rows, cluster_sentence, columns_of, share_table

    said = cluster_sentence(share_table(found, candidate), candidate.name)
    if not said:
        return []
    rows = [columns_of(candidate.name), *cluster_rows(found, candidate, MOST, MOST_PHRASES)]
    shown = (
        f" {len(rows) - 1} of {found[candidate.name].k:,} clusters, with the largest parts of the frontier integral:"
    )
    return ["", sentences_text([Sentence((said, shown))]), "", aligned([tuple(map(printable, row)) for row in rows])]


class ShardedCandidateJson(OverAllCandidateJson):
    """One candidate over all texts.

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
    clusters : list of ClusterOverAllJson
        The clusters with the largest parts of the frontier integral, at most five, the largest first.
    """

    clusters: list[ClusterOverAllJson]


class ShardedJson(TypedDict):
    """Scores over all texts of corpora in shards.

    Attributes
    ----------
    sides : list of ShardedSideJson
        The human side first.
    candidates : list of ShardedCandidateJson
        In the order in which they were named.
    differences : list of DifferenceJson
        Tests of every two candidates whose numbers of texts differ by at most 1 %; ``n`` counts groups of prompts. If
        the stored run has all texts, its tests.
    closest : str
        Sentences: who is closest to the human texts over all texts, or who cannot be told apart; and what speaks
        against it.
    texts_missing : str or None
        Why texts of clusters could not be read, and phrases not be counted.
    digest : str
        SHA-256 of what decides the result, and of the result, 64 hexadecimal digits: equal on every engine.
    engine : str
        What carried out the tasks, with its number of workers.
    run : str or None
        Id of the stored run, a sample of the texts; None for shards of features.
    """

    sides: list[ShardedSideJson]
    candidates: list[ShardedCandidateJson]
    differences: list[DifferenceJson]
    closest: str
    texts_missing: str | None
    digest: str
    engine: str
    run: str | None


def sharded_json(found: ShardedComparison, clusters: ClustersOverAll, run: Run | None) -> dict[str, Any]:
    """Return what :class:`ShardedJson` describes."""
    return {
        "sides": list(map(side_json, found.sides)),
        "candidates": [
            {**candidate_json(one), "clusters": clusters_json(found, clusters[one.name])} for one in found.candidates
        ],
        **answers_json(found, run),
        "texts_missing": found.texts_missing,
        "digest": found.digest(),
        "engine": found.engine,
        "run": None if run is None else run.id,
    }


def sharded_table(found: ShardedComparison, clusters: ClustersOverAll, run: Run | None) -> str:
    """Return the answers in sentences, then sides, scores, clusters and passes."""
    from mauve_core.analyses.over_shards import answers_over_all

    lines = [sentences_text(answers_over_all(found, run)), "", side_lines(found.sides), "", over_all_table(found)]
    for each in clusters.candidates:
        lines += cluster_lines(found, each)
    passes = [(one.name, _tasks(one), *_taken(one)) for one in found.passes]
    lines += ["", aligned([("Pass", "Tasks", "Time", "Most memory of a process"), *passes])]
    lines += ["", f"Engine: {found.engine}. Digest: {found.digest()}"]
    return "\n".join(lines)


def _tasks(one: Pass) -> str:
    """How many tasks of a pass this command carried out: "40", or "12 of 40" if others were done before."""
    return f"{one.tasks - one.done_before:,} of {one.tasks:,}" if one.done_before else f"{one.tasks:,}"


def _taken(one: Pass) -> tuple[str, str]:
    """Time and memory of a pass; neither if all of it was done before."""
    if one.tasks == one.done_before:
        return "done before", NONE
    return format_seconds(one.seconds), file_size(one.peak_bytes)


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
    from mauve_core.shards.comparison import encode_tasks
    from mauve_core.shards.engines import LocalEngine
    from mauve_core.shards.passes import Pace, SameFields
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
    from mauve_core.analyses.over_shards import clusters_over_all, store_sample, stored_before
    from mauve_core.shards.comparison import compare_shards, encode_tasks
    from mauve_core.shards.engines import engine_for
    from mauve_core.shards.places import remade

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
    from mauve_core.analyses.over_shards import is_sample

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
