"""Look at all shards before hours are spent on some of them: what footers, headers and first rows tell of damage.

Of a Parquet shard the footer is read, of lines the first one, of features the header. Where these show fields that no
shard before had, the first rows are read as encoding reads them, so nothing is refused here that encoding would take.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, counted, silent
from mauve_core.shards.encoding import table_of
from mauve_core.shards.failures import ShardError, about_one_shard, error_of
from mauve_core.shards.places import LOOK_BYTES, is_url, opened_shard
from mauve_core.shards.plan import Plan, Work
from mauve_core.shards.readings import require_same_fields
from mauve_core.shards.sizes import header_of
from mauve_core.shards.stamps import require_unchanged
from mauve_core.shards.tasks import Task, remaining
from mauve_core.shards.texts import Named, first_fields, layout_of

_Layout: TypeAlias = tuple[Named, tuple[str, ...]]
_Fields: TypeAlias = tuple[str | None, ...]

AT_ONCE = 32
"""Shards that are looked at at once, because stores and network disks take their time to answer."""


def require_readable(work: Work, tasks: Sequence[Task], progress: Progress = silent) -> None:
    """Look at the shards of the first pass that are neither encoded nor looked at yet.

    Parameters
    ----------
    work : Work
    tasks : sequence of Task
        As :func:`mauve_core.shards.compare.encode_tasks` returns them, finished ones too.
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
    errors, known = list[InputError](), dict[_Layout, _Fields]()
    found: dict[str, dict[str, _Fields]] = {}
    advance = counted(progress, "check", len(left))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        looks = [threads.submit(_look, work.plan, task, known) for task in left]
        try:
            for task, look in zip(left, looks, strict=True):
                source, index, _ = task.args
                try:
                    found.setdefault(source, {})[work.plan.sides[source][index]] = look.result()
                except ShardError as error:
                    errors.append(error)
                advance()
        finally:
            threads.shutdown(cancel_futures=True)
    if errors:
        raise error_of(errors, len(tasks))
    for source, fields in found.items():
        require_same_fields(source, fields)
    work.looked_at.update(task.output for task in left)


def _look(plan: Plan, task: Task, known: dict[_Layout, _Fields]) -> _Fields:
    """The fields of a shard; ShardError if it cannot be read. ``known`` has those of the columns of other shards."""
    source, index, _ = task.args
    shard, named = plan.sides[source][index], plan.named_of(source)
    with about_one_shard():
        require_unchanged(shard, plan.stamps)
        if plan.encoder is None:
            _require_table(shard)
            return ()
        layout = named, layout_of(shard)
        if layout not in known:
            known[layout] = first_fields(shard, named)
        return known[layout]


def _require_table(shard: str) -> None:
    """Raise InputError if a shard is not a whole table of features."""
    if not is_url(shard):
        table_of(shard)
        return
    with opened_shard(shard, LOOK_BYTES) as stream:
        (rows, width), _, dtype = header_of(stream, shard)
        due, size = stream.tell() + rows * width * dtype.itemsize, stream.seek(0, io.SEEK_END)
    if size < due:
        raise InputError(f"The shard {shard} is cut off", allowed=f"{due:,} bytes", received=f"{size:,}")
