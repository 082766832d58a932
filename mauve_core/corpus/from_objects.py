"""A side of a comparison as people have it in Python: a corpus, a path, a list, a column, or a table.

Tables are data frames of pandas and polars, pyarrow tables and Hugging Face data sets. Their fields are guessed as
those of files are, with a sentence in the notes of the corpus.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mauve_core.base.errors import InputError
from mauve_core.base.text_lists import entries_of
from mauve_core.corpus.building import corpus_from_table, corpus_from_texts, read_corpus
from mauve_core.corpus.corpus import Corpus
from mauve_core.corpus.metadata import is_missing, plain
from mauve_core.corpus.rows import Rows
from mauve_core.corpus.table import Table

# A corpus, a path, a list or column of texts, or a table with a field of texts.
Texts = Corpus | str | os.PathLike[str] | Iterable[str] | Any

ALLOWED = "a Corpus, a path, a list or column of texts, a data frame or a Hugging Face data set"


def corpora_of(sides: Mapping[str, Texts]) -> dict[str, Corpus]:
    """Return a corpus for every side, by the same names; see :func:`as_corpus`."""
    return {name: as_corpus(texts, name) for name, texts in sides.items()}


def as_corpus(texts: Texts, name: str) -> Corpus:
    """Return the texts of a side as a corpus.

    Parameters
    ----------
    texts : Corpus, str, Path, list, column or table
        A str is a path. A table has columns by name: pandas, polars, pyarrow, or ``datasets.Dataset``.
    name : str
        The side, for messages and as the name of a corpus that is made here.

    Raises
    ------
    InputError
        It is none of these, the text field of a table cannot be guessed, or an entry is not a text.
    """
    if isinstance(texts, Corpus):
        return texts
    if isinstance(texts, str | os.PathLike):
        return read_corpus(Path(texts))
    names = _column_names(texts, name)
    if names is not None:
        return _of_table(texts, names, name)
    if isinstance(texts, Iterable) and not isinstance(texts, Mapping | set | frozenset | bytes | bytearray):
        return corpus_from_texts(texts, name=str(name))
    received = "None" if texts is None else type(texts).__name__
    raise InputError(f"The side {name!r} cannot be used", allowed=ALLOWED, received=received)


def _column_names(table: Any, name: str) -> list[Any] | None:
    """Return the names of a table's columns; None for what is no table."""
    for attribute in ("column_names", "columns"):
        found = getattr(table, attribute, None)
        if isinstance(found, Mapping):  # a Hugging Face DatasetDict
            raise InputError(
                f"The side {name!r} is a dictionary of data sets",
                allowed="one of them",
                received=", ".join(map(str, found)),
                todo="Choose one, such as data['train']",
            )
        if found is not None and not callable(found) and hasattr(table, "__getitem__"):
            return list(found)
    return None


def _of_table(table: Any, names: list[Any], name: str) -> Corpus:
    odd = [each for each in names if not isinstance(each, str) or names.count(each) > 1]
    if odd:
        raise InputError(
            f"The table of {name!r} has columns that cannot be told apart by name",
            allowed="names that are text and all different",
            received=repr(odd[0]),
        )
    title = Path(f"the table of {name!r}")
    columns = [_plain_column(table[each], f"The column {each!r} of {title}") for each in names]
    rows = Rows(title)
    for number, cells in enumerate(zip(*columns, strict=True), start=1):
        rows.add(number, dict(zip(names, cells, strict=True)))
    if not rows.kept:
        raise InputError(f"{title} has no rows".capitalize())
    read = Table(rows.kept, tuple(names), title, "parquet")  # its messages speak of rows, and its values have types
    return replace(corpus_from_table(read, name=str(name)), origin="memory")


def _plain_column(column: Any, what: str) -> list[Any]:
    values = [plain(value) for value in entries_of(column, what)]
    return [None if is_missing(value) else value for value in values]
