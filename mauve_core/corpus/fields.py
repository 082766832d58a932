"""Which field of a table plays which part: text, prompt, id, metadata; chosen by the caller, or guessed and said so."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mauve_core.corpus.formats import Table
from mauve_core.corpus.metadata import are_numbers, is_plain
from mauve_core.errors import InputError

TEXT_NAMES = (
    "text", "content", "completion", "continuation", "generation", "generated_text", "generated", "output", "response",
    "story", "article", "document", "body", "sentence",
)  # fmt: skip
PROMPT_NAMES = ("prompt", "context", "prefix", "instruction", "question", "input")
ID_NAMES = ("id", "_id", "uid", "uuid", "guid", "key", "text_id", "doc_id", "example_id", "sample_id")


@dataclass(frozen=True)
class Fields:
    """The part that each field of a table plays.

    Attributes
    ----------
    text : str
    prompt : str or None
        None without prompts.
    id : str or None
        None when line numbers serve as ids.
    metadata : tuple of str
    """

    text: str
    prompt: str | None = None
    id: str | None = None
    metadata: tuple[str, ...] = ()


def guess_fields(table: Table) -> Fields:
    """The parts that names and contents suggest.

    Text: the first of ``TEXT_NAMES`` that is there and holds text, otherwise the field of text with the longest median
    length. Prompt and id: by name alone. Metadata: every other field that holds plain values.

    Raises
    ------
    InputError
        No field holds text.
    """
    return choose_fields(table, None, None, None, None)[0]


def choose_fields(
    table: Table,
    text: str | None,
    prompt: str | None,
    identifier: str | None,
    metadata: Iterable[str] | None,
) -> tuple[Fields, list[str]]:
    """The fields as chosen, the others guessed, with a sentence on every guess that a reader should know of.

    An empty string for ``prompt`` or ``identifier`` means none. InputError for a field that does not exist, one field
    in two parts, or a metadata field that holds lists or objects.
    """
    notes: list[str] = []
    chosen = [field for field in (text, prompt, identifier) if field]
    for field in chosen:
        table.values(field)
    if len(set(chosen)) < len(chosen):
        raise InputError("One field was chosen for two parts", allowed="different fields for text, prompt and id")
    if not text:
        text, reason = _guess_text(table, taken={field for field in (prompt, identifier) if field})
        if len(table.columns) > 1 and table.format != "folder":
            notes.append(f"Text was read from the field {text!r}, guessed {reason}.")
    if prompt is None:
        prompt = _named(table, PROMPT_NAMES, {text, identifier}, _holds_text)
        if prompt:
            notes.append(f"Prompts were read from the field {prompt!r}, guessed by its name.")
    if identifier is None:
        names = ("file",) if table.format == "folder" else ID_NAMES
        identifier = _named(table, names, {text, prompt}, _holds_plain)
        if identifier and table.format != "folder":
            notes.append(f"Ids were read from the field {identifier!r}, guessed by its name.")
    fields = Fields(text, prompt or None, identifier or None)
    parts = {fields.text, fields.prompt, fields.id}
    others = [field for field in table.columns if field not in parts]
    return Fields(fields.text, fields.prompt, fields.id, _metadata(table, metadata, others, notes)), notes


def _metadata(table: Table, chosen: Iterable[str] | None, others: list[str], notes: list[str]) -> tuple[str, ...]:
    if chosen is None:
        nested = [field for field in others if not _holds_plain(table.values(field))]
        if nested:
            notes.append(f"Fields that hold lists or objects are not kept as metadata: {', '.join(nested)}.")
        return tuple(field for field in others if field not in nested)
    if isinstance(chosen, str):
        raise InputError("The metadata fields are one text", allowed="a list of field names", received=repr(chosen))
    wanted = tuple(dict.fromkeys(chosen))
    for field in wanted:
        if not _holds_plain(table.values(field)):
            raise InputError(
                f"The metadata field {field!r} of {table.path} holds lists or objects",
                allowed="text, numbers, truth values",
            )
    return wanted


def _guess_text(table: Table, taken: set[str]) -> tuple[str, str]:
    """The field of text, and how it was found."""

    def suits(values: list[Any]) -> bool:
        return _holds_text(values) and (table.typed or not are_numbers(values))

    named = _named(table, TEXT_NAMES, taken, suits)
    if named:
        return named, "by its name"
    free = {field: table.values(field) for field in table.columns if field not in taken}
    lengths = {
        field: statistics.median(len(value) for value in values if value is not None)
        for field, values in free.items()
        if suits(values)
    }
    # A prompt or an id is the text only where there is nothing else.
    lesser = {_plain_name(name) for name in (*PROMPT_NAMES, *ID_NAMES)}
    preferred = {field: length for field, length in lengths.items() if _plain_name(field) not in lesser} or lengths
    if not preferred:
        raise InputError(
            f"No field of {table.path} holds text in every row that has it",
            received=", ".join(map(repr, table.columns)),
            todo="Name the field that holds the text",
        )
    return max(preferred, key=lambda field: preferred[field]), "as the field of text with the longest median length"


def _named(table: Table, names: tuple[str, ...], taken: set[Any], suits: Callable[[list[Any]], bool]) -> str | None:
    """The first field that has one of the names, in the order of the names, and whose values suit."""
    for name in names:
        for field in table.columns:
            if _plain_name(field) == name and field not in taken and suits(table.values(field)):
                return field
    return None


def _plain_name(field: str) -> str:
    return field.strip().lower().replace(" ", "_").replace("-", "_")


def _holds_text(values: list[Any]) -> bool:
    return any(value is not None for value in values) and all(
        value is None or isinstance(value, str) for value in values
    )


def _holds_plain(values: list[Any]) -> bool:
    return all(is_plain(value) for value in values)
