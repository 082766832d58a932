"""Build a Corpus from a file or a list of texts: stable ids, prompts and metadata, and a count of every exclusion.

A text keeps its id through every later step. Texts stay unchanged: no stripping, lower-casing or normalization unless
someone asks for it (:mod:`mauve_core.corpus.normalizing`). Only empty texts (or white space alone) and rows without a
text are left out; both are counted and named in ``Corpus.exclusions`` and ``Corpus.notes``. Duplicates are kept and
counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import plural, verb
from mauve_core.base.progress import Progress, silent
from mauve_core.base.text_lists import text_list
from mauve_core.corpus.corpus import Corpus
from mauve_core.corpus.delimited import Quoting
from mauve_core.corpus.entries import (
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
from mauve_core.corpus.fields import Fields, choose_fields, names_reference, writer_named
from mauve_core.corpus.folders import spelled_out
from mauve_core.corpus.formats import title_of
from mauve_core.corpus.generations import (
    GENERATION,
    ids_by_generation,
    in_order,
    name_generations,
    no_generation,
    numbers_within,
    one_text_a_row,
)
from mauve_core.corpus.kinds import kind_at
from mauve_core.corpus.metadata import frame_of, is_missing, parse_cells, values_of
from mauve_core.corpus.misreadings import failed_requests, one_row_a_sample
from mauve_core.corpus.paths import EVERY, INDEX
from mauve_core.corpus.reading import read_table
from mauve_core.corpus.table import Places, Table

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
        or items of another kind (``mauve_core.corpus.kinds.KINDS``): a folder, zip archive or table of images, a .smi
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
