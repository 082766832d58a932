"""One side of a comparison: texts or other items with ids, prompts and metadata, and what was left out in reading.

A corpus is stored as one Parquet file, without pickle. Columns: ``id``, ``text``, ``prompt`` (if there are prompts),
``digest`` (of items that are not text), and ``metadata.NAME`` for every metadata field. A field of mixed types holds
one JSON value per row. The schema metadata holds the header.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.config import KINDS, TEXT
from mauve_core.base.errors import InputError, StorageError, library_errors, words_of
from mauve_core.base.files import open_regular, write_atomically
from mauve_core.base.formatting import short, summary
from mauve_core.base.json_codec import Count, Within, from_json
from mauve_core.texts.entries import Exclusion, listing, repeated_of
from mauve_core.texts.fields import Fields
from mauve_core.texts.generations import in_order, name_generations
from mauve_core.texts.media import Media, Thumbnails, archive_beside
from mauve_core.texts.metadata import python_values
from mauve_core.texts.normalizing_steps import Change
from mauve_core.texts.parquet import read_metadata
from mauve_core.texts.tables import Places

if TYPE_CHECKING:
    import pandas as pd


KEY = b"mauve_lens_corpus"
VERSION = 1
PREFIX = "metadata."
REREAD = "Read the original file again"


@dataclass(frozen=True)
class StoredCorpus:
    """Content of one file: a JSON header, n ids and texts, n prompts and digests or None, and a frame of n rows."""

    header: dict[str, Any]
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    prompts: tuple[str, ...] | None
    metadata: pd.DataFrame
    digests: tuple[str, ...] | None = None


def write_parquet(path: Path, stored: StoredCorpus) -> None:
    """Write the file atomically; StorageError if the disk refuses."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = {"id": stored.ids, "text": stored.texts, "prompt": stored.prompts, "digest": stored.digests}
    columns: dict[str, Any] = {
        name: pa.array(values, pa.large_string()) for name, values in texts.items() if values is not None
    }
    dtypes = {}
    for field in stored.metadata.columns:
        values, dtype = python_values(stored.metadata[field]), str(stored.metadata[field].dtype)
        columns[PREFIX + field] = pa.array([json.dumps(value) for value in values] if dtype == "object" else values)
        dtypes[field] = dtype
    header = json.dumps({"version": VERSION, "dtypes": dtypes, **stored.header})
    table = pa.table(columns).replace_schema_metadata({KEY: header.encode()})
    write_atomically(path, lambda stream: pq.write_table(table, stream, compression="zstd"))


def load_parquet(path: Path) -> StoredCorpus:
    """Read what ``write_parquet`` wrote; StorageError if the file is missing, damaged or of another kind."""
    import pyarrow.parquet as pq

    def ours(error: BaseException) -> StorageError:
        return StorageError(f"{path} is not a stored corpus, or is damaged", received=str(error), todo=REREAD)

    with library_errors(ours):
        with open_regular(path) as stream:
            about = read_metadata(stream, path)
            # Arrow's threads that have read from a Python file may abort or hang the process when it ends
            # (https://github.com/apache/arrow/issues/34314, https://github.com/apache/arrow/issues/50482).
            table = pq.ParquetFile(stream, metadata=about, pre_buffer=False).read(use_threads=False)
        header = json.loads((about.metadata or {})[KEY])
        if header["version"] != VERSION:
            raise StorageError(
                f"{path} was written by a different version of the program",
                allowed=f"version {VERSION}",
                received=repr(header["version"]),
            )
        columns = table.to_pydict()
        prompts, digests = (tuple(columns[each]) if each in columns else None for each in ("prompt", "digest"))
        frame = _frame(columns, header["dtypes"])
        return StoredCorpus(header, tuple(columns["id"]), tuple(columns["text"]), prompts, frame, digests)


def _frame(columns: dict[str, list[Any]], dtypes: dict[str, str]) -> pd.DataFrame:
    import pandas as pd

    rows = pd.RangeIndex(len(columns["id"]))
    series = {}
    for field, dtype in dtypes.items():
        values = columns[PREFIX + field]
        series[field] = pd.Series([json.loads(v) for v in values] if dtype == "object" else values, rows, dtype=dtype)
    return pd.DataFrame(series, index=rows)


@dataclass(frozen=True)
class Whole:
    """What is counted of all texts of a file before some of them are drawn: fewer texts hold fewer repetitions.

    Attributes
    ----------
    n : int
        Texts, without excluded ones.
    repeated : int
        Those that repeat an earlier one exactly.
    shared : int or None
        Those that are also among all human texts; None if nobody looked.
    """

    n: Annotated[int, Within(1, 2**53)]
    repeated: Count
    shared: Count | None = None


@dataclass(frozen=True, eq=False)
class Corpus:
    """One side of a comparison: n texts, or items of another kind, and what is known of each.

    Attributes
    ----------
    name : str
        Name in tables and figures.
    texts : tuple of str
        Never empty or white space alone when made by the functions below. Of other items, words that describe them.
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
        The metadata field that tells repeated generations apart (``mauve_core.texts.generations``); None without
        repeats.
    numbered : bool
        Whether ids are numbers of lines or positions, because the texts came without any.
    kind : str
        What the items are, a name of ``mauve_core.base.config.KINDS``.
    media : Media or None
        Digests and thumbnails of items that are drawn; None for texts.
    places : Places or None
        Where each text stood in what was read, for messages; None if it is not known, as of a stored corpus.
    whole : Whole or None
        What was counted of all texts, if these were drawn from more; exclusions are those of all, too.
    source : str
        Who wrote the texts, as the file names them; empty if it names people, several or nobody.
    group : str or None
        The metadata field whose equal values make texts dependent, such as a document or an author; None: the prompt.
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
    kind: str = TEXT
    media: Media | None = None
    places: Places | None = None
    whole: Whole | None = None
    source: str = ""
    group: str | None = None

    def __post_init__(self) -> None:
        n = len(self.texts)
        lengths = {"ids": len(self.ids), "metadata rows": len(self.metadata)}
        if self.prompts is not None:
            lengths["prompts"] = len(self.prompts)
        if self.media is not None:
            lengths["digests"] = len(self.media.digests)
        if self.places is not None:
            lengths["places"] = len(self.places.numbers)
        for what, length in lengths.items():
            if length != n:
                raise InputError(f"Corpus {self.name!r} has {n} texts and {length} {what}", allowed="one for each text")
        if self.kind not in KINDS:
            raise InputError("This kind of item is unknown", allowed=", ".join(KINDS), received=repr(self.kind)[:80])
        repeated = repeated_of(self.ids)
        if repeated:
            raise InputError(f"Corpus {self.name!r} has ids that occur more than once", received=listing(repeated))
        if self.generation is not None and self.generation not in self.metadata:
            raise InputError(
                f"Corpus {self.name!r} has no metadata field {self.generation!r} to tell generations apart"
            )
        if self.group is not None and self.group not in self.metadata:
            raise InputError(f"Corpus {self.name!r} has no metadata field {self.group!r} to group texts by")

    def __repr__(self) -> str:
        prompts = "no prompts" if self.prompts is None else "prompts"
        fields = ", ".join(short(field) for field in self.metadata.columns[:8])
        lines = [f"{prompts}; metadata: {fields or 'none'}", f"from {short(self.origin)}"]
        lines += [f"{exclusion.count:,} left out: {exclusion.reason}" for exclusion in self.exclusions]
        return summary(f"<Corpus {short(self.name)}: {len(self):,} texts>", lines, of="exclusions")

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def counted(self) -> Whole:
        """Return what is counted of all texts, also those that were not drawn."""
        return self.whole or Whole(len(self), len(self) - len(set(self.contents)))

    def grouped_by(self, field: str) -> Corpus:
        """Return the corpus with that metadata field as ``group``; InputError if there is none."""
        if field not in self.metadata:
            raise InputError(
                f"{self.name} has no metadata field {field!r} to group texts by",
                allowed=listing([*map(str, self.metadata.columns)]) or "none: the file has no such fields",
            )
        return replace(self, group=field)

    def label(self, index: int) -> str:
        """Return what a message calls a text: "line 7 (id b)", by as much as is known of it."""
        if self.places is None:
            return f"id {self.ids[index]}"
        return self.places.named(index) + ("" if self.numbered else f" (id {self.ids[index]})")

    @property
    def contents(self) -> tuple[str, ...]:
        """Return what is equal for equal items: the texts, or the digests of other items."""
        return self.texts if self.media is None else self.media.digests

    @cached_property
    def groups(self) -> tuple[str, ...] | None:
        """Return the value of ``group`` of each text, blank where it is missing; None without such a field."""
        if self.group is None:
            return None
        values = python_values(self.metadata[self.group])
        return tuple("" if value is None or value != value else str(value) for value in values)

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
        """Return the SHA-256 of ids, texts or items, and prompts in hexadecimal; metadata does not count."""
        state = hashlib.sha256()
        columns = [("ids", self.ids), ("texts", self.texts), ("prompts", self.prompts)]
        columns += [] if self.media is None else [(self.kind, self.media.digests)]
        for tag, column in columns:
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
            media=None if self.media is None else self.media.take(chosen),
            places=None if self.places is None else self.places.take(chosen),
            whole=None,
        )

    def drawn(self, positions: ArrayLike, shared: int | None = None) -> Corpus:
        """Return texts that were drawn at random, as :meth:`take`, with what is counted of all of them."""
        counted = self.counted
        return replace(
            self.take(positions), whole=replace(counted, shared=counted.shared if shared is None else shared)
        )

    def to_parquet(self, path: str | Path) -> None:
        """Write everything to one Parquet file, atomically; ``from_parquet`` restores it exactly.

        Thumbnails are in a second file beside it, such as ``texts-0.thumbnails.zip``, which is written first.
        """
        path = Path(path)
        if self.media is not None:
            self.media.thumbnails.write(archive_beside(path), self.media.digests)
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
            "kind": self.kind,
            "whole": None if self.whole is None else asdict(self.whole),
            "source": self.source,
            "group": self.group,
        }
        digests = None if self.media is None else self.media.digests
        write_parquet(path, StoredCorpus(header, self.ids, self.texts, self.prompts, self.metadata, digests))

    @classmethod
    def from_parquet(cls, path: str | Path) -> Corpus:
        """Read a corpus that ``to_parquet`` wrote; a missing or damaged file is a StorageError."""
        stored = load_parquet(Path(path))
        try:
            corpus = cls._of_stored(stored, archive_beside(Path(path)))
        except (InputError, KeyError, TypeError) as error:
            raise StorageError(f"{path} is damaged", received=words_of(error), todo=REREAD) from error
        if corpus.digest != stored.header["digest"]:
            raise StorageError(f"{path} no longer holds the texts that were stored in it", todo=REREAD)
        return corpus

    @classmethod
    def _of_stored(cls, stored: StoredCorpus, thumbnails: Path) -> Corpus:
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
            normalized=tuple(from_json(Change, each) for each in header["normalized"]),
            generation=header["generation"],
            numbered=header["numbered"],
            kind=header["kind"],
            whole=None if header.get("whole") is None else from_json(Whole, header["whole"]),
            source=header.get("source", ""),
            group=header.get("group"),
            media=None if stored.digests is None else Media(stored.digests, Thumbnails(thumbnails)),
        )
