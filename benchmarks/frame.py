"""What benchmarks share: their command line, ways that are timed in turn, and the page of results."""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from mauve_core.base.files import write_atomically


class Spent(NamedTuple):
    """Seconds by the clock and of all threads of this process, and what came of it."""

    wall: float
    processor: float
    result: Any


def arguments(about: str | None, **numbers: float) -> argparse.ArgumentParser:
    """A parser with ``--out`` and with options that are numbers, by their defaults."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in numbers.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(usual), default=usual, help=f"default {usual:,}")
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="write the page there, not to standard output")
    return parser


def command() -> str:
    """As it was called; paths of this machine have the name of their option."""
    words, option = [f"python benchmarks/{Path(sys.argv[0]).name}"], "FILE"
    for word in sys.argv[1:]:
        local = word.startswith(("/", ".", "~")) and not word.startswith("--")
        words.append(option if local else word if re.fullmatch(r"\S+", word) else f'"{word}"')
        option = word.removeprefix("--").replace("-", "_").upper() if word.startswith("--") else option
    return " ".join(words)


def page(title: str, *parts: str, packages: Sequence[str] = ("numpy",)) -> str:
    """Heading, command, machine and versions, and the parts one below the other."""
    return "\n\n".join([f"# {title}", f"    {command()}", machine(packages), *filter(None, parts)]) + "\n"


def machine(packages: Iterable[str]) -> str:
    """The processor, its cores, and versions of what ran on it."""
    told = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""
    named = re.search(r"model name\s*: (.*)", told)
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    processor = platform.machine() if named is None else named[1]
    return f"{processor}, {os.cpu_count()} cores; {versions}, Python {platform.python_version()}."


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of Markdown, its columns left-aligned."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in lines)


def write(text: str, out: Path | None) -> None:
    """To the file, or to standard output."""
    if out is None:
        print(text, end="")
    else:
        write_atomically(out, lambda stream: stream.write(text.encode()))


def spent(work: Callable[[], Any]) -> Spent:
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return Spent(time.perf_counter() - wall, time.process_time() - processor, result)


def in_turn(ways: Mapping[str, Callable[[int], Any]], rounds: int) -> dict[str, list[Spent]]:
    """What every way takes in each round, called with its number; who begins changes by the round."""
    found: dict[str, list[Spent]] = {name: [] for name in ways}
    names = list(ways)
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            found[name].append(spent(lambda: ways[name](turn)))  # noqa: B023
    return found


def ratios(found: Mapping[str, list[Spent]], way: str, ours: str, clock: str = "wall") -> list[float]:
    """The way's time over ours in each round."""
    pairs = zip(found[way], found[ours], strict=True)
    return [getattr(theirs, clock) / getattr(own, clock) for theirs, own in pairs]


def median_and_range(values: Sequence[float], digits: int = 1) -> str:
    """The median, with the smallest and the largest."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def printed_by(call: Callable[[], Any]) -> tuple[Any, str]:
    """What ``call`` returns, and what it and the libraries below it write to standard output."""
    sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as stream:
        os.dup2(stream.fileno(), 1)
        try:
            result = call()
        finally:
            sys.stdout.flush()
            os.dup2(kept, 1)
            os.close(kept)
        stream.seek(0)
        return result, stream.read().decode()


def mauve_text() -> Callable[[Any, Any, int, int], tuple[float, float]]:
    """Of features of P and Q, k and a seed: MAUVE by the package mauve-text, loaded here, and the smallest k-means
    objective of its starts, which it prints."""
    import mauve

    def score(p: Any, q: Any, k: int, seed: int) -> tuple[float, float]:
        found, printed = printed_by(
            lambda: mauve.compute_mauve(p_features=p, q_features=q, num_buckets=k, seed=seed, verbose=True)
        )
        return float(found.mauve), min(float(number) for number in re.findall(r"objective=([0-9.eE+]+)", printed))

    return score
