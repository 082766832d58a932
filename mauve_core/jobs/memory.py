"""The memory that a job may take: more of it ends the job alone, before the system ends something else.

The memory is watched rather than limited by the system (``RLIMIT_AS``): libraries for GPUs reserve far more addresses
than they use. Should a job outrun the watch, Linux ends it before any other process.
"""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mauve_core.base.errors import InputError, StorageError
from mauve_core.texts import limits

# Time between two looks.
INTERVAL_S = 0.1

_ROOT = Path("/")
_STATUS, _FIRST_TO_GO = "proc/self/status", "proc/self/oom_score_adj"
_MACHINE, _GROUP = "proc/meminfo", "proc/self/cgroup"
# By the controller that a line of ``_GROUP`` names, none in version 2 and ``memory`` in version 1: the folder of all
# groups, and the file with the limit in bytes.
_LIMITS = {"": ("sys/fs/cgroup", "memory.max"), "memory": ("sys/fs/cgroup/memory", "memory.limit_in_bytes")}

# Of the memory that there is.
_SHARE = 0.9


class MemoryLimitError(StorageError):
    """The job took more memory than it may."""


def limit_mb(root: Path = _ROOT) -> int | None:
    """The most megabytes that a job may take: as set, or nine tenths of what the machine, or the control group that
    this process is in, has; None where the system does not say. ``root`` is the folder that holds ``proc``.

    Raises
    ------
    InputError
        It is set to something else than a number, or on a system that does not say what a process takes.
    """
    chosen = limits.memory_mb()
    if chosen is not None:
        if taken_mb(root) is None:
            raise InputError(
                f"{limits.MEMORY_VARIABLE} is set, but this system does not say how much memory a process takes",
                allowed="Linux",
                received=platform.system(),
                todo="Unset it",
            )
        return chosen
    there = [_machine_mb(root), _group_mb(root)]
    known = [megabytes for megabytes in there if megabytes is not None]
    return int(_SHARE * min(known)) if known else None


def taken_mb(root: Path = _ROOT) -> float | None:
    """The megabytes that this process takes, in memory or swapped out; None where the system does not say."""
    fields = _fields(root / _STATUS)
    return (fields["VmRSS"] + fields.get("VmSwap", 0)) / 1024 if "VmRSS" in fields else None


@contextmanager
def watched(exceeded: Callable[[MemoryLimitError], object]) -> Iterator[None]:
    """While the block runs, call ``exceeded``, in another thread, once the process takes more than it may."""
    most = limit_mb()
    if most is None or taken_mb() is None:
        yield
        return
    with suppress(OSError):  # a container may forbid it
        (_ROOT / _FIRST_TO_GO).write_text("800")
    over = threading.Event()

    def watch() -> None:
        while not over.wait(INTERVAL_S):
            taken = taken_mb() or 0
            if taken > most:
                exceeded(_too_much(most, taken))
                return

    watcher = threading.Thread(target=watch, name="memory", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def ran_out(error: BaseException) -> bool:
    """Whether the error says that memory was refused; PyTorch says so with a RuntimeError, of a CPU or of a GPU."""
    said = str(error)
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and ("allocate memory" in said or "out of memory" in said)
    )


def _too_much(most: int, taken: float) -> MemoryLimitError:
    return MemoryLimitError(
        "The job took more memory than it may",
        allowed=f"{most:,} MB",
        received=f"{taken:,.0f} MB",
        todo=f"Use fewer texts or resamples or a smaller model, or set {limits.MEMORY_VARIABLE}",
    )


def _machine_mb(root: Path) -> float | None:
    kilobytes = _fields(root / _MACHINE).get("MemTotal")
    return None if kilobytes is None else kilobytes / 1024


def _group_mb(root: Path) -> float | None:
    """The least limit of the process's control groups and those above them; None without one."""
    try:
        lines = (root / _GROUP).read_text().splitlines()
    except OSError:
        return None
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for controller, (mount, file) in _LIMITS.items():
            if controller in controllers.split(","):
                group = root / mount / path.lstrip("/")
                for folder in (group, *group.parents):
                    with suppress(OSError, ValueError):
                        found.append(int((folder / file).read_text()) / 2**20)  # "max" is no number
                    if folder == root / mount:
                        break
    return min(found, default=None)


def _fields(path: Path) -> dict[str, int]:
    """Lines such as ``MemTotal:  24576 kB`` by name."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in lines if line.endswith(" kB"))
    return {name: int(value.removesuffix(" kB")) for name, value in pairs}
