"""Names of runs, candidates and models. They are stored and shown, so they must be valid text."""

from __future__ import annotations

from mauve_core.base.errors import InputError


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
