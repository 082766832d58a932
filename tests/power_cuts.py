"""What a disk may hold after a power cut, from the changes of files that some code makes below a folder.

What was flushed is held: the content of a file that was, and the names in a folder that was. All else may be held or
not, each change of a name by itself, whatever their order; content that was not flushed is lost. A rename is done or
not done. SQLite opens its files by itself and is not seen.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT

# Files by their path below the folder, with their content; None for a folder.
State = Mapping[str, bytes | None]

# Names in each folder, and what they stand for: files and folders have numbers, the topmost 0.
Tree = dict[int, dict[str, int]]


@dataclass
class Change:
    """Names that are set at once, (folder, name, number or None if it goes); held from a step on. None in a flush."""

    names: tuple[tuple[int, str, int | None], ...] = ()
    held: float = float("inf")


class Disk:
    """Changes below ``root``; its content at the beginning is on the disk."""

    def __init__(self, root: Path) -> None:
        self._root, self._numbers = root.resolve(), count(1)
        self._now: Tree = {0: {}}
        self._content: dict[int, list[tuple[int, bytes]]] = {}
        self._read(root, 0)
        self._before = {folder: dict(names) for folder, names in self._now.items()}
        self._steps: list[Change] = []

    def states(self) -> Iterator[tuple[State, bool]]:
        """What a cut may leave if all, none or all but one of the changes are held that need not be, each once; and
        whether it comes after the last change.
        """
        seen = set()
        for step in range(len(self._steps) + 1):
            pending = {number for number, each in enumerate(self._steps[:step]) if each.names and each.held > step}
            for lost in (set(), pending, *({number} for number in pending)):
                state, at_end = self._after(step, lost), step == len(self._steps)
                if (key := (frozenset(state.items()), at_end)) not in seen:
                    seen.add(key)
                    yield state, at_end

    def see(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take note of an audit event, which comes before the change."""
        if event == "open" and isinstance(arguments[0], str) and arguments[2] & WRITES:
            self._opened(*self._place(arguments[0]), truncated=bool(arguments[2] & os.O_TRUNC))
        elif event == "os.mkdir":
            folder, name = self._place(arguments[0], arguments[2])
            if folder is not None and name not in self._now[folder]:
                self._now[number := next(self._numbers)] = {}
                self._change((folder, name, number))
        elif event in ("os.remove", "os.rmdir"):
            folder, name = self._place(*arguments)
            if folder is not None and name in self._now[folder]:
                self._change((folder, name, None))
        elif event == "os.rename":
            (folder, name), (other, new) = self._place(arguments[0], arguments[2]), self._place(*arguments[1::2])
            if folder is not None and other is not None and name in self._now[folder]:
                self._change((folder, name, None), (other, new, self._now[folder][name]))

    def flushed(self, path: Path) -> None:
        """Take note that a file or folder is flushed."""
        folder, name = self._place(path)
        number = 0 if path == self._root else None if folder is None else self._now[folder].get(name)
        if number is None:
            return
        self._change()
        if number not in self._now:
            self._content[number].append((len(self._steps), path.read_bytes()))
        for change in self._steps:
            if change.names and change.names[-1][0] == number:
                change.held = min(change.held, len(self._steps))

    def _opened(self, folder: int | None, name: str, *, truncated: bool) -> None:
        if folder is None:
            return
        if name not in self._now[folder]:
            self._content[number := next(self._numbers)] = [(0, b"")]
            self._change((folder, name, number))
        elif truncated:
            self._change()
            self._content[self._now[folder][name]].append((len(self._steps), b""))

    def _change(self, *names: tuple[int, str, int | None]) -> None:
        self._steps.append(Change(names))
        _set(self._now, names)

    def _after(self, step: int, lost: set[int]) -> State:
        """What is there if the power goes after so many changes, and these are not on the disk."""
        tree: Tree = {number: dict(self._before.get(number, {})) for number in self._now}
        for number, change in enumerate(self._steps[:step]):
            if number not in lost:
                _set(tree, change.names)
        state: dict[str, bytes | None] = {}
        folders = [(0, "")]
        for folder, path in folders:
            for name, number in tree[folder].items():
                inside = f"{path}{name}"
                if number in tree:
                    state[inside] = None
                    folders.append((number, f"{inside}/"))
                else:
                    state[inside] = next(held for since, held in reversed(self._content[number]) if since <= step)
        return state

    def _place(self, path: str | Path, folder: int = -1) -> tuple[int | None, str]:
        """The number of the folder that holds a path, None if that is elsewhere, and the name in it."""
        whole = (Path.cwd() if folder == -1 else _open_path(folder)) / path
        if self._root not in whole.parents:
            return None, whole.name
        number: int | None = 0
        for part in whole.parent.relative_to(self._root).parts:
            number = None if number is None else self._now.get(number, {}).get(part)
        return number, whole.name

    def _read(self, folder: Path, number: int) -> None:
        for path in folder.iterdir():
            self._now[number][path.name] = inside = next(self._numbers)
            if path.is_dir():
                self._now[inside] = {}
                self._read(path, inside)
            else:
                self._content[inside] = [(0, path.read_bytes())]


def _set(tree: Tree, names: tuple[tuple[int, str, int | None], ...]) -> None:
    for folder, name, number in names:
        if number is None:
            tree[folder].pop(name, None)
        else:
            tree[folder][name] = number


def _open_path(handle: int) -> Path:
    return Path(f"/proc/self/fd/{handle}").readlink()


_disks: list[Disk] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _disks and (event == "open" or event.startswith("os.")):
        _disks[-1].see(event, arguments)


@contextmanager
def recorded(root: Path) -> Iterator[Disk]:
    """Take note of all changes below ``root`` while the block runs."""
    if not getattr(_hook, "installed", False):  # for good: a hook cannot be taken out
        sys.addaudithook(_hook)
        _hook.installed = True  # type: ignore[attr-defined]
    real = os.fsync

    def fsync(handle: int) -> None:
        real(handle)
        _disks[-1].flushed(_open_path(handle))

    _disks.append(Disk(root))
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", fsync)
            yield _disks[-1]
    finally:
        _disks.clear()


def write_state(state: State, folder: Path) -> None:
    """Fill an empty folder as such a disk."""
    for name, content in state.items():
        if content is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(content)
