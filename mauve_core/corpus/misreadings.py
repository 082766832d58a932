"""Refuse, or name, rows of well-known tools that would be misread: loose turns, log-likelihoods, failed requests.

Sources: the OpenAI interface (messages, batch output) and compatible servers, the logged samples of EleutherAI's
lm-evaluation-harness (``resps`` of a task with ``output_type: loglikelihood`` or ``multiple_choice``; a task with
several filters logs each sample once for each of them).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mauve_core.base.errors import InputError
from mauve_core.corpus.entries import listing
from mauve_core.corpus.paths import ASSISTANTS, CHATS, USERS
from mauve_core.corpus.rows import Row
from mauve_core.corpus.table import Table

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
