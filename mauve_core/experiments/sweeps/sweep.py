"""A sweep: the candidates' scores over one setting, with a spread over seeds; JSON in and out.

Settings are text length (NeurIPS 2021, figure 4; JMLR 2023, figure 8), numbers of texts and clusters and the
decoder's parameter (NeurIPS 2021, appendix, figures 7 and 8), and the scaling constant (figure 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from mauve_core.base.config import AXES, SCORE_BOUNDS, SCORES, Over
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import As, Count, RangedByName, Settings, from_json
from mauve_core.runs import Run
from mauve_core.scoring.result import SeedSpread


@dataclass(frozen=True)
class SweepPoint:
    """One candidate at one value.

    Attributes
    ----------
    value : float
        Value of the setting.
    candidate : str
        The point's line: the candidate's name; for ``over="decoder"`` the decoder's family and parameter, as in
        ``nucleus p``.
    source : str
        Candidate whose texts were scored.
    n : int
        Texts of the smaller side.
    k : int
        Clusters.
    scores : mapping of str to SeedSpread
        For each name of ``mauve_core.base.config.SCORES``.
    """

    value: float
    candidate: str
    source: str
    n: Count
    k: Count
    scores: Annotated[Mapping[str, SeedSpread], RangedByName(SCORE_BOUNDS)]

    def __post_init__(self) -> None:
        if not set(SCORES) <= set(self.scores):
            raise InputError("A point of a sweep lacks scores", allowed=", ".join(SCORES))


@dataclass(frozen=True)
class Sweep:
    """Scores of a run's candidates over one setting.

    Attributes
    ----------
    over : {"length", "n", "k", "scale", "decoder"}
        The setting.
    points : tuple of SweepPoint
        Grouped by line in the run's order of candidates, each in ascending value.
    settings : mapping
        Fixed settings and inputs of the numbers, as plain JSON.
    notes : tuple of str
        What the spread covers, exclusions with reasons, and other caveats.
    """

    over: Over
    points: tuple[SweepPoint, ...]
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def candidates(self) -> tuple[str, ...]:
        """The lines, in order."""
        return tuple(dict.fromkeys(point.candidate for point in self.points))

    @property
    def values(self) -> tuple[float, ...]:
        """All values of any point, ascending."""
        return tuple(sorted({point.value for point in self.points}))

    def line(self, candidate: str) -> tuple[SweepPoint, ...]:
        """The points of one line in ascending value; InputError lists the lines."""
        found = tuple(point for point in self.points if point.candidate == candidate)
        if not found:
            raise InputError(f"No line {candidate!r} in this sweep", allowed=", ".join(self.candidates))
        return found


def require_axis(over: object) -> Over:
    """Validate ``over``; InputError lists the axes."""
    for axis in AXES:
        if over == axis:
            return axis
    raise InputError("There is no such sweep", allowed=", ".join(AXES), received=repr(over))


def attachment_name(over: str) -> str:
    """Attachment name of a sweep."""
    return f"sweep-{over}"


def require_positive(values: Sequence[float]) -> None:
    """Raise InputError for a value that has no place on a logarithmic axis."""
    if min(values) <= 0:
        raise InputError("A value of the sweep cannot be used", allowed="numbers above 0", received=f"{min(values):g}")


def stored_sweep(run: Run, over: Over) -> Sweep | None:
    """The run's stored sweep over that axis, or None; InputError if ``over`` is no axis.

    StorageError or InputError if the stored sweep is damaged.
    """
    values = run.attachment(attachment_name(require_axis(over)))
    if values is None:
        return None
    sweep = from_json(Sweep, values)
    run.require_sources((point.source for point in sweep.points), "The sweep")
    if sweep.over != over or not sweep.points:
        raise InputError("The sweep is over a different setting", allowed=over, received=sweep.over)
    if over != "decoder":  # its lines are named after decoder families, and its values have ranges of their own
        run.require_sources(sweep.candidates, "The sweep")
        require_positive(sweep.values)
    return sweep
