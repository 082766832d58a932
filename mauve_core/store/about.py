"""A run's name, tags and notes, in ``about.json`` beside the comparison.

The file is in the run's folder, so it moves with the run. A run without it has the name it was saved under, no tags
and no notes. :func:`merged` handles changes that others made since a person last looked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mauve_core.base.errors import InputError
from mauve_core.base.files import read_stored, write_atomically

ABOUT = "about.json"
# Limits: characters of a name, characters of a tag, tags per run, characters of the notes.
MAX_NAME, MAX_TAG, MAX_TAGS, MAX_NOTES = 200, 40, 20, 20_000

# Most bytes of the file, which at these limits takes a tenth of it.
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class About:
    """Name (None: as the run was saved), tags in alphabetical order, and notes."""

    name: str | None = None
    tags: tuple[str, ...] = ()
    notes: str = ""


class ChangedMeanwhileError(InputError):
    """Someone else has changed the name or notes since they were shown to the person who changes them now.

    Attributes
    ----------
    now : dict of str to str
        The current values, by part: ``name``, ``notes``.
    """

    def __init__(self, now: Mapping[str, str]) -> None:
        self.now = dict(now)
        parts = " and the ".join(self.now)
        received = "; ".join(f"{part} {_short(text)}" for part, text in self.now.items())
        todo = "Nothing was changed. Review the current values, then change or keep them"
        super().__init__(f"Someone else has since changed the run's {parts}", received=received, todo=todo)


def read_about(folder: Path) -> About:
    """Read ``about.json``; empty if there is no such file.

    Raises
    ------
    OSError, ValueError, KeyError, TypeError
        The file is damaged.
    """
    try:
        values = json.loads(read_stored(folder / ABOUT, MAX_BYTES))
    except FileNotFoundError:
        return About()
    name, tags, notes = values["name"], values["tags"], values["notes"]
    if not isinstance(tags, list):
        raise TypeError("the tags are not a list")
    return About(None if name is None else checked_name(name), checked_tags(tags), checked_notes(notes))


def write_about(folder: Path, about: About) -> None:
    """Write ``about.json`` atomically; StorageError if the disk refuses."""
    values = {"name": about.name, "tags": list(about.tags), "notes": about.notes}
    text = json.dumps(values, ensure_ascii=False, indent=1)
    write_atomically(folder / ABOUT, lambda stream: stream.write(text.encode()))


def merged(submitted: Mapping[str, Any], seen: About, now: About) -> dict[str, Any]:
    """Return the parts to write when a person who saw ``seen`` submits ``submitted`` and the file now holds ``now``.

    Parameters
    ----------
    submitted : mapping
        Checked values by part: ``name``, ``tags``, ``notes``.
    seen, now : About
        With names.

    Returns
    -------
    dict
        Without parts that the person left as seen. Tags are added and removed one by one, so that changes of
        others to other tags stay.

    Raises
    ------
    ChangedMeanwhileError
        Both sides changed the name or the notes, to different texts.
    InputError
        The merged tags are too many.
    """
    changes = {part: value for part, value in submitted.items() if value != getattr(seen, part)}
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
    """Return the name on one line; InputError if it is empty or too long."""
    line = " ".join(_text(name, "name").split())
    if not line or len(line) > MAX_NAME:
        raise InputError("The run's name cannot be used", allowed=f"1 to {MAX_NAME} characters", received=_short(line))
    return line


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct tags, each on one line, in alphabetical order; InputError for an invalid tag."""
    if isinstance(tags, str):
        raise InputError("Tags must be a list", allowed="a list of words", received=_short(tags))
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
    """Return the notes without surrounding white space; InputError if they are too long."""
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
    """Remove characters that some files and pages refuse: NUL and lone surrogates."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
