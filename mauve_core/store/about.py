"""What people say of a run: its name, tags and notes, in ``about.json`` beside the comparison.

They lie in the run's folder, so that they go wherever it goes. A run without the file has the name that it was saved
under, no tags and no notes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mauve_core.errors import InputError
from mauve_core.files import write_atomically

ABOUT = "about.json"
MAX_NAME, MAX_TAG, MAX_TAGS, MAX_NOTES = 200, 40, 20, 20_000
"""Characters of a name, of a tag, tags of a run, characters of its notes."""


@dataclass(frozen=True)
class About:
    """Name (None: as the run was saved), tags in alphabetical order, notes."""

    name: str | None = None
    tags: tuple[str, ...] = ()
    notes: str = ""


def read_about(folder: Path) -> About:
    """What ``about.json`` holds, or nothing where there is none.

    Raises
    ------
    OSError, ValueError, KeyError, TypeError
        The file is damaged.
    """
    try:
        values = json.loads((folder / ABOUT).read_bytes())
    except FileNotFoundError:
        return About()
    name, tags, notes = values["name"], values["tags"], values["notes"]
    if not isinstance(tags, list):
        raise TypeError("the tags are no list")
    return About(None if name is None else checked_name(name), checked_tags(tags), checked_notes(notes))


def write_about(folder: Path, about: About) -> None:
    """Put ``about.json`` in its place, whole; StorageError when the disk refuses."""
    values = {"name": about.name, "tags": list(about.tags), "notes": about.notes}
    text = json.dumps(values, ensure_ascii=False, indent=1)
    write_atomically(folder / ABOUT, lambda stream: stream.write(text.encode()))


def checked_name(name: str) -> str:
    """The name on one line; InputError when nothing is left or it is too long."""
    line = " ".join(_text(name, "name").split())
    if not line or len(line) > MAX_NAME:
        raise InputError("The run's name cannot be used", allowed=f"1 to {MAX_NAME} characters", received=_short(line))
    return line


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags on one line each, every one once, in alphabetical order; InputError for one that cannot be used."""
    if isinstance(tags, str):
        raise InputError("Tags come as a list", allowed="a list of words", received=_short(tags))
    lines = {" ".join(_text(tag, "tag").split()) for tag in tags} - {""}
    for line in sorted(lines):
        if len(line) > MAX_TAG or "," in line:
            raise InputError(
                "The tag cannot be used", allowed=f"up to {MAX_TAG} characters, no comma", received=_short(line)
            )
    if len(lines) > MAX_TAGS:
        raise InputError("The run has too many tags", allowed=f"up to {MAX_TAGS}", received=str(len(lines)))
    return tuple(sorted(lines, key=lambda line: (line.casefold(), line)))


def checked_notes(notes: str) -> str:
    """The notes without white space around them; InputError when they are too long."""
    text = _text(notes, "notes").strip()
    if len(text) > MAX_NOTES:
        wrong, received = "The notes are too long", f"{len(text)} characters"
        raise InputError(wrong, allowed=f"up to {MAX_NOTES} characters", received=received)
    return text


def _text(value: object, what: str) -> str:
    """A string that every database and file can hold."""
    if not isinstance(value, str):
        raise InputError(f"The {what} cannot be used", allowed="text", received=type(value).__name__)
    return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
