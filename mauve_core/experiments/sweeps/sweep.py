"""A sweep: the scores of a run's candidates as one setting moves, each with its spread over seeds; JSON out and in.

Scores against the length of the texts (NeurIPS 2021, figure 4; JMLR 2023, figure 8), their number, the number of
clusters and the decoder's parameter (NeurIPS 2021, appendix, figures 7 and 8), and the scaling constant (figure 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from mauve_core.base.config import SCORES
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import from_json
from mauve_core.base.validation import As, Count, Settings
from mauve_core.scoring.result import SeedSpread
from mauve_core.store import Run

Over = Literal["length", "n", "k", "scale", "decoder"]
"""What moves: tokens a text, texts a side, clusters, the constant c, or a decoder's parameter."""

AXES: tuple[Over, ...] = get_args(Over)


@dataclass(frozen=True)
class SweepPoint:
    """One candidate at one value.

    Attributes
    ----------
    value : float
        What moved: tokens, texts a side, clusters, c, or the decoder's parameter.
    candidate : str
        The line that the point belongs to: the candidate's name; for ``over="decoder"`` the decoder's family and
        parameter, as ``nucleus p``.
    source : str
        Name of the run's candidate whose texts were scored.
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
    scores: Mapping[str, SeedSpread]

    def __post_init__(self) -> None:
        if not set(SCORES) <= set(self.scores) or not all(spread.values for spread in self.scores.values()):
            raise InputError("A point of a sweep lacks scores", allowed=", ".join(SCORES))


@dataclass(frozen=True)
class Sweep:
    """Scores of a run's candidates as one setting moves.

    Attributes
    ----------
    over : {"length", "n", "k", "scale", "decoder"}
    points : tuple of SweepPoint
        A line after the other in the order of the run's candidates, each by growing value.
    settings : mapping
        What was held fixed and what the numbers come from; plain JSON.
    notes : tuple of str
        What a reader must know: what the spread holds, what was left out and why.
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
        """Every value that some point has, growing."""
        return tuple(sorted({point.value for point in self.points}))

    def line(self, candidate: str) -> tuple[SweepPoint, ...]:
        """The points of one line by growing value; InputError names the lines there are."""
        found = tuple(point for point in self.points if point.candidate == candidate)
        if not found:
            raise InputError(f"No line {candidate!r} in this sweep", allowed=", ".join(self.candidates))
        return found


def require_axis(over: object) -> Over:
    """``over`` when a sweep can go over it; InputError says what can be swept."""
    for axis in AXES:
        if over == axis:
            return axis
    raise InputError("There is no sweep over that", allowed=", ".join(AXES), received=repr(over))


def attachment_name(over: Over) -> str:
    """Under which name a sweep is kept beside its run."""
    return f"sweep-{over}"


def stored_sweep(run: Run, over: Over) -> Sweep | None:
    """The sweep over that axis that was kept beside the run; None when there is none.

    Raises
    ------
    InputError
        ``over`` is no axis.
    StorageError, InputError
        What was kept is damaged.
    """
    values = run.attachment(attachment_name(require_axis(over)))
    if values is None:
        return None
    sweep = from_json(Sweep, values)
    run.require_sources((point.source for point in sweep.points), "The sweep")
    if sweep.over != over or not sweep.points:
        raise InputError("The sweep is another one", allowed=over, received=sweep.over)
    if over != "decoder":  # whose lines are called after the decoders' families
        run.require_sources(sweep.candidates, "The sweep")
    return sweep
