"""Find the part that each field of a table plays: text, prompt, id or metadata; chosen by the caller, or guessed.

A field is a column or a dotted path into one (:mod:`mauve_core.texts.tables`). The text is guessed only if one field
qualifies, and never from a column of ids, labels or dates; otherwise the caller must choose. Notes report guesses.
Well-known tools keep the model's text inside lists and objects, whose layouts are known. Rows of theirs that would be
misread are refused or named: loose turns, log-likelihoods, failed requests.

Sources: the OpenAI interface (batch output, chat completions, completions, responses) and compatible servers (vLLM),
Anthropic message batches, Gemini batches, vLLM's RequestOutput, samples of Inspect, MT-bench answers, conversations in
the OpenAI and ShareGPT formats, and the logged samples of EleutherAI's lm-evaluation-harness (``resps`` of a task with
``output_type: loglikelihood`` or ``multiple_choice``; a task with several filters logs each sample once for each).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import verb
from mauve_core.texts.entries import (
    are_blank,
    hold_text,
    listing,
    look_like_ids,
    look_like_labels,
    look_like_prose,
    repeat,
)
from mauve_core.texts.generations import GENERATION, lengths_of, name_generations, usual_number
from mauve_core.texts.metadata import is_plain, parse_cells
from mauve_core.texts.tables import ANSWERED, ASSISTANTS, CHATS, EVERY, INDEX, USERS, Row, Table

_ENVELOPES = ("response.body.", "response.", "body.", "")
_OUTPUTS = ("response.body.output.-1.content", "output.-1.content")
_CANDIDATES = ("response.candidates.0.content", "candidates.0.content")


# Words in the names of what a model wrote before its answer.
REASONING = frozenset({"reasoning", "thinking", "thought", "thoughts"})

# Names of the text, if the content of a message is an object of several entries.
ANSWERS = frozenset({"answer", "text", "content", "response", "output"})


# Lists whose entries belong to one answer.
TURNS = frozenset({"turns", "content", "messages"})


class Layout(NamedTuple):
    """Where a tool puts texts.

    Attributes
    ----------
    title : str
    texts, prompts : tuple of str
        Paths; the first that holds text counts.
    """

    title: str
    texts: tuple[str, ...]
    prompts: tuple[str, ...] = ()


LAYOUTS = (
    Layout("chat completions", tuple(f"{envelope}choices.0.message.content" for envelope in _ENVELOPES)),
    Layout("completions", tuple(f"{envelope}choices.0.text" for envelope in _ENVELOPES)),
    Layout("OpenAI responses", _OUTPUTS),
    Layout("Anthropic message batches", ("result.message.content",)),
    Layout("Gemini responses", _CANDIDATES),
    Layout("vLLM outputs", ("outputs.0.text",), ("prompt",)),
    Layout(
        "lm-evaluation-harness samples",
        ("resps.0.0", "resps.0", "filtered_resps.0"),
        ("arguments.0.0", "arguments.gen_args_0.arg_0", "arguments.gen_args_0.arg_0.0"),
    ),
    Layout(
        "samples of Inspect",
        ("output.choices.0.message.content", "output.completion"),
        ("input", "input.user.-1.content"),
    ),
    Layout("MT-bench answers", ("choices.0.turns.0",)),
)


@dataclass(frozen=True)
class Found:
    """A text inside lists and objects.

    Attributes
    ----------
    text : str
        Path of the text.
    prompt : str or None
        Path of what the text answers or continues.
    reason, asked : str
        How the text and the prompt were found, in words.
    """

    text: str
    prompt: str | None
    reason: str
    asked: str


@dataclass(frozen=True)
class Unfinished:
    """A field of conversations that do not all end with a message of the assistant.

    Attributes
    ----------
    field : str
    text : str or None
        Path of the last message's content; None if that is no text.
    found : Found or None
        The assistant's last message in each; None if there is none, or none with text.
    """

    field: str
    text: str | None
    found: Found | None


def known_texts(table: Table) -> tuple[list[Found], list[Unfinished]]:
    """Return texts in well-known layouts, and conversations without an unambiguous text."""
    found, unfinished = [], []
    for layout in LAYOUTS:
        text = _first(table, layout.texts)
        if text is not None:
            prompt = _first(table, layout.prompts, labels=True)
            found.append(Found(every_answer(table, text), prompt, *[f"as in {layout.title}"] * 2))
    asked = {path.prompt.partition(".")[0] for path in found if path.prompt}
    for field in (name for name in table.columns if name not in asked):
        chat = _conversation(table, field)
        if isinstance(chat, Found):
            found.append(chat)
        elif chat is not None:
            unfinished.append(chat)
    return found, unfinished


def every_answer(table: Table, path: str) -> str:
    """Return the path to every answer instead of the first of each list, where most rows hold several; else the path.

    Turns of a conversation are no answers to one prompt.
    """
    steps = path.split(".")
    for size in range(1, len(steps)):
        if steps[size] == "0" and steps[size - 1] not in TURNS:
            counts = lengths_of(table.values(".".join(steps[:size])))
            if usual_number(counts) > 1:
                return ".".join([*steps[:size], EVERY, *steps[size + 1 :]])
    return path


def several(table: Table, path: str) -> str:
    """Return a sentence if a list on the path has more entries than the one that is read; else empty."""
    steps = path.split(".")
    for size in range(1, len(steps)):
        if steps[size] == "0" and EVERY not in steps[:size]:
            field = ".".join(steps[:size])
            count = sum(length > 1 for length in lengths_of(table.values(field)))
            if count:
                of = f"{count:,} of {len(table.rows):,} rows"
                return f"{of} {verb(count, 'holds', 'hold')} several texts in {field!r}; the first of each was read."
    return ""


def _first(table: Table, paths: Sequence[str], *, labels: bool = False) -> str | None:
    """Return the first path that leads to texts."""
    for path in paths:
        values = table.find(path)
        if values and hold_text(values) and not look_like_ids(values) and (labels or not look_like_labels(values)):
            return path
    return None


def _conversation(table: Table, field: str) -> Found | Unfinished | None:
    """Return the assistant's last messages in a field of conversations, and the user's before them."""
    present = [value for value in table.values(field) if value is not None]
    for speaker, words in CHATS:
        if not any(present) or not all(_are_messages(value, speaker, words) for value in present):
            continue
        text, answered, user = (_said(table, f"{field}.{who}.-1.{words}") for who in ("assistant", ANSWERED, "user"))
        found = None
        if text is not None:
            same = user is not None and answered is not None and table.find(answered) == table.find(user)
            before = "" if same else " before the assistant's last"
            found = Found(
                text,
                user if same else answered,
                "as the assistant's last message in each conversation",
                f"as the user's last message{before} in each conversation",
            )
        if found is None or any(not value or value[-1][speaker] not in ASSISTANTS for value in present):
            return Unfinished(field, _said(table, f"{field}.-1.{words}"), found)
        return found
    return None


def _said(table: Table, path: str) -> str | None:
    """Return the path of what messages say: the one given, or that of the answer in their content if it is an object.

    None if there is no text, if only some contents are objects, or if several entries may be the text.
    """
    values = table.find(path) or []
    if hold_text(values):
        return path
    if any(isinstance(value, str) for value in values):
        return None
    names = dict.fromkeys(name for value in values if isinstance(value, dict) for name in value)
    inner = {name: table.find(f"{path}.{name}") or [] for name in names if REASONING.isdisjoint(name.split("_"))}
    texts = [name for name, said in inner.items() if hold_text(said) and not look_like_ids(said)]
    meant = [name for name in texts if name in ANSWERS] or texts
    return f"{path}.{meant[0]}" if len(meant) == 1 else None


def _are_messages(value: Any, speaker: str, words: str) -> bool:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        return False
    return all(isinstance(entry.get(speaker), str) for entry in value) and (not value or words in value[-1])


# Names of those who speak in a conversation.
SPEAKERS = ASSISTANTS | USERS | {"system", "developer", "tool", "function"}

# Fields of lm-evaluation-harness that are equal wherever it logs a sample again.
SAMPLE = ("doc_id", "doc_hash", "prompt_hash", "resps")

# Levels of lists above a log-likelihood: requests, answers to each, and the pair with whether it is the greedy one.
PAIR_LEVELS = 3


def require_one_speaker(table: Table, text: str) -> None:
    """Raise InputError if the rows are turns of a conversation, of several speakers, and the text is what all said."""
    for speaker, words in CHATS:
        if text != words or speaker not in table.columns:
            continue
        said = {value for value in table.values(speaker) if isinstance(value, str)}
        if len(said) > 1 and said <= SPEAKERS:
            raise InputError(
                f"Each {table.row_word} of {table.path} is one turn of a conversation, so the texts of several "
                "speakers would be mixed",
                allowed='a whole conversation in each: {"messages": [{"role": ..., "content": ...}, ...]}',
                received=f"{speaker}: {', '.join(sorted(said))}",
                todo="Put the turns of each conversation into one list, or keep the rows of one speaker; "
                f"--text-field {words} (text_field in Python) reads all of them",
            )


def require_generated(table: Table) -> None:
    """Raise InputError if the rows are samples of lm-evaluation-harness that hold log-likelihoods, not texts."""
    if not {"doc_id", "resps"} <= set(table.columns):
        return
    present = [value for value in table.values("resps") if value]
    if present and all(map(_is_likelihood, present)):
        raise InputError(
            f"{table.path} holds log-likelihoods ('resps'), not generated texts",
            allowed="samples of a task of lm-evaluation-harness with output_type: generate_until",
            todo="Run a task that generates text; or name a field of its documents, which the model did not write: "
            "--text-field FIELD on the command line, text_field in Python",
        )


def _is_likelihood(value: Any) -> bool:
    """Return whether the first entry is a number; or, written as text, in a pair."""
    levels = 0
    while isinstance(value, list) and value:
        value, levels = value[0], levels + 1
    if isinstance(value, str) and levels >= PAIR_LEVELS:
        try:
            value = float(value)
        except ValueError:
            return False
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def one_row_a_sample(table: Table) -> Table:
    """Return the table without the rows in which lm-evaluation-harness logs a sample again, under another filter."""
    if not {"doc_id", "resps", "filter"} <= set(table.columns):
        return table
    filters: dict[str, object] = {}
    kept: list[Row] = []
    again: dict[str, None] = {}
    for number, row in table.rows:
        sample, own = repr([row.get(name) for name in SAMPLE]), row.get("filter")
        if filters.setdefault(sample, own) == own:
            kept.append((number, row))
        else:
            again[repr(own)] = None
    left_out = len(table.rows) - len(kept)
    if not left_out:
        return table
    note = f"{left_out:,} rows with a sample that an earlier row holds under another filter were left out"
    return replace(table, rows=kept, notes=(*table.notes, f"{note} ({listing([*again])})."))


def failed_requests(table: Table) -> frozenset[int]:
    """Return the positions of the requests of a batch that failed: their ``error`` is not null."""
    if not {"custom_id", "error"} <= set(table.columns) or not table.typed:
        return frozenset()
    return frozenset(index for index, error in enumerate(table.values("error")) if error is not None)


TEXT_NAMES = (
    "text", "content", "completion", "continuation", "generation", "generated_text", "generated", "gen", "output",
    "output_text", "model_output", "response", "model_response", "answer", "model_answer", "prediction", "pred",
    "predicted", "hypothesis", "reply", "summary", "translation", "story", "article", "document", "body", "sentence",
    "passage", "review", "highlights",
)  # fmt: skip
# Names of reference texts: texts too, but of the human side.
REFERENCE_NAMES = ("reference", "ref", "target", "gold", "human", "original", "expected", "ideal", "truth")

# Names of human texts as values, in lower case.
HUMAN_VALUES = frozenset({"human", "humans", "reference", "references", "gold", "people", "webtext", "ground_truth"})

# Names of fields that name the model that wrote a text.
WRITER_NAMES = ("generator", "model", "model_name", "model_id")

# Names of prompts, also as the last word of another: ``user_query``, ``prefix_text``.
PROMPT_NAMES = ("prompt", "instruction", "context", "prefix", "question", "problem", "input", "query")

ID_NAMES = (
    "custom_id", "id", "_id", "uid", "uuid", "guid", "key", "text_id", "doc_id", "example_id", "sample_id",
    "request_id", "question_id", "task_id",
)  # fmt: skip
# Names of fields that accompany a text; such a field is the text only if there is no other.
SIDE_NAMES = frozenset(
    {
        "id", "uid", "uuid", "guid", "key", "hash", "url", "uri", "link", "path", "file", "title", "headline", "name",
        "author", "date", "time", "timestamp", "category", "label", "class", "topic", "source", "system", "model",
        "generator", "dataset", "split", "language", "lang", *PROMPT_NAMES, *REASONING,
    }
)  # fmt: skip

FILLERS = frozenset({"text", "content", "body", "string", "statement"})
# ``prompt_text`` is a prompt and ``title_text`` a title, while ``model_text`` and ``human_text`` are texts.
FILLED = frozenset({"source", "title", "headline", "system", *PROMPT_NAMES, *REASONING})

# Words in the names of what is like a prompt, and which no text of the row answers.
NO_PROMPTS = frozenset({"system", "negative", "reference", *REASONING})

_WORD = re.compile(r"[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TEXT_WORDS = frozenset(name for name in (*TEXT_NAMES, *REFERENCE_NAMES) if "_" not in name)

# Words in the name of a list whose texts are several answers, not the pieces of one text.
GENERATED = frozenset(
    {
        "answer", "candidate", "completion", "continuation", "gen", "generated", "generation", "hypotheses",
        "hypothesis", "output", "pred", "prediction", "reference", "reply", "response", "rollout", "sample",
    }
)  # fmt: skip

NAME_IT = "Name the field to read: --text-field FIELD on the command line, text_field in Python"


class SeveralTextsError(InputError):
    """Several fields may hold the text.

    Attributes
    ----------
    fields : tuple of str
    """

    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fields:
    """The part that each field of a table plays.

    ``id`` is None when line numbers serve as ids. ``generation`` is the metadata field that tells repeated generations
    apart (``mauve_core.texts.generations``); None without repeats.
    """

    text: str
    prompt: str | None = None
    id: str | None = None
    metadata: tuple[str, ...] = ()
    generation: str | None = None


def guess_fields(table: Table) -> Fields:
    """Guess the fields from names and contents.

    Text: the field of a well-known layout inside lists and objects, the field with one of ``TEXT_NAMES``, or the only
    field that holds texts. Prompt and id: by layout or name. Metadata: every other field of plain values.

    Raises
    ------
    InputError
        No field holds text that differs from ids and labels, or several do.
    """
    return choose_fields(table, None, None, None, None)[0]


def choose_fields(
    table: Table,
    text: str | None,
    prompt: str | None,
    identifier: str | None,
    metadata: Iterable[str] | None,
) -> tuple[Fields, list[str]]:
    """Return the chosen fields, with the others guessed, and a sentence for every guess that readers should know.

    An empty string for ``prompt`` or ``identifier`` means none. Raises InputError for a missing field, one field in
    two parts, a metadata field that holds lists or objects, or a text field that cannot be guessed.
    """
    notes: list[str] = []
    text = text or table.text_field
    chosen = [field for field in (text, prompt, identifier) if field]
    for field in chosen:
        table.values(field)
    if text and _lists_answers(f"{text}.{EVERY}") and _are_lists(table.values(text)):
        text = f"{text}.{EVERY}"
    if len(set(chosen)) < len(chosen):
        raise InputError("One field was chosen for two roles", allowed="different fields for text, prompt and id")
    known, unfinished = known_texts(table) if not text or prompt is None else ([], [])
    if not text:
        require_generated(table)
        text, reason = _guess_text(table, known, unfinished, taken={field for field in (prompt, identifier) if field})
        require_one_speaker(table, text)
        if len(table.columns) > 1 or text not in table.columns:
            notes += [f"Text was read from the field {text!r}, guessed {reason}."] if table.format != "folder" else []
            notes += filter(None, [several(table, text)])
    if prompt is None:
        prompt, reason = _guess_prompt(table, known, unfinished, text, identifier)
        if prompt:
            notes.append(f"Prompts were read from the field {prompt!r}, guessed {reason}.")
    if identifier is None:
        names = ("file",) if table.format == "folder" else ID_NAMES
        identifier = _named(table, names, {text, prompt}, _hold_plain)
        if identifier and table.format != "folder":
            notes.append(f"Ids were read from the field {identifier!r}, guessed by its name.")
    fields = Fields(text, prompt or None, identifier or None)
    parts = {fields.text, fields.text.removesuffix(f".{EVERY}"), fields.prompt, fields.id}
    others = [field for field in table.columns if field not in parts]
    kept = _metadata(table, metadata, others, notes)
    generation = _generation(table, others, kept, notes)
    if EVERY in text.split("."):
        if generation is not None:
            raise InputError(
                f"{table.path} has several texts in a row ({text!r}) and a field {generation!r}",
                allowed="one of them, to tell generations apart",
                todo=f"Name one text of each row, such as {text.replace(EVERY, '0')!r}",
            )
        kept, generation = (*(field for field in kept if field != GENERATION), GENERATION), GENERATION
    return Fields(fields.text, fields.prompt, fields.id, kept, generation), notes


def guess_prompt(table: Table) -> str | None:
    """Return the prompt field that a layout or a name suggests; None without one."""
    return _guess_prompt(table, *known_texts(table), None, None)[0]


def may_be_text(field: str, values: Sequence[Any]) -> bool:
    """Return whether a field of these values is one of texts by its name, or holds prose and is no side field."""
    texts = list(values)
    return hold_text(texts) and not look_like_ids(texts) and (_is_meant(field, texts) or _is_prose(field, texts))


def names_reference(field: str) -> bool:
    """Return whether a word of the name is that of reference texts: ``refA``, ``human_text``, ``gold_2``."""
    return not {form for word in _words(field) for form in (word, word.removesuffix("s"))}.isdisjoint(REFERENCE_NAMES)


def is_human(value: str) -> bool:
    """Return whether a value is a usual name of human texts."""
    return value.lower().replace(" ", "_").replace("-", "_") in HUMAN_VALUES


def names_people(value: str) -> bool:
    """Return whether a value that names who wrote texts names people: ``human``, or with a word such as ``gold``."""
    return is_human(value) or names_reference(value)


def writer_named(table: Table, rows: Sequence[int]) -> str:
    """Return the model that wrote the texts of all these rows, by the table; empty if it names none, several or people.

    Rows without a name count as another.
    """
    for field in WRITER_NAMES:
        values = table.find(field)
        names = {value if isinstance(value := values[row], str) else "" for row in rows} if values else set()
        if len(names) == 1 and (name := names.pop().strip()):
            return "" if names_people(name) else name
    return ""


def _metadata(table: Table, chosen: Iterable[str] | None, others: list[str], notes: list[str]) -> tuple[str, ...]:
    if chosen is None:
        nested = [field for field in others if not _hold_plain(table.values(field))]
        if nested:
            notes.append(f"Fields that hold lists or objects are not kept as metadata: {', '.join(nested)}.")
        return tuple(field for field in others if field not in nested)
    if isinstance(chosen, str):
        raise InputError(
            "The metadata fields were given as a single string", allowed="a list of field names", received=repr(chosen)
        )
    wanted = tuple(dict.fromkeys(chosen))
    for field in wanted:
        if not _hold_plain(table.values(field)):
            raise InputError(
                f"The metadata field {field!r} of {table.path} holds lists or objects",
                allowed="text, numbers, booleans",
            )
    return wanted


def _generation(table: Table, others: list[str], kept: tuple[str, ...], notes: list[str]) -> str | None:
    """Return the metadata field named ``generation``; a sentence says so if it is not used."""
    field = next((field for field in others if _plain_name(field) == GENERATION), None)
    if field is None or len(set(map(str, table.values(field)))) < 2:
        return None
    if field not in kept:
        notes.append(f"The field {field!r} was not read, so all texts count as one generation.")
        return None
    values = table.values(field)
    if name_generations(values if table.typed else parse_cells(values)):
        return field
    notes.append(
        f"The field {field!r} does not tell generations apart, because it does not hold a whole number or a label for "
        "every text; it is kept as metadata."
    )
    return None


def _guess_text(table: Table, known: list[Found], unfinished: list[Unfinished], taken: set[str]) -> tuple[str, str]:
    """Return the text field and how it was found."""
    if table.format in ("text", "folder"):
        return "text", "by its name"
    free = {field: table.values(field) for field in table.columns if field not in taken}
    texts = {field: values for field, values in free.items() if hold_text(values) and not look_like_ids(values)}
    reasons = {found.text: found.reason for found in known if found.text not in taken}
    inner = [] if reasons else _inner_texts(table, unfinished)
    meant = [*reasons, *(field for field, values in texts.items() if _is_meant(field, values))]
    meant += [path for path in inner if _names_text(_last_name(path))]
    if len(meant) == 1 and (reasons or _plain_name(meant[0]) in TEXT_NAMES):
        return meant[0], reasons.get(meant[0], "by its name")
    if len(meant) < 2:
        unnamed = [*(field for field, values in texts.items() if _is_prose(field, values)), *inner]
        meant += [field for field in unnamed if field not in meant]
    if not meant and unfinished:
        if len(unfinished) > 1 or unfinished[0].found is None:
            raise _no_answer(table, unfinished)
        return unfinished[0].found.text, unfinished[0].found.reason
    meant = meant or _where_nothing_else_is(free, texts)
    if len(meant) != 1 or (meant[0] in inner and not _lists_answers(meant[0])):
        raise _no_choice(table, meant)
    return meant[0], "as the only field that holds text"


def _inner_texts(table: Table, unfinished: list[Unfinished]) -> list[str]:
    """Return paths to texts in an unknown layout, except unfinished conversations and what stands beside texts."""
    begins = tuple(f"{chat.field}." for chat in unfinished)
    names = {path: _last_name(path) for path in table.inner_fields if not path.startswith(begins)}
    paths = (path for path, name in names.items() if not _stands_beside(name))
    texts = [path for path in paths if hold_text(values := table.values(path)) and look_like_prose(values)]
    return [every_answer(table, path) if _names_answers(path) else path for path in texts]


def _lists_answers(path: str) -> bool:
    """Return whether the path leads to texts of a column of lists, which by its name are answers."""
    column, _, step = path.rpartition(".")
    return step in ("0", EVERY) and "." not in column and _names_answers(column)


def _names_answers(path: str) -> bool:
    return not GENERATED.isdisjoint(form for word in _words(path) for form in (word, word.removesuffix("s")))


def _are_lists(values: list[Any]) -> bool:
    """Return whether all values are lists of texts, or missing."""
    present = [value for value in values if value is not None]
    return any(present) and all(
        isinstance(value, list) and all(text is None or isinstance(text, str) for text in value) for value in present
    )


def _where_nothing_else_is(free: dict[str, list[Any]], texts: dict[str, list[Any]]) -> list[str]:
    """Return side fields and fields of single words; if fields are named like texts, only the blank ones of these."""
    named = [field for field, values in free.items() if _names_text(field) and (hold_text(values) or are_blank(values))]
    if named:
        return [field for field in named if are_blank(free[field])]  # reading it counts the missing texts
    return [field for field, values in texts.items() if not repeat(values)]


def _is_meant(field: str, values: list[Any]) -> bool:
    """Return whether the name says that the values are texts, of a person or a model, and the values allow it."""
    return _names_text(field) and (_plain_name(field) == "text" or not look_like_labels(values))


def _names_text(field: str) -> bool:
    """Return whether the name, or a word of it, names a text: ``output``, ``gpt4_answer``, ``generations``."""
    words = {form for word in _words(field) for form in (word, word.removesuffix("s"))}
    return _plain_name(field) in TEXT_NAMES or (not _stands_beside(field) and not _TEXT_WORDS.isdisjoint(words))


def _last_name(path: str) -> str:
    """Return the last step of a path that is a name, not an index."""
    return next(step for step in reversed(path.split(".")) if step != EVERY and not INDEX.fullmatch(step))


def _is_prose(field: str, values: list[Any]) -> bool:
    """Return whether the values may be texts although the name does not say so."""
    return not _stands_beside(field) and look_like_prose(values)


def _stands_beside(field: str) -> bool:
    """Return whether the name is that of a prompt, an id or another field that accompanies a text."""
    words = _words(field)
    if not words or _plain_name(field) in TEXT_NAMES:
        return False
    return words[-1] in SIDE_NAMES or (words[-1] in FILLERS and not FILLED.isdisjoint(words[:-1]))


def _no_choice(table: Table, meant: list[str]) -> InputError:
    wrong = f"No field of {table.path} holds text other than ids, labels and dates in every row where it occurs"
    if meant:
        which = "Several fields" if len(meant) > 1 else "A nested field"
        wrong = f"{which} of {table.path} may hold the text: {listing([repr(field) for field in meant])}"
    inner = (field for field in table.inner_fields if field not in meant)
    error = SeveralTextsError(wrong, received=", ".join(map(repr, (*table.columns, *inner))), todo=NAME_IT)
    error.fields = tuple(meant)
    return error


def _no_answer(table: Table, chats: list[Unfinished]) -> InputError:
    if len(chats) > 1:
        return _no_choice(table, [path for chat in chats if (path := chat.found.text if chat.found else chat.text)])
    field, last = chats[0].field, chats[0].text
    inner = [
        path for path in table.inner_fields if path.startswith(f"{field}.") and look_like_prose(table.values(path))
    ]
    wrong = f"The conversations in the field {field!r} of {table.path} hold no text of an assistant"
    if last is not None:
        return InputError(wrong, todo=f"{NAME_IT}; {last!r} reads the last messages, whoever wrote them")
    return InputError(wrong, received=f"texts in {listing([*map(repr, inner)]) or 'none'}", todo=NAME_IT)


def _guess_prompt(
    table: Table, known: list[Found], unfinished: list[Unfinished], text: str | None, identifier: str | None
) -> tuple[str | None, str]:
    """Return the prompt field, if any, and how it was found."""
    for found in (*known, *(chat.found for chat in unfinished if chat.found)):
        same = text in (None, found.text, found.text.replace(EVERY, "0"))
        if found.prompt and found.prompt != identifier and same:
            return found.prompt, found.asked
    found_name = _named(table, PROMPT_NAMES, {text, identifier}, _may_be_prompts)
    return found_name or _ends_in_prompt(table, {text, identifier}), "by its name"


def _ends_in_prompt(table: Table, taken: set[Any]) -> str | None:
    """Return the field whose name ends in a word for prompts, in the order of these words; None if several share it."""
    for word in PROMPT_NAMES:
        fields = [field for field in table.columns if field not in taken and _prompt_word(field) == word]
        found = [field for field in fields if _may_be_prompts(table.values(field))]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _prompt_word(field: str) -> str:
    """Return the last word of a name that is no filler, in the singular; empty if the name is about a system prompt."""
    words = [word for word in _words(field) if word not in FILLERS]
    return words[-1].removesuffix("s") if words and NO_PROMPTS.isdisjoint(words) else ""


def _may_be_prompts(values: list[Any]) -> bool:
    return hold_text(values) and not look_like_ids(values)


def _named(table: Table, names: tuple[str, ...], taken: set[Any], suits: Callable[[list[Any]], bool]) -> str | None:
    """Return the first field, in the order of the names, that has one of the names and suitable values."""
    for name in names:
        for field in table.columns:
            if _plain_name(field) == name and field not in taken and suits(table.values(field)):
                return field
    return None


def _plain_name(field: str) -> str:
    return field.strip().lower().replace(" ", "_").replace("-", "_")


def _words(field: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_HUMP.sub("_", field))]


def _hold_plain(values: list[Any]) -> bool:
    return all(is_plain(value) for value in values)
