"""JSON of others, parsed only if it holds no more values than its reader allows.

``[],`` has three bytes in a file and becomes an object of 80 in memory, so a limit of bytes alone bounds little.
"""

from __future__ import annotations

import json
import re
from typing import Any

# Most values of one document: settings of a model, a line of a table, or what a server answers.
MOST_VALUES = 2_000_000

_BETWEEN_QUOTES = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


def parse_json(source: bytes | str, **options: Any) -> Any:
    """Return what ``json.loads`` does of the source, with its options.

    Raises
    ------
    ValueError, RecursionError
        As ``json.loads``, or the source holds more than ``MOST_VALUES`` values.
    """
    require_few_values(source)
    return json.loads(source, **options)


def require_few_values(source: bytes | str, most: int | None = None) -> None:
    """Raise ValueError if JSON holds more values than ``most``, or ``MOST_VALUES``, before any of them takes memory."""
    most = MOST_VALUES if most is None else most
    if len(source) <= most or _openings(source) <= most:
        return
    data = source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass")
    if _openings(_BETWEEN_QUOTES.sub(b"", data)) > most:  # commas of texts are no values
        raise ValueError(f"it holds more than {most:,} values")


def _openings(source: bytes | str) -> int:
    """At most so many values follow the first one."""
    marks = (",", "[", "{")
    return sum(source.count(mark) if isinstance(source, str) else source.count(mark.encode()) for mark in marks)
