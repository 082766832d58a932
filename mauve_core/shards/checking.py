"""Look at all shards before hours are spent on some of them: what footers, headers and first rows tell of damage.

Of a Parquet shard the footer is read, of lines the first one, of features the header. Where these show fields that no
shard before had, the first rows are read as encoding reads them, so nothing is refused here that encoding would take.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, counted, silent
from mauve_core.shards.encoding import table_of
from mauve_core.shards.failures import ShardError, about_one_shard, error_of
from mauve_core.shards.places import LOOK_BYTES, is_url, opened_shard
from mauve_core.shards.plan import Plan, Work
from mauve_core.shards.sizes import header_of
from mauve_core.shards.stamps import require_unchanged
from mauve_core.shards.tasks import Task, remaining
from mauve_core.shards.texts import Named, layout_of, require_usable

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
        Shards have vanished, were written anew or are damaged; it names them all, or the first ones of many.
    """
    left = [task for task in remaining(tasks) if task.output not in work.looked_at]
    if not left:
        return
    errors, usable = list[InputError](), set[tuple[Named, tuple[str, ...]]]()
    advance = counted(progress, "check", len(left))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        looks = [threads.submit(_look, work.plan, task, usable) for task in left]
        try:
            for look in looks:
                try:
                    look.result()
                except ShardError as error:
                    errors.append(error)
                advance()
        finally:
            threads.shutdown(cancel_futures=True)
    if errors:
        raise error_of(errors, len(tasks))
    work.looked_at.update(task.output for task in left)


def _look(plan: Plan, task: Task, usable: set[tuple[Named, tuple[str, ...]]]) -> None:
    """Raise ShardError if a shard cannot be read; ``usable`` holds fields of shards whose first rows can be used."""
    source, index, _ = task.args
    shard, named = plan.sides[source][index], plan.named_of(source)
    with about_one_shard():
        require_unchanged(shard, plan.stamps)
        if plan.encoder is None:
            _require_table(shard)
            return
        layout = named, layout_of(shard)
        if layout not in usable:
            require_usable(shard, named)
            usable.add(layout)


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
