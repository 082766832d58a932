"""Further texts of a cluster over all texts, read from their shards when someone asks for them.

A run keeps the first random texts of each side of a cluster. What follows them in the same order is found by the labels
and numbers of all rows, which stay in the work folder, and read from the shards that hold it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError, MauveLensError, words_of
from mauve_core.shards.clustering import labels_path
from mauve_core.shards.collecting import KeptText
from mauve_core.shards.encoding import ROWS_AT_ONCE, filled
from mauve_core.shards.keepsakes import Rows, chosen_path, cut, numbering, texts_again
from mauve_core.shards.plan import Work


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
    """Read which clusters are shown; InputError if the work folder is damaged."""
    with _whole(work):
        stored = work.arrays(chosen_path(work, candidate))
        clusters = zip(stored["clusters"].tolist(), *stored["counts"].tolist(), strict=True)
        return Chosen(int(stored["seed"]), int(stored["k"]), tuple(clusters))


def rows_of_cluster(work: Work, candidate: str, source: str, cluster: int, most: int) -> Rows:
    """The first ``most`` rows of a side of a cluster, in the order of the random ones that a run keeps.

    One shard is looked at after another, so memory grows with the rows of a shard and with ``most`` alone.

    Raises
    ------
    InputError
        The work folder is damaged or not complete.
    """
    rows = Rows.none()
    with _whole(work):
        seed = int(work.arrays(chosen_path(work, candidate))["seed"])
        for index in filled(work, source):
            labels = np.load(labels_path(work, candidate, source, index), mmap_mode="r")[seed]
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
        A shard has vanished or is not the one that was encoded, or the work folder is damaged or not complete.
    """
    found: dict[tuple[int, int], KeptText] = {}
    for index in np.unique(rows.shard).tolist():
        wanted = np.sort(rows.row[rows.shard == index]).tolist()
        with _whole(work):
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


@contextmanager
def _whole(work: Work) -> Iterator[None]:
    """Turn what a missing or damaged file of the work folder raises into an InputError."""
    try:
        yield
    except MauveLensError:
        raise
    except (FileNotFoundError, EOFError, ValueError, KeyError, IndexError, TypeError, BadZipFile) as error:
        raise InputError(
            f"The work folder {work.folder} is damaged or not complete: {words_of(error)}",
            todo="Remove what is damaged, then repeat the command of the comparison: what is there is not done again",
        ) from error
    except OSError as error:
        raise InputError(f"The work folder {work.folder} cannot be read: {words_of(error)}") from error
