"""Results of perturbation probes: divergences with their spread, and texts that changed cluster; JSON in and out.

ICLR 2023, section 6.2, figure 4: each perturbation of a comparison half against an untouched reference half.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import SCORE_BOUNDS
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import As, Count, Holds, PValue, RangedByName, Settings, Share, from_json
from mauve_core.base.words import Words
from mauve_core.runs import Run
from mauve_core.scoring.result import SeedSpread
from mauve_core.stats.f_divergences import FIVE, FIVE_BOUNDS
from mauve_core.texts.kinds import KINDS, TEXT, kind_of, parse_perturbation
from mauve_core.texts.perturbations import CONTROL

# Attachment name of the table.
ATTACHMENT = "probes"

# The five divergences of ICLR 2023, larger for halves that differ more, and MAUVE, which is smaller.
PROBE_SCORES = (*FIVE, "mauve")

_BOUNDS = {**FIVE_BOUNDS, "mauve": SCORE_BOUNDS["mauve"]}

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
        Of each split of a perturbation: :func:`mauve_core.experiments.robustness.detection.split_test`. Empty for
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
        What the items are: a name of ``mauve_core.texts.kinds.KINDS``.
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
