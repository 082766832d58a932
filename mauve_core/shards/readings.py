"""Fields that were guessed in the shards of a side: they must be the same in all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from mauve_core.base.errors import InputError
from mauve_core.shards.encoding import shard_info
from mauve_core.shards.failures import MOST_NAMED
from mauve_core.shards.plan import Work
from mauve_core.shards.result import PARTS

SAME_FIELDS = (
    "Name those that all have (--text-field, --prompt-field, --id-field; an empty prompt or id field for none), or "
    "rename columns"
)


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
