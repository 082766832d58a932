"""The data of the map: places, sources and clusters of all texts; which of them to draw, and their looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.words import TEXTS, Words
from mauve_core.figures.theme import HUMAN_COLOUR, candidate_style, candidate_styles

MOST_POINTS = 25_000
# The limit without WebGL, where each point is an SVG element.
PLAIN_POINTS = 4_000


@dataclass(frozen=True)
class Points:
    """The data of the map.

    Attributes
    ----------
    xy : (n, 2) float32 array
        Positions of all texts, stacked.
    source : (n,) int array
        Index of each text's source in ``names``; 0 is the human side.
    cluster : (n,) int array
        Cluster of each text, -1 if the partition excludes its source.
    log2_ratio : (k,) float array
        log2 of human over candidate share of each cluster.
    cost : (k,) float array
        Each cluster's share of the frontier integral, negative where the model misses texts.
    cluster_names : tuple of str
        Name of each cluster, by number; untrusted. Empty: clusters have numbers only.
    words : Words
        What the items are called.
    """

    xy: NDArray[np.float32]
    source: NDArray[np.int16]
    names: tuple[str, ...]
    cluster: NDArray[np.int32]
    log2_ratio: NDArray[np.float64]
    cost: NDArray[np.float64]
    cluster_names: tuple[str, ...] = ()
    words: Words = TEXTS


def stratified_sample(
    source: NDArray[np.int16], visible: NDArray[np.bool_], most: int = MOST_POINTS
) -> NDArray[np.intp]:
    """Indices of the texts to draw: all visible ones, or ``most`` of them in proportion to the sources.

    The choice is deterministic; each source with a visible text keeps at least one.
    """
    shown = np.flatnonzero(visible)
    if shown.size <= most:
        return shown
    rng = np.random.default_rng(0)
    parts = []
    for index in np.unique(source[shown]):
        members = shown[source[shown] == index]
        size = max(1, int(members.size * most / shown.size))
        parts.append(rng.choice(members, size, replace=False))
    return np.sort(np.concatenate(parts))


def span(xy: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(2,) lowest and highest coordinates of the figure: those of the texts, with a margin."""
    low, high = xy.min(axis=0).astype(np.float64), xy.max(axis=0).astype(np.float64)
    margin = 0.04 * np.maximum(high - low, 1e-6)
    return low - margin, high + margin


def colour_of(names: Sequence[str], index: int) -> str:
    """Color of the source at that index of all names: blue for the human side, the usual ones for candidates."""
    return HUMAN_COLOUR if index == 0 else candidate_styles(names[1:])[names[index]].colour


def symbol_of(names: Sequence[str], index: int) -> str:
    """Marker of the source at that index: a dot, or another shape each time its color repeats."""
    colours = [colour_of(names, place) for place in range(index + 1)]
    return candidate_style(colours.count(colours[index]) - 1).symbol
