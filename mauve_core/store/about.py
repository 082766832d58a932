"""What people say of a run: its name, tags and notes, in ``about.json`` beside the comparison.

They lie in the run's folder, so that they go wherever it goes. A run without the file has the name that it was saved
under, no tags and no notes. Others may have changed them since somebody looked who changes them now (:func:`merged`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mauve_core.base.errors import InputError
from mauve_core.base.files import write_atomically

ABOUT = "about.json"
MAX_NAME, MAX_TAG, MAX_TAGS, MAX_NOTES = 200, 40, 20, 20_000
"""Characters of a name, of a tag, tags of a run, characters of its notes."""


@dataclass(frozen=True)
class About:
    """Name (None: as the run was saved), tags in alphabetical order, notes."""

    name: str | None = None
    tags: tuple[str, ...] = ()
    notes: str = ""


class ChangedMeanwhileError(InputError):
    """A name or notes that somebody else has changed too, since they were shown to whoever changes them now.

    Attributes
    ----------
    now : dict of str to str
        What stands there, by part: ``name``, ``notes``.
    """

    def __init__(self, now: Mapping[str, str]) -> None:
        self.now = dict(now)
        parts = " and the ".join(self.now)
        received = "; ".join(f"{part} {_short(text)}" for part, text in self.now.items())
        todo = "Nothing is changed: look at what stands there, then change it or leave it"
        super().__init__(f"Somebody else has changed the run's {parts} meanwhile", received=received, todo=todo)


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


def merged(given: Mapping[str, Any], seen: About, now: About) -> dict[str, Any]:
    """What to write for somebody who saw ``seen`` and gives this, where ``now`` stands there.

    Parameters
    ----------
    given : mapping
        Checked values by part: ``name``, ``tags``, ``notes``.
    seen, now : About
        With names.

    Returns
    -------
    dict
        The parts to write: not those left as they were seen; tags with what was added and without what was removed,
        whatever others did with other tags.

    Raises
    ------
    ChangedMeanwhileError
        A name or notes were changed on both sides, to different texts.
    InputError
        There are too many tags together.
    """
    changes = {part: value for part, value in given.items() if value != getattr(seen, part)}
    if "tags" in changes:
        mine, before = {*changes["tags"]}, {*seen.tags}
        changes["tags"] = checked_tags(({*now.tags} - (before - mine)) | (mine - before))
    lost: dict[str, str] = {
        part: getattr(now, part)
        for part in ("name", "notes")
        if part in changes and getattr(now, part) not in (getattr(seen, part), changes[part])
    }
    if lost:
        raise ChangedMeanwhileError(lost)
    return changes


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
    if not isinstance(value, str):
        raise InputError(f"The {what} cannot be used", allowed="text", received=type(value).__name__)
    return storable(value)


def storable(text: str) -> str:
    """Without what some files and pages refuse: NUL, halves of surrogate pairs."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
