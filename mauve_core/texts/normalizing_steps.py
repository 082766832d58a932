"""The steps of normalizing texts: their names, what each does in words, and the count of what it did."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import verb
from mauve_core.base.json_codec import Count, Holds

MOST_WORDS = 1_000_000


@dataclass(frozen=True)
class Step:
    """A step: its name, a short title, and what was done, as a sentence without its end; ``{n}`` is its number."""

    name: str
    title: str
    done: str


# By name, in the order in which they are applied.
STEPS = {
    each.name: each
    for each in (
        Step("unicode", "Unicode NFC", "letters and their accents were composed (Unicode NFC)"),
        Step("token-marks", "tokenization marks", "marks of a tokenizer were removed"),
        Step("echo", "echoed prompts", "prompts repeated at the beginning of texts were removed"),
        Step("line-breaks", "line breaks", "line breaks were replaced with spaces"),
        Step("quotes", "quotes", "quotes and apostrophes were made straight"),
        Step("whitespace", "white space", "white space at both ends was removed"),
        Step("words", "length", "texts were cut at {n} words"),
        Step("duplicates", "repeated texts", "texts that repeat an earlier one of their side were left out"),
    )
}

# The only step with a number: ``words:120`` cuts at 120 words.
WORDS = "words"

# Stands in place of a step for texts of which the others left nothing.
EMPTIED = "emptied"

ALLOWED = ", ".join(f"{name}:N" if name == WORDS else name for name in STEPS)

_SPEC = re.compile(r"([a-z-]+)(?::([0-9]{1,7}))?")


def name_of(spec: str) -> str:
    """Return the step's name: ``words`` of ``words:120``."""
    return spec.partition(":")[0]


def parse_steps(specs: Iterable[str]) -> tuple[str, ...]:
    """Return the steps in the order in which they are applied, each once.

    Parameters
    ----------
    specs : iterable of str
        Names in ``STEPS``; ``words`` with its number, as ``words:120``.

    Raises
    ------
    InputError
        A name is unknown, a number is missing or too much, or two different lengths are given.
    """
    chosen = tuple(dict.fromkeys(specs))
    for spec in chosen:
        if not _is_step(spec):
            raise InputError("The texts cannot be normalized in this way", allowed=ALLOWED, received=repr(spec))
    names = [name_of(spec) for spec in chosen]
    if len(set(names)) < len(names):
        raise InputError("Texts are cut at one length only", allowed=ALLOWED, received=", ".join(chosen))
    order = list(STEPS)
    return tuple(sorted(chosen, key=lambda spec: order.index(name_of(spec))))


def number_of(spec: str) -> int:
    """Return the number of a step; 0 for one without."""
    return int(spec.partition(":")[2] or 0)


def title_of_step(spec: str) -> str:
    """Return the title, with the number if there is one: ``length of 120 words``."""
    title = STEPS[name_of(spec)].title
    return f"{title} of {number_of(spec):,} words" if name_of(spec) == WORDS else title


def titles_of_steps(specs: Sequence[str]) -> str:
    """Return the titles in one line: ``line breaks, white space``."""
    return ", ".join(map(title_of_step, specs))


def _is_step(spec: str) -> bool:
    found = _SPEC.fullmatch(spec)
    if found is None or found[1] not in STEPS:
        return False
    return found[2] is None if found[1] != WORDS else 1 <= int(found[2] or 0) <= MOST_WORDS


def _is_recorded(step: str) -> bool:
    return step == EMPTIED or _is_step(step)


@dataclass(frozen=True)
class Change:
    """What one step did to the texts of one side.

    Attributes
    ----------
    step : str
        As for :func:`parse_steps`, or ``EMPTIED``.
    count : int
        Number of texts changed, or left out.
    of : int
        Number of texts before.
    """

    step: Annotated[str, Holds(_is_recorded, f"{ALLOWED}, {EMPTIED}")]
    count: Count
    of: Count

    def __str__(self) -> str:
        if self.step == EMPTIED:
            were = verb(self.count, "was", "were")
            return f"Normalized: {self.count:,} of {self.of:,} texts {were} left out because nothing remained."
        action = "left out" if self.step == "duplicates" else "changed"
        done = STEPS[name_of(self.step)].done.format(n=f"{number_of(self.step):,}")
        return f"Normalized: {done} ({action} {self.count:,} of {self.of:,} texts)."


def steps_of(changes: Sequence[Change] | None) -> tuple[str, ...]:
    """Return the steps that were applied to a side, in order, each once; of two lengths, the shorter."""
    names = {name_of(change.step): change.step for change in changes or () if change.step != EMPTIED}
    lengths = [number_of(change.step) for change in changes or () if name_of(change.step) == WORDS]
    if lengths:
        names[WORDS] = f"{WORDS}:{min(lengths)}"
    return parse_steps(names.values())
