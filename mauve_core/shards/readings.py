"""Fields that were guessed in the shards of a side: they must be the same in all of them."""

from __future__ import annotations

from collections.abc import Sequence

from mauve_core.base.errors import InputError
from mauve_core.shards.encoding import shard_info
from mauve_core.shards.plan import Work
from mauve_core.shards.result import PARTS


class Readings:
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
                received=f"{_in_words(fields)}; {_in_words(info.fields)}",
                todo="Name those that all have (--text-field, --prompt-field, --id-field; an empty name for none), or "
                "rename columns",
            )


def _in_words(fields: Sequence[str | None]) -> str:
    return ", ".join(f"{part} from {name}" if name else f"no {part}" for part, name in zip(PARTS, fields, strict=True))
