"""How fast the first pass goes: texts and tokens a second, of the shards that were finished since it began."""

from __future__ import annotations

import time

from mauve_core.base.formatting import significant
from mauve_core.base.progress import Paced
from mauve_core.shards.encoding import shard_info
from mauve_core.shards.plan import Work
from mauve_core.shards.tasks import Task


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
        if task.name != "encode" or self._work.plan.encoder is None:
            return stage
        try:
            info = shard_info(self._work, *task.args[:2])
        except FileNotFoundError:  # another machine wrote it, and it is not seen here yet
            return stage
        self._texts, self._tokens = self._texts + info.n, self._tokens + info.tokens
        seconds = max(time.monotonic() - self._began, 1e-9)
        return Paced(stage, f"{amount(self._texts / seconds)} texts/s, {amount(self._tokens / seconds)} tokens/s")


def amount(number: float) -> str:
    """Format ``8,400``, ``1.2 million``, ``13.1 billion``: three digits from a million on, whole numbers below."""
    for unit, size in (("billion", 1e9), ("million", 1e6)):
        if number >= 0.9995 * size:
            return f"{significant(number / size, 3)} {unit}"
    return significant(number, 3)
