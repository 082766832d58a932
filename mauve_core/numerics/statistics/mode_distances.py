"""Distances between answers of unit length, within prompts and between them, and the gap that they have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.statistics.mode_count import ModeCount, count_modes, group
from mauve_core.numerics.statistics.mode_gap import IDENTICAL, Gap, find_gap

# Pairs of answers to different prompts that are drawn from each writer.
PAIRS = 20_000


def unit_answers(x: ArrayLike) -> NDArray[np.float64]:
    """Scale the features of answers to unit length.

    Parameters
    ----------
    x : (g, m, d) array
        Of the m answers to each of g prompts.

    Raises
    ------
    InputError
        The array has another shape, numbers are not finite, or a row is all 0.
    """
    array = np.asarray(x)
    if array.ndim != 3 or 0 in array.shape:
        raise InputError(
            "The features of answers are not usable",
            allowed="shape (g, m, d): prompts, answers, dimensions",
            received=f"shape {array.shape}",
        )
    rows = _checks.features(array.reshape(-1, array.shape[2])).astype(np.float64)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    if not largest.all():
        raise InputError("A row of the features is all 0, so it has no direction", todo="Leave the text out")
    rows /= largest  # the squares of tiny numbers would vanish
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.reshape(array.shape)


def distances_within(answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """(g, m, m) Euclidean distances of unit rows between the answers to each prompt; twice the cosine distance is the
    square."""
    products = answers @ answers.transpose(0, 2, 1)
    found: NDArray[np.float64] = np.sqrt(np.clip(2 - 2 * products, 0, None))
    found[:, np.arange(answers.shape[1]), np.arange(answers.shape[1])] = 0
    return found


def distances_between(
    answers: NDArray[np.float64], pairs: int = PAIRS, seed: int | SeedSequence = 0
) -> NDArray[np.float64]:
    """(pairs,) distances of random answers to different prompts; none of a single prompt."""
    g, m, _ = answers.shape
    if g < 2:
        return np.zeros(0)
    rng = np.random.default_rng(_checks.seed_sequence(seed))
    first = rng.integers(g, size=pairs)
    other = (first + rng.integers(1, g, size=pairs)) % g
    rows, columns = np.stack([first, other]), rng.integers(m, size=(2, pairs))
    found = [
        np.einsum("nd,nd->n", answers[rows[0, each], columns[0, each]], answers[rows[1, each], columns[1, each]])
        for each in _checks.row_blocks(pairs)
    ]
    distances: NDArray[np.float64] = np.sqrt(np.clip(2 - 2 * np.concatenate(found), 0, None))
    return distances


def gap_between_modes(writers: Sequence[NDArray[np.float64]], seed: int | SeedSequence = 0) -> Gap | None:
    """Find the gap in the distances of all writers together, so that one threshold serves them all.

    Parameters
    ----------
    writers : sequence of (g, m, d) arrays
        Unit rows of each writer's answers; g and m may differ.
    seed : int or SeedSequence
        Of the pairs of answers to different prompts.
    """
    seeds = _checks.seed_sequence(seed).spawn(len(writers))
    within = [_pairs(distances_within(each)) for each in writers if each.shape[1] > 1]
    between = [distances_between(each, seed=own) for each, own in zip(writers, seeds, strict=True)]
    varied = [each for each in within if (each > IDENTICAL).any()]
    return find_gap(np.concatenate([np.zeros(0), *varied]), np.concatenate([np.zeros(0), *between]))


def modes_per_prompt(answers: NDArray[np.float64], gap: Gap | None, seed: int | SeedSequence = 0) -> ModeCount | None:
    """Count the modes of a writer's answers; None if modes are not separate and its answers not identical.

    Parameters
    ----------
    answers : (g, m, d) array
        Unit rows, m at least 2.
    gap : Gap or None
        From :func:`gap_between_modes`.
    seed : int or SeedSequence
        Of the interval.
    """
    distances = distances_within(answers)
    if gap is None and (distances > IDENTICAL).any():
        return None
    return count_modes(group(distances, IDENTICAL if gap is None else gap.threshold), seed)


def _pairs(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """All distances of two different answers, in one row."""
    rows, columns = np.triu_indices(distances.shape[1], 1)
    found: NDArray[np.float64] = distances[:, rows, columns].ravel()
    return found
