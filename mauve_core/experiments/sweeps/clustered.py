"""Sweep axes that need new clusters: the number of clusters, texts per side, and tokens per text.

Each uses the pairwise partition (P with one Q) and the run's own random streams, so a point at the run's own setting
has the run's own clusters. NeurIPS 2021, figure 4 and appendix, figures 7 and 8 (left); JMLR 2023, figure 8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.experiments.prefixes import RunPrefixes
from mauve_core.experiments.sweeps.request import Collector, Request, Swept, halved, whole_values
from mauve_core.runs.features import stored_features
from mauve_core.scoring.partitioning import MIN_TEXTS, clustering_seeds, partition, partitions, reduced_together
from mauve_core.scoring.sides import FEW_PER_CLUSTER
from mauve_core.scoring.streams import stream
from mauve_core.stats.units import together
from mauve_core.texts.kinds import require_words
from mauve_core.texts.pairing import units_to_draw

# Default values of an axis.
MOST_POINTS = 6

# Smallest default values of clusters and tokens.
FEWEST_CLUSTERS, SHORTEST = 8, 8

# Features of each source.
Sides = Mapping[str, NDArray[np.float32]]


def usual_ks(request: Request) -> tuple[int, ...]:
    """Default numbers of clusters, including the run's own."""
    return _beside(halved(request.fewest // 2, FEWEST_CLUSTERS, MOST_POINTS), _own_ks(request))


def usual_ns(request: Request) -> tuple[int, ...]:
    """Default numbers of texts per side."""
    return halved(request.fewest, _least_texts(request), MOST_POINTS)


def usual_lengths(longest: int) -> tuple[int, ...]:
    """Default numbers of tokens per text, if the longest text has ``longest``."""
    return halved(longest, SHORTEST, MOST_POINTS)


def over_k(request: Request) -> Swept:
    """Sweep the number of clusters; each pair of sides is projected once and clustered at every k."""
    fewest, score, features = request.fewest, request.score, stored_features(request.run, request.feature_store)
    ks = whole_values("The number of clusters", _values(request, usual_ks(request)), 2, fewest)
    collector = Collector(request, ks)
    for name, seeds in _candidates(request):
        pair = _pair(features, name)
        reduced, sizes = reduced_together(pair, score), {side: len(array) for side, array in pair.items()}
        for k in (k for k in ks if collector.missing(k, name)):
            with collector.point(k, name) as parts:
                for index, seed in enumerate(seeds):
                    at_k = replace(score, k=k)
                    parts.append(partition("pairwise", reduced, sizes, seed_index=index, seed=seed, score=at_k))
                    collector.advance()
    thin = ", ".join(str(k) for k in ks if fewest < FEW_PER_CLUSTER * k)
    return collector.finished(
        [
            f"The run's own k is {', '.join(map(str, _own_ks(request)))}.",
            f"At k = {thin}, a cluster has fewer than {FEW_PER_CLUSTER} texts per side: mostly noise." if thin else "",
        ]
    )


def over_n(request: Request) -> Swept:
    """Sweep the texts per side, drawn by each seed without replacement; smaller sets are subsets of larger ones.

    For one seed, all candidates use the same human texts. A candidate with the same prompts follows them.
    """
    fewest, score, features = request.fewest, request.score, stored_features(request.run, request.feature_store)
    ns = whole_values(
        "The number of texts per side", _values(request, usual_ns(request)), _least_texts(request), fewest
    )
    collector = Collector(request, ns)
    orders = drawing_orders(request)
    for name, seeds in _candidates(request):
        pair = _pair(features, name)
        for n in (n for n in ns if collector.missing(n, name)):
            with collector.point(n, name) as parts:
                if all(len(array) == n for array in pair.values()):
                    parts += partitions("pairwise", pair, seeds, score, collector.advance)
                    continue
                for index, seed in enumerate(seeds):
                    drawn = {side: array[np.sort(orders[side][index][:n])] for side, array in pair.items()}
                    reduced, sizes = reduced_together(drawn, score), dict.fromkeys(drawn, n)
                    parts.append(partition("pairwise", reduced, sizes, seed_index=index, seed=seed, score=score))
                    collector.advance()
    all_equal = {source.n for source in request.run.comparison.sources} == {fewest}
    return collector.finished(
        [
            "Each seed draws its own texts, so the spread includes the choice of texts besides the k-means starts; "
            + (
                f"at n = {fewest}, nothing is drawn."
                if all_equal
                else "the sides differ in size, so texts are drawn at every n."
            ),
            f"k is {score.k} at every n."
            if score.k
            else "k follows n: a tenth of the texts per side, from 2 to 5,000.",
            "Fewer texts flatter a candidate: compare only points of equal n.",
        ]
    )


def over_length(request: Request) -> Swept:
    """Sweep the tokens per text on both sides; longer texts are truncated at the end, shorter ones stay whole."""
    require_words(request.run.comparison.human.kind, "The sweep over length")
    prefixes = RunPrefixes(request.run, request.feature_store, request.device, request.progress)
    values = _values(request, usual_lengths(prefixes.longest))
    lengths = whole_values("The length of the texts", values, 1, prefixes.longest)
    features = {name: prefixes.features(name, lengths) for name in request.run.corpora}
    collector = Collector(request, lengths)
    for name, seeds in _candidates(request):
        for length in (length for length in lengths if collector.missing(length, name)):
            with collector.point(length, name) as parts:
                pair = _pair({side: arrays[length] for side, arrays in features.items()}, name)
                parts += partitions("pairwise", pair, seeds, request.score, collector.advance)
    return collector.finished(prefixes.notes(lengths))


def drawing_orders(request: Request) -> dict[str, list[NDArray[np.int64]]]:
    """The order in which each source's texts are drawn, (n,) rows per source and seed: unit by unit.

    The human order depends only on the seed. A candidate whose units are human ones, too, such as prompts, follows it;
    any other has its own order.
    """
    orders: dict[str, list[NDArray[np.int64]]] = {name: [] for name in (HUMAN, *request.names)}
    corpora = request.run.corpora
    human = units_to_draw({HUMAN: corpora[HUMAN]})[HUMAN]
    units = {name: units_to_draw({HUMAN: corpora[HUMAN], name: corpora[name]}) for name in request.names}
    for seed in stream(request.score.seed, "subsets").spawn(request.score.seeds):
        of_human, of_others = seed.spawn(2)
        first = together(np.random.default_rng(of_human).permutation(len(human)), human)
        orders[HUMAN].append(first)
        for name, both in units.items():
            own = together(np.random.default_rng(of_others).permutation(len(corpora[name])), both[name])
            if np.isin(both[name], both[HUMAN]).all():
                known, place = np.unique(both[HUMAN][first], return_index=True)
                own = own[np.argsort(place[np.searchsorted(known, both[name][own])], kind="stable")]
            orders[name].append(own)
    return orders


def _own_ks(request: Request) -> list[int]:
    return sorted({candidate.partitions[0].k for candidate in request.run.comparison.candidates})


def _least_texts(request: Request) -> int:
    return max(MIN_TEXTS, request.score.k or 0)


def _values(request: Request, default: Sequence[int]) -> Sequence[float]:
    return default if request.values is None else request.values


def _candidates(request: Request) -> list[tuple[str, list[SeedSequence]]]:
    """Each candidate with the k-means seeds of its pairwise partitions, starting with the run's own."""
    seeds = clustering_seeds(request.score)["pairwise"]
    return [(name, seeds) for name in request.names]


def _pair(features: Sides, name: str) -> dict[str, NDArray[np.float32]]:
    return {HUMAN: features[HUMAN], name: features[name]}


def _beside(values: Sequence[int], own: Sequence[int]) -> tuple[int, ...]:
    """``values`` plus ``own``; each added value replaces the nearest one by ratio, but never the largest."""
    grid = set(values)
    for value in own:
        inner = sorted(grid - {max(values), *own})
        if value not in grid and inner:
            grid.remove(min(inner, key=lambda other: abs(math.log(other / value))))
        grid.add(value)
    return tuple(sorted(grid))
