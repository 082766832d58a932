"""Whether MAUVE tells perturbed texts from untouched ones: a test that holds its level, and its result in words.

A split deals units of texts to the reference and the comparison half at random. If a perturbation changes nothing that
the features hold, it is an accident which half a unit is in. So the test deals the units of both halves anew and counts
how often MAUVE is then as low as observed; the clusters, fitted to both halves together, stay. Splits share texts, so
their p-values may depend on each other in any way: twice their mean is a p-value nonetheless (Vovk and Wang, *Combining
p-values via averaging*, Biometrika 2020, table 1). Holm's method corrects for the number of perturbations.

The spread of the control over splits is no such test: splits share texts, and three of them say little about a tail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.config import SCORE_BOUNDS
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import significant, with_spread
from mauve_core.base.json_codec import Ranged, Share
from mauve_core.experiments.robustness.table import ProbeLine, ProbeTable
from mauve_core.scoring.result import Partition, SeedSpread
from mauve_core.stats.divergences import mauve
from mauve_core.stats.multiple_tests import POWER, detectable_drop, holm
from mauve_core.stats.resampling import PermutationTest, Statistic, histogram_statistic, permutation_test

# Chance of at least one false detection among all perturbations of a table, at most.
LEVEL = 0.05

# Deals that a test draws; more for many perturbations, so that a corrected p-value can reach 0.02.
PERMUTATIONS = 999

TESTED_SCORE = "mauve"

# Bound on the rounding error of a p-value times the number of tests.
_ROUNDING = 1e-12

Outcome = Literal["detected", "not detected", "nothing changed"]


def permutations_for(perturbations: int) -> int:
    """Deals per split for that many perturbations: with the smallest p-value, Holm's correction still gives 0.02."""
    return max(PERMUTATIONS, 100 * perturbations - 1)


def split_test(
    partitions: Sequence[Partition],
    scale: float,
    permutations: int,
    seed: int | SeedSequence,
    units: ArrayLike | None = None,
) -> PermutationTest:
    """Test one split, one-sided: whether MAUVE of its two halves is lower than that of halves dealt at random.

    Parameters
    ----------
    partitions : sequence of Partition
        Of the reference and the comparison half, in this order and without other sides, one per k-means seed; the
        score is the mean over them.
    scale : float > 0
        The constant c of MAUVE.
    permutations : int
        Deals, B >= 1.
    seed : int or numpy.random.SeedSequence
    units : (n + m,) array of int, optional
        Unit of each text of the two halves, which is dealt as a whole; by default every text is one.

    Returns
    -------
    PermutationTest
        Of the mean MAUVE; its p-value is (1 + deals with a MAUVE at most as high) / (1 + B).
    """
    reference, comparison = (len(labels) for labels in partitions[0].labels.values())
    statistics = [_statistic(part, scale) for part in partitions]

    def mean(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.asarray(np.mean([each(first, second) for each in statistics], axis=0))

    return permutation_test(
        mean, reference, comparison, permutations=permutations, seed=seed, units=units, higher_is_closer=True
    )


def detectable_by(tests: Sequence[PermutationTest], scale: float, count: int) -> float | None:
    """The drop of MAUVE that the tests of all splits (:func:`split_test`) find with probability ``POWER``.

    Holm's method corrects for ``count`` perturbations. 1 if no drop is large enough; None if every deal has the same
    MAUVE.
    """
    lowest = float(mauve([1.0, 0.0], [0.0, 1.0], scale))
    found = detectable_drop([test.null for test in tests], LEVEL, tests=count, lowest=lowest)
    return None if math.isnan(found) else found


def combined_p_value(p_values: ArrayLike) -> float:
    """Combine the p-values of a table's splits: the value itself of one, otherwise twice their mean, at most 1.

    Holds under any dependence (Vovk and Wang 2020). InputError without values or outside [0, 1].
    """
    values = np.asarray(p_values, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not ((values >= 0) & (values <= 1)).all():
        raise InputError("The p-values cannot be combined", allowed="one or more numbers from 0 to 1")
    return float(values[0]) if values.size == 1 else min(1.0, 2 * float(values.mean()))


@dataclass(frozen=True)
class Detection:
    """What the test says of one perturbation.

    Attributes
    ----------
    name, title : str
        The perturbation's spec, and its name for people.
    outcome : {"detected", "not detected", "nothing changed"}
        Detected if ``p_adjusted`` is at most ``LEVEL``.
    score, control : SeedSpread
        MAUVE of the perturbed half and of the untouched one, over splits and k-means seeds.
    p_value, p_adjusted : float or None
        Over all splits; after Holm's correction for the table's perturbations.
    detectable : float or None
        As of the table's line, :class:`mauve_core.experiments.robustness.table.ProbeLine`.
    """

    name: str
    title: str
    outcome: Outcome
    score: Annotated[SeedSpread, Ranged(*SCORE_BOUNDS["mauve"])]
    control: Annotated[SeedSpread, Ranged(*SCORE_BOUNDS["mauve"])]
    p_value: Share | None = None
    p_adjusted: Share | None = None
    detectable: Share | None = None

    @property
    def sentence(self) -> str:
        """For example: Articles dropped: MAUVE 0.949 ± 0.012, untouched control 0.958 ± 0.047: not detected (p 0.3).

        What was not detected ends with the drop that would have been.
        """
        scores = f"MAUVE {_spread(self.score)}, untouched control {_spread(self.control)}"
        p = "" if self.p_adjusted is None else f" (p {significant(self.p_adjusted)})"
        return f"{self.title}: {scores}: {self.outcome}{p}{self._would_have_been}."

    @property
    def _would_have_been(self) -> str:
        if self.outcome != "not detected" or self.detectable is None:
            return ""
        drop = "no drop" if self.detectable >= 1 else f"a drop of {significant(self.detectable)}"
        return f"; {drop} would have been"


def detections(table: ProbeTable) -> tuple[Detection, ...]:
    """All perturbations of a table: those detected first, and within each outcome the lowest MAUVE first."""
    lines = [line for line in table.lines if line.kind == "perturbation"]
    raw = {line.name: combined_p_value(line.p_values) for line in lines if line.changed > 0}
    adjusted = holm(list(raw.values())).tolist() if raw else []
    by_name = {name: (raw[name], value) for name, value in zip(raw, adjusted, strict=True)}
    found = [_detection(table, line, *by_name.get(line.name, (None, None))) for line in lines]
    order: tuple[Outcome, ...] = ("detected", "not detected", "nothing changed")
    return tuple(sorted(found, key=lambda each: (order.index(each.outcome), each.score.mean)))


def summary(table: ProbeTable) -> str:
    """Answer in one sentence which perturbations MAUVE tells from untouched texts; empty without perturbations."""
    found, words = detections(table), table.words
    tested = [each for each in found if each.outcome != "nothing changed"]
    if not found:
        return ""
    if not tested:
        return words.said("No perturbation changed a text.")
    noticed = [each.title for each in tested if each.outcome == "detected"]
    missed = [each.title for each in tested if each.outcome == "not detected"]
    halves = f"With halves of {table.control.n:,} {words.items}, MAUVE"
    if len(tested) == 1:
        return f"{halves} {'detects' if noticed else 'does not detect'} the one perturbation: {tested[0].title}."
    sentence = f"{halves} detects {len(noticed) or 'none'} of {len(tested)} perturbations"
    if noticed:
        sentence = f"{sentence}: {'; '.join(noticed)}"
    return f"{sentence}. Not detected: {'; '.join(missed)}." if missed else f"{sentence}."


def about_test(table: ProbeTable) -> str:
    """Say what detected means, and what not detected does not mean; empty if nothing was tested."""
    found = detections(table)
    tested = sum(each.p_value is not None for each in found)
    if not tested:
        return ""
    missed = "a smaller one may need more texts"
    if any(each.outcome == "not detected" and (each.detectable or 1) < 1 for each in found):
        missed = (
            f"the drop named is detected with probability {POWER:g}, with four times as many texts less than half of it"
        )
    splits = max(len(line.p_values) for line in table.lines)
    over = "" if splits == 1 else f", twice the mean p-value of {splits} splits"
    corrected = "" if tested == 1 else f", corrected for {tested} perturbations by Holm's method"
    return table.words.said(
        f"Detected: MAUVE is lower than when the texts of both halves are dealt to them at random (p at most {LEVEL:g}"
        f"{over}{corrected}). Not detected does not mean that there is no effect: {missed}."
        + (" With one split, ± is over k-means seeds alone and says nothing about other texts." if splits == 1 else "")
    )


def _statistic(partition: Partition, scale: float) -> Statistic:
    labels = np.concatenate(list(partition.labels.values()))
    return histogram_statistic(labels, partition.k, lambda p, q: mauve(p, q, scale))


def _detection(table: ProbeTable, line: ProbeLine, p_value: float | None, p_adjusted: float | None) -> Detection:
    outcome: Outcome = "nothing changed"
    if p_adjusted is not None:
        outcome = "detected" if p_adjusted <= LEVEL * (1 + _ROUNDING) else "not detected"
    scores = line.scores[TESTED_SCORE], table.control.scores[TESTED_SCORE]
    return Detection(line.name, line.title, outcome, *scores, p_value, p_adjusted, line.detectable)


def _spread(found: SeedSpread) -> str:
    return with_spread(found.mean, found.sd)
