"""Answers that fit a context: a list in pages of bounded size, and the cursor that asks for the next one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field

from mauve_core.agents.errors import CallError

# Bytes of JSON of a page's items; what else an answer says needs up to about 2,000.
PAGE_BYTES = 6000

# Characters of a cursor that say to which call it belongs.
MARK = 12

Limit = Annotated[int, Field(ge=1, le=50, description="Most items of this answer; fewer where they are long.")]
Cursor = Annotated[
    str | None, Field(description="next_cursor of the same call's last answer; null for the first page.")
]

_CURSOR = re.compile(rf"(\d{{1,9}})\.([0-9a-f]{{{MARK}}})", re.ASCII)
_Item = TypeVar("_Item")
_Written = TypeVar("_Written", bound=BaseModel)


def page(
    items: Sequence[_Item], write: Callable[[_Item], _Written], limit: int, cursor: str | None, call: Sequence[object]
) -> tuple[list[_Written], str | None]:
    """Write the items of one page, at least one if any are left.

    Parameters
    ----------
    cursor : str or None
        As the page before gave it; None for the first.
    call : sequence
        What the items depend on: tool, run and arguments. A cursor of another call is refused.

    Returns
    -------
    items, next_cursor
        The cursor is None on the last page.

    Raises
    ------
    CallError
        The cursor is not one of this call.
    """
    mark = hashlib.sha256(repr(tuple(call)).encode(errors="backslashreplace")).hexdigest()[:MARK]
    begin = 0 if cursor is None else _position(cursor, mark, len(items))
    found: list[_Written] = []
    size = 0
    for item in items[begin : begin + limit]:
        written = write(item)
        size += len(written.model_dump_json().encode())
        if found and size > PAGE_BYTES:
            break
        found.append(written)
    end = begin + len(found)
    return found, f"{end}.{mark}" if end < len(items) else None


def _position(cursor: str, mark: str, count: int) -> int:
    parts = _CURSOR.fullmatch(cursor)
    if parts is None or parts[2] != mark or not int(parts[1]) < count:
        raise CallError(
            "The cursor does not belong to this call",
            allowed="next_cursor of the same tool with the same arguments, or none for the first page",
            received=repr(cursor),
        )
    return int(parts[1])
