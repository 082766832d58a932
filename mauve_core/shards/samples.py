"""Texts of each side that are kept while it is encoded, for people to read and for pages that need single texts.

Rows are chosen by the digest of their prompt (or of their id where there are no prompts) and the seed alone: those with
the lowest digests. So the sample does not depend on how texts are divided into shards, and sides that answer the same
prompts keep the same ones.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.files import write_atomically
from mauve_core.shards.drawing import mixed
from mauve_core.shards.plan import Work, texts_of_shard


@dataclass(frozen=True)
class SampledText:
    """One text of a side.

    Attributes
    ----------
    rank : int
        The digest by which it was chosen.
    shard, row : int
        Where it is, counted from 0 among the usable rows of its shard.
    id, text : str
    prompt : str or None
    """

    rank: int
    shard: int
    row: int
    id: str
    text: str
    prompt: str | None


class Keeper:
    """Keeps the texts of a shard with the lowest ranks.

    Parameters
    ----------
    size : int
        Texts that a side keeps.
    shards : int
        Shards of the side.
    seed : int
    """

    def __init__(self, size: int, shards: int, seed: int) -> None:
        self._most = texts_of_shard(size, shards)
        self._seed = mixed(np.array([seed], dtype=np.uint64))
        self._kept: list[tuple[int, int, str, str | None, str]] = []
        self._rows = 0

    def add(
        self, groups: NDArray[np.uint64], ids: Sequence[str], prompts: Sequence[str] | None, texts: Sequence[str]
    ) -> None:
        """Look at the next texts of the shard."""
        ranks = mixed(groups ^ self._seed)
        for place in np.argsort(ranks, kind="stable")[: self._most].tolist():
            prompt = None if prompts is None else prompts[place]
            self._kept.append((int(ranks[place]), self._rows + place, ids[place], prompt, texts[place]))
        self._rows += len(texts)
        self._kept = sorted(self._kept)[: self._most]

    def write(self, path: Path) -> None:
        """Write what is kept, one JSON array a line."""
        complete = len(self._kept) == self._rows
        lines = [json.dumps({"complete": complete}), *map(json.dumps, self._kept)]
        write_atomically(path, lambda stream: stream.write("".join(f"{line}\n" for line in lines).encode()))


def sample_of(work: Work, source: str, size: int) -> list[SampledText]:
    """Return the texts of a side with the lowest ranks, by rank: ``size``, or fewer if a shard kept too few of its own.

    Beyond the highest rank that a shard kept, its texts are not known, so the sample ends at the lowest such rank.
    """
    found: list[SampledText] = []
    end = np.iinfo(np.uint64).max + 1
    for index in range(len(work.plan.sides[source])):
        first, *lines = texts_path(work, source, index).read_text("utf-8").splitlines()
        kept = [
            SampledText(rank, index, row, identifier, text, prompt)
            for rank, row, identifier, prompt, text in map(json.loads, lines)
        ]
        if not json.loads(first)["complete"]:
            end = min(end, kept[-1].rank)
        found = heapq.nsmallest(size, (*found, *kept), key=lambda text: (text.rank, text.shard, text.row))
    return [text for text in found if text.rank <= end]


def texts_path(work: Work, source: str, index: int) -> Path:
    """Where the kept texts of a shard are."""
    return work.shard_path(source, index).with_suffix(".jsonl")
