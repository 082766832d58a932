"""A side's file with its fields, as a person names them; files and fields are looked for before slow libraries load."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mauve_core.base.config import TEXT
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.texts.building import corpus_from_table, read_corpus, split_by
from mauve_core.texts.corpus import Corpus
from mauve_core.texts.data_sets import names_data_set
from mauve_core.texts.delimited import Quoting
from mauve_core.texts.fields import Fields, SeveralTextsError, choose_fields, names_reference, one_row_a_sample
from mauve_core.texts.kinds import kind_at
from mauve_core.texts.reading import FilePath, is_pattern, read_table
from mauve_core.texts.streams import refusals
from mauve_core.texts.tables import Table

# Files that were read, by path and quoting.
Tables = dict[tuple[str, Quoting | None], Table]


@dataclass(frozen=True)
class TextFile:
    """One side's file.

    Attributes
    ----------
    path : str
        A file or folder that :func:`mauve_core.texts.read_corpus` reads.
    text_field, prompt_field, id_field : str or None
        None guesses.
    metadata_fields : tuple of str or None
        None keeps every other field with plain values.
    features : str or None
        A .npy file with one row per text that is kept; None encodes the texts.
    by, source : str or None
        The field that names the source of each row, and the value whose rows are read; None reads every row.
    quoting : {"none"} or None
        As for :func:`mauve_core.texts.read_corpus`.
    generation : str or None
        The only generation to read; None reads all.
    group_field : str or None
        The metadata field whose equal values make texts dependent; None: the prompt.
    """

    path: FilePath
    text_field: str | None = None
    prompt_field: str | None = None
    id_field: str | None = None
    metadata_fields: tuple[str, ...] | None = None
    features: FilePath | None = None
    by: str | None = None
    source: str | None = None
    quoting: Quoting | None = None
    generation: str | None = None
    group_field: str | None = None

    def __post_init__(self) -> None:
        if (self.by is None) != (self.source is None):
            raise InputError("A field that names sources and the source to read must be given together")

    @property
    def read_as(self) -> tuple[str, Quoting | None]:
        """Return what decides how the file's rows are read."""
        return self.path, self.quoting

    def read(
        self,
        name: str,
        tables: Tables | None = None,
        progress: Progress = silent,
        *,
        reference: bool | None = None,
    ) -> Corpus:
        """Read the corpus; InputError and progress as in ``read_corpus`` and ``split_by``.

        ``tables`` has what was read before (:func:`look_at`), and keeps what is read of files that hold several
        sources, so that each is read once. If the file has a field of reference texts beside one of a model,
        ``reference`` says which is read; None refuses both.
        """
        corpus = self._read(name, {} if tables is None else tables, progress, reference)
        return corpus if self.group_field is None else corpus.grouped_by(self.group_field)

    def _read(self, name: str, tables: Tables, progress: Progress, reference: bool | None) -> Corpus:
        how: dict[str, Any] = {
            "prompt_field": self.prompt_field,
            "id_field": self.id_field,
            "metadata_fields": self.metadata_fields,
            "generation": self.generation,
        }
        if self.by is not None and self.source is not None:
            if self.read_as not in tables:
                tables[self.read_as] = read_table(self.path, self.quoting)
            parts = split_by(tables[self.read_as], self.by, only=[self.source], text_field=self.text_field, **how)
            return replace(parts[self.source], name=name)
        how["name"] = name
        if kind_at(self.path, self.text_field).name != TEXT:
            return read_corpus(self.path, text_field=self.text_field, quoting=self.quoting, progress=progress, **how)
        table = tables[self.read_as] if self.read_as in tables else read_table(self.path, self.quoting)
        return corpus_from_table(table, chosen_fields=self.fields(table, reference=reference), **how)

    def fields(self, table: Table, *, reference: bool | None = None) -> tuple[Fields, list[str]]:
        """Return the fields to read and a sentence for every guess; InputError as in ``read_corpus``."""
        others = self.prompt_field, self.id_field, self.metadata_fields
        table = one_row_a_sample(table)
        try:
            return choose_fields(table, self.text_field, *others)
        except SeveralTextsError as error:
            own = [field for field in error.fields if names_reference(field) is reference]
            if len(own) != 1:
                raise
        fields, notes = choose_fields(table, own[0], *others)
        why = f"the only one {'with' if reference else 'without'} a name of reference texts"
        return fields, [f"Text was read from the field {own[0]!r}, guessed as {why}.", *notes]


def look_at(files: Iterable[TextFile]) -> Tables:
    """Look for every file, then for the fields of those that hold texts, before libraries are loaded for the work.

    Returns
    -------
    dict of (str, str or None) to Table
        By path and quoting, of files of texts; for :meth:`TextFile.read`.

    Raises
    ------
    InputError
        A file is missing or cannot be read, or a field is missing or cannot be guessed.
    """
    files, tables = list(files), Tables()
    for file in files:
        require_there(file.path)
    for file in files:
        if file.by is None and kind_at(file.path, file.text_field).name == TEXT:
            if file.read_as not in tables:
                tables[file.read_as] = read_table(file.path, file.quoting)
            with suppress(SeveralTextsError):  # the side decides, when the file is read
                file.fields(tables[file.read_as])
    return tables


def require_there(path: str) -> None:
    """Raise InputError unless there is a file or folder of that name; of patterns and data sets, reading tells."""
    if names_data_set(path) or is_pattern(Path(path)):
        return
    with refusals(Path(path)):
        if not Path(path).exists():
            raise InputError(f"{path} does not exist", todo="Check the name and the folder")
