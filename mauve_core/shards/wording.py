"""Phrases of clusters: the random texts of a cluster propose them, and all of its texts are counted.

What a side uses often is in its random texts; what is in one of these alone is not proposed. The counts are whole
numbers of whole texts, so they are exact, and do not depend on how texts are divided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.shards.cluster_texts import chosen_path, place_of_clusters
from mauve_core.shards.clustering import labels_path, partition_path
from mauve_core.shards.encoding import filled, shard_info
from mauve_core.shards.places import require_unchanged
from mauve_core.shards.plan import Work
from mauve_core.shards.texts import Tally, texts_of
from mauve_core.texts.properties import phrases_in

# Prompts whose random texts, on one side of a cluster, must have a phrase; texts without prompts count each.
LEAST_PROPOSING = 2


def proposed_path(work: Work, candidate: str) -> Path:
    """Where the proposed phrases of the chosen clusters are."""
    return partition_path(work, candidate, "proposed.jsonl")


def counted_folder(work: Work) -> Path:
    """Where counts are until they are added up."""
    return work.path("counted")


def counted_path(work: Work, source: str, index: int) -> Path:
    """Where the counts of a shard are, of all candidates whose clusters hold texts of its side."""
    return counted_folder(work) / f"{work.number(source):05}" / f"{index:05}.json"


# A text, after its prompt, or after its id if it has none.
Prompted: TypeAlias = tuple[str, str]


def propose(work: Work, candidate: str, clusters: Sequence[Sequence[Sequence[Prompted]]]) -> None:
    """Write which phrases are counted in each chosen cluster, of which the random texts of both sides are given."""
    work.write_lines(path := proposed_path(work, candidate), (_proposed(*sides) for sides in clusters))
    work.finish(path, ".jsonl")


def _proposed(*sides: Sequence[Prompted]) -> list[str]:
    found: set[str] = set()
    for texts in sides:
        by_prompt: dict[str, set[str]] = {}
        for prompt, text in texts:
            by_prompt.setdefault(prompt, set()).update(phrases_in(text))
        having = Counter(phrase for phrases in by_prompt.values() for phrase in phrases)
        found.update(phrase for phrase, number in having.items() if number >= LEAST_PROPOSING)
    return sorted(found)


def proposed(work: Work, candidate: str) -> list[list[str]]:
    """The proposed phrases of each chosen cluster, in alphabetical order."""
    return work.lines(proposed_path(work, candidate))


def count_phrases(work: Work, source: str, index: int) -> None:
    """Write how many texts of a shard have each proposed phrase of the cluster that they are in.

    Raises
    ------
    InputError
        The shard has vanished or is not the one that was encoded.
    """
    shard = work.plan.sides[source][index]
    require_unchanged(shard, work.plan.stamps)
    candidates = _candidates_of(work, source)
    counts = [_Counts(work, name, source, index) for name in candidates]
    tally, first = Tally(), 0
    for some in texts_of(shard, work.plan.named_of(source), tally):
        for row, text in enumerate(some.texts, first):
            wanted = [each for each in counts if each.wants(row)]
            found = phrases_in(text) if wanted else set()
            for each in wanted:
                each.add(row, found)
        first += len(some.texts)
    if tally.digest.hexdigest() != shard_info(work, source, index).digest:
        raise InputError(
            f"The shard {shard} is not the one that was encoded",
            allowed="the same usable rows in the same order",
            todo="Put back the file that was there, then start again: finished tasks are kept",
        )
    arrays = {name: own for each in counts for name, own in each.arrays()}
    work.finish(counted_path(work, source, index), arrays=arrays)


def _candidates_of(work: Work, source: str) -> tuple[str, ...]:
    """The candidates in whose clusters texts of a side are counted."""
    return work.plan.candidates if source == HUMAN else (source,)


class _Counts:
    """Counts of one shard in the clusters of one candidate, one cluster's phrases after the other's."""

    def __init__(self, work: Work, candidate: str, source: str, index: int) -> None:
        chosen = work.arrays(chosen_path(work, candidate), "k", "seed", "clusters")
        labels = work.array(labels_path(work, candidate, source, index))[int(chosen["seed"])]
        self._places = place_of_clusters(chosen)[labels]
        phrases = proposed(work, candidate)
        starts = accumulate(map(len, phrases), initial=0)
        self._columns = [
            {phrase: column for column, phrase in enumerate(own, start)}
            for own, start in zip(phrases, starts, strict=False)
        ]
        self._name = _name(work, candidate)
        self._texts = np.zeros(sum(map(len, phrases)), dtype=np.int64)

    def wants(self, row: int) -> bool:
        """Whether a text of the shard is in one of the clusters; a row that was not encoded is in none."""
        return row < len(self._places) and bool(self._places[row] >= 0)

    def add(self, row: int, phrases: set[str]) -> None:
        columns = self._columns[self._places[row]]
        for phrase in phrases & columns.keys():
            self._texts[columns[phrase]] += 1

    def arrays(self) -> Iterator[tuple[str, NDArray[np.integer]]]:
        """What is stored: a shard has few of all phrases."""
        columns = np.flatnonzero(self._texts)
        yield f"{self._name}_columns", columns.astype(np.int32)
        yield f"{self._name}_texts", self._texts[columns].astype(np.int32)


def _name(work: Work, candidate: str) -> str:
    return f"candidate_{work.number(candidate)}"


def total_path(work: Work, candidate: str) -> Path:
    """Where the counts of all shards are."""
    return partition_path(work, candidate, "phrases.json")


def add_up(work: Work) -> None:
    """Write the sums over all shards of both sides, for all candidates; one shard is read at a time."""
    totals = {
        candidate: np.zeros((2, sum(map(len, proposed(work, candidate)))), dtype=np.int64)
        for candidate in work.plan.candidates
    }
    for source in work.plan.sources:
        for index in filled(work, source):
            stored = work.arrays(counted_path(work, source, index))
            for candidate in _candidates_of(work, source):
                columns, texts = (stored[f"{_name(work, candidate)}_{what}"] for what in ("columns", "texts"))
                totals[candidate][int(source != HUMAN), columns] += texts
    for candidate, texts in totals.items():
        work.finish(total_path(work, candidate), arrays={"texts": texts})


def counted(work: Work, candidate: str) -> list[tuple[list[str], NDArray[np.int64]]]:
    """For each chosen cluster, its phrases, and (2, m) texts of either side that have them."""
    phrases, texts = proposed(work, candidate), work.arrays(total_path(work, candidate))["texts"]
    ends = np.cumsum([0, *map(len, phrases)]).tolist()
    return [(each, texts[:, first:end]) for each, (first, end) in zip(phrases, pairwise(ends), strict=True)]
