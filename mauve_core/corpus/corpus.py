"""Build a Corpus from a file or a list of texts: stable ids, prompts and metadata, and a count of every exclusion.

A text keeps its id through every later step. Texts stay unchanged: no stripping, lower-casing or normalization unless
someone asks for it (:mod:`mauve_core.corpus.normalizing`). Only empty texts (or white space alone) and rows without a
text are left out; both are counted and named in ``Corpus.exclusions`` and ``Corpus.notes``. Duplicates are kept and
counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError, StorageError, words_of
from mauve_core.base.json_codec import from_json
from mauve_core.base.summaries import short, summary
from mauve_core.base.text_lists import text_list
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
    repeated_of,
    require_texts,
)
from mauve_core.corpus.fields import Fields, choose_fields, guess_fields
from mauve_core.corpus.folders import spelled_out
from mauve_core.corpus.formats import Table, read_table, title_of
from mauve_core.corpus.generations import ids_by_generation, in_order, name_generations, numbers_within
from mauve_core.corpus.metadata import frame_of, is_missing, parse_cells, python_values, values_of
from mauve_core.corpus.misreadings import failed_requests
from mauve_core.corpus.normalizing_steps import Change
from mauve_core.corpus.stored import REREAD, StoredCorpus, load_parquet, write_parquet

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Corpus",
    "Exclusion",
    "Fields",
    "corpus_from_table",
    "corpus_from_texts",
    "guess_fields",
    "read_corpus",
]


@dataclass(frozen=True, eq=False)
class Corpus:
    """One side of a comparison: n texts and what is known of each.

    Attributes
    ----------
    name : str
        Name in tables and figures.
    texts : tuple of str
        Never empty or white space alone when made by the functions below.
    ids : tuple of str
        One per text, all different.
    prompts : tuple of str or None
        What each text continues; None without prompts.
    metadata : pandas.DataFrame
        n rows in the order of the texts, one column per metadata field.
    origin : str
        The file that the texts came from, or "memory".
    notes : tuple of str
        What a reader must know about the reading: guesses, exclusions, duplicates.
    exclusions : tuple of Exclusion
    fields : Fields or None
        The part that each field played; None for texts from memory.
    normalized : tuple of Change
        What normalizing did to the texts, step by step; empty if they are as they were read.
    generation : str or None
        The metadata field that tells repeated generations apart (``mauve_core.corpus.generations``); None without
        repeats.
    numbered : bool
        Whether ids are numbers of lines or positions, because the texts came without any.
    """

    name: str
    texts: tuple[str, ...]
    ids: tuple[str, ...]
    prompts: tuple[str, ...] | None
    metadata: pd.DataFrame
    origin: str = "memory"
    notes: tuple[str, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    fields: Fields | None = None
    normalized: tuple[Change, ...] = ()
    generation: str | None = None
    numbered: bool = False

    def __post_init__(self) -> None:
        n = len(self.texts)
        lengths = {"ids": len(self.ids), "metadata rows": len(self.metadata)}
        if self.prompts is not None:
            lengths["prompts"] = len(self.prompts)
        for what, length in lengths.items():
            if length != n:
                raise InputError(f"Corpus {self.name!r} has {n} texts and {length} {what}", allowed="one for each text")
        repeated = repeated_of(self.ids)
        if repeated:
            raise InputError(f"Corpus {self.name!r} has ids that occur more than once", received=listing(repeated))
        if self.generation is not None and self.generation not in self.metadata:
            raise InputError(
                f"Corpus {self.name!r} has no metadata field {self.generation!r} to tell generations apart"
            )

    def __repr__(self) -> str:
        prompts = "no prompts" if self.prompts is None else "prompts"
        fields = ", ".join(short(field) for field in self.metadata.columns[:8])
        lines = [f"{prompts}; metadata: {fields or 'none'}", f"from {short(self.origin)}"]
        lines += [f"{exclusion.count:,} left out: {exclusion.reason}" for exclusion in self.exclusions]
        return summary(f"<Corpus {short(self.name)}: {len(self):,} texts>", lines, of="exclusions")

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def generations(self) -> tuple[str, ...]:
        """Return the name of each text's generation; empty if all texts are of one."""
        if self.generation is None:
            return ()
        return name_generations(python_values(self.metadata[self.generation]))

    @property
    def generation_codes(self) -> NDArray[np.int32]:
        """(n,) number of each text's generation, from 0, in the order of their names."""
        if not self.generations:
            return np.zeros(len(self), dtype=np.int32)
        number = {name: index for index, name in enumerate(in_order(self.generations))}
        return np.array([number[name] for name in self.generations], dtype=np.int32)

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of ids, texts and prompts in hexadecimal; metadata does not count."""
        state = hashlib.sha256()
        for tag, column in (("ids", self.ids), ("texts", self.texts), ("prompts", self.prompts)):
            state.update(f"{tag} {'none' if column is None else len(column)}\n".encode())
            for entry in column or ():
                data = entry.encode()
                state.update(f"{len(data)}\n".encode())
                state.update(data)
        return state.hexdigest()

    def encoder_inputs(self, with_prompt: bool) -> list[str]:
        """Return what the encoder reads: the texts alone, or each prompt and its text joined without a space.

        Raises
        ------
        InputError
            Prompts are requested and the corpus has none.
        """
        if not with_prompt:
            return list(self.texts)
        if self.prompts is None:
            raise InputError(
                f"Corpus {self.name!r} has no prompts to encode with the texts",
                todo="Name the prompt field, or encode the texts without prompts",
            )
        return [prompt + text for prompt, text in zip(self.prompts, self.texts, strict=True)]

    def take(self, indices: ArrayLike) -> Corpus:
        """Return the texts at some positions, in that order; notes and exclusions stay.

        Parameters
        ----------
        indices : (m,) array_like of int
            Positions from 0 to n - 1, each at most once.

        Raises
        ------
        InputError
            Positions are not integers, out of range, or repeated.
        """
        positions = np.asarray(indices)
        if positions.size == 0:
            positions = positions.astype(np.int64)
        in_range = positions.ndim == 1 and positions.dtype.kind in "iu"
        if not in_range or np.any(positions < 0) or np.any(positions >= len(self)):
            raise InputError(
                "These positions cannot be used to select texts",
                allowed=f"a one-dimensional array of whole numbers from 0 to {len(self) - 1}",
                received=f"{positions.dtype} array of shape {positions.shape}",
            )
        chosen = [int(i) for i in positions]
        return replace(
            self,
            texts=tuple(self.texts[i] for i in chosen),
            ids=tuple(self.ids[i] for i in chosen),
            prompts=None if self.prompts is None else tuple(self.prompts[i] for i in chosen),
            metadata=self.metadata.iloc[chosen].reset_index(drop=True),
        )

    def to_parquet(self, path: str | Path) -> None:
        """Write everything to one Parquet file, atomically; ``from_parquet`` restores it exactly."""
        header = {
            "name": self.name,
            "origin": self.origin,
            "notes": self.notes,
            "exclusions": [asdict(exclusion) for exclusion in self.exclusions],
            "fields": None if self.fields is None else asdict(self.fields),
            "generation": self.generation,
            "digest": self.digest,
            "normalized": [asdict(change) for change in self.normalized],
            "numbered": self.numbered,
        }
        write_parquet(Path(path), StoredCorpus(header, self.ids, self.texts, self.prompts, self.metadata))

    @classmethod
    def from_parquet(cls, path: str | Path) -> Corpus:
        """Read a corpus that ``to_parquet`` wrote; a missing or damaged file is a StorageError."""
        stored = load_parquet(Path(path))
        try:
            corpus = cls._of_stored(stored)
        except (InputError, KeyError, TypeError) as error:
            raise StorageError(f"{path} is damaged", received=words_of(error), todo=REREAD) from error
        if corpus.digest != stored.header["digest"]:
            raise StorageError(f"{path} no longer holds the texts that were stored in it", todo=REREAD)
        return corpus

    @classmethod
    def _of_stored(cls, stored: StoredCorpus) -> Corpus:
        header, fields = stored.header, stored.header["fields"]
        return cls(
            name=header["name"],
            texts=stored.texts,
            ids=stored.ids,
            prompts=stored.prompts,
            metadata=stored.metadata,
            origin=header["origin"],
            notes=tuple(header["notes"]),
            exclusions=tuple(Exclusion(e["reason"], e["count"], tuple(e["examples"])) for e in header["exclusions"]),
            fields=None if fields is None else Fields(**{**fields, "metadata": tuple(fields["metadata"])}),
            normalized=tuple(from_json(Change, each) for each in header.get("normalized", ())),
            generation=header.get("generation"),
            numbered=header.get("numbered", fields is not None and fields["id"] is None),
        )


def read_corpus(
    path: str | Path,
    *,
    name: str | None = None,
    text_field: str | None = None,
    prompt_field: str | None = None,
    id_field: str | None = None,
    metadata_fields: Iterable[str] | None = None,
) -> Corpus:
    """Read a corpus from a file, or from a folder of text files.

    Parameters
    ----------
    path : str or Path
        JSONL, JSON, CSV, TSV, Parquet or plain text (one text per line), each also compressed, or a folder of .txt
        files.
    name : str, optional
        Name of the corpus; default: the file's name without suffixes.
    text_field, prompt_field, id_field : str, optional
        Field that holds each part, or a dotted path such as ``response.body.choices.0.message.content``, in which a
        number is an index into a list (-1 is the last). Default: guessed, with a sentence in ``notes``. An empty
        ``prompt_field`` or ``id_field`` means none: no prompts, and line numbers as ids.
    metadata_fields : iterable of str, optional
        Fields kept as metadata; default: every other field with plain values.

    Raises
    ------
    InputError
        The file cannot be read, a field is missing or does not hold text, the text field cannot be guessed, ids of a
        chosen field are missing or repeated, or no text is left.

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
    return corpus_from_table(
        read_table(path),
        name=name,
        text_field=text_field,
        prompt_field=prompt_field,
        id_field=id_field,
        metadata_fields=metadata_fields,
    )


def corpus_from_table(
    table: Table,
    *,
    name: str | None = None,
    text_field: str | None = None,
    prompt_field: str | None = None,
    id_field: str | None = None,
    metadata_fields: Iterable[str] | None = None,
) -> Corpus:
    """Build the corpus from a table; arguments and errors as in ``read_corpus``."""
    fields, notes = choose_fields(table, text_field, prompt_field, id_field, metadata_fields)
    texts = table.values(fields.text)
    require_texts(texts, f"The field {fields.text!r} of {table.path}", table.location, todo=_inside(table, fields.text))
    given_ids = None if fields.id is None else [id_of(value) for value in table.values(fields.id)]
    names = _generations_of(table, fields.generation, notes)
    if given_ids is not None and names:
        given_ids = ids_by_generation(given_ids, names)

    def label(index: int) -> str:
        location, own_id = table.location(index), None if given_ids is None else given_ids[index]
        return location if own_id is None or table.format == "folder" else f"{location} (id {own_id})"

    kept, exclusions = keep(texts, label, f"without the field {fields.text!r}", failed_requests(table))
    _require_some(kept, exclusions, str(table.path))
    lines = ids_by_generation(list(numbers_within(names)), names) if names else [str(line) for line, *_ in table.rows]
    ids = pick(lines, kept)
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
    )


def _generations_of(table: Table, field: str | None, notes: list[str]) -> tuple[str, ...]:
    """Return the generation of every row; empty without a field. A note counts them."""
    if field is None:
        return ()
    values = table.values(field)
    names = name_generations(values if table.typed else parse_cells(values))
    notes.append(f"{len(set(names)):,} generations were read from the field {field!r}.")
    return names


def _without_gaps(values: Sequence[Any]) -> list[Any]:
    """Replace the missing values of pandas and NumPy with None."""
    return [None if is_missing(value) else value for value in values]


def _require_some(kept: Sequence[int], exclusions: Sequence[Exclusion], where: str) -> None:
    if not kept:
        raise InputError(f"{where} holds no texts", received="; ".join(map(str, exclusions)) or "an empty list")


def _without_id(fields: Fields, problem: str, notes: list[str], *, metadata_too: bool) -> Fields:
    """Drop guessed ids that are unusable: line numbers take over, and the field becomes metadata."""
    notes[:] = [note for note in notes if not note.startswith("Ids were read")]
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
    return f"Name a field inside it, such as {' or '.join(map(repr, inner[:3]))}" if inner else ""
