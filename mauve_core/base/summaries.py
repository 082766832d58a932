"""What ``repr`` says of a large object: a few short lines, whatever stands in its names and texts."""

from __future__ import annotations

from collections.abc import Sequence

from mauve_core.base.formatting import printable, with_plain_spaces

# Lines of a summary, and characters of each.
MOST_LINES, LINE = 10, 100

# Characters of a name; of a longer one, beginning and end.
NAME = 40


def summary(title: str, lines: Sequence[str] = (), *, of: str = "") -> str:
    """Put a title and lines below it into at most ``MOST_LINES`` lines of at most ``LINE`` characters each.

    Parameters
    ----------
    title : str
    lines : sequence of str
        Indented below the title; those that find no room are counted.
    of : str
        What the lines are, in the plural: ``candidates``.
    """
    room = MOST_LINES - 1
    shown = list(lines) if len(lines) <= room else list(lines[: room - 1])
    if len(shown) < len(lines):
        shown.append(f"and {len(lines) - len(shown):,} more {of}".rstrip())
    return "\n".join([_cut(title), *(_cut(f"  {line}") for line in shown)])


def short(name: object) -> str:
    """Return a name from a file in one line, quoted, with at most about ``NAME`` characters."""
    line = printable(_ends(str(name), 10 * NAME))
    return f"'{_ends(line, NAME)}'"


def _cut(line: str) -> str:
    line = printable(with_plain_spaces(line[: 10 * LINE]))
    return line if len(line) <= LINE else f"{line[: LINE - 1]}…"


def _ends(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most // 2) + 1 :]}"
