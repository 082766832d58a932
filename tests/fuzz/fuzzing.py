"""Cases without end: each a copy of a sample, changed as its number says, read in a child, and judged."""

from __future__ import annotations

import itertools
import random
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.oracle import Outcome, judged
from tests.fuzz.targets import TARGETS, Target


@dataclass(frozen=True)
class Case:
    """A case and what became of it; its number makes it anew."""

    target: str
    number: str
    changed: str
    outcome: Outcome


@dataclass
class Tally:
    """Counts of one kind."""

    cases: int = 0
    refused: int = 0
    wrong: int = 0
    seconds: float = 0.0
    megabytes: float = 0.0
    longest: int = field(default=0)

    def count(self, outcome: Outcome, inputs: int = 1) -> None:
        """Add a case with so many inputs."""
        self.cases += inputs
        self.refused += bool(outcome.answer)
        self.wrong += bool(outcome.wrong)
        self.seconds = max(self.seconds, outcome.seconds)
        self.megabytes = max(self.megabytes, outcome.megabytes)
        self.longest = max(self.longest, len(outcome.answer))


class Fuzzing:
    """Cases of several targets.

    Parameters
    ----------
    names : sequence of str
        Names of ``TARGETS``.
    seed : str
        Begins the number of every case.
    folder : Path
        Where samples, cases and, under ``found``, the cases that went wrong lie.
    """

    def __init__(self, names: Sequence[str], seed: str, folder: Path) -> None:
        self.names, self.seed, self.folder = names, seed, folder
        self.samples: dict[str, Path] = {}
        for place, name in enumerate(names):
            home = folder / "samples" / str(place)
            home.mkdir(parents=True)
            self.samples[name] = TARGETS[name].make(home)

    def cases(self, seconds: float) -> Iterator[Case]:
        """One case of each target in turn, until the time is over."""
        end, turn = time.monotonic() + seconds, 0
        while True:
            for name in self.names:
                if time.monotonic() > end:
                    return
                yield self.case(name, f"{self.seed}-{turn}")
            turn += 1

    def at_least(self, counts: Mapping[str, int]) -> Iterator[Case]:
        """So many inputs of each kind, dealt to its targets in turn."""
        for kind, count in counts.items():
            names, done = [name for name in self.names if TARGETS[name].kind == kind], 0
            for turn in itertools.count():
                if done >= count or not names:
                    break
                name = names[turn % len(names)]
                yield self.case(name, f"{self.seed}-{turn // len(names)}")
                done += TARGETS[name].inputs

    def case(self, name: str, number: str) -> Case:
        """The case with that number."""
        target, sample = TARGETS[name], self.samples[name]
        with tempfile.TemporaryDirectory(dir=self.folder) as home:
            path = copied(sample, Path(home))
            changed = target.change(path, random.Random(f"{name} {number}"))
            case = Case(name, number, changed, self._judged(target, path))
            if case.outcome.wrong:
                kept = self.folder / "found" / f"{name} {number}".replace(" ", "-")
                copied(path, kept) if path.exists() else None
        return case

    def _judged(self, target: Target, path: Path) -> Outcome:
        return judged(lambda: target.read(path), path.parent)


def copied(path: Path, folder: Path) -> Path:
    """A copy of the file or folder in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    copy = shutil.copytree if path.is_dir() else shutil.copyfile
    return Path(copy(path, folder / path.name))


def in_words(case: Case) -> str:
    """What went wrong, and how to make the case anew."""
    return (
        f"{case.target} ({case.changed}): {case.outcome.wrong}\n"
        f"    python -m tests.fuzz --target '{case.target}' --case {case.number}"
    )
