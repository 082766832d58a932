"""What benchmarks share that hold the program against the package mauve-text."""

from __future__ import annotations

import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_info


def processor() -> str:
    """The processor's name, its cores, and for which processor the products of NumPy are written (OpenBLAS)."""
    named = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    kernels = {pool["architecture"] for pool in threadpool_info() if pool.get("internal_api") == "openblas"}
    name = "a processor without a name" if named is None else named[1]
    return f"{name}, {os.cpu_count()} cores, OpenBLAS for {', '.join(sorted(kernels))}"


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


def best_objective(printed: str) -> float:
    """The smallest k-means objective that the package's verbose run reports."""
    return min(float(number) for number in re.findall(r"objective=([0-9.eE+]+)", printed))


def in_turn(
    ways: Mapping[str, Callable[[int], Any]], rounds: int
) -> tuple[dict[str, list[float]], dict[str, list[Any]]]:
    """Seconds and results of every way, called with the number of the round; who begins changes by the round."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    results: dict[str, list[Any]] = {name: [] for name in ways}
    names = list(ways)
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            started = time.perf_counter()
            result = ways[name](turn)
            seconds[name].append(time.perf_counter() - started)
            results[name].append(result)
    return seconds, results


def ratio(seconds: Mapping[str, list[float]], peer: str, ours: str) -> str:
    """Median over the rounds of the peer's time over ours, with the smallest and the largest."""
    found = [theirs / own for theirs, own in zip(seconds[peer], seconds[ours], strict=True)]
    return f"{statistics.median(found):.1f} ({min(found):.1f} to {max(found):.1f})"


def made_up_sides(
    n: int, d: int, *, decay: float, seed: int, sides: int = 2, topics: int = 100
) -> list[NDArray[np.float32]]:
    """Features of ``sides`` sides as encoders make them: about a common mean, in topics that each side weighs its own
    way, with standard deviations that fall with the component's rank to the power ``decay``; (n, d) float32 each."""
    random = np.random.default_rng(seed)
    deviations = np.arange(1, d + 1) ** -decay
    deviations /= np.linalg.norm(deviations)
    turn = np.linalg.qr(random.normal(size=(d, d)))[0]
    mean = 0.7 * random.normal(size=d) / np.sqrt(d)
    centres = 0.6 * random.normal(size=(topics, d)) * deviations
    made = []
    for _ in range(sides):
        topic = random.choice(topics, size=n, p=random.dirichlet(np.ones(topics)))
        rows = centres[topic] + 0.8 * random.normal(size=(n, d)) * deviations
        made.append((rows @ turn + mean).astype(np.float32))
    return made
