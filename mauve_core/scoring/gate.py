"""Whether a candidate is farther from the reference than a baseline is, beyond chance and beyond a margin.

D is the candidate's loss minus the baseline's, so it is positive if the candidate is farther. The loss is the measure
itself where less is closer, and minus the measure where more is, averaged over k-means seeds and generations. The
partitions are those of the tests of differences (``scoring/differences.py``): of the reference with both, fitted
without looking at who wrote what.

With a margin, the null is not that two candidates write alike but D <= margin, and two candidates that are equally far
need not be alike. Exchanging their texts tests neither. Instead, a delete-a-group jackknife over prompts gives D's
standard deviation; what the two share in a prompt cancels. (D - margin) over it is compared with Student's t. Where
all three sides are alike the jackknife overstates the spread, so that the test rejects less often than its level
there; ``tests/scoring/test_gate.py`` and ``benchmarks/gate.py`` measure how often.

The bounds are those of the same test, one-sided on either side. Three verdicts follow (:func:`verdict_of`): a fail is
established, or a difference that matters is excluded, or neither.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.scoring.differences import left_out_scores
from mauve_core.scoring.gate_rule import GateRule, GateTest, require_measures, verdict_of
from mauve_core.scoring.result import Partition
from mauve_core.stats.multiple_tests import detectable
from mauve_core.stats.resampling import jackknife_parts
from mauve_core.stats.scores import SCORES

_Numbers = NDArray[np.float64]

# Names of the two beside the reference, whose side is ``HUMAN``.
BASELINE, CANDIDATE = "baseline", "candidate"

# Most groups of prompts that the jackknife leaves out in turn.
GROUPS = 200


@dataclass(frozen=True, eq=False)
class GateSides:
    """Whose text is whose, in the order of each side of the partitions.

    Attributes
    ----------
    groups : mapping of str to (n,) array of int
        Group of each text of every side, from :func:`mauve_core.scoring.differences.deal_to_groups` of units.
    generations : mapping of str to (n,) array of int
        Generation of each text of ``BASELINE`` and of ``CANDIDATE``, from 0; all have equally many texts.
    """

    groups: Mapping[str, NDArray[np.intp]]
    generations: Mapping[str, NDArray[np.intp]]

    @property
    def count(self) -> int:
        """Number of groups."""
        return max(int(own.max()) for own in self.groups.values()) + 1


def gate_tests(
    partitions: Sequence[Partition], sides: GateSides, measures: Sequence[str], rule: GateRule, scale: float
) -> tuple[GateTest, ...]:
    """Test D under every measure.

    Parameters
    ----------
    partitions : sequence of Partition
        Joint partitions of ``HUMAN``, ``BASELINE`` and ``CANDIDATE``, one per seed.
    sides : GateSides
    measures : sequence of str
        One or more of ``SCORES``, each once.
    rule : GateRule
    scale : float > 0
        The scaling constant c of MAUVE.

    Raises
    ------
    InputError
        A measure is unknown or repeated, or no cluster holds texts of the reference and of either other side, so that
        both distances are at the end of their range whatever the texts are.
    """
    require_measures(measures)
    if not any((part.counts(HUMAN) * part.counts(name)).any() for part in partitions for name in (BASELINE, CANDIDATE)):
        raise InputError(
            "No cluster holds texts of the reference together with texts of the baseline or the candidate",
            allowed="texts of one kind, so that distances can differ",
            todo="Check that the three files hold what they should; normalize their formats, or choose another encoder",
        )
    scores = {
        name: {
            measure: values.mean(axis=1)
            for measure, values in left_out_scores(
                partitions, sides.groups, sides.generations[name], name, scale
            ).items()
        }
        for name in (BASELINE, CANDIDATE)
    }
    sizes = np.sum([np.bincount(own, minlength=sides.count) for own in sides.groups.values()], axis=0)
    n = int(np.bincount(sides.generations[CANDIDATE])[0])
    level = rule.alpha / len(measures)
    return tuple(
        _tested(measure, scores[BASELINE][measure], scores[CANDIDATE][measure], sizes, rule, level, n)
        for measure in measures
    )


def equal_rows(
    prompts: Mapping[str, NDArray[np.integer]],
    generations: Mapping[str, NDArray[np.integer]],
    seed: np.random.SeedSequence,
) -> dict[str, NDArray[np.intp]]:
    """Rows of the baseline and of the candidate such that all their generations have equally many texts.

    A divergence of fewer texts is larger by chance, so sides are compared at the same n. Texts of prompts that all
    generations answer are taken first; among the others, and among these, chance decides, by prompt.

    Parameters
    ----------
    prompts, generations : mapping of str to (n,) array of int
        Of every side to cut, by text.
    seed : SeedSequence

    Returns
    -------
    dict of str to array of int
        Rows in increasing order.
    """
    slots = [(name, np.flatnonzero(own == g)) for name, own in generations.items() for g in range(int(own.max()) + 1)]
    fewest = min(rows.size for _, rows in slots)
    known = np.unique(np.concatenate([*prompts.values()]))
    turn = np.random.default_rng(seed).random(known.size)
    shared = np.all([np.isin(known, prompts[name][rows]) for name, rows in slots], axis=0)
    taken: dict[str, list[NDArray[np.intp]]] = {name: [] for name in generations}
    for name, rows in slots:
        place = np.searchsorted(known, prompts[name][rows])
        order = np.lexsort((turn[place], ~shared[place]))
        taken[name].append(rows[order[:fewest]])
    return {name: np.sort(np.concatenate(rows)) for name, rows in taken.items()}


def _tested(
    measure: str,
    baseline: _Numbers,
    candidate: _Numbers,
    sizes: NDArray[np.int64],
    rule: GateRule,
    level: float,
    n: int,
) -> GateTest:
    differences = (candidate - baseline) * (-1 if SCORES[measure].higher_is_closer else 1)
    difference = float(differences[0])
    sd = float(np.sqrt((jackknife_parts(difference, differences[1:], sizes) ** 2).sum()))
    reach = float(stdtrit(sizes.size - 1, 1 - level)) * sd
    most = SCORES[measure].bounds[1] - SCORES[measure].bounds[0]
    low, high = max(difference - reach, -most), min(difference + reach, most)
    effect = SCORES[measure].smallest_effect if rule.smallest_effect is None else rule.smallest_effect
    decided = verdict_of(low, high, rule.margin, effect) != "undecided"
    return GateTest(
        measure=measure,
        baseline=float(baseline[0]),
        candidate=float(candidate[0]),
        difference=difference,
        low=low,
        high=high,
        sd=sd,
        p_value=_p_value(difference - rule.margin, sd, sizes.size - 1),
        alpha=level,
        margin=rule.margin,
        smallest_effect=effect,
        n=n,
        groups=int(sizes.size),
        enough=None if decided else enough_texts(n, difference, sd, rule.margin, effect, level),
    )


def _p_value(beyond: float, sd: float, degrees: int) -> float:
    if sd == 0:  # leaving out any group changes nothing, as for two copies of one file
        return float(beyond <= 0)
    return float(stdtr(degrees, -beyond / sd))


def enough_texts(n: int, difference: float, sd: float, margin: float, smallest_effect: float, level: float) -> int:
    """About how many texts a side give a verdict with a probability of at least .8 if D is as estimated.

    The standard deviation shrinks by the root of n. Either verdict will do: a fail needs the margin to be that much
    below D, a pass needs the margin plus the smallest effect to be that much above.
    """
    away = max(difference - margin, margin + smallest_effect - difference)
    return math.ceil(n * (detectable(sd, level, sides=1) / away) ** 2)
