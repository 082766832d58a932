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
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr, stdtrit

from mauve_core.base.config import HUMAN, SCORE_BOUNDS, SCORES
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import check_fields
from mauve_core.base.validation import Count, Holds, NotNegative, Share, Within
from mauve_core.numerics.divergences.frontier import REFERENCE_WEIGHTS
from mauve_core.numerics.divergences.scores import score_counts
from mauve_core.numerics.resampling.jackknife import jackknife_parts
from mauve_core.scoring.result import Partition
from mauve_core.scoring.tables import HIGHER_IS_CLOSER

Verdict = Literal["pass", "fail", "undecided"]

_Numbers = NDArray[np.float64]

BASELINE, CANDIDATE = "baseline", "candidate"
"""Names of the two beside the reference, whose side is ``HUMAN``."""

MEASURE = "frontier_integral"
"""The default: its difference of two samples is nearly that of their sources (``tests/scoring/test_gate.py``)."""

GROUPS = 200
"""Most groups of prompts that the jackknife leaves out in turn."""

TABLE_BYTES = 2**26
"""Memory of the frontiers that are held at once."""

POWER = 0.8
"""Probability of a verdict, if the difference is as estimated, at the number of texts that a gate names."""

RULE = (
    "The gate fails if the difference, candidate minus baseline, exceeds the margin at level alpha: its lower "
    "confidence bound lies above the margin. Otherwise it passes if its upper confidence bound is at most the margin "
    "plus the smallest effect, so that no difference that matters is left; if not, there are too few texts to tell."
)


@dataclass(frozen=True)
class GateRule:
    """What decides.

    Attributes
    ----------
    alpha : float in (0, 0.5)
        Level of the gate: the largest probability of a fail where D is at most the margin. Of several measures, each
        is tested at an equal part of it (Bonferroni).
    margin : float >= 0
        Difference that is accepted, in units of the measure.
    smallest_effect : float > 0 or None
        Difference beyond the margin that a pass must exclude; None takes that of :data:`SMALLEST_EFFECTS`.
    """

    alpha: Annotated[float, Holds(lambda level: 0 < level < 0.5, "a number between 0 and 0.5")] = 0.05
    margin: Annotated[float, Holds(lambda value: 0 <= value <= 1, "a number from 0 to 1")] = 0.0
    smallest_effect: Annotated[float, Holds(lambda value: 0 < value <= 1, "a number above 0, at most 1")] | None = None

    def __post_init__(self) -> None:
        check_fields(self, "setting")


SMALLEST_EFFECTS = {"mauve": 0.15, "mauve_star": 0.13, "frontier_integral": 0.05, "mid": 0.036}
"""Differences that a pass excludes by default: less than what lies between greedy and nucleus decoding of GPT-2 large
under two encoders (``benchmarks/gate.py``), and about equally large in the units of each."""


@dataclass(frozen=True)
class GateTest:
    """The gate under one measure.

    Attributes
    ----------
    measure : str
        One of ``SCORES``.
    baseline, candidate : float
        The measure of either, averaged over seeds and generations.
    difference, low, high : float
        D, and its lower and upper confidence bound, each at 1 - ``alpha``.
    sd : float
        Jackknife standard deviation of D.
    p_value : float
        Of D <= margin, one-sided.
    alpha, margin, smallest_effect : float
        What decided.
    n : int
        Texts of the baseline, and of the candidate, that a score takes.
    groups : int
        Groups of the jackknife.
    enough : int or None
        About how many texts a side would decide with probability :data:`POWER`, if D is as estimated; None if decided.
    """

    measure: str
    baseline: Share
    candidate: Share
    difference: Annotated[float, Within(-1, 1)]
    low: float
    high: float
    sd: NotNegative
    p_value: Share
    alpha: Share
    margin: Share
    smallest_effect: Share
    n: Count
    groups: Count
    enough: Count | None

    @property
    def verdict(self) -> Verdict:
        """``fail``, ``pass`` or ``undecided``; see :data:`RULE`."""
        return verdict_of(self.low, self.high, self.margin, self.smallest_effect)


@dataclass(frozen=True, eq=False)
class GateSides:
    """Whose text is whose, in the order of each side of the partitions.

    Attributes
    ----------
    groups : mapping of str to (n,) array of int
        Group of each text of every side; a prompt's texts are in one group. From :func:`jackknife_groups`.
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
    scores = {name: _scores(partitions, sides, name, scale) for name in (BASELINE, CANDIDATE)}
    sizes = np.sum([np.bincount(own, minlength=sides.count) for own in sides.groups.values()], axis=0)
    n = int(np.bincount(sides.generations[CANDIDATE])[0])
    level = rule.alpha / len(measures)
    return tuple(
        _tested(measure, scores[BASELINE][measure], scores[CANDIDATE][measure], sizes, rule, level, n)
        for measure in measures
    )


def require_measures(measures: Sequence[str]) -> None:
    """Raise InputError for an unknown measure, for one that is named twice, and for none."""
    if not measures or set(measures) - set(SCORES) or len(set(measures)) < len(measures):
        raise InputError(
            "The measures are not usable",
            allowed=f"each of {', '.join(SCORES)} at most once",
            received=repr([*measures]),
        )


def verdict_of(low: float, high: float, margin: float, smallest_effect: float) -> Verdict:
    """The verdict of a gate by the bounds of D; see :data:`RULE`."""
    if low > margin:
        return "fail"
    return "pass" if high <= margin + smallest_effect else "undecided"


def jackknife_groups(
    prompts: Mapping[str, NDArray[np.integer]], seed: np.random.SeedSequence, *, most: int = GROUPS
) -> dict[str, NDArray[np.intp]]:
    """Deal prompts to groups at random, those that the same sides answer evenly.

    Parameters
    ----------
    prompts : mapping of str to (n,) array of int
        Prompt of each text of every side, by the same numbers.
    seed : SeedSequence
    most : int
        Groups; fewer if a side has fewer prompts.

    Returns
    -------
    dict of str to (n,) array of int
        Group of each text, from 0.
    """
    known, codes = np.unique(np.concatenate([*prompts.values()]), return_inverse=True)
    own = dict(zip(prompts, np.split(codes, np.cumsum([each.size for each in prompts.values()])[:-1]), strict=True))
    answered = [np.isin(np.arange(known.size), codes_of) for codes_of in own.values()]
    count = min([most, *(int(each.sum()) for each in answered)])
    order = np.lexsort((np.random.default_rng(seed).random(known.size), *answered))
    group = np.empty(known.size, dtype=np.intp)
    group[order] = np.arange(known.size) % count
    return {name: group[codes_of] for name, codes_of in own.items()}


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


def _scores(partitions: Sequence[Partition], sides: GateSides, name: str, scale: float) -> dict[str, _Numbers]:
    """(1 + groups,) scores of one side, of all texts and then without each group; means over seeds and generations."""

    def tables(side: str, rows: NDArray[np.bool_] | slice) -> NDArray[np.int64]:
        own = sides.groups[side][rows]
        parts = np.stack([_table(own, part.labels[side][rows], sides.count, part.k) for part in partitions], axis=1)
        whole = parts.sum(axis=0, keepdims=True)
        return np.concatenate([whole, whole - parts])

    p, generations = tables(HUMAN, slice(None)), sides.generations[name]
    found: dict[str, list[_Numbers]] = {measure: [] for measure in SCORES}
    for generation in range(int(generations.max()) + 1):
        q = tables(name, generations == generation)
        rows = max(1, TABLE_BYTES // (8 * REFERENCE_WEIGHTS.size * p[0].size))
        blocks = [
            score_counts(p[start : start + rows], q[start : start + rows], scale=scale)
            for start in range(0, len(p), rows)
        ]
        for measure, values in found.items():
            values.append(np.concatenate([block[measure].mean(axis=1) for block in blocks]))
    return {measure: np.asarray(np.mean(values, axis=0)) for measure, values in found.items()}


def _table(groups: NDArray[np.intp], labels: NDArray[np.integer], count: int, k: int) -> NDArray[np.int64]:
    """(count, k) texts of each group in each cluster."""
    return np.bincount(groups * k + labels, minlength=count * k).reshape(count, k).astype(np.int64)


def _tested(
    measure: str,
    baseline: _Numbers,
    candidate: _Numbers,
    sizes: NDArray[np.int64],
    rule: GateRule,
    level: float,
    n: int,
) -> GateTest:
    differences = (candidate - baseline) * (-1 if HIGHER_IS_CLOSER[measure] else 1)
    difference = float(differences[0])
    sd = float(np.sqrt((jackknife_parts(difference, differences[1:], sizes) ** 2).sum()))
    reach = float(stdtrit(sizes.size - 1, 1 - level)) * sd
    most = SCORE_BOUNDS[measure][1] - SCORE_BOUNDS[measure][0]
    low, high = max(difference - reach, -most), min(difference + reach, most)
    effect = SMALLEST_EFFECTS[measure] if rule.smallest_effect is None else rule.smallest_effect
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
    """About how many texts a side give a verdict with a probability of at least :data:`POWER` if D is as estimated.

    The standard deviation shrinks by the root of n. Either verdict will do: a fail needs the margin to be that much
    below D, a pass needs the margin plus the smallest effect to be that much above.
    """
    away = max(difference - margin, margin + smallest_effect - difference)
    return math.ceil(n * (float(ndtri(1 - level) + ndtri(POWER)) * sd / away) ** 2)
