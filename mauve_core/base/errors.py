"""The errors that the core raises on purpose, and the form of their messages.

A message says what was wrong, what is allowed, what was received and what to do. Pages and the command line catch
:class:`MauveLensError` and show the message; any other exception that escapes is a bug.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from mauve_core.base.formatting import printable

# Characters shown of what was received, which a file can fill, and of the other parts of a message.
RECEIVED, OTHERS = 150, 700

# Characters shown of what has no blank in it, such as a path.
UNBROKEN = 200

# The same of what an error of a library says.
WORDS = 120


class MauveLensError(Exception):
    """Base of every error raised on purpose.

    Parameters
    ----------
    wrong : str
        What was wrong, naming the file, line, field or argument.
    each : sequence of str, optional
        What was wrong with each of several things, one after another; ``wrong`` announces it.
    allowed, received, todo : str, optional
        What is accepted, what came instead, and the next step for the user.
    """

    def __init__(
        self, wrong: str, *, each: Sequence[str] = (), allowed: str = "", received: str = "", todo: str = ""
    ) -> None:
        self.received = _one_line(received, RECEIVED)
        self.wrong, self.allowed, self.todo = (_one_line(part, OTHERS) for part in (wrong, allowed, todo))
        parts = [_sentence(self.wrong), *(_sentence(_one_line(one, OTHERS)) for one in each)]
        parts += [_sentence(f"Allowed: {self.allowed}")] if allowed else []
        parts += [_sentence(f"Received: {self.received}")] if received else []
        parts += [_sentence(self.todo)] if todo else []
        super().__init__(" ".join(parts))


class InputError(MauveLensError, ValueError):
    """The input cannot be used: a file, a field, an option or an array (exit code 2)."""


class UnknownNameError(InputError, KeyError):
    """Nothing has the name that was asked for; what looks up a key may catch it as a KeyError (exit code 2)."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would quote it


class ModelUnavailableError(InputError):
    """The model's name is unknown, or this machine cannot reach its files (exit code 2)."""


class StorageError(MauveLensError):
    """The disk is full or read-only, or a stored file is damaged (exit code 1)."""


class RefusedError(MauveLensError):
    """The visitor may not do that: the app is read-only (exit code 1)."""


class CancelledError(MauveLensError):
    """The owner of long work asked it to stop (exit code 1)."""


# For errors whose own words are about Python, not about what was read.
_PLAIN_WORDS = (
    (RecursionError, "it is nested too deeply"),
    ((AttributeError, TypeError, IndexError), "a part of it is missing or of another kind"),
    (MemoryError, "it needs more memory than there is"),
)


def words_of(error: BaseException) -> str:
    """What an error says, in one line, for use in a message of ours: at most ``WORDS`` characters if it is not ours."""
    if isinstance(error, MauveLensError):
        return str(error)
    if isinstance(error, KeyError):
        return _one_line(f"it lacks {error}", WORDS)
    if isinstance(error, ValueError) and "sys.set_int_max_str_digits" in str(error):
        return f"it has a whole number of more than {sys.get_int_max_str_digits():,} digits"
    return next((words for kinds, words in _PLAIN_WORDS if isinstance(error, kinds)), own_words_of(error))


def own_words_of(error: BaseException) -> str:
    """What an error of a library says itself, cut to ``WORDS`` characters, for reports of faults."""
    return _one_line(str(error).rstrip(".: \n"), WORDS) or type(error).__name__


@contextmanager
def library_errors(ours: Callable[[BaseException], MauveLensError]) -> Iterator[None]:
    """Turn whatever the library that is called within raises into the error that ``ours`` makes of it.

    What a library raises is no part of its contract (RDKit raises RuntimeError, a panic in Rust is no ``Exception``),
    so no call lists it. Errors of ours, a lack of memory and an interruption pass.
    """
    try:
        yield
    except BaseException as error:
        if not is_of_library(error):
            raise
        raise ours(error) from error


def is_of_library(error: BaseException) -> bool:
    """Whether a library failed, not this program, its memory or its user. A panic in Rust is no ``Exception``."""
    if isinstance(error, Exception):
        refused = type(error).__name__ == "OutOfMemoryError"  # torch's, by a device
        return not (refused or isinstance(error, MauveLensError | MemoryError))
    return type(error).__name__ == "PanicException"


def _one_line(text: str, most: int) -> str:
    """The text in one line without control characters; of a long one, beginning and end. Files can hold anything."""
    words = (word for each in text.splitlines() for word in each.strip().split(" ") if word)
    line = printable(" ".join(words))  # a tab inside a line is shown: it may be part of a name
    shown = _ends(" ".join(_ends(word, UNBROKEN) for word in line.split(" ")), most)
    return line if shown == line else f"{shown} ({len(line):,} characters)"


def _ends(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-(most // 2) :]}"


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?", ":")) else text + "."
