"""What a comparison over shards will take, as a sentence before it begins, a table, or JSON (``--estimate``)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import file_size, plural, printable, significant, with_plain_spaces
from mauve_core.base.json_codec import Count, NotNegative
from mauve_core.base.progress import Paced, Progress, format_seconds
from mauve_core.cli.options import progress_of, results_only, write, write_json
from mauve_core.scoring.tables import aligned

if TYPE_CHECKING:
    from mauve_core.shards.engines import Engine
    from mauve_core.shards.estimate import Estimate
    from mauve_core.shards.extrapolation import Span
    from mauve_core.shards.plan import Work
    from mauve_core.shards.tasks import Task

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
    from mauve_core.shards.checking import require_enough_rows, require_readable
    from mauve_core.shards.estimate import estimate, require_room

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
