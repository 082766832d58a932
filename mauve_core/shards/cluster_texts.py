"""Texts of clusters, from all shards: the nearest to the center, random ones, more of these if asked, and phrases.

A cluster is chosen by the driver (:mod:`mauve_core.shards.comparison`). Each shard then names its own first rows of it:
by their distance to the center, and by a number that depends on what a row is, so that the random rows of all shards
together are the same however texts are divided. Of rows with equal numbers, such as equal texts without ids and
prompts, one is kept. A run keeps the first random texts of each side of a cluster; those that follow in the same order
are found by the labels and numbers of all rows, which stay in the work folder.

The random texts of a cluster propose phrases, and all of its texts are counted: what a side uses often is in its random
texts; what is in one of these alone is not proposed. The counts are whole numbers of whole texts, so they are exact,
and do not depend on how texts are divided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.shards.clustering import coordinates_path, labels_path, partition_path
from mauve_core.shards.encoding import ROWS_AT_ONCE, drawing, filled, mixed, shard_info
from mauve_core.shards.places import require_unchanged
from mauve_core.shards.plan import Work
from mauve_core.shards.texts import OneText, Tally, digests_of, texts_at, texts_of
from mauve_core.texts.properties import phrases_in

MOST_CLUSTERS = 30

# Texts of a cluster and side that are kept.
NEAREST, RANDOM = 5, 200

# Of a text or prompt; what has more is cut.
MOST_CHARACTERS = 2000


@dataclass(frozen=True)
class KeptText:
    """A text of a cluster.

    Attributes
    ----------
    id : str
    prompt : str or None
    text : str
    cut : bool
        Whether the text goes on.
    """

    id: str
    prompt: str | None
    text: str
    cut: bool


class Rows(NamedTuple):
    """Rows of clusters, by cluster and then in the order in which they are taken; (m,) arrays.

    Attributes
    ----------
    place : int64
        Place of the cluster among those chosen.
    distance : float64
        Squared, to the cluster's center.
    number : uint64
        What decides whether a row is among the random ones.
    shard, row : int64
        Where it is, the row among the usable ones of its shard.
    """

    place: NDArray[np.int64]
    distance: NDArray[np.float64]
    number: NDArray[np.uint64]
    shard: NDArray[np.int64]
    row: NDArray[np.int64]

    @classmethod
    def none(cls) -> Rows:
        """No rows."""
        whole = np.zeros(0, dtype=np.int64)
        return cls(whole, np.zeros(0), np.zeros(0, dtype=np.uint64), whole, whole)

    def at(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> Rows:
        """Some of them."""
        return Rows(**{name: getattr(self, name)[which] for name in self._fields})

    def with_more(self, more: Rows, most: int, *, nearest: bool) -> Rows:
        """The first ``most`` rows of each cluster, of these and more; the result does not depend on who came first."""
        rows = Rows(**{name: np.concatenate([getattr(part, name) for part in (self, more)]) for name in self._fields})
        keys = (rows.row, rows.shard, rows.number, *((rows.distance,) if nearest else ()), rows.place)
        rows = rows.at(np.lexsort(keys))
        rows = rows.at(_first_of_equals(rows))
        before = np.searchsorted(rows.place, rows.place, "left")
        return rows.at(np.arange(len(rows.place)) - before < most)


def _first_of_equals(rows: Rows) -> NDArray[np.bool_]:
    """Whether no row before it, in the order that they have, is of the same cluster and has the same number."""
    order = np.lexsort((rows.number, rows.place))
    place, number = rows.place[order], rows.number[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[order[1:][(place[1:] == place[:-1]) & (number[1:] == number[:-1])]] = False
    return first


def chosen_path(work: Work, candidate: str) -> Path:
    """Where the chosen clusters of a pair are."""
    return partition_path(work, candidate, "chosen.json")


def kept_path(work: Work, candidate: str, source: str, index: int) -> Path:
    """Where the first rows of the chosen clusters in a shard are."""
    return partition_path(work, candidate, "kept", work.number(source), index).with_suffix(".json")


def picked_path(work: Work, candidate: str) -> Path:
    """Where the first rows of the chosen clusters in all shards are."""
    return partition_path(work, candidate, "picked.json")


def fetched_path(work: Work, source: str, index: int) -> Path:
    """Where the texts of a shard are that any candidate's clusters ask for."""
    return work.path("fetched", work.number(source), index).with_suffix(".jsonl")


def place_of_clusters(chosen: Mapping[str, Any]) -> NDArray[np.int64]:
    """(k,) places of all clusters among the chosen ones; -1 for others."""
    found = np.full(int(chosen["k"]), -1, dtype=np.int64)
    found[chosen["clusters"]] = np.arange(len(chosen["clusters"]))
    return found


def keep_rows(work: Work, candidate: str, source: str, index: int) -> None:
    """Write the first rows of each chosen cluster in a shard, for both ways to take them."""
    chosen = work.arrays(chosen_path(work, candidate))
    place_of = place_of_clusters(chosen)
    numbers_of = numbering(work, source, index)
    labels = work.array(labels_path(work, candidate, source, index))[int(chosen["seed"])]
    table = work.array(coordinates_path(work, candidate, source, index))
    nearest = random = Rows.none()
    for start in range(0, len(table), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        places = place_of[labels[part]]
        rows = np.flatnonzero(places >= 0)
        place, own = places[rows], start + rows
        away = np.asarray(table[part])[rows] - chosen["centers"][place]
        found = Rows(
            place,
            np.einsum("ij,ij->i", away, away),
            numbers_of(own),
            np.full(len(own), index, dtype=np.int64),
            own,
        )
        nearest = nearest.with_more(found, NEAREST, nearest=True)
        random = random.with_more(found, RANDOM, nearest=False)
    write_rows(work, kept_path(work, candidate, source, index), nearest=nearest, random=random)


def numbering(work: Work, source: str, index: int) -> Callable[[NDArray[np.intp]], NDArray[np.uint64]]:
    """What gives rows of a shard the numbers that decide which of them are among the random ones: the lowest are."""
    groups, order = drawing(work, source, index)
    seed = mixed(np.array([work.plan.score.seed], dtype=np.uint64))
    return lambda rows: mixed(order[rows] ^ mixed(groups[rows] ^ seed))


def write_rows(work: Work, path: Path, **kept: Rows) -> None:
    """Write rows by name."""
    arrays = {f"{name}_{field}": each for name, rows in kept.items() for field, each in rows._asdict().items()}
    work.finish(path, arrays=arrays)


def read_rows(work: Work, path: Path, name: str) -> Rows:
    """Read rows by name."""
    stored = work.arrays(path, *(f"{name}_{field}" for field in Rows._fields))
    return Rows(**{field: stored[f"{name}_{field}"] for field in Rows._fields})


def fetch_texts(work: Work, source: str, index: int, rows: Sequence[int]) -> None:
    """Read these rows of a shard again, and write their texts, one JSON array a line; raises as :func:`texts_again`."""
    found, path = texts_again(work, source, index, rows), fetched_path(work, source, index)
    work.write_lines(path, ([row, *cut(text)] for row, text in zip(rows, found, strict=True)))
    work.finish(path, ".jsonl")


def texts_again(work: Work, source: str, index: int, rows: Sequence[int]) -> list[OneText]:
    """Read these rows of a shard, ascending, once more.

    Raises
    ------
    InputError
        The shard has vanished or is not the one that was encoded.
    """
    shard, info = work.plan.sides[source][index], shard_info(work, source, index)
    require_unchanged(shard, work.plan.stamps)
    _, order = drawing(work, source, index)
    found = texts_at(shard, work.plan.named_of(source), rows, complete=not info.left_out)
    if sorted(found) != list(rows) or (digests_of(tuple(found[row].id for row in rows)) != order[list(rows)]).any():
        raise InputError(
            f"The shard {shard} is not the one that was encoded",
            allowed=f"{info.n:,} usable rows with the same ids in the same order",
            todo="Put back the file that was there, then start again: finished tasks are kept",
        )
    return [found[row] for row in rows]


def cut(text: OneText) -> tuple[str, str | None, str, bool]:
    """Id, prompt and text, each of at most ``MOST_CHARACTERS``, and whether the text goes on."""
    shown = None if text.prompt is None else text.prompt[:MOST_CHARACTERS]
    return text.id[:MOST_CHARACTERS], shown, text.text[:MOST_CHARACTERS], len(text.text) > MOST_CHARACTERS


class Chosen(NamedTuple):
    """The clusters of a candidate that a work folder says are shown.

    Attributes
    ----------
    seed : int
        Index of the k-means seed.
    k : int
        Clusters under it.
    clusters : tuple of (int, int, int)
        Number, human texts and the candidate's texts; the largest term of the frontier integral first.
    """

    seed: int
    k: int
    clusters: tuple[tuple[int, int, int], ...]


def chosen_clusters(work: Work, candidate: str) -> Chosen:
    """Read which clusters are shown; DamagedError if the work folder is damaged or not complete."""
    stored = work.arrays(chosen_path(work, candidate))
    clusters = zip(stored["clusters"].tolist(), *stored["counts"].tolist(), strict=True)
    return Chosen(int(stored["seed"]), int(stored["k"]), tuple(clusters))


def rows_of_cluster(work: Work, candidate: str, source: str, cluster: int, most: int) -> Rows:
    """The first ``most`` rows of a side of a cluster, in the order of the random ones that a run keeps.

    One shard is looked at after another, so memory grows with the rows of a shard and with ``most`` alone.

    Raises
    ------
    DamagedError
        The work folder is damaged or not complete.
    """
    rows = Rows.none()
    seed = int(work.arrays(chosen_path(work, candidate))["seed"])
    for index in filled(work, source):
        labels = work.array(labels_path(work, candidate, source, index))[seed]
        numbers_of = numbering(work, source, index)
        for start in range(0, len(labels), ROWS_AT_ONCE):
            own = start + np.flatnonzero(labels[start : start + ROWS_AT_ONCE] == cluster)
            rows = rows.with_more(_found(index, own, numbers_of(own)), most, nearest=False)
    return rows


def _found(index: int, rows: NDArray[np.intp], numbers: NDArray[np.uint64]) -> Rows:
    """Rows of one cluster in a shard, whose distances to the center do not matter."""
    zeros = np.zeros(len(rows), dtype=np.int64)
    return Rows(zeros, np.zeros(len(rows)), numbers, zeros + index, rows.astype(np.int64))


def texts_of_rows(work: Work, source: str, rows: Rows) -> tuple[KeptText, ...]:
    """Read the texts of rows of a side from their shards, in the order of the rows.

    Raises
    ------
    InputError
        A shard has vanished or is not the one that was encoded.
    DamagedError
        The work folder is damaged or not complete.
    """
    found: dict[tuple[int, int], KeptText] = {}
    for index in np.unique(rows.shard).tolist():
        wanted = np.sort(rows.row[rows.shard == index]).tolist()
        texts = texts_again(work, source, index, wanted)
        found |= {(index, row): KeptText(*cut(text)) for row, text in zip(wanted, texts, strict=True)}
    return tuple(found[place] for place in zip(rows.shard.tolist(), rows.row.tolist(), strict=True))


def texts_of_cluster(
    work: Work, candidate: str, source: str, cluster: int, first: int, count: int
) -> tuple[KeptText, ...]:
    """The texts of a side of a cluster from place ``first`` of the random order on: ``count``, or as many as there are.

    Places from 0 on hold the texts that a run keeps; equal texts without ids stand there once. Raises as
    :func:`rows_of_cluster` and :func:`texts_of_rows`.
    """
    rows = rows_of_cluster(work, candidate, source, cluster, first + count)
    return texts_of_rows(work, source, rows.at(np.arange(first, min(first + count, len(rows.place)))))


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
