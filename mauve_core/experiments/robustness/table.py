"""What a score noticed of perturbations: divergences with their spread, texts that changed cluster; JSON out and in.

ICLR 2023, section 6.2, figure 4: each perturbation of a comparison half against an untouched reference half.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import from_json
from mauve_core.base.validation import As, Count, Settings, Share
from mauve_core.experiments.perturbations import CONTROL, parse_perturbation
from mauve_core.numerics.divergences.summaries import FIVE
from mauve_core.scoring.result import SeedSpread
from mauve_core.store import Run

ATTACHMENT = "probes"
"""Name under which the table is kept beside a run."""

MEASURES = (*FIVE, "mauve")
"""The five divergences of ICLR 2023, larger for halves that differ more, and MAUVE, which is smaller."""

LineKind = Literal["control", "perturbation", "source"]


@dataclass(frozen=True, eq=False)
class Flow:
    """Clusters of n texts before and after a perturbation; the clusters are the run's and do not move.

    Attributes
    ----------
    k : int
    ids : tuple of str
    before, after : (n,) int32 arrays
        Cluster of each text, 0 to k - 1.
    """

    k: int
    ids: tuple[str, ...]
    before: NDArray[np.int32]
    after: NDArray[np.int32]

    def __post_init__(self) -> None:
        for labels in (self.before, self.after):
            if labels.shape != (len(self.ids),) or (labels.size and not 0 <= labels.min() <= labels.max() < self.k):
                allowed = f"{len(self.ids)} clusters from 0 to {self.k - 1}"
                raise InputError("These are no clusters of the texts", allowed=allowed, received=str(labels.shape))

    @property
    def transitions(self) -> NDArray[np.int64]:
        """(k, k) number of texts that went from the row's cluster to the column's."""
        table = np.zeros((self.k, self.k), dtype=np.int64)
        np.add.at(table, (self.before, self.after), 1)
        return table

    @property
    def sensitivity(self) -> NDArray[np.float64]:
        """(k,) share of each cluster's texts that left it; nan for a cluster without a text."""
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
        Untouched, perturbed, or texts of another source of the run in its place.
    name : str
        The perturbation as it is written, or the source's name.
    n, k : int
        Texts of each half, and clusters.
    changed : float
        Share of the half's texts that differ from what they were, over all splits; 0 for the control, 1 for a source.
    scores : mapping of str to SeedSpread
        For each of ``MEASURES``, over splits and k-means seeds: the seeds of the first split, then those of the next.
    flow : Flow or None
        For a perturbation, of the first split's comparison half.
    notes : tuple of str
        How many texts stayed as they were, of those that some split compares.
    """

    kind: LineKind
    name: str
    n: Count
    k: Count
    changed: Share
    scores: Mapping[str, SeedSpread]
    flow: Flow | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not set(MEASURES) <= set(self.scores):
            raise InputError("A line of probes lacks scores", allowed=", ".join(MEASURES))

    @property
    def title(self) -> str:
        """The line as a table names it; patterns and sources stand in it as they were given."""
        return self.name if self.kind == "source" else parse_perturbation(self.name).title


@dataclass(frozen=True, eq=False)
class ProbeTable:
    """The control, the perturbations and the other sources, all against the same reference halves.

    Attributes
    ----------
    source : str
        Whose texts were split and perturbed.
    lines : tuple of ProbeLine
        The control first.
    settings : mapping
        What the numbers come from; plain JSON.
    notes : tuple of str
    """

    source: str
    lines: tuple[ProbeLine, ...]
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for line in (self.control, *self.lines):  # there is a control, and every name says what was done
            if not line.title or any(not line.scores[measure].values for measure in MEASURES):
                raise InputError("A line of probes has no name or no scores")

    @property
    def control(self) -> ProbeLine:
        """The untouched half: what the sampling of texts alone does."""
        return self.line(CONTROL.spec)

    def line(self, name: str, kind: LineKind | None = None) -> ProbeLine:
        """The line of that name; a perturbation comes before a source named alike. InputError names the lines."""
        for line in self.lines:
            if line.name == name and kind in (None, line.kind):
                return line
        raise InputError(f"No line {name!r} among these probes", allowed=", ".join(line.name for line in self.lines))

    def over_control(self, line: ProbeLine, measure: str) -> SeedSpread:
        """A line's score less the control's, split by split and seed by seed.

        Both meet the same reference half and the same random starts, so that what these do to both cancels.
        """
        if measure not in MEASURES:
            raise InputError("No measure of that name", allowed=", ".join(MEASURES), received=repr(measure))
        pairs = zip(line.scores[measure].values, self.control.scores[measure].values, strict=True)
        return SeedSpread.of([value - floor for value, floor in pairs])


def stored_probes(run: Run) -> ProbeTable | None:
    """The table kept beside the run; None when there is none, StorageError or InputError when it is damaged."""
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    table = from_json(ProbeTable, values)
    run.require_sources([table.source, *(line.name for line in table.lines if line.kind == "source")], "The table")
    return table
