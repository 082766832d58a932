"""Split one table into a corpus per source, where a field names the source of each row.

Text and prompt fields are guessed on the whole table, so that every source is read alike; the id field is guessed on
each part, because ids repeat across sources. Texts without ids are numbered from 1 within each part, as they would be
in files of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import plural, verb
from mauve_core.corpus.building import corpus_from_table
from mauve_core.corpus.corpus import Corpus
from mauve_core.corpus.entries import listing
from mauve_core.corpus.fields import choose_fields, is_human, names_people
from mauve_core.corpus.metadata import is_missing, is_plain
from mauve_core.corpus.table import Table

# A field with more values is taken for ids or texts.
MOST_SOURCES = 50

# Fewest rows of a source, on average, in a column that is suggested.
ROWS_A_SOURCE = 5


@dataclass(frozen=True)
class Sources:
    """The rows of each source.

    Attributes
    ----------
    rows : mapping of str to sequence of int
        Positions in the table by value of the field, values in the order of their first appearance.
    blank : int
        Number of rows without a value.
    """

    rows: Mapping[str, Sequence[int]]
    blank: int

    def __str__(self) -> str:
        return ", ".join(f"{value!r} ({len(rows):,})" for value, rows in self.rows.items())


def sources_of(table: Table, column: str) -> Sources:
    """Find the rows of each value of a column or dotted path; numbers count as the text that writes them.

    Raises
    ------
    InputError
        No row has the field, it holds lists or objects, or its values are none or more than ``MOST_SOURCES``.
    """
    rows: dict[str, list[int]] = {}
    blank = 0
    for index, value in enumerate(table.values(column)):
        name = _name_of(value, table, column, index)
        if name:
            rows.setdefault(name, []).append(index)
        else:
            blank += 1
    if not rows:
        raise InputError(f"The field {column!r} of {table.path} is empty in every row", todo="Choose another field")
    if len(rows) > MOST_SOURCES:
        raise InputError(
            f"The field {column!r} of {table.path} has too many different values to name sources",
            allowed=f"at most {MOST_SOURCES}",
            received=f"{len(rows):,}, such as {listing([repr(name) for name in rows])}",
            todo="Choose the field that names the source of each text, not one of ids",
        )
    return Sources(rows, blank)


def source_columns(table: Table, taken: Iterable[str | None] = ()) -> dict[str, Sources]:
    """Return the columns that may name the source of each row: of few values, each of several rows.

    Parameters
    ----------
    table : Table
    taken : iterable of str or None
        Columns that are read as text, prompt or id.
    """
    found = {}
    for column in table.columns:
        if column in taken:
            continue
        with suppress(InputError):
            sources = sources_of(table, column)
            if len(sources.rows) > 1 and len(table.rows) >= ROWS_A_SOURCE * len(sources.rows):
                found[column] = sources
    return found


def guess_column(columns: Mapping[str, Sources]) -> str | None:
    """Return the only column of which one value names human texts; None if there is none, or several."""
    guessed = [column for column, sources in columns.items() if len(_human_among(sources)) == 1]
    return guessed[0] if len(guessed) == 1 else None


def names_of(sources: Sources, reference: str, column: str) -> dict[str, str]:
    """Return what each source is called in a comparison, the reference ``human`` and first.

    A candidate of that name gets the column's beside it; InputError if another has that name already.
    """
    names = {reference: HUMAN} | {name: name for name in sources.rows if name != reference}
    if reference != HUMAN and HUMAN in sources.rows:
        names[HUMAN] = f"{HUMAN} ({column})"
        if names[HUMAN] in sources.rows:
            raise InputError(f"Two candidates would be called {names[HUMAN]!r}", todo="Rename one of them in the file")
    return names


def reference_among(sources: Sources, reference: str | None = None) -> str:
    """Return the value that names the human texts: the given one, or the only one in ``HUMAN_VALUES``.

    Raises
    ------
    InputError
        No source has that name, or not exactly one looks human; the message lists the values with their counts.
    """
    if reference is not None:
        if reference not in sources.rows:
            raise InputError(f"No row belongs to the reference {reference!r}", allowed=str(sources))
        return reference
    human = _human_among(sources)
    if len(human) != 1:
        raise InputError(
            "Several values may name the human texts" if human else "No value is known to name the human texts",
            received=str(sources),
            todo="Name it: --reference VALUE",
        )
    return human[0]


def _human_among(sources: Sources) -> list[str]:
    return list(filter(is_human, sources.rows))


def split_by(
    table: Table,
    column: str,
    *,
    only: Iterable[str] | None = None,
    text_field: str | None = None,
    prompt_field: str | None = None,
    id_field: str | None = None,
    metadata_fields: Iterable[str] | None = None,
    generation: str | None = None,
) -> dict[str, Corpus]:
    """Build the corpus of each source.

    Parameters
    ----------
    table : Table
    column : str
        Column or dotted path that names the source of each row.
    only : iterable of str, optional
        Sources to build; default: all, in the order of their first rows.
    text_field, prompt_field, id_field, metadata_fields, generation
        As for :func:`mauve_core.corpus.read_corpus`.

    Raises
    ------
    InputError
        As in ``sources_of`` and ``corpus_from_table``; the column was chosen or guessed as text or prompt too; or a
        source does not exist or has no text.
    """
    sources = sources_of(table, column)
    fields, guesses = choose_fields(table, text_field, prompt_field, id_field, None)
    if column in (fields.text, fields.prompt):
        raise InputError(
            f"The field {column!r} of {table.path} names the sources and cannot be the text or the prompt too",
            todo="Name the fields of both: --text-field, --prompt-field",
        )
    shared = [note for note in guesses if note.startswith(("Text was", "Prompts were"))] + _on_blank(sources, column)
    metadata = None if metadata_fields is None else tuple(metadata_fields)
    corpora = {}
    for name in sources.rows if only is None else only:
        part = _part(table, sources, column, name)
        _require_text(part, fields.text, column, name)
        prompt = fields.prompt if fields.prompt and part.find(fields.prompt) is not None else ""
        lacks_ids = bool(id_field) and part.find(str(id_field)) is None
        corpus = corpus_from_table(
            part,
            name=name,
            text_field=fields.text,
            prompt_field=prompt,
            id_field="" if lacks_ids else id_field,
            metadata_fields=metadata,
            generation=generation,
            within=True,
        )
        own = [f"Texts are those of the rows with {name!r} in the field {column!r}."]
        own += [f"They lack the field {id_field!r} and are numbered instead."] if lacks_ids else []
        source = "" if names_people(name) else name
        corpora[name] = replace(corpus, source=source, notes=(*own, *shared, *corpus.notes))
    return corpora


def _name_of(value: object, table: Table, column: str, index: int) -> str:
    """Return the source that a value names; empty if it is missing or blank."""
    if is_missing(value):
        return ""
    if not is_plain(value):
        raise InputError(
            f"The field {column!r} of {table.path} holds a list or object in {table.location(index)}",
            allowed="the name of a source: text or a number",
        )
    whole = isinstance(value, float) and value.is_integer()
    return f"{value:.0f}" if whole else str(value).strip()


def _on_blank(sources: Sources, column: str) -> list[str]:
    if not sources.blank:
        return []
    were = verb(sources.blank, "was", "were")
    return [f"{plural(sources.blank, 'row')} without a value of {column!r} {were} left out."]


def _part(table: Table, sources: Sources, column: str, name: str) -> Table:
    """Return the rows of one source, with the columns that a file of them would have."""
    if name not in sources.rows:
        raise InputError(f"No row of {table.path} has {name!r} in the field {column!r}", allowed=str(sources))
    rows = [table.rows[index] for index in sources.rows[name]]
    return replace(table, rows=rows, columns=tuple(c for c in table.columns if any(c in row for _, row in rows)))


def _require_text(part: Table, field: str, column: str, name: str) -> None:
    """Raise InputError that names the source if it has no text; other entries than texts are refused later."""
    if all(is_missing(value) or (isinstance(value, str) and not value.strip()) for value in part.find(field) or ()):
        raise InputError(
            f"The rows of {part.path} with {name!r} in the field {column!r} have no text in the field {field!r}",
            received=f"{len(part.rows):,} rows",
        )
