"""Results of perturbation probes, and whether MAUVE tells perturbed texts from untouched ones (ICLR 2023, section
6.2).

A table holds divergences with their spread and the texts that changed cluster (figure 4: a perturbed comparison half
against an untouched reference half). A split deals units of texts to the two halves at random. If a perturbation
changes nothing that the features hold, it is an accident which half a unit is in; so the test deals the units anew and
counts how often MAUVE is then as low as observed, with the clusters fitted to both halves together. Splits share
texts, so their p-values may depend on each other in any way: twice their mean is a p-value nonetheless (Vovk and Wang,
*Combining p-values via averaging*, Biometrika 2020, table 1). Holm's method corrects for the number of perturbations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.config import KINDS, TEXT
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import significant, with_spread
from mauve_core.base.json_codec import As, Count, Holds, PValue, Ranged, RangedByName, Settings, Share, from_json
from mauve_core.base.words import Words
from mauve_core.runs import Run
from mauve_core.scoring.result import Partition, SeedSpread
from mauve_core.stats.divergences import mauve
from mauve_core.stats.f_divergences import FIVE, FIVE_BOUNDS
from mauve_core.stats.multiple_tests import POWER, detectable_drop, holm
from mauve_core.stats.resampling import PermutationTest, Statistic, histogram_statistic, permutation_test
from mauve_core.stats.scores import SCORES
from mauve_core.texts.kinds import kind_of, parse_perturbation
from mauve_core.texts.perturbations import CONTROL

# Attachment name of the table.
ATTACHMENT = "probes"

# The five divergences of ICLR 2023, larger for halves that differ more, and MAUVE, which is smaller.
PROBE_SCORES = (*FIVE, "mauve")

_BOUNDS = {**FIVE_BOUNDS, "mauve": SCORES["mauve"].bounds}

LineKind = Literal["control", "perturbation", "source"]


@dataclass(frozen=True, eq=False)
class Flow:
    """Clusters of n texts before and after a perturbation; the run's clusters stay fixed.

    Attributes
    ----------
    k : int
        Number of clusters.
    ids : tuple of str
        Of the texts.
    before, after : (n,) int32 array
        The cluster of each text, 0 to k - 1.
    """

    k: int
    ids: tuple[str, ...]
    before: NDArray[np.int32]
    after: NDArray[np.int32]

    def __post_init__(self) -> None:
        for labels in (self.before, self.after):
            if labels.shape != (len(self.ids),) or (labels.size and not 0 <= labels.min() <= labels.max() < self.k):
                allowed = f"{len(self.ids)} clusters from 0 to {self.k - 1}"
                raise InputError("The clusters do not match the texts", allowed=allowed, received=str(labels.shape))

    @property
    def transitions(self) -> NDArray[np.int64]:
        """(k, k) number of texts that moved from the row's cluster to the column's."""
        table = np.zeros((self.k, self.k), dtype=np.int64)
        np.add.at(table, (self.before, self.after), 1)
        return table

    @property
    def sensitivity(self) -> NDArray[np.float64]:
        """(k,) share of each cluster's texts that left it; nan for an empty cluster."""
        sizes = np.bincount(self.before, minlength=self.k)
        left = np.bincount(self.before[self.before != self.after], minlength=self.k)
        return np.where(sizes > 0, left / np.maximum(sizes, 1), np.nan)

    @property
    def moved(self) -> tuple[str, ...]:
        """Ids of the texts that left their cluster, in order."""
        return tuple(self.ids[i] for i in np.flatnonzero(self.before != self.after))


@dataclass(frozen=True, eq=False)
class ProbeLine:
    """A comparison half against the reference half.

    Attributes
    ----------
    kind : {"control", "perturbation", "source"}
        Untouched, perturbed, or replaced with texts of another source.
    name : str
        The perturbation's spec or the source's name.
    n, k : int
        Texts of each half, and clusters.
    changed : float
        Share of the half's texts that differ from the originals, over all splits; 0 for the control, 1 for a source.
    scores : mapping of str to SeedSpread
        For each of ``PROBE_SCORES``, over splits and k-means seeds: those of the first split, then those of the next.
    flow : Flow or None
        For a perturbation, of the first split's comparison half.
    notes : tuple of str
        Number of unchanged texts among those in any comparison half.
    p_values : tuple of float
        Of each split of a perturbation: :func:`mauve_core.analyses.probe_results.split_test`. Empty for
        others.
    detectable : float or None
        Drop of MAUVE that the test finds with probability 0.8, if all perturbations of the table share its level; 1 if
        no drop is large enough. Of the control it is known before anything is perturbed. None if nothing was tested.
    """

    kind: LineKind
    name: str
    n: Count
    k: Count
    changed: Share
    scores: Annotated[Mapping[str, SeedSpread], RangedByName(_BOUNDS)]
    flow: Flow | None = None
    notes: tuple[str, ...] = ()
    p_values: tuple[PValue, ...] = ()
    detectable: Share | None = None

    def __post_init__(self) -> None:
        if not set(PROBE_SCORES) <= set(self.scores):
            raise InputError("A line of probes lacks scores", allowed=", ".join(PROBE_SCORES))
        if self.kind == "perturbation" and not self.p_values:
            raise InputError("A perturbation was not tested", allowed="a p-value for each split")
        if len({len(self.scores[name].values) for name in _BOUNDS}) > 1:
            raise InputError("The scores of a line of probes are not those of the same splits and seeds")

    @property
    def title(self) -> str:
        """The name in a table, with patterns and sources verbatim."""
        return self.name if self.kind == "source" else parse_perturbation(self.name).title


@dataclass(frozen=True, eq=False)
class ProbeTable:
    """The control, the perturbations and the other sources, all against the same reference halves.

    Attributes
    ----------
    source : str
        Source of the split and perturbed texts.
    lines : tuple of ProbeLine
        The control first.
    settings : mapping
        Inputs of the numbers, as plain JSON.
    notes : tuple of str
        Caveats.
    kind : str
        What the items are: a name of ``mauve_core.base.config.KINDS``.
    writer : str
        Who wrote the human side, as :attr:`mauve_core.texts.corpus.Corpus.source`.
    """

    source: str
    lines: tuple[ProbeLine, ...]
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    kind: Annotated[str, Holds(KINDS.__contains__, ", ".join(KINDS))] = TEXT
    writer: str = ""

    def __post_init__(self) -> None:
        for line in (self.control, *self.lines):  # raises without a control or for an invalid name
            if not line.title:
                raise InputError("A line of probes has no name")

    @property
    def words(self) -> Words:
        """What the items are called."""
        return kind_of(self.kind).words.against(self.writer)

    @property
    def control(self) -> ProbeLine:
        """The untouched half, which shows the effect of sampling texts."""
        return self.line(CONTROL.spec)

    def line(self, name: str, kind: LineKind | None = None) -> ProbeLine:
        """The line of that name; perturbations precede sources of the same name. InputError lists the lines."""
        for line in self.lines:
            if line.name == name and kind in (None, line.kind):
                return line
        raise InputError(f"No line {name!r} among these probes", allowed=", ".join(line.name for line in self.lines))

    def over_control(self, line: ProbeLine, measure: str) -> SeedSpread:
        """A line's score minus the control's, for each split and seed.

        Both share the reference half and the random starts, so their common effects cancel.
        """
        if measure not in PROBE_SCORES:
            raise InputError("No measure of that name", allowed=", ".join(PROBE_SCORES), received=repr(measure))
        pairs = zip(line.scores[measure].values, self.control.scores[measure].values, strict=True)
        return SeedSpread.of([value - floor for value, floor in pairs])


def stored_probes(run: Run) -> ProbeTable | None:
    """The run's stored table, or None; StorageError or InputError if damaged."""
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    table = from_json(ProbeTable, values)
    kind = run.comparison.human.kind
    if table.kind != kind:
        raise InputError("These probes are of items of another kind than the run", allowed=kind, received=table.kind)
    run.require_sources([table.source, *(line.name for line in table.lines if line.kind == "source")], "The table")
    most = sum(source.n for source in run.comparison.sources)
    if any(line.flow is not None and line.flow.k > most for line in table.lines):  # transitions have k x k numbers
        raise InputError("These probes have more clusters than the run has texts", allowed=f"up to {most:,}")
    return table


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
        As of the table's line, :class:`mauve_core.analyses.probe_results.ProbeLine`.
    """

    name: str
    title: str
    outcome: Outcome
    score: Annotated[SeedSpread, Ranged(*SCORES["mauve"].bounds)]
    control: Annotated[SeedSpread, Ranged(*SCORES["mauve"].bounds)]
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
        return f"No perturbation changed {words.one}."
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
    items = table.words.items
    missed = f"a smaller one may need more {items}"
    if any(each.outcome == "not detected" and (each.detectable or 1) < 1 for each in found):
        missed = (
            f"the drop named is detected with probability {POWER:g}, with four times as many {items} less than half "
            "of it"
        )
    splits = max(len(line.p_values) for line in table.lines)
    over = "" if splits == 1 else f", twice the mean p-value of {splits} splits"
    corrected = "" if tested == 1 else f", corrected for {tested} perturbations by Holm's method"
    return (
        f"Detected: MAUVE is lower than when the {items} of both halves are dealt to them at random (p at most "
        f"{LEVEL:g}{over}{corrected}). Not detected does not mean that there is no effect: {missed}."
        + (
            f" With one split, ± is over k-means seeds alone and says nothing about other {items}."
            if splits == 1
            else ""
        )
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
