"""What the parts of benchmarks/device.py share: sizes, files, and where rows go."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from device_page import Row
from numpy.typing import NDArray

# Tokens of a document at most.
LIMIT = 1024


@dataclass(frozen=True)
class Scale:
    """How large everything is; ``compared`` documents go through every way, ``peer_documents`` through the slowest."""

    device: str
    layers: int
    width: int
    documents: int
    compared: int
    peer_documents: int
    batch_sizes: tuple[int, ...]
    matrices: tuple[int, ...]
    small: tuple[int, int, int]
    large: tuple[int, int, int]
    kmeans_small: tuple[int, int, int]
    kmeans_large: tuple[int, int, int]
    on_map: tuple[int, int]
    texts_a_side: int
    texts: int
    new_tokens: int
    rounds: int


FULL = Scale(
    device="cuda",
    layers=36,
    width=1280,
    documents=2000,
    compared=400,
    peer_documents=64,
    batch_sizes=(1, 8, 32),
    matrices=(8192, 16384),
    small=(5000, 1280, 500),
    large=(100_000, 1280, 500),
    kmeans_small=(50_000, 400, 500),
    kmeans_large=(200_000, 256, 1000),
    on_map=(20_000, 256),
    texts_a_side=500,
    texts=500,
    new_tokens=128,
    rounds=3,
)
TOY = Scale(
    device="cpu",
    layers=2,
    width=64,
    documents=12,
    compared=12,
    peer_documents=4,
    batch_sizes=(1, 2),
    matrices=(128,),
    small=(200, 16, 8),
    large=(400, 16, 8),
    kmeans_small=(400, 8, 8),
    kmeans_large=(500, 8, 8),
    on_map=(150, 8),
    texts_a_side=40,
    texts=6,
    new_tokens=4,
    rounds=1,
)


@dataclass(frozen=True)
class Bench:
    """What a part has: sizes, files that the parts share, and where its rows go."""

    scale: Scale
    texts_file: Path
    scratch: Path
    send: Callable[[Row | tuple[str, ...]], None]

    @property
    def device(self) -> str:
        return "cuda:0" if self.scale.device == "cuda" else "cpu"

    @property
    def clustering_device(self) -> str:
        """The code for devices also where the device is a CPU."""
        return self.device if self.scale.device == "cuda" else "torch:cpu"

    @cached_property
    def documents(self) -> list[str]:
        return list(json.loads((self.scratch / "documents.json").read_text(encoding="utf-8")))

    @cached_property
    def ids(self) -> list[NDArray[np.int32]]:
        """Token ids of the documents."""
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(self.scratch / "large")
        found = tokenizer(self.documents, truncation=True, max_length=LIMIT)["input_ids"]
        return [np.array(row, dtype=np.int32) for row in found]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        return np.array([len(row) for row in self.ids])

    def some(self, count: int) -> NDArray[np.int64]:
        """Documents of every length alike, in their order."""
        order = np.argsort(self.lengths, kind="stable")
        places = np.linspace(0, len(order) - 1, min(count, len(order))).round().astype(np.int64)
        return np.sort(order[places])

    @contextmanager
    def way(self, table: str, case: str, name: str) -> Iterator[Row]:
        """A row that is told as begun; what fails inside becomes its note, and the next way goes on."""
        row = Row(table, case, name)
        self.send(row)
        try:
            yield row
        except Exception as error:  # noqa: BLE001
            self.send(replace(row, note=failure(error)))
            if self.device != "cpu":
                torch.cuda.empty_cache()

    def leave_out(self, table: str, case: str, name: str, note: str) -> None:
        self.send(Row(table, case, name, note=note))

    def seconds_of(self, work: Callable[[], object]) -> float:
        """Wall time until the device is done."""
        self.wait()
        started = time.perf_counter()
        work()
        self.wait()
        return time.perf_counter() - started

    def wait(self) -> None:
        if self.device != "cpu":
            torch.cuda.synchronize()


def failure(error: BaseException) -> str:
    """One line."""
    return f"failed: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
