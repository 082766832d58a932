"""Names of runs, candidates and models. They are stored and shown, so they must be valid text; look-ups by name."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar

from mauve_core.base.errors import InputError, UnknownNameError

T = TypeVar("T")


def require_text(name: str, what: str) -> None:
    """Raise InputError for the name of a ``what`` ("run", "candidate") that UTF-8 cannot encode.

    Names in other encodings arrive as lone surrogates.
    """
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"The name of the {what} is not valid text: character {error.start + 1} is half of a surrogate pair",
            allowed="UTF-8",
            received=ascii(name),
            todo="Choose another name, or set the terminal to UTF-8",
        ) from error


def named(name: str, among: Mapping[str, T], what: str) -> T:
    """Return the value of that name; an UnknownNameError names the nearest, then all."""
    if isinstance(name, str) and name in among:
        return among[name]
    near = get_close_matches(name, among, n=1) if isinstance(name, str) else []
    raise UnknownNameError(
        f"No {what} named {name!r}",
        allowed=", ".join(among),
        todo=f"Did you mean {near[0]!r}?" if near else "",
    )
