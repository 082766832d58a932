"""Check entries one by one: which texts are usable, which ids name them, what looks like a text.

Ids, labels and dates must never be taken for texts when a field is guessed, and a reader is told when the texts of a
corpus look like them. What is left out is counted and named, by reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import plural, verb

# Characters; a longer ASCII value without white space is encoded data.
LONGEST_ID = 300

# Minimum number of values to tell labels from texts by repetition, and the maximum median length of labels.
FEW, LONGEST_LABEL = 4, 40

# Minimum number of texts for the warning that a corpus repeats one text.
MANY = 10

_DATE_PART = (
    r"(?:[0-9][0-9,.:/+TZ-]*|[+-][0-9:]+|[AaPp][Mm]|UTC|GMT"
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*[,.]?)"
)
ID = re.compile(
    "|".join(
        (
            r"[!-~]*(?:[0-9/\\_@#=]|[A-Za-z][.:-][A-Za-z])[!-~]*",  # a word with a digit or mark: id, hash, model
            r"[A-Za-z][A-Za-z0-9+.-]*://\S+",  # an address, in any script
            r"(?:[^\n\\/.!?]*[\\/])+[^\n\\/]*\.[A-Za-z][A-Za-z0-9]{0,4}",  # a path with spaces
            rf"(?=[^0-9]*[0-9]){_DATE_PART}(?: {_DATE_PART})*",
        )
    )
)


def filled(values: Iterable[Any]) -> list[str]:
    """Return the texts that are more than white space."""
    return [value for value in values if isinstance(value, str) and value.strip()]


def hold_text(values: Sequence[Any]) -> bool:
    """Return whether every value is text or missing, and at least one is more than white space."""
    return all(value is None or isinstance(value, str) for value in values) and bool(filled(values))


def are_blank(values: Sequence[Any]) -> bool:
    """Return whether every value is text or missing, and none is more than white space."""
    return all(value is None or isinstance(value, str) for value in values) and not filled(values)


def look_like_ids(values: Iterable[Any]) -> bool:
    """Return whether most texts are ids, numbers, hashes, paths, addresses or dates."""
    texts = filled(values)
    return 2 * sum(map(_is_id, texts)) > len(texts)


def look_like_labels(values: Iterable[Any]) -> bool:
    """Return whether the texts are short and each occurs twice on average."""
    texts = filled(values)
    if len(texts) < FEW or 2 * len(set(texts)) > len(texts):
        return False
    return sorted(map(len, texts))[len(texts) // 2] <= LONGEST_LABEL


def repeat(values: Iterable[Any]) -> bool:
    """Return whether the texts are labels, or nearly all the same few of any length, such as a system prompt."""
    texts = filled(values)
    return look_like_labels(texts) or (len(texts) >= FEW and len(set(texts)) <= max(1, len(texts) // 10))


def look_like_prose(values: Iterable[Any]) -> bool:
    """Return whether texts have several words and are not ids or labels; non-ASCII texts need no spaces."""
    texts = filled(values)
    words = sum(text.isascii() and len(text.split(maxsplit=1)) == 1 for text in texts)
    return bool(texts) and 2 * words <= len(texts) and not look_like_ids(texts) and not repeat(texts)


def doubt_about(texts: Sequence[str]) -> str:
    """Return a sentence if the texts of a corpus do not look like texts; else empty."""
    if not texts:
        return ""
    if look_like_ids(texts):
        example = next(text for text in texts if _is_id(text))
        return f"Most texts look like ids, numbers or paths, such as {_shown(example)}: was the right field read?"
    text, count = Counter(texts).most_common(1)[0]
    if len(texts) >= MANY and 2 * count > len(texts):
        return f"{count:,} of {len(texts):,} texts are identical, {_shown(text)}: was the right field read?"
    return ""


def _is_id(text: str) -> bool:
    text = text.strip()
    if len(text) > LONGEST_ID:
        return text.isascii() and len(text.split(maxsplit=1)) == 1
    return ID.fullmatch(text) is not None


def _shown(text: str) -> str:
    return repr(text if len(text) <= LONGEST_LABEL else f"{text[:LONGEST_LABEL]}…")


# Reason of excluding a text that has nothing to read.
EMPTY = "empty or only whitespace"

# Reason of excluding an answer of a batch that holds an error.
FAILED = "a failed request, whose error is not null"

# Reason of leaving out a text that an encoder refuses.
UNENCODABLE = "without anything that the encoder has a vector for"

# Maximum number of entries that a message names; the count is always complete.
EXAMPLES = 5


@dataclass(frozen=True)
class Exclusion:
    """Entries left out for one reason.

    Attributes
    ----------
    reason : str
        "empty or only whitespace", "without the field ...", "a failed request, whose error is not null", or
        ``UNENCODABLE``.
    count : int
        Number of entries, at least 1.
    examples : tuple of str
        The first few, named by line, row or file, with their id if there is one.
    """

    reason: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.examples) else ""
        return f"{self.count:,} left out ({self.reason}): {', '.join(self.examples)}{more}"


def keep(
    texts: Sequence[Any], label: Callable[[int], str], missing_reason: str, failed: Set[int] = frozenset()
) -> tuple[list[int], tuple[Exclusion, ...]]:
    """Return the positions of the usable texts, and the exclusions with their reasons.

    Entries at the positions ``failed`` are left out whatever they hold.
    """
    kept: list[int] = []
    missing: list[int] = []
    empty: list[int] = []
    for index, text in enumerate(texts):
        if index in failed:
            continue
        (missing if text is None else kept if text.strip() else empty).append(index)
    reasons = ((EMPTY, empty), (missing_reason, missing), (FAILED, sorted(failed)))
    return kept, tuple(
        Exclusion(reason, len(left_out), tuple(label(i) for i in left_out[:EXAMPLES]))
        for reason, left_out in reasons
        if left_out
    )


def exclusions_by_reason(left_out: Iterable[tuple[str, str]]) -> tuple[Exclusion, ...]:
    """Count entries that were left out, each given by its reason and by what names it; the first reason comes first."""
    by_reason: dict[str, list[str]] = {}
    for reason, named in left_out:
        by_reason.setdefault(reason, []).append(named)
    return tuple(Exclusion(reason, len(named), tuple(named[:EXAMPLES])) for reason, named in by_reason.items())


def repeats_among(names: Sequence[str], digests: Sequence[str], items: str) -> tuple[str, ...]:
    """Return a sentence on items, such as "images", whose digest is that of an earlier one; none if all differ."""
    first = dict[str, str]()
    repeats = [
        f"{name} is {first[digest]}"
        for name, digest in zip(names, digests, strict=True)
        if first.setdefault(digest, name) != name
    ]
    if not repeats:
        return ()
    shown = ", ".join(repeats[:EXAMPLES]) + (", ..." if len(repeats) > EXAMPLES else "")
    return (
        f"{len(repeats):,} of {len(names):,} {items} "
        f"{verb(len(repeats), 'repeats', 'repeat')} another one exactly; "
        f"{verb(len(repeats), 'it is', 'they are')} kept: {shown}.",
    )


def require_texts(values: Sequence[Any], where: str, locate: Callable[[int], str], *, todo: str = "") -> None:
    """Raise InputError unless every value is None or text that UTF-8 can encode."""
    for index, value in enumerate(values):
        if value is None:
            continue
        if not isinstance(value, str):
            raise InputError(
                f"{where} does not hold text",
                allowed="text",
                received=f"{type(value).__name__} at {locate(index)}",
                todo=todo,
            )
        if not value.isascii():
            require_encodable(value, where, locate(index))


def require_encodable(value: str, where: str, location: str) -> None:
    """Raise InputError for a lone surrogate, which no encoder and no file accepts."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{where} holds half of a surrogate pair at {location}, character {error.start + 1}",
            allowed="text that can be written as UTF-8",
            todo="Rewrite the text with errors='replace'",
        ) from error


def id_of(value: object) -> str | None:
    """Return the id as text; None if it is missing or not an id (a Boolean, a list)."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    usable = isinstance(value, (str, int, np.integer)) and not isinstance(value, bool)
    return str(value) if usable and str(value).strip() else None


def id_problem(ids: Sequence[str | None], locations: Sequence[str]) -> str | None:
    """Return why these ids cannot name each text, or None."""
    missing = [location for entry, location in zip(ids, locations, strict=True) if entry is None]
    if missing:
        return f"has no usable id for {plural(len(missing), 'text')} ({listing(missing)})"
    repeated = repeated_of([str(entry) for entry in ids])
    return f"holds ids that occur more than once ({listing(repeated)})" if repeated else None


def repeated_of(entries: Iterable[str]) -> list[str]:
    """Return the entries that occur more than once, each once."""
    return [entry for entry, count in Counter(entries).items() if count > 1]


def listing(entries: Sequence[str]) -> str:
    """List the first few entries and the number of the rest."""
    more = f" and {len(entries) - EXAMPLES:,} more" if len(entries) > EXAMPLES else ""
    return ", ".join(entries[:EXAMPLES]) + more


def pick(values: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    """Return the values at these positions, in that order."""
    return [values[i] for i in positions]


def position(index: int) -> str:
    """Return the place of a list entry, counted from 1."""
    return f"text {index + 1}"


def filled_prompts(prompts: Sequence[str | None], notes: list[str]) -> tuple[str, ...]:
    """Replace missing prompts with empty ones; a note counts them."""
    missing = sum(prompt is None for prompt in prompts)
    if missing:
        notes.append(
            f"{missing:,} of {len(prompts):,} texts {verb(missing, 'has', 'have')} no prompt; an empty one is used."
        )
    return tuple(prompt or "" for prompt in prompts)


def notes_on(texts: Sequence[str], exclusions: Sequence[Exclusion]) -> tuple[str, ...]:
    """Return sentences about suspicious texts, exclusions and duplicates."""
    notes = [*filter(None, [doubt_about(texts)]), *(f"{exclusion}." for exclusion in exclusions)]
    duplicates = len(texts) - len(set(texts))
    if duplicates:
        repeat, are = verb(duplicates, "repeats", "repeat"), verb(duplicates, "it is", "they are")
        notes.append(f"{duplicates:,} of {len(texts):,} texts {repeat} an earlier one exactly; {are} kept.")
    return tuple(notes)
