"""Read a small TOML file of settings or secrets."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from mauve_core.base import files
from mauve_core.base.errors import InputError, library_errors

MOST_BYTES = 2**16

# Most dots of one line: for a key of so many parts, the parser takes time and memory in the square of their number.
MOST_DOTS = 1000


def read_toml(path: Path, what: str = "file of settings") -> dict[str, Any]:
    """Return the content of the file, which messages call ``what``.

    Raises
    ------
    InputError
        It cannot be read, is too large, has a line with more than ``MOST_DOTS`` dots, or is not TOML.
    """
    if files.require_plain_file(path, what) > MOST_BYTES:
        raise InputError(f"{path} is too large for a {what}", allowed=f"at most {MOST_BYTES:,} bytes")
    try:
        with files.open_regular(path) as stream:
            content = stream.read(MOST_BYTES).decode("utf-8")
        for number, line in enumerate(content.split("\n"), start=1):
            if line.count(".") > MOST_DOTS:
                raise InputError(f"Line {number} of {path} has too many dots", allowed=f"at most {MOST_DOTS:,}")
        with library_errors(lambda error: _no_toml(path, error)):
            return tomllib.loads(content)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", todo="Check its permissions") from error
    except ValueError as error:
        raise _no_toml(path, error) from error


def _no_toml(path: Path, error: BaseException) -> InputError:
    return InputError(f"{path} is not a TOML file", received=str(error), allowed="lines such as seeds = 10")
