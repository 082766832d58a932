"""A gate's settings in a TOML file: the names are those of the options, and the command line overrides them."""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path
from typing import Any

from mauve_core.base.errors import InputError
from mauve_core.base.files import read_toml

# What each key holds.
_KINDS = {
    **dict.fromkeys(("alpha", "margin", "smallest-effect", "scale"), "a number"),
    **dict.fromkeys(("k", "seeds", "seed", "layer", "max-tokens"), "a whole number"),
    **dict.fromkeys(("encoder", "revision", "pooling", "dtype", "device", "normalize"), "text"),
    **dict.fromkeys(("reference", "baseline", "candidate", "junit", "markdown"), "text"),
    "with-prompt": "true",
    **dict.fromkeys(("measure", "text-field", "prompt-field", "id-field"), "text or a list of texts"),
    "features": "a table of texts",
}


def apply_settings(args: argparse.Namespace, path: Path) -> None:
    """Set every option that the command line leaves out and the file has.

    Raises
    ------
    InputError
        The file cannot be read, or has an unknown key or a value of another kind. Ranges are checked where they are
        used, as those of options are.
    """
    for key, value in read_toml(path).items():
        kind = _KINDS.get(key)
        if kind is None:
            near = difflib.get_close_matches(key, _KINDS, n=1)
            todo = f"Did you mean {near[0]}?" if near else ""
            raise InputError(f"{path} has an unknown key", allowed=", ".join(sorted(_KINDS)), received=key, todo=todo)
        if not _fits(kind, value):
            raise InputError(f"The key {key} of {path} cannot be used", allowed=kind, received=repr(value))
        name = key.replace("-", "_")
        if getattr(args, name) is None:
            setattr(args, name, _as_option(kind, value))


def _fits(kind: str, value: Any) -> bool:
    if kind == "a number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "a whole number":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "true":
        return value is True
    if kind == "a table of texts":
        return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
    texts = value if kind == "text or a list of texts" and isinstance(value, list) else [value]
    return all(isinstance(each, str) for each in texts)


def _as_option(kind: str, value: Any) -> Any:
    """The value as the command line would give it."""
    if kind == "a number":
        return float(value)
    if kind == "a table of texts":
        return [f"{name}={file}" for name, file in value.items()]
    return [value] if kind == "text or a list of texts" and isinstance(value, str) else value
