"""What a way of benchmarks/shards_peers.py is asked and returns, and what its fit takes of the machine."""

from __future__ import annotations

import importlib.util
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from shards import TOPICS

ROWS_AT_ONCE = 8192


class Asked(NamedTuple):
    """What a process is asked.

    Attributes
    ----------
    way : str
        As in ``WAYS``.
    seed, k : int
    folder : str
        Holds rows.npy, rows.parquet, the shards, and start.npy with the rows that ``seed`` draws as first centers.
    iterations : int
        Iterations of the ways that do a given number.
    launched : float
        When the process was, by the monotonic clock.
    """

    way: str
    seed: int
    k: int
    folder: str
    iterations: int
    launched: float

    def path(self, name: str) -> Path:
        return Path(self.folder) / name

    def rows(self) -> NDArray[np.float32]:
        return np.load(self.path("rows.npy"))

    def start(self) -> NDArray[np.float64]:
        return np.load(self.path(f"start{self.seed}.npy"))


@dataclass
class Fit:
    """Measures from the beginning of a fit to its end: this process and those that it started."""

    launched: float
    begun: float = 0.0
    measured: dict[str, float] = field(default_factory=dict)

    def begin(self) -> None:
        self.measured["start_up"] = time.monotonic() - self.launched
        self._processor = processor_seconds()
        self.begun = time.monotonic()

    def end(self) -> None:
        self.measured["seconds"] = time.monotonic() - self.begun
        self.measured["processor"] = processor_seconds() - self._processor
        self.measured["bytes"] = sum(peak_bytes(process) for process in family())


class Found(NamedTuple):
    """Centers, and iterations as a page says them."""

    centers: NDArray[np.float64]
    iterations: str
    notes: dict[str, Any] = {}


class Way(NamedTuple):
    """A row of the table: its words, what does it, and the rounds in which it is done (None: all)."""

    name: str
    start: str
    stop: str
    fit: Callable[[Asked, Fit], Found]
    needs: str | None = None
    rounds: int | None = None

    def missing(self) -> bool:
        return self.needs is not None and importlib.util.find_spec(self.needs) is None


def family() -> list[int]:
    """This process and its living descendants."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            status = _read(entry / "stat")
            if status:
                parents[int(entry.name)] = int(status.rpartition(")")[2].split()[1])
    found = [os.getpid()]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def processor_seconds() -> float:
    """What the family and its dead children have had of the processors."""
    fields = [_read(Path(f"/proc/{process}/stat")).rpartition(")")[2].split() for process in family()]
    return sum(sum(map(int, each[11:15])) for each in fields if each) / os.sysconf("SC_CLK_TCK")


def peak_bytes(process: int) -> int:
    found = re.search(r"^VmHWM:\s*(\d+) kB", _read(Path(f"/proc/{process}/status")), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace")
    except OSError:  # it has ended meanwhile
        return ""


def assigned(rows: NDArray[np.float32], centers: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """The nearest center of each row, and the sum of the squared distances to them, in float64."""
    labels, total, squares = np.empty(len(rows), dtype=np.int64), 0.0, (centers**2).sum(1)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE].astype(np.float64)
        nearest = (squares - 2 * part @ centers.T).argmin(1)
        labels[start : start + len(part)] = nearest
        total += float(((part - centers[nearest]) ** 2).sum())
    return labels, total


def without_cluster(topics: NDArray[np.int16], labels: NDArray[np.int64]) -> int:
    """Topics of the rows that are the most frequent one in no cluster."""
    counts = np.zeros((labels.max() + 1, TOPICS), dtype=np.int64)
    np.add.at(counts, (labels, topics), 1)
    return int(np.unique(topics).size - np.unique(counts[counts.any(axis=1)].argmax(1)).size)
