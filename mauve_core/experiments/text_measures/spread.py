"""Spread of every measure: a delete-a-group jackknife over texts.

A text's group depends only on its unit (:mod:`mauve_core.stats.units`): all texts of a prompt are in the
same group on both sides, and shared prompt effects cancel in the gap T(Q) - T(P).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mauve_core.experiments.text_measures.base import NotDefinedError, Rows, Terms, Value
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.stats.resampling import jackknife_sd, t_interval
from mauve_core.stats.units import too_few

GROUPS = 20
CONFIDENCE = 0.95
# Minimum number of texts for a spread: two per group on average.
MIN_TEXTS = 40

TOO_FEW = f"no spread: fewer than {MIN_TEXTS} texts"
ALL_EQUAL = "no spread: leaving out any group changes nothing"
NOT_WITHOUT = "no spread: without some group of texts there is no value"

# For each group, the rows kept when it is left out; None if the group has no text on this side.
JackknifeRows = list[Rows]


@dataclass(frozen=True, eq=False)
class Groups:
    """The texts of one side in groups.

    Attributes
    ----------
    sizes : (GROUPS,) int64 array
    jackknife_rows : list of (m,) int64 arrays or None
        Rows left without each group.
    too_few : str
        Why units support no spread; empty if they do.
    """

    sizes: NDArray[np.int64]
    jackknife_rows: JackknifeRows
    too_few: str = ""

    @property
    def n(self) -> int:
        return int(self.sizes.sum())


@dataclass(frozen=True, eq=False)
class Replicates:
    """T of all texts, and T without each group; ``left_out`` is None if unavailable, with the reason in ``problem``.

    Of several generations, both are means, and ``generations`` has T of each.
    """

    estimate: float
    left_out: NDArray[np.float64] | None
    problem: str = ""
    generations: tuple[float, ...] | None = None


def group_of(ids: Sequence[str]) -> NDArray[np.int64]:
    """(n,) group of each text, 0 to GROUPS - 1, from a digest of its prompt's name."""
    digests = (hashlib.blake2b(identifier.encode(), digest_size=8).digest() for identifier in ids)
    return np.array([int.from_bytes(digest, "little") % GROUPS for digest in digests], dtype=np.int64)


def groups_of(texts: Collection) -> Groups:
    """The groups of a collection from ``by_unit``, where equal ids are one unit."""
    labels = group_of(texts.ids)
    sizes = np.bincount(labels, minlength=GROUPS)
    kept = [np.flatnonzero(labels != group) if sizes[group] else None for group in range(GROUPS)]
    return Groups(sizes, kept, too_few(np.unique(texts.ids, return_inverse=True)[1]))


def replicate(terms: Terms, texts: Groups, human: Groups, *, relational: bool) -> Replicates:
    """T, and T without each group on both sides; NotDefinedError if T of all texts is undefined."""
    estimate = terms.value()
    if min(texts.n, human.n if relational else texts.n) < MIN_TEXTS:
        return Replicates(estimate, None, TOO_FEW)
    why = texts.too_few or (human.too_few if relational else "")
    if why:
        return Replicates(estimate, None, f"no spread: {why}")
    try:
        left_out = terms.values(list(zip(texts.jackknife_rows, human.jackknife_rows, strict=True)))
    except NotDefinedError as reason:
        return Replicates(estimate, None, f"{NOT_WITHOUT} ({reason})")
    return Replicates(estimate, left_out)


def mean_of(found: Sequence[Replicates]) -> Replicates:
    """The mean over generations; a group's prompts are left out of all generations together."""
    if len(found) == 1:
        return found[0]
    estimates = tuple(each.estimate for each in found)
    problem = next((each.problem for each in found if each.left_out is None), "")
    left_out = [each.left_out for each in found if each.left_out is not None]
    mean = np.mean(left_out, axis=0) if len(left_out) == len(found) else None
    return Replicates(float(np.mean(estimates)), mean, problem, estimates)


def value_of(
    replicates: Replicates, sizes: NDArray[np.int64], bounds: tuple[float, float], *, absolute: bool = False
) -> tuple[Value, str]:
    """The value with its spread, and a note if it has none.

    Parameters
    ----------
    sizes : (GROUPS,) int array
        Texts in each group, of both sides if both count.
    absolute : bool
        Whether the value is the absolute value of a signed difference.
    """
    point = abs(replicates.estimate) if absolute else replicates.estimate
    generations = replicates.generations
    if replicates.left_out is None:
        return Value(point, generations=generations), replicates.problem
    filled = sizes > 0
    left_out = replicates.left_out[filled]
    if filled.sum() < 2:
        return Value(point, generations=generations), TOO_FEW
    if np.all(left_out == replicates.estimate):
        return Value(point, generations=generations), ALL_EQUAL
    sd = jackknife_sd(replicates.estimate, left_out, sizes[filled])
    low, high = t_interval(point, sd, int(filled.sum()), CONFIDENCE, bounds=bounds)
    return Value(point, sd, low, high, generations), ""


def difference(model: Replicates, human: Replicates) -> Replicates:
    """T(Q) - T(P), group by group."""
    generations = None if model.generations is None else tuple(each - human.estimate for each in model.generations)
    if model.left_out is None or human.left_out is None:
        return Replicates(model.estimate - human.estimate, None, model.problem or human.problem, generations)
    return Replicates(model.estimate - human.estimate, model.left_out - human.left_out, generations=generations)
