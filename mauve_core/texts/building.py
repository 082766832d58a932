"""Build a Corpus from a file, a table, one source of a table, or what people have in Python.

A text keeps its id through every later step. Texts stay unchanged: no stripping, lower-casing or normalization unless
someone asks for it (:mod:`mauve_core.texts.normalizing`). Only empty texts (or white space alone) and rows without a
text are left out; both are counted and named in ``Corpus.exclusions`` and ``Corpus.notes``. Duplicates are kept and
counted.

Where a field names the source of each row, text and prompt fields are guessed on the whole table, so that every source
is read alike; the id field is guessed on each part, because ids repeat across sources. Texts without ids are numbered
from 1 within each part, as they would be in files of their own. Data frames of pandas and polars, pyarrow tables and
Hugging Face data sets are guessed as files are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mauve_core.base.arguments import entries_of, text_list
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import plural, verb
from mauve_core.base.progress import Progress, silent
from mauve_core.texts.corpus import Corpus
from mauve_core.texts.delimited import Quoting
from mauve_core.texts.entries import (
    Exclusion,
    filled_prompts,
    id_of,
    id_problem,
    keep,
    listing,
    notes_on,
    pick,
    position,
    require_texts,
)
from mauve_core.texts.fields import (
    Fields,
    choose_fields,
    failed_requests,
    is_human,
    names_people,
    names_reference,
    one_row_a_sample,
    writer_named,
)
from mauve_core.texts.generations import (
    GENERATION,
    ids_by_generation,
    in_order,
    name_generations,
    no_generation,
    numbers_within,
    one_text_a_row,
)
from mauve_core.texts.kinds import kind_at
from mauve_core.texts.metadata import frame_of, is_missing, is_plain, parse_cells, plain, values_of
from mauve_core.texts.reading import read_table, title_of
from mauve_core.texts.streams import spelled_out
from mauve_core.texts.tables import EVERY, INDEX, Places, Rows, Table

if TYPE_CHECKING:
    import pandas as pd


# How the note on such rows begins.
BY_PLACE = "Rows without an id are called by their place:"


def read_corpus(
    path: str | Path,
    *,
    name: str | None = None,
    text_field: str | None = None,
    prompt_field: str | None = None,
    id_field: str | None = None,
    metadata_fields: Iterable[str] | None = None,
    quoting: Quoting | None = None,
    generation: str | None = None,
    group_field: str | None = None,
    progress: Progress = silent,
) -> Corpus:
    """Read a corpus from a file, or from a folder of text files or images.

    Parameters
    ----------
    path : str or Path
        JSONL, JSON, CSV, TSV, Parquet or plain text (one text per line), each also compressed; a folder of .txt files;
        or items of another kind (``mauve_core.base.config.KINDS``): a folder, zip archive or table of images, a .smi
        file.
    name : str, optional
        Name of the corpus; default: the file's name without suffixes.
    text_field, prompt_field, id_field : str, optional
        Field that holds each part, or a dotted path such as ``response.body.choices.0.message.content``, in which a
        number is an index into a list (-1 is the last) and ``*`` every entry, each of which is a generation.
        ``text_field`` is also the column of images in a table. Default: guessed, with a sentence in ``notes``. An
        empty ``prompt_field`` or ``id_field`` means none: no prompts, and line numbers as ids.
    metadata_fields : iterable of str, optional
        Fields kept as metadata; default: every other field with plain values.
    quoting : {"none"}, optional
        "none" reads CSV and TSV files without quoting, so that quote marks belong to the texts. Default: with quoting,
        unless the file shows that it has none, with a sentence in ``notes``.
    generation : str, optional
        The only generation to read: a value of the field ``generation``, or a place in each row's list of texts, from
        0. Default: all.
    group_field : str, optional
        A metadata field whose equal values make texts dependent, such as a document or an author: intervals and tests
        resample them as wholes. Default: the prompt.
    progress : callable
        Called as ``progress("Reading images", images done, images)``; texts take seconds and report nothing.

    Raises
    ------
    InputError
        The file cannot be read, a field is missing or does not hold text, the text field cannot be guessed, ids of a
        chosen field are missing or repeated, there is no such generation, or no text is left; or a field was named for
        items without fields.

    Examples
    --------
    >>> import pathlib
    >>> from mauve_core import read_corpus
    >>> rows = '{"id": "a", "text": "Once upon a time"}\\n{"id": "b", "text": "It was a dark night"}\\n'
    >>> _ = pathlib.Path("human.jsonl").write_text(rows)
    >>> corpus = read_corpus("human.jsonl")
    >>> len(corpus), corpus.ids
    (2, ('a', 'b'))
    """
    fields = {
        "text_field": text_field,
        "prompt_field": prompt_field,
        "id_field": id_field,
        "metadata_fields": metadata_fields,
        "quoting": quoting,
        "generation": generation,
    }
    named = {field: value for field, value in fields.items() if value is not None}
    corpus = kind_at(path, text_field).read(path, name=name, fields=named, progress=progress)
    return corpus if group_field is None else corpus.grouped_by(group_field)


def read_texts(path: str | Path, *, name: str | None = None, quoting: Quoting | None = None, **fields: Any) -> Corpus:
    """Read a corpus of texts; arguments and errors as in ``read_corpus``."""
    return corpus_from_table(read_table(path, quoting), name=name, **fields)


def corpus_from_table(
    table: Table,
    *,
    name: str | None = None,
    text_field: str | None = None,
    prompt_field: str | None = None,
    id_field: str | None = None,
    metadata_fields: Iterable[str] | None = None,
    generation: str | None = None,
    within: bool = False,
    chosen_fields: tuple[Fields, list[str]] | None = None,
) -> Corpus:
    """Build the corpus from a table; arguments and errors as in ``read_corpus``.

    Rows without ids are called by their lines; ``within`` the table, by their place in it. ``chosen_fields`` is what
    ``choose_fields`` has returned, if it was called before.
    """
    table = one_row_a_sample(table)
    fields, notes = chosen_fields or choose_fields(table, text_field, prompt_field, id_field, metadata_fields)
    todo = _inside(table, fields.text.removesuffix(f".{EVERY}"))
    lines = [str(place if within else line) for place, (line, _) in enumerate(table.rows, start=1)]
    table, fields, lines = _by_generation(table, fields, lines, generation, notes)
    texts = table.values(fields.text)
    require_texts(texts, f"The field {fields.text!r} of {table.path}", table.location, todo=todo)
    given_ids = None if fields.id is None else [id_of(value) for value in table.values(fields.id)]
    if given_ids is not None and not id_field:
        given_ids = _filled_ids(table, given_ids, texts, notes)
    names = () if fields.generation is None else _names_of(table, fields.generation)
    if given_ids is not None and names:
        given_ids = ids_by_generation(given_ids, names)

    def label(index: int) -> str:
        location, own_id = table.location(index), None if given_ids is None else given_ids[index]
        return location if own_id is None or table.format == "folder" else f"{location} (id {own_id})"

    kept, exclusions = keep(texts, label, f"without the field {fields.text!r}", failed_requests(table))
    _require_some(kept, exclusions, str(table.path))
    ids = pick(ids_by_generation(lines, names) if names else lines, kept)
    if given_ids is not None:
        problem = id_problem(pick(given_ids, kept), [table.location(i) for i in kept])
        if problem is None:
            ids = pick(given_ids, kept)
        elif id_field:
            raise InputError(
                f"The id field {fields.id!r} of {table.path} {problem}", allowed="a different id for each text"
            )
        else:
            fields = _without_id(fields, problem, notes, metadata_too=metadata_fields is None)
    chosen = tuple(pick(texts, kept))
    prompts = _prompts_of(table, fields.prompt, kept, notes)
    return Corpus(
        name=name or title_of(table.path),
        texts=chosen,
        ids=tuple(ids),
        prompts=prompts,
        metadata=frame_of({f: pick(table.values(f), kept) for f in fields.metadata}, len(kept), typed=table.typed),
        origin=spelled_out(table.path),
        notes=(*table.notes, *notes, *notes_on(chosen, exclusions)),
        exclusions=exclusions,
        fields=fields,
        generation=fields.generation,
        numbered=fields.id is None,
        places=table.places(kept),
        source="" if names_reference(fields.text) else writer_named(table, kept),
    )


def corpus_from_texts(
    texts: Iterable[str],
    *,
    name: str,
    ids: Sequence[str | int] | None = None,
    prompts: Sequence[str | None] | None = None,
    metadata: Mapping[str, Sequence[Any]] | pd.DataFrame | None = None,
    origin: str = "memory",
    generation_field: str | None = None,
) -> Corpus:
    """Build a corpus from texts in memory; empty texts are left out and counted.

    Parameters
    ----------
    texts : iterable of str
        A list, a generator or a column of a table; None and NaN mean a missing text.
    name : str
    ids : sequence of str or int, optional
        One per text, all different; default: positions from "1".
    prompts : sequence of str or None, optional
        One per text; None means an empty prompt.
    metadata : mapping of str to sequence, or DataFrame, optional
        Columns with one plain value (text, number, Boolean, None) per text.
    origin : str, optional
        Where the texts came from.
    generation_field : str, optional
        The metadata field that tells repeated generations apart.

    Raises
    ------
    InputError
        A table, mapping or set instead of a list; an entry is not a text, lengths differ, ids are missing or repeated,
        or no text is left.
    """
    where = f"Corpus {name!r}"
    entries = _without_gaps(text_list(texts, where))
    ids = None if ids is None else text_list(ids, f"The ids of {where}")
    prompts = None if prompts is None else _without_gaps(text_list(prompts, f"The prompts of {where}"))
    columns = values_of(metadata)
    parts = {"ids": ids, "prompts": prompts, **{f"values of {field!r}": column for field, column in columns.items()}}
    for what, part in parts.items():
        if part is not None and len(part) != len(entries):
            raise InputError(f"{where} has {len(entries)} texts and {len(part)} {what}", allowed="one for each text")
    require_texts(entries, where, position)
    kept, exclusions = keep(entries, position, "None instead of a text")
    _require_some(kept, exclusions, where)
    kept_ids = [id_of(ids[i]) if ids is not None else str(i + 1) for i in kept]
    problem = id_problem(kept_ids, [position(i) for i in kept])
    if problem:
        raise InputError(f"The list of ids of {where} {problem}", allowed="a different id for each text")
    require_texts(kept_ids, f"The list of ids of {where}", position)
    notes: list[str] = []
    kept_prompts = None
    if prompts is not None:
        require_texts(prompts, f"The prompts of {where}", position)
        kept_prompts = filled_prompts(pick(prompts, kept), notes)
    chosen = tuple(entries[i] for i in kept)
    return Corpus(
        name=name,
        texts=chosen,
        ids=tuple(str(entry) for entry in kept_ids),
        prompts=kept_prompts,
        metadata=frame_of({field: pick(column, kept) for field, column in columns.items()}, len(kept), typed=True),
        origin=spelled_out(origin),
        notes=(*notes, *notes_on(chosen, exclusions)),
        exclusions=exclusions,
        generation=generation_field,
        numbered=ids is None,
        places=Places("text", tuple(i + 1 for i in kept)),
    )


def _by_generation(
    table: Table, fields: Fields, lines: list[str], wanted: str | None, notes: list[str]
) -> tuple[Table, Fields, list[str]]:
    """Return the table with a text in each row, of one generation if it is wanted; its fields; and the rows' numbers.

    ``lines`` are the numbers of the rows as they are. Generations that a field tells apart are numbered each from 1.
    Notes say what was read.
    """
    alone = replace(fields, generation=None)
    if fields.generation is None:
        if wanted not in (None, "0"):
            raise no_generation(table, str(wanted), ["0"])
        return table, fields, lines
    if EVERY in fields.text.split("."):
        alone = replace(alone, metadata=tuple(field for field in fields.metadata if field != GENERATION))
        failed = (field for field in ("custom_id", "error") if field in table.columns)
        columns = dict.fromkeys(field for field in (fields.prompt, fields.id, *alone.metadata, *failed) if field)
        if wanted is not None and not (wanted.isdecimal() and INDEX.fullmatch(wanted)):
            raise no_generation(table, wanted, ["0", "1", "..."])
        place = None if wanted is None else int(wanted)
        own_line = dict(zip((number for number, _ in table.rows), lines, strict=True))
        table = one_text_a_row(table, fields.text, columns, notes, place)
        several = len(set(table.values(GENERATION))) > 1
        return table, fields if several else alone, [own_line[number] for number, _ in table.rows]
    names = _names_of(table, fields.generation)
    numbers = numbers_within(names)
    if wanted is None:
        count = len(set(names))
        notes.append(
            f"{plural(count, 'generation')} {verb(count, 'was', 'were')} read from the field {fields.generation!r}."
        )
        return table, fields, numbers
    own = [index for index, name in enumerate(names) if name == wanted]
    if not own:
        raise no_generation(table, wanted, in_order(names))
    notes.append(f"The texts are those of generation {wanted!r} of the field {fields.generation!r}.")
    return replace(table, rows=pick(table.rows, own)), alone, pick(numbers, own)


def _names_of(table: Table, field: str) -> tuple[str, ...]:
    """Return the generation of every row."""
    values = table.values(field)
    return name_generations(values if table.typed else parse_cells(values))


def _without_gaps(values: Sequence[Any]) -> list[Any]:
    """Replace the missing values of pandas and NumPy with None."""
    return [None if is_missing(value) else value for value in values]


def _require_some(kept: Sequence[int], exclusions: Sequence[Exclusion], where: str) -> None:
    if not kept:
        raise InputError(f"{where} holds no texts", received="; ".join(map(str, exclusions)) or "an empty list")


def _filled_ids(table: Table, ids: list[str | None], texts: Sequence[str | None], notes: list[str]) -> list[str | None]:
    """Return the ids, with the row's place where most texts have one and some do not: it equals no id of any file."""
    used = [index for index, text in enumerate(texts) if text is not None and text.strip()]
    blank = {index: table.location(index) for index in used if ids[index] is None}
    if not blank or 2 * len(blank) > len(used):
        return ids
    places = [*dict.fromkeys(blank.values())]
    marks = "'" if set(places) & set(ids) else ""
    notes.append(f"{BY_PLACE} {listing(places)}.")
    return [f"{blank[index]}{marks}" if index in blank else own for index, own in enumerate(ids)]


def _without_id(fields: Fields, problem: str, notes: list[str], *, metadata_too: bool) -> Fields:
    """Drop guessed ids that are unusable: line numbers take over, and the field becomes metadata."""
    notes[:] = [note for note in notes if not note.startswith(("Ids were read", BY_PLACE))]
    notes.append(f"Line numbers are used as ids because the field {fields.id!r} {problem}.")
    more = (str(fields.id),) if metadata_too else ()
    return replace(fields, id=None, metadata=(*fields.metadata, *more))


def _prompts_of(table: Table, field: str | None, kept: Sequence[int], notes: list[str]) -> tuple[str, ...] | None:
    if field is None:
        return None
    prompts = pick(table.values(field), kept)
    where = f"The field {field!r} of {table.path}"
    require_texts(prompts, where, lambda i: table.location(kept[i]), todo=_inside(table, field))
    return filled_prompts(prompts, notes)


def _inside(table: Table, field: str) -> str:
    """Say what to do about a field whose lists or objects hold texts; empty if it holds none."""
    inner = [path for path in table.inner_fields if path.startswith(f"{field}.")]
    every = f", or {field + '.*'!r} if each text of a list is an answer" if inner == [f"{field}.0"] else ""
    return f"Name a field inside it, such as {' or '.join(map(repr, inner[:3]))}{every}" if inner else ""


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
        As for :func:`mauve_core.texts.read_corpus`.

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
