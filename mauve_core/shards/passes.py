"""Run the passes of a comparison over shards, add up what they take, and look at all shards before hours are spent.

Footers, headers and first rows tell of damage: of a Parquet shard the footer is read, of lines the first one, of
features the header. Where these show fields that no shard before had, the first rows are read as encoding reads them,
so nothing is refused here that encoding would take.
"""

from __future__ import annotations

import io
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.formatting import significant
from mauve_core.base.progress import Paced, Progress, counted, silent
from mauve_core.clusters.k_means import too_few
from mauve_core.shards.encoding import info_path, shard_info, table_of
from mauve_core.shards.engines import Engine
from mauve_core.shards.places import (
    LOOK_BYTES,
    MOST_NAMED,
    ShardError,
    about_one_shard,
    error_of,
    is_url,
    opened_shard,
    remade,
    require_unchanged,
    suffix_of,
)
from mauve_core.shards.plan import PARTS, Pass, Plan, Work
from mauve_core.shards.tasks import Task, peak_memory, remaining
from mauve_core.shards.texts import Named, first_fields, layout_of
from mauve_core.shards.timing import header_of, lines_until
from mauve_core.stats.threads import single_threaded_blas

SAME_FIELDS = (
    "Name those that all have (--text-field, --prompt-field, --id-field; an empty prompt or id field for none), or "
    "rename columns"
)

_Columns: TypeAlias = tuple[Named, tuple[str, ...]]
_Fields: TypeAlias = tuple[str | None, ...]

# Shards that are looked at at once, because stores and network disks take their time to answer.
AT_ONCE = 32

# Unpacked bytes of lines that are counted to see whether there are as many texts as clusters.
COUNTED_BYTES = 2**26


def require_readable(work: Work, tasks: Sequence[Task], progress: Progress = silent) -> None:
    """Look at the shards of the first pass that are neither encoded nor looked at yet.

    Parameters
    ----------
    work : Work
    tasks : sequence of Task
        As :func:`mauve_core.shards.comparison.encode_tasks` returns them, finished ones too.
    progress : callable

    Raises
    ------
    InputError
        Shards have vanished, were written anew or are damaged, or their fields differ within a side; it names them all,
        or the first ones of many.
    """
    left = [task for task in remaining(tasks) if task.output not in work.looked_at]
    if not left:
        return
    errors, known = list[InputError](), dict[_Columns, _Fields]()
    found: dict[str, dict[str, _Fields]] = {}
    rows: dict[Path, int | None] = {}
    advance = counted(progress, "check", len(left))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        looks = [threads.submit(_look, work.plan, task, known) for task in left]
        try:
            for task, look in zip(left, looks, strict=True):
                source, index, _ = task.args
                try:
                    own, rows[task.output] = look.result()
                    found.setdefault(source, {})[work.plan.sides[source][index]] = own
                except ShardError as error:
                    errors.append(error)
                advance()
        finally:
            threads.shutdown(cancel_futures=True)
    if errors:
        raise error_of(errors, len(tasks))
    for source, fields in found.items():
        require_same_fields(source, fields)
    work.looked_at.update(rows)


@remade
def require_enough_rows(work: Work) -> None:
    """Raise InputError if k is larger than the number of texts, as far as that is cheap to say before encoding.

    Footers and headers say how many rows there are at most. Lines are counted, of ``COUNTED_BYTES`` at most. Both only
    until there are as many as clusters.
    """
    k = work.plan.score.k
    if k is None:
        return
    for candidate in work.plan.candidates:
        shards = ((source, index) for source in (HUMAN, candidate) for index in range(len(work.plan.sides[source])))
        rows, left = 0.0, COUNTED_BYTES
        while rows < k and (shard := next(shards, None)) is not None:
            more, read = _most_rows(work, *shard, k - rows, left)
            rows, left = rows + more, left - read
        if rows < k or work.plan.sample_rows < k:
            raise too_few(int(min(rows, work.plan.sample_rows)), k, at_most=True)


def _most_rows(work: Work, source: str, index: int, enough: float, most_bytes: int) -> tuple[float, int]:
    """Rows that a shard has at most, infinite if that is not known, and bytes of lines that were read."""
    if info_path(work, source, index).exists():
        return shard_info(work, source, index).n, 0
    shard, rows = work.plan.sides[source][index], work.looked_at.get(info_path(work, source, index))
    try:
        if rows is None and work.plan.encoder is None:
            rows = _rows_of_table(shard)
        elif rows is None and suffix_of(shard) == ".parquet":
            rows = layout_of(shard).rows
        return lines_until(shard, enough, most_bytes) if rows is None else (rows, 0)
    except InputError:  # a shard of another part, which says so
        return math.inf, 0


def _look(plan: Plan, task: Task, known: dict[_Columns, _Fields]) -> tuple[_Fields, int | None]:
    """The fields of a shard, and its rows, None for lines; ShardError if it cannot be read.

    ``known`` has the fields of the columns of other shards.
    """
    source, index, _ = task.args
    shard, named = plan.sides[source][index], plan.named_of(source)
    with about_one_shard():
        require_unchanged(shard, plan.stamps)
        if plan.encoder is None:
            return (), _rows_of_table(shard)
        columns, rows = layout_of(shard)
        if (named, columns) not in known:
            known[named, columns] = first_fields(shard, named)
        return known[named, columns], rows


def _rows_of_table(shard: str) -> int:
    """The rows of a shard of features; InputError if it is not a whole table of them."""
    if not is_url(shard):
        return len(table_of(shard))
    with opened_shard(shard, LOOK_BYTES) as stream:
        (rows, width), _, dtype = header_of(stream, shard)
        due, size = stream.tell() + rows * width * dtype.itemsize, stream.seek(0, io.SEEK_END)
    if size < due:
        raise InputError(f"The shard {shard} is cut off", allowed=f"{due:,} bytes", received=f"{size:,}")
    return rows


class SameFields:
    """The fields of shards that are encoded.

    Parameters
    ----------
    work : Work
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._first: dict[str, tuple[str, tuple[str | None, ...]]] = {}

    def add(self, source: str, index: int) -> None:
        """Look at a shard; InputError if its fields are not those of the first one of its side."""
        info, shard = shard_info(self._work, source, index), self._work.plan.sides[source][index]
        if not info.fields:
            return
        first, fields = self._first.setdefault(source, (shard, info.fields))
        if info.fields != fields:
            raise InputError(
                f"Fields were guessed differently in the shards {first} and {shard}",
                allowed="the same fields in all shards of a side",
                received=f"{in_words(fields)}; {in_words(info.fields)}",
                todo=SAME_FIELDS,
            )


def require_same_fields(side: str, found: Mapping[str, tuple[str | None, ...]]) -> None:
    """Raise InputError if the fields of the shards of a side differ; those with none, which hold no row, do not matter.

    ``found`` holds the fields by shard.
    """
    counts = Counter(filter(None, found.values()))
    if len(counts) < 2:
        return
    usual = counts.most_common(1)[0][0]
    others = {shard: fields for shard, fields in found.items() if fields and fields != usual}
    named = [f"{shard} has {in_words(fields)}" for shard, fields in others.items()]
    more = len(named) - MOST_NAMED
    raise InputError(
        f"Fields differ between shards of {side!r}: most have {in_words(usual)}, and {len(others):,} of "
        f"{counts.total():,} do not:",
        each=named[:MOST_NAMED] + ([f"And {more:,} more"] if more > 0 else []),
        allowed="the same fields in all shards of a side",
        todo=SAME_FIELDS,
    )


def in_words(fields: Sequence[str | None]) -> str:
    return ", ".join(f"{part} from {name}" if name else f"no {part}" for part, name in zip(PARTS, fields, strict=True))


# Seconds within which a file that another machine wrote must be seen here: NFS remembers that there was none.
SEEN_S = 90.0

_POLL_S = 0.5


def await_outputs(tasks: Sequence[Task]) -> None:
    """Wait until what tasks have written is seen here; StorageError if it is not."""
    missing, deadline = remaining(tasks), time.monotonic() + SEEN_S
    while missing:
        if time.monotonic() > deadline:
            raise StorageError(
                f"{missing[0].output} was written by another machine, and is not seen here",
                allowed="a work folder that all machines see under one path",
                todo="Name such a folder (--work), and start again",
            )
        time.sleep(_POLL_S)
        for folder in {task.output.parent for task in missing}:
            with suppress(OSError):  # a listing makes the system ask the server again
                list(folder.iterdir())
        missing = remaining(missing)


class Passes:
    """Runs passes, and adds up what they take.

    Parameters
    ----------
    work : Work
    engine : Engine
    progress : callable
        Called with (pass, tasks done, tasks).

    Attributes
    ----------
    finished : dict of str to Pass
        By name; a pass that is run again adds to its entry.
    """

    def __init__(self, work: Work, engine: Engine, progress: Progress) -> None:
        self._work, self._engine, self._progress = work, engine, progress
        self.finished: dict[str, Pass] = {}

    def run(self, name: str, tasks: Sequence[Task]) -> None:
        """Carry out those tasks that are not done."""
        left = remaining(tasks)
        done, peak, began, pace = len(tasks) - len(left), 0, time.monotonic(), Pace(self._work)
        fields = SameFields(self._work)

        def advance(task: Task, memory: int) -> None:
            nonlocal done, peak
            if task.name == "encode" and not remaining([task]):  # another machine wrote it if it is not seen here yet
                fields.add(*task.args[:2])
            done, peak = done + 1, max(peak, memory)
            self._progress(pace.after(name, task), done, len(tasks))

        if left:
            self._progress(name, done, len(tasks))
            self._engine.run(self._work.folder, tasks, advance)
            await_outputs(left)
        self._add(Pass(name, len(tasks), len(tasks) - len(left), time.monotonic() - began, peak))

    def here(self, name: str, work: Callable[[], object]) -> None:
        """Do a step of a pass in this process."""
        began = time.monotonic()
        with single_threaded_blas():
            work()
        self._add(Pass(name, 0, 0, time.monotonic() - began, peak_memory()))

    def _add(self, more: Pass) -> None:
        before = self.finished.get(more.name, Pass(more.name, 0, 0, 0.0, 0))
        self.finished[more.name] = Pass(
            more.name,
            before.tasks + more.tasks,
            before.done_before + more.done_before,
            before.seconds + more.seconds,
            max(before.peak_bytes, more.peak_bytes),
        )


class Pace:
    """The pace of all workers together.

    Parameters
    ----------
    work : Work
    """

    def __init__(self, work: Work) -> None:
        self._work, self._began = work, time.monotonic()
        self._texts = self._tokens = 0

    def after(self, stage: str, task: Task) -> str:
        """The name of the stage with the pace after a finished task, if it encoded texts."""
        if task.name != "encode" or self._work.plan.encoder is None or remaining([task]):  # not seen here yet
            return stage
        info = shard_info(self._work, *task.args[:2])
        self._texts, self._tokens = self._texts + info.n, self._tokens + info.tokens
        seconds = max(time.monotonic() - self._began, 1e-9)
        return Paced(stage, f"{amount(self._texts / seconds)} texts/s, {amount(self._tokens / seconds)} tokens/s")


def amount(number: float) -> str:
    """Format ``8,400``, ``1.2 million``, ``13.1 billion``: three digits from a million on, whole numbers below."""
    for unit, size in (("billion", 1e9), ("million", 1e6)):
        if number >= 0.9995 * size:
            return f"{significant(number / size, 3)} {unit}"
    return significant(number, 3)
