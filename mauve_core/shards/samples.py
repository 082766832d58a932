"""Texts of each side that are kept while it is encoded, for people to read and for pages that need single texts.

Rows are chosen by the digest of their prompt (or of their id where there are no prompts) and the seed alone: those with
the lowest digests. So the sample does not depend on how texts are divided into shards, and sides that answer the same
prompts keep the same ones.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mauve_core.shards.plan import Work, texts_of_shard


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble numbers, one to one, as the generator SplitMix64 does (Steele, Lea, Flood, 2014)."""
    with np.errstate(over="ignore"):
        z = numbers + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


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

    def lines(self) -> Iterator[object]:
        """Whether the shard has no other texts, then what is kept."""
        yield len(self._kept) == self._rows
        yield from self._kept


def sample_of(work: Work, source: str, size: int) -> list[SampledText]:
    """Return the texts of a side with the lowest ranks, by rank: ``size``, or fewer if a shard kept too few of its own.

    Beyond the highest rank that a shard kept, its texts are not known, so the sample ends at the lowest such rank.
    """
    found: list[SampledText] = []
    end = np.iinfo(np.uint64).max + 1
    for index in range(len(work.plan.sides[source])):
        complete, *lines = work.lines(texts_path(work, source, index))
        kept = [SampledText(rank, index, row, id_, text, prompt) for rank, row, id_, prompt, text in lines]
        if not complete:
            end = min(end, kept[-1].rank)
        found = heapq.nsmallest(size, (*found, *kept), key=lambda text: (text.rank, text.shard, text.row))
    return [text for text in found if text.rank <= end]


def texts_path(work: Work, source: str, index: int) -> Path:
    """Where the kept texts of a shard are."""
    return work.shard_path(source, index).with_suffix(".jsonl")
