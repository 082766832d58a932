"""Read a small TOML file of settings."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from mauve_core.base import files
from mauve_core.base.errors import InputError

MOST_BYTES = 2**16


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of the file; InputError if it cannot be read, is too large, or is not TOML."""
    if files.require_plain_file(path, "file of settings") > MOST_BYTES:
        raise InputError(f"{path} is too large for a file of settings", allowed=f"at most {MOST_BYTES:,} bytes")
    try:
        with files.open_regular(path) as stream:
            return tomllib.loads(stream.read(MOST_BYTES).decode("utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", todo="Check its permissions") from error
    except (ValueError, RecursionError) as error:  # neither UTF-8 nor TOML, or nested without end
        raise InputError(
            f"{path} is not a TOML file", received=str(error), allowed="lines such as seeds = 10"
        ) from error
