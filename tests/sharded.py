"""Small corpora in shards: made-up features and texts, and an engine that carries out tasks in this process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.base.errors import MauveLensError
from mauve_core.shards.comparison import compare_shards
from mauve_core.shards.engines import Done, Failures, LocalEngine
from mauve_core.shards.plan import Plan, ShardedComparison, Work
from mauve_core.shards.tasks import Task, carry_out, remaining
from tests.synthetic import topic_words

SCORE = ScoreConfig(k=12, seeds=2, bootstrap=200)
N, D, SHARDS = 600, 8, 4


@dataclass(frozen=True)
class MadeUp:
    """Features of two sides in shards, and the same in memory."""

    plan: Plan
    sides: dict[str, NDArray[np.float32]]

    def compared(self, folder: Path, workers: int = 0) -> ShardedComparison:
        return carried_out(self.plan, folder, workers)


class Inline:
    """Carries out tasks one by one in this process, in any order that a seed gives."""

    name = "inline"
    workers = 1

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)

    def gpus(self, device: str | None) -> int:
        return 0

    def run(self, folder: Path, tasks: Sequence[Task], done: Done) -> None:
        left = remaining(tasks)
        failures = Failures(tasks, left)
        for place in self._rng.permutation(len(left)).tolist():
            task = left[place]
            if failures.stopped:
                break
            try:
                memory = carry_out(str(folder), task.name, task.args)
            except MauveLensError as error:
                failures.add(task, error)
            else:
                failures.succeeded(task)
                done(task, memory)
        failures.raise_any()

    def close(self) -> None:
        return


def carried_out(plan: Plan, folder: Path, workers: int = 0) -> ShardedComparison:
    """The result of a plan, in this process or in workers."""
    engine = LocalEngine(workers) if workers else Inline()
    try:
        return compare_shards(Work.begin(folder, plan), engine)
    finally:
        engine.close()


def made_sides(n: int = N) -> dict[str, NDArray[np.float32]]:
    means = np.random.default_rng(7).normal(size=(6, D)) + 0.5

    def side(seed: int, modes: int) -> NDArray[np.float32]:
        rng = np.random.default_rng(seed)
        return (means[rng.integers(0, modes, n)] + 0.3 * rng.normal(size=(n, D))).astype(np.float32)

    return {HUMAN: side(1, 6), "model": side(2, 4)}


def written_features(folder: Path, sides: dict[str, NDArray[np.float32]], shards: int = SHARDS) -> dict[str, Path]:
    for name, array in sides.items():
        (folder / name).mkdir(parents=True)
        for index, part in enumerate(np.array_split(array, shards)):
            np.save(folder / name / f"{index:02}.npy", part)
    return {name: folder / name for name in sides}


def made_texts(n: int = 240) -> dict[str, list[dict[str, str]]]:
    """Rows of two sides that answer the same prompts."""
    words = {topic: list(topic_words(topic)) for topic in range(4)}

    def rows(seed: int, topics: int) -> list[dict[str, str]]:
        rng = np.random.default_rng(seed)
        return [
            {
                "id": f"{seed}-{number}",
                "prompt": f"Prompt {number}.",
                "text": " ".join(rng.choice(words[int(rng.integers(topics))], 6)),
            }
            for number in range(n)
        ]

    return {HUMAN: rows(1, 4), "model": rows(2, 2)}


def written_texts(folder: Path, sides: dict[str, list[dict[str, str]]], shards: int) -> dict[str, Path]:
    for name, rows in sides.items():
        (folder / name).mkdir(parents=True)
        for index, places in enumerate(np.array_split(np.arange(len(rows)), shards)):
            lines = "".join(f"{json.dumps(rows[place])}\n" for place in places)
            (folder / name / f"{index:02}.jsonl").write_text(lines)
    return {name: folder / name for name in sides}
