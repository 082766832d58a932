"""A forked child that is killed, or refused by the disk, at a change of a file.

An audit hook of the interpreter sees every file that is opened for writing, renamed or removed, before it happens.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Audit events that announce a change; ``open`` is one if the file is opened for writing.
CHANGES = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "sqlite3.connect"})

# Called before each change, with its number from 1 and what it is.
Fault = Callable[[int, str], None]


def nothing(number: int, what: str) -> None:
    """No fault."""


def killed_at(number: int) -> Fault:
    def fault(now: int, what: str) -> None:
        if now == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return fault


def refused_from(number: int, code: int) -> Fault:
    """The disk refuses that change and all later ones."""

    def fault(now: int, what: str) -> None:
        if now >= number:
            raise OSError(code, os.strerror(code), what)

    return fault


def no_file_above(size: int) -> Fault:
    """No file grows beyond so many bytes, as on a full disk."""

    def fault(now: int, what: str) -> None:
        if now == 1:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    return fault


def in_child(work: Callable[[], object], below: str, fault: Fault, trace: Path, log: Path) -> int:
    """Work in a forked child, which writes down each change of what is ``below``; its exit status."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    try:
        os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), 2)
        count = 0
        lines = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal count
            writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if (writes or event in CHANGES) and str(arguments[0]).startswith(below):
                count += 1
                os.write(lines, f"{event} {arguments[0]}\n".encode())
                fault(count, str(arguments[0]))

        sys.addaudithook(hook)
        work()
    except BaseException:  # noqa: BLE001 (its state and log say what it was)
        os._exit(1)
    os._exit(0)


def spread(count: int, most: int) -> list[int]:
    """So many numbers from 1 to ``most``, evenly spread."""
    return sorted({1 + (most - 1) * place // (count - 1) for place in range(count)})
