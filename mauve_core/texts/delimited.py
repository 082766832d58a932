"""Tables of cells between commas or tabs, with quoting or without.

Sources: RFC 4180 (CSV; a cell that holds a delimiter, a quote or a line break is quoted, quotes inside it are doubled);
IANA's text/tab-separated-values, which has no quoting, as in the tables of WMT's human evaluations (MQM).

**Whether quote marks are quoting** is not written in a file. It is read with quoting first. Quoting cannot be meant
where that fails, or where a cell of a .tsv would run over several lines, and every line by itself has as many cells as
the header. It can be meant all the same if the header or most cells of a column are quoted, or a quoted cell holds
doubled quotes: then one cell is damaged, and the file is refused. So is one of a single column, whose lines always fit.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from mauve_core.base.errors import InputError, words_of
from mauve_core.base.formatting import plural, verb
from mauve_core.texts.streams import RowsOfLines
from mauve_core.texts.tables import DELIMITERS, Rows, Table, blank_note, check_field_count

# An only column whose name has so many words has none: its first text stands there.
NO_NAME_WORDS = 4

# How the cells of a table are read: without quoting; None finds out whether quote marks are quoting.
Quoting = Literal["none"]

COMMENT, QUOTE = "#", '"'

# Numbered lines with their endings.
Lines = Iterator[tuple[int, str]]

_Row = tuple[int, list[str]]

_NO_QUOTING = "If quote marks belong to the texts, read it without quoting: --quoting none, in Python quoting='none'"


def require_quoting(quoting: str | None) -> None:
    """Raise InputError unless it is None or one of ``Quoting``."""
    if quoting is not None and quoting not in get_args(Quoting):
        raise InputError("The quoting is unknown", allowed=", ".join(get_args(Quoting)), received=repr(quoting))


def read_cells(
    path: Path, lines: Callable[[], AbstractContextManager[Lines]], form: str, quoting: Quoting | None = None
) -> Table:
    """Read a table of cells.

    Parameters
    ----------
    path : Path
    lines : callable
        Opens the file anew: whether quote marks are quoting may take several readings.
    form : {"csv", "tsv"}
    quoting : {"none"} or None

    Returns
    -------
    Table
        Without rows if there are none. A note says what was skipped, and that cells were read without quoting.

    Raises
    ------
    InputError
        Rows do not have as many cells as the header (names the line), a name is missing or repeated, or the limits are
        exceeded.
    """
    require_quoting(quoting)
    if quoting == "none":
        with lines() as some:
            return _table(path, some, form, _plain_cells)
    spanning: list[int] = []
    misread: _MisreadError | None = None
    try:
        with lines() as some:
            table = _table(path, some, form, partial(_quoted_cells, spanning=spanning))
    except _MisreadError as error:
        misread = error
    else:
        if form != "tsv" or not spanning:
            return table
    with lines() as some:
        look = _look_at(some, DELIMITERS[form])
    if not look.fits:
        if misread is None:
            return table
        raise misread.as_refused(look.quotes) from misread.__cause__
    line = spanning[0] if misread is None else misread.line
    with lines() as some:
        table = _table(path, some, form, _plain_cells)
    note = f"Read without quoting, because line {line} does not fit with it: quote marks belong to the texts."
    return Table(table.rows, table.columns, path, form, (*table.notes, note))


class _MisreadError(InputError):
    """A row that does not fit, at the line where it begins."""

    def __init__(self, line: int, wrong: str, *, allowed: str, todo: str = "") -> None:
        super().__init__(wrong, allowed=allowed, todo=todo)
        self.line = line

    def as_refused(self, quotes: bool) -> InputError:
        """Return the error of a file that does not fit without quoting either; ``quotes`` says that it has any."""
        todo = ". ".join(filter(None, (self.todo, _NO_QUOTING if quotes else "")))
        return InputError(self.wrong, allowed=self.allowed, todo=todo)


def _table(path: Path, lines: Lines, form: str, cells_of: Callable[[Path, Lines, str], Iterator[_Row]]) -> Table:
    rows, notes, blank = Rows(path), list[str](), 0
    names: list[str] = []
    header: list[str] | None = None
    for number, cells in cells_of(path, _past_comments(lines, DELIMITERS[form], notes), form):
        if not cells and len(names) != 1:
            blank += 1
        elif not names:
            names = cells
        else:
            own = cells or [""]
            header = header or _header(_without_comment(names, len(own), notes), path, notes)
            if len(own) != len(header):
                raise _MisreadError(
                    number,
                    f"Line {number} of {path} has {plural(len(own), 'cell')} but the header has {len(header):,}",
                    allowed=f"{plural(len(header), 'cell')} in every row",
                    todo="Quote any cell that holds a delimiter or a line break",
                )
            rows.add(number, dict(zip(header, own, strict=True)))
    if names and header is None:
        header = _header(names, path, notes)
    return Table(rows.kept, tuple(header or ()), path, form, (*notes, *blank_note(blank)))


def _quoted_cells(path: Path, lines: Lines, form: str, spanning: list[int]) -> Iterator[_Row]:
    """Yield rows as RFC 4180 has them, each with the number of its first line; ``spanning`` gets those of several."""
    csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))
    numbers: list[int] = []

    def fed_lines() -> Lines:
        for number, line in lines:
            numbers.append(number)
            yield number, line

    fed = RowsOfLines(path, fed_lines())
    reader = csv.reader(fed, delimiter=DELIMITERS[form], strict=True)
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            begins = numbers[0] if numbers else 1
            raise _MisreadError(
                begins,
                f"The row that begins on line {begins} of {path} is not valid {form.upper()}: {words_of(error)}",
                allowed='a quoted cell with its inner quotes doubled: "say ""yes"""',
            ) from error
        except InputError as error:
            if not fed.too_long:
                raise
            raise _MisreadError(numbers[0], error.wrong, allowed=error.allowed, todo=error.todo) from error
        if cells is None:
            return
        fed.row_ends()
        if len(numbers) > 1:
            spanning.append(numbers[0])
        yield numbers[0], cells
        numbers.clear()


def _plain_cells(path: Path, lines: Lines, form: str) -> Iterator[_Row]:
    """Yield the cells of every line by itself, with their quote marks; none of a blank line."""
    del path
    for number, line in lines:
        yield number, _split(line, DELIMITERS[form])


def _split(line: str, delimiter: str) -> list[str]:
    text = line.removesuffix("\n").removesuffix("\r")
    return text.split(delimiter) if text else []


class _Look(NamedTuple):
    """Whether every line fits without quoting, and whether any cell begins with a quote mark."""

    fits: bool
    quotes: bool


def _look_at(lines: Lines, delimiter: str) -> _Look:
    """See whether quoting cannot be meant, as the module says, without keeping the lines."""
    header: list[str] = []
    rows, quotes, fits = 0, False, True
    quoted = Counter[int]()
    for _, line in _past_comments(lines, delimiter, []):
        cells = _split(line, delimiter)
        quotes = quotes or any(cell.startswith(QUOTE) for cell in cells)
        if quotes and not fits:
            break
        if not cells or not fits:
            continue
        if not header:
            header, fits = cells, len(cells) > 1 and not any(map(_is_quoted, cells))
            continue
        if not rows:
            header = _without_comment(header, len(cells), [])
        rows += 1
        whole = [place for place, cell in enumerate(cells) if _is_quoted(cell)]
        quoted.update(whole)
        fits = len(cells) == len(header) > 1 and not any(QUOTE * 2 in cells[place][1:-1] for place in whole)
    return _Look(fits and rows > 0 and not any(2 * count > rows for count in quoted.values()), quotes)


def _is_quoted(cell: str) -> bool:
    return len(cell) > 1 and cell.startswith(QUOTE) and cell.endswith(QUOTE)


def _past_comments(lines: Lines, delimiter: str, notes: list[str]) -> Lines:
    """Pass over lines before the header that begin with # and have another number of cells than the line after them.

    Where every line is a single cell, # and a blank begin a comment; #text is a name.
    """
    passed, line = 0, next(lines, None)
    while line is not None and line[1].startswith(COMMENT):
        after = next(lines, None)
        if after is None:
            break
        own, other = (len(_split(each[1], delimiter)) for each in (line, after))
        if own == other and not (own == 1 and line[1].startswith(f"{COMMENT} ")):
            yield line
            line = after
            break
        passed, line = passed + 1, after
    if passed:
        were = verb(passed, "was", "were")
        notes.append(f"{plural(passed, 'comment')} before the header {were} skipped.")
    if line is not None:
        yield line
    yield from lines


def _without_comment(names: list[str], cells: int, notes: list[str]) -> list[str]:
    """Return the header up to a comment, # and more, to which the rows have no cells."""
    if not 0 < cells < len(names) or not names[cells].startswith(COMMENT):
        return names
    notes.append(f"A comment in the header was skipped: {' '.join(names[cells:])}")
    return names[:cells]


def _header(cells: Sequence[str], path: Path, notes: list[str]) -> list[str]:
    """Return the column names; a nameless column is called by its number."""
    check_field_count(cells, path)
    names = [cell or f"column {location}" for location, cell in enumerate(cells, start=1)]
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise InputError(f"The header of {path} repeats column names: {', '.join(repeated)}", allowed="different names")
    if len(names) == 1 and len(names[0].split()) >= NO_NAME_WORDS:
        raise InputError(
            f"The first line of {path} is read as the name of its only column, and looks like a text",
            allowed="a header such as text, then a text on each line",
            received=repr(names[0]),
            todo="Add a header, or name the file .txt: one text per line",
        )
    other = next((mark for mark in ";\t|" if len(names) == 1 and mark in names[0]), None)
    if other:
        raise InputError(
            f"The header of {path} is a single column that holds {other!r}, which looks like a different delimiter",
            allowed="commas in .csv, tabs in .tsv",
            received=repr(names[0]),
        )
    nameless = [name for name, cell in zip(names, cells, strict=True) if not cell]
    if nameless:
        notes.append(f"Columns without a name were named by position: {', '.join(nameless)}.")
    return names
