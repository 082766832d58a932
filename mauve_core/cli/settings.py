"""A file of settings for the command line: a table for each command, whose keys are the names of its options.

``MAUVE_LENS_SETTINGS`` names the file, so that no file is read that nobody named. The command line overrides it, and
what a command takes from it is said on standard error. The file is TOML::

    [compare]
    encoder = "gpt2-large"
    seeds = 10
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import printable

VARIABLE = "MAUVE_LENS_SETTINGS"


def settings_of(command: str, known: Sequence[str]) -> dict[str, Any]:
    """Return the settings of a command; empty without a file, or where the file has none.

    Parameters
    ----------
    known : sequence of str
        All commands; a table of another name is an error.

    Raises
    ------
    InputError
        The file cannot be read, is not TOML, or holds something else than tables of known commands.
    """
    named = os.environ.get(VARIABLE, "")
    if not named.strip():
        return {}
    from mauve_core.base.files import read_toml

    tables: dict[str, Any] = read_toml(Path(named))
    for name, table in tables.items():
        if not isinstance(table, dict) or name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise InputError(
                f"{named} ({VARIABLE}) has a key that is not the table of a command",
                allowed="tables such as [compare], with the names of its options as keys",
                received=name,
                todo=f"Did you mean [{near[0]}]?" if near and isinstance(table, dict) else "",
            )
    own: dict[str, Any] = tables.get(command, {})
    return own


def as_arguments(action: argparse.Action, value: Any, where: str) -> list[str] | None:
    """Return a setting as the arguments that an option takes; None for a switch that is off.

    Raises
    ------
    InputError
        The value is of another kind than the option's.
    """
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise InputError(f"{where} cannot be used", allowed="true or false", received=repr(value))
        return [] if value else None
    several = isinstance(action, argparse._AppendAction) and isinstance(value, list)
    values = value if several else [value]
    if any(isinstance(each, bool) or not isinstance(each, str | int | float) for each in values):
        listed = ", or a list of them" if isinstance(action, argparse._AppendAction) else ""
        allowed = f"text or a number{listed}"
        raise InputError(f"{where} cannot be used", allowed=allowed, received=repr(value))
    return [str(each) for each in values]


def say(settings: Mapping[str, Any]) -> None:
    """Say what a command takes from the file."""
    if settings:
        written = ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in settings.items())
        sys.stderr.write(f"Settings from {printable(os.environ[VARIABLE])}: {written}\n")
