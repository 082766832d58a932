"""Read what is named: a file or folder, the files of a pattern such as ``out/shard-*.jsonl``, or a data set.

The files of a pattern are read in the order of their paths, as one table. A name that begins with ``hf:`` is that of a
Hugging Face data set (``data_sets.py``).
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Annotated

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import plural, verb
from mauve_core.corpus import limits
from mauve_core.corpus.data_sets import absolute_name, names_data_set, read_data_set
from mauve_core.corpus.delimited import Quoting
from mauve_core.corpus.entries import listing
from mauve_core.corpus.folders import spelled_out
from mauve_core.corpus.formats import read_file
from mauve_core.corpus.rows import Rows
from mauve_core.corpus.table import Part, Table

# Characters that make a name a pattern, unless a file has just that name.
WILD = re.compile(r"[*?[]")

# A step of a pattern that stands for any number of folders.
EVERY_FOLDER = "**"

# Files that a pattern may name, and names that may be looked at for them.
MOST_FILES, MOST_SEEN = 10_000, 200_000


def read_table(path: str | Path, quoting: Quoting | None = None) -> Table:
    """Read the rows of a file, a folder, the files of a pattern, or a data set.

    Parameters
    ----------
    path : str or Path
        A file, whose suffix decides the format (``SUFFIXES``); a folder of .txt files; a pattern with ``*`` (any
        characters), ``**`` (any folders), ``?`` or ``[abc]``; or ``hf:NAME[#configuration][:split[:column]]``.
    quoting : {"none"}, optional
        Of CSV and TSV files, as for :func:`mauve_core.corpus.formats.read_file`.

    Returns
    -------
    Table
        At least one row.

    Raises
    ------
    InputError
        As in ``read_file`` and ``read_data_set``; no file matches the pattern; or the files have different formats or
        exceed the limits of one file.
    """
    if names_data_set(str(path)):
        return read_data_set(str(path))
    path = Path(path)
    if is_pattern(path):
        return _read_files(path, quoting)
    return read_file(path, quoting)


def is_pattern(path: Path) -> bool:
    """Return whether the name is a pattern, not that of a file or folder."""
    return bool(WILD.search(str(path))) and not os.path.exists(path)  # noqa: PTH110 (a name may be too long to exist)


def absolute(path: str) -> str:
    """Return the name independent of the working folder; that of a data set of the hub stays as it is."""
    return absolute_name(path) if names_data_set(path) else str(Path(path).absolute())


@dataclass(frozen=True)
class Located:
    """Marks a field that holds a path on this machine, which ``absolute`` makes independent of the working folder."""

    absolute: Callable[[str], str]


# A file, folder, pattern or data set that :func:`read_table` reads, or a file of features.
FilePath = Annotated[str, Located(absolute)]


def files_of(pattern: Path) -> list[Path]:
    """Return the files that match a pattern, by path.

    Raises
    ------
    InputError
        There are none, or more than ``MOST_FILES``; or more than ``MOST_SEEN`` names had to be looked at.
    """
    files = sorted(islice(matches(pattern), MOST_FILES + 1))
    if not files:
        raise InputError(f"No file matches {pattern}", todo="Check the names and the folder")
    if len(files) > MOST_FILES:
        raise InputError(f"Too many files match {pattern}", allowed=f"at most {MOST_FILES:,}")
    return files


def matches(pattern: Path) -> Iterator[Path]:
    """Yield each file that matches a pattern as ``glob`` understands it; InputError as :func:`files_of`."""
    seen, walked = count(1), set[tuple[int, int, tuple[str, ...]]]()

    def names_in(folder: Path) -> Iterator[os.DirEntry[str]]:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if next(seen) > MOST_SEEN:
                    raise InputError(
                        f"The pattern {pattern} leads through too many files",
                        allowed=f"at most {MOST_SEEN:,} names in its folders",
                        todo="Begin it with the folder that holds the files",
                    )
                yield entry

    def below(folder: Path, steps: tuple[str, ...]) -> Iterator[Path]:
        if not steps:
            yield folder
        elif steps[0] == EVERY_FOLDER:
            if not os.path.isdir(folder):  # noqa: PTH112 (it raises nothing)
                return
            about = folder.stat()
            if (about.st_dev, about.st_ino, steps) in walked:  # a link leads to where we were
                return
            walked.add((about.st_dev, about.st_ino, steps))
            yield from below(folder, steps[1:])
            for entry in names_in(folder):
                path = folder / entry.name
                if not entry.name.startswith(".") and os.path.isdir(path):  # noqa: PTH112 (it raises nothing)
                    yield from below(path, steps)
                elif len(steps) == 1 and not entry.name.startswith("."):
                    yield path
        elif WILD.search(steps[0]):
            wanted = re.compile(fnmatch.translate(steps[0]))
            hidden = steps[0].startswith(".")
            for entry in names_in(folder):
                if wanted.match(entry.name) and entry.name.startswith(".") == hidden:
                    yield from below(folder / entry.name, steps[1:])
        elif os.path.lexists(folder / steps[0]):
            yield from below(folder / steps[0], steps[1:])

    start, *steps = pattern.parts if pattern.is_absolute() else ("", *pattern.parts)
    once = tuple(step for step, before in zip(steps, ("", *steps), strict=False) if not step == before == EVERY_FOLDER)
    found = set[Path]()
    for path in below(Path(start), once):
        if path not in found and os.path.isfile(path):  # noqa: PTH113 (it raises nothing)
            found.add(path)
            yield path


def _read_files(pattern: Path, quoting: Quoting | None) -> Table:
    """Read the files one after the other as one table, within the limits of one file."""
    files = files_of(pattern)
    if sum(path.stat().st_size for path in files) > limits.unpacked_bytes():
        raise limits.too_large(pattern, limits.unpacked_bytes())
    rows, parts, notes, before = Rows(pattern), [], [], 0
    names = _names(files)
    formats: dict[str, str] = {}
    layouts: dict[str, tuple[str, ...]] = {}
    for path, name in zip(files, names, strict=True):
        table = read_file(path, quoting)
        formats.setdefault(table.format, name)
        if len(formats) > 1:
            received = " and ".join(formats.values())
            raise InputError(f"The files of {pattern} have different formats", allowed="the same", received=received)
        parts.append(Part(name, before))
        layouts[name] = table.columns
        notes += [f"{name}: {note}" for note in table.notes]
        for number, row in table.rows:
            rows.add(before + number, row)
        before += table.rows[-1][0]
    (form,) = formats
    were = verb(len(files), "was", "were")
    which = f"{plural(len(files), 'file')} {were} read: {listing(names)}."
    return Table(rows.kept, tuple(rows.columns), pattern, form, (which, *_odd_columns(layouts), *notes), tuple(parts))


def _odd_columns(layouts: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Say which files lack columns of most others, whose layout is the most frequent one, and what they have instead.

    Columns that only some rows of JSON have are no such columns, so one more than the others have is passed over.
    """
    usual = set(Counter(frozenset(columns) for columns in layouts.values()).most_common(1)[0][0])
    odd: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for name, columns in layouts.items():
        missing = tuple(sorted(usual.difference(columns)))
        if missing:
            odd.setdefault((missing, tuple(sorted(set(columns) - usual))), []).append(name)
    for (missing, others), names in odd.items():
        instead = f" and {verb(len(names), 'has', 'have')} {listing([repr(each) for each in others])}" if others else ""
        yield (
            f"{listing(names)} {verb(len(names), 'lacks', 'lack')} {plural(len(missing), 'column')} of "
            f"{'the other files' if len(layouts) > 2 else 'the first file'}, "
            f"{listing([repr(each) for each in missing])}{instead}."
        )


def _names(files: list[Path]) -> list[str]:
    """Return what files are called in messages: their names, with their folders below the common one if they differ."""
    common = Path(os.path.commonpath([path.absolute().parent for path in files]))
    return [spelled_out(path.absolute().relative_to(common)) for path in files]
