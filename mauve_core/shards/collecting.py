"""What of all texts is shown: the clusters that tell the sides apart most, their sizes, and some of their texts."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mauve_core.scoring.result import lower_median
from mauve_core.shards.cluster_texts import (
    MOST_CLUSTERS,
    NEAREST,
    RANDOM,
    KeptText,
    Rows,
    chosen_path,
    fetched_path,
    kept_path,
    picked_path,
    read_rows,
    write_rows,
)
from mauve_core.shards.clustering import centers_of, shards_of, sources_of
from mauve_core.shards.encoding import filled
from mauve_core.shards.passes import Passes
from mauve_core.shards.plan import Work, record_of
from mauve_core.shards.tasks import Task, remaining, shard_task
from mauve_core.shards.wording import (
    Prompted,
    add_up,
    counted,
    counted_folder,
    counted_path,
    propose,
    proposed_path,
    total_path,
)
from mauve_core.stats.divergences import integral_terms

_LAST_WORD = re.compile(r"[\w'’]+\Z")

_SIDES = ("human", "model")
_WAYS = {"nearest": NEAREST, "random": RANDOM}


class KeptSide(NamedTuple):
    """One side of a cluster.

    Attributes
    ----------
    n : int
        Texts of the side in the cluster.
    effect : float
        How many times as large the variance of its share is as if texts of one prompt were not alike; at least 1.
    nearest, random : tuple of KeptText
        The nearest to the center first, and texts in random order; none where shards hold features.
    """

    n: int
    effect: float
    nearest: tuple[KeptText, ...]
    random: tuple[KeptText, ...]


class KeptPhrases(NamedTuple):
    """Phrases that random texts of a cluster propose, and how many of all its texts have them.

    Attributes
    ----------
    phrases : list of str
        m phrases; none where texts or shards are missing.
    texts : (2, m) int64 array
        Texts of the human side and of the candidate.
    """

    phrases: list[str]
    texts: NDArray[np.int64]


class KeptCluster(NamedTuple):
    """A cluster of the partition under one seed, by its number, both of its sides, and their phrases."""

    number: int
    human: KeptSide
    model: KeptSide
    phrases: KeptPhrases


def choose(
    work: Work,
    candidate: str,
    iteration: int,
    p: NDArray[np.integer],
    q: NDArray[np.integer],
    mauve: Sequence[float],
) -> None:
    """Write which clusters have the largest terms of the frontier integral, under the seed that runs show.

    Parameters
    ----------
    iteration : int
        That of the centers to which rows were assigned.
    p, q : (s, G, k) int arrays
        Texts of either side by seed, group and cluster.
    mauve : sequence of float
        MAUVE under each seed.
    """
    seed = list(mauve).index(lower_median(mauve))
    sides = [np.asarray(side[seed], dtype=np.int64) for side in (p, q)]
    counts = np.stack([side.sum(axis=0) for side in sides])
    clusters = costliest(*counts)[:MOST_CLUSTERS]
    arrays = {
        "seed": seed,
        "k": counts.shape[1],
        "clusters": clusters,
        "counts": counts[:, clusters],
        "effects": np.stack([design_effects(side)[clusters] for side in sides]),
        "centers": centers_of(work, candidate, iteration)[seed, clusters],
    }
    work.finish(chosen_path(work, candidate), arrays=arrays)


def costliest(human: NDArray[np.int64], model: NDArray[np.int64]) -> NDArray[np.intp]:
    """Clusters whose shares differ, by their terms of the frontier integral, the largest first, ties by number."""
    terms = integral_terms(human / human.sum(), model / model.sum())
    return np.argsort(-terms, kind="stable")[: np.count_nonzero(terms)]


def design_effects(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """(k,) ratios of the variance of a cluster's share by groups of prompts to that of independent texts, from (G, k).

    The variance of a ratio of sums over groups (Cochran 1977, section 6.3); below 1, and where a cluster has all texts
    or none, it counts as 1.
    """
    sizes = counts.sum(axis=1)
    n, groups = sizes.sum(), np.count_nonzero(sizes)
    share = counts.sum(axis=0) / n
    spread = ((counts - sizes[:, np.newaxis] * share) ** 2).sum(axis=0) * groups / (groups - 1)
    alone = n * share * (1 - share)
    found: NDArray[np.float64] = np.maximum(np.divide(spread, alone, out=np.ones_like(share), where=alone > 0), 1.0)
    return found


def collect(work: Work, passes: Passes) -> None:
    """Read some texts of the chosen clusters of all candidates, and count their phrases in all; nothing where shards
    hold features.

    Raises
    ------
    InputError
        A shard has vanished, or is not the one that was encoded.
    """
    if work.plan.encoder is None:
        return
    for candidate in work.plan.candidates:
        passes.run("keep", _keep_tasks(work, candidate))
        _pick(work, candidate)
    passes.run("fetch", _fetch_tasks(work))
    work.fetched = True
    for candidate in work.plan.candidates:
        if not record_of(proposed_path(work, candidate)).exists():
            _, clusters = kept_clusters(work, candidate)
            propose(work, candidate, [[_prompted(side.random) for side in (one.human, one.model)] for one in clusters])
    if not all(total_path(work, candidate).exists() for candidate in work.plan.candidates):
        passes.run("count", _count_tasks(work))
        passes.here("count", lambda: add_up(work))
    shutil.rmtree(counted_folder(work), ignore_errors=True)


def _prompted(texts: Sequence[KeptText]) -> list[Prompted]:
    """Texts as they propose phrases: of one that was cut, without the piece of a word at its end."""
    return [(text.prompt or text.id, _LAST_WORD.sub("", text.text) if text.cut else text.text) for text in texts]


def _keep_tasks(work: Work, candidate: str) -> list[Task]:
    return [
        shard_task(work, "keep", (candidate, *shard), shard, kept_path(work, candidate, *shard))
        for shard in shards_of(work, candidate)
    ]


def _pick(work: Work, candidate: str) -> None:
    """Write the first rows of each cluster over all shards; one shard is read at a time."""
    picked = {}
    for side, source in zip(_SIDES, sources_of(work, candidate), strict=True):
        for way, most in _WAYS.items():
            rows = Rows.none()
            for index in filled(work, source):
                more = read_rows(work, kept_path(work, candidate, source, index), way)
                rows = rows.with_more(more, most, nearest=way == "nearest")
            picked[f"{side}_{way}"] = rows
    write_rows(work, picked_path(work, candidate), **picked)


def _picked(work: Work, source: str) -> Iterator[Rows]:
    """The rows of a side that any candidate's clusters ask for."""
    for candidate in work.plan.candidates:
        for side, own in zip(_SIDES, sources_of(work, candidate), strict=True):
            if own == source:
                yield from (read_rows(work, picked_path(work, candidate), f"{side}_{way}") for way in _WAYS)


def _fetch_tasks(work: Work) -> list[Task]:
    tasks = []
    for source in work.plan.sources:
        asked = list(_picked(work, source))
        shards, rows = (np.concatenate(parts) for parts in zip(*((one.shard, one.row) for one in asked), strict=True))
        for index in np.unique(shards).tolist():
            wanted = tuple(np.unique(rows[shards == index]).tolist())
            path = fetched_path(work, source, index)
            tasks.append(shard_task(work, "fetch", (source, index, wanted), (source, index), path))
    return tasks


def _count_tasks(work: Work) -> list[Task]:
    shards = [(source, index) for source in work.plan.sources for index in filled(work, source)]
    return [shard_task(work, "count", shard, shard, counted_path(work, *shard)) for shard in shards]


def kept_clusters(work: Work, candidate: str) -> tuple[int, tuple[KeptCluster, ...]]:
    """The index of the seed whose clusters are shown, and those that tell the sides apart most, the first one most.

    Call it after :func:`mauve_core.shards.compare.compare_shards`. If that could not read all texts, there are none;
    if it could not count in all shards, there are no phrases.
    """
    chosen, fetched = work.arrays(chosen_path(work, candidate)), _are_fetched(work)
    sides = [
        _sides(work, candidate, side, source, chosen["counts"][which], chosen["effects"][which], fetched=fetched)
        for which, (side, source) in enumerate(zip(_SIDES, sources_of(work, candidate), strict=True))
    ]
    clusters = zip(chosen["clusters"].tolist(), *sides, _phrases(work, candidate, len(sides[0])), strict=True)
    return int(chosen["seed"]), tuple(KeptCluster(*each) for each in clusters)


def _sides(
    work: Work,
    candidate: str,
    side: str,
    source: str,
    counts: NDArray[np.int64],
    effects: NDArray[np.float64],
    *,
    fetched: bool,
) -> list[KeptSide]:
    """One side of each chosen cluster, with texts if they are fetched."""
    texts: dict[str, list[list[KeptText]]] = {way: [[] for _ in counts] for way in _WAYS}
    if fetched:
        for way, found in texts.items():
            rows = read_rows(work, picked_path(work, candidate), f"{side}_{way}")
            kept = {index: _fetched(work, source, index) for index in np.unique(rows.shard).tolist()}
            for place, index, row in zip(rows.place.tolist(), rows.shard.tolist(), rows.row.tolist(), strict=True):
                found[place].append(kept[index][row])
    return [
        KeptSide(n, effect, tuple(nearest), tuple(random))
        for n, effect, nearest, random in zip(
            counts.tolist(), effects.tolist(), texts["nearest"], texts["random"], strict=True
        )
    ]


def _phrases(work: Work, candidate: str, clusters: int) -> list[KeptPhrases]:
    """The counted phrases of each chosen cluster."""
    if work.plan.encoder is None or not total_path(work, candidate).exists():
        return [KeptPhrases([], np.zeros((2, 0), dtype=np.int64))] * clusters
    return [KeptPhrases(*each) for each in counted(work, candidate)]


def _are_fetched(work: Work) -> bool:
    if work.fetched:  # the disk need not be asked of every shard again
        return True
    if work.plan.encoder is None or not all(picked_path(work, each).exists() for each in work.plan.candidates):
        return False
    return not remaining(_fetch_tasks(work))


def _fetched(work: Work, source: str, index: int) -> dict[int, KeptText]:
    return {row: KeptText(*values) for row, *values in work.lines(fetched_path(work, source, index))}
