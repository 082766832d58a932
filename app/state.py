"""What the URL says of a view, and how: the state of a visit as a query string, and back. Streamlit is not needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from mauve_core.cluster_table import ORDERS
from mauve_core.config import SCORES, PartitionKind, Smoothing
from mauve_core.errors import InputError
from mauve_core.figures.map import Colouring
from mauve_core.perturbations import parse_perturbation
from mauve_core.sweeps import AXES, Over

Point = tuple[float, float]
Section = Literal["measures", "sweeps", "generate"]
Tab = Literal["rate", "results"]
Pick = Literal["clusters", "lasso", "slice"]
Side = Literal["model", "human", "both"]
Action = Literal["drop", "cap", "match", "weight"]
Fix = Literal["match", "drop"]
Part = Literal["scores", "flow", "text"]
GapTab = Literal["texts", "what-if", "few"]
Shelf = Literal["runs", "pair", "bin"]

MAX_LASSO_POINTS = 200
"""A freehand lasso has many more corners than a link should carry; every n-th is kept, and that polygon is the one
drawn and tested."""

MAX_CHOSEN = 200
"""Clusters of a what-if that a link carries."""

FACTORS = 0.0, 100.0
"""What a text can count for in a what-if."""
MAX_SPEC = 3000
"""Characters of a perturbation: room for the longest pattern and replacement."""

MAX_QUERY = 200
"""Characters of a search for runs; the rest is cut."""

MAX_RATER = 60
"""Characters of a rater's name; the rest is cut."""

_NO_CLUSTER = "none"


@dataclass(frozen=True)
class State:
    """The view that the URL describes.

    Attributes
    ----------
    run : str or None
        Id of the stored run; None leaves the choice to the sidebar (the demo, else the newest).
    candidate : str or None
        Name of the candidate in focus; None takes the run's first.
    partition : {"pairwise", "joint"} or None
        None takes the view's own default: see :meth:`partition_or`.
    cluster : int or None
        Cluster in focus, an index of the partition of seed index ``seed``.
    seed : int
        Index of the k-means seed whose clusters are shown; a view falls back to 0 where the run has fewer seeds.
    weight : float in [0, 1]
        Weight of P in the mixture R.
    scale : float or None
        The constant c of MAUVE; None takes the run's own.
    smoothing : str
        A key of ``mauve_core.numerics.smoothing.SMOOTHINGS``.
    lasso : tuple of (x, y) or None
        Corners of the polygon drawn on the map, in its coordinates.
    hidden : tuple of int
        Sources left out of the map and of its selection, by their place in the run (0 is the human side).
    section : {"measures", "sweeps", "generate"} or None
        Part of the page Decoders; None leaves the choice to the page.
    measure, across, along : str or None
        Text measures by name: the one that ranks, and those on the horizontal and vertical axis of the plot of two.
    axis : {"length", "n", "k", "scale", "decoder"}
        What the sweep that is shown goes over.
    score : str
        The score that the sweep shows and that the list of the gap's clusters goes by, of
        ``mauve_core.config.SCORES``.
    tab : {"rate", "results"}
        Part of the page Judge.
    rater : str or None
        Who rates: one name on one line; None asks.
    question : str or None
        The question whose results are shown; None takes the first.
    pick : {"clusters", "lasso", "slice"}
        What the what-if changes: ``chosen``, the texts in ``lasso``, or those whose metadata ``field`` is ``value``.
    chosen : tuple of int or None
        Clusters of the what-if, growing; None takes ``cluster``.
    field, value : str or None
        A column of metadata, and a value of it as text.
    side : {"model", "human", "both"}
        Whose texts the what-if changes.
    action : {"drop", "cap", "match", "weight"}
        What it does to them.
    factor : float in FACTORS
        What each of them counts for when they are weighted.
    fix : {"match", "drop"}
        What the list of the gap's clusters does to each.
    part : {"scores", "flow", "text"}
        Part of the page Probes.
    perturbation : str or None
        The perturbation in focus, as it is written; None takes the first of the stored ones.
    flow : (int, int) or None
        Cluster that texts left and cluster that they came to, two different ones.
    shelf : {"runs", "pair", "bin"}
        Part of the page Runs.
    query : str or None
        Words that the listed runs have.
    tags : tuple of str
        Tags that the listed runs have, in alphabetical order.
    left, right : str or None
        Ids of the two runs that are held against each other.
    tour : int or None
        Step of the guided tour, from 1; None where nobody takes it.
    order : str
        By what the clusters are sorted: a key of ``mauve_core.cluster_table.ORDERS``.
    colour : str
        What the colours of the map say: a key of ``mauve_core.figures.map.COLOURINGS``.
    below : {"texts", "what-if", "few"}
        The tab of the page Gap that is open.
    """

    run: str | None = None
    candidate: str | None = None
    partition: PartitionKind | None = None
    cluster: int | None = None
    seed: int = 0
    weight: float = 0.5
    scale: float | None = None
    smoothing: Smoothing = "none"
    lasso: tuple[Point, ...] | None = None
    hidden: tuple[int, ...] = ()
    section: Section | None = None
    measure: str | None = None
    across: str | None = None
    along: str | None = None
    axis: Over = "length"
    score: str = SCORES[0]
    tab: Tab = "rate"
    rater: str | None = None
    question: str | None = None
    pick: Pick = "clusters"
    chosen: tuple[int, ...] | None = None
    field: str | None = None
    value: str | None = None
    side: Side = "model"
    action: Action = "drop"
    factor: float = 0.5
    fix: Fix = "match"
    part: Part = "scores"
    perturbation: str | None = None
    flow: tuple[int, int] | None = None
    shelf: Shelf = "runs"
    query: str | None = None
    tags: tuple[str, ...] = ()
    left: str | None = None
    right: str | None = None
    tour: int | None = None
    order: str = next(iter(ORDERS))
    colour: Colouring = "source"
    below: GapTab = "texts"

    def partition_or(self, default: PartitionKind) -> PartitionKind:
        """The partition asked for, else ``default`` ("joint" in Clusters and Map, "pairwise" in Compare)."""
        return self.partition or default


def parse(parameters: Mapping[str, str]) -> State:
    """The state that a query string describes (pure; ``to_parameters`` is its inverse)."""
    values = {name: read(parameters[name]) for name, read in READERS.items() if name in parameters}
    return State(**{name: value for name, value in values.items() if value is not None})


def to_parameters(state: State) -> dict[str, str]:
    """The query string of a state, departures from the defaults only."""
    defaults = State()
    changed = {name: getattr(state, name) for name in READERS if getattr(state, name) != getattr(defaults, name)}
    return {name: _written(name, value) for name, value in changed.items()}


def thinned(polygon: Sequence[Sequence[float]]) -> tuple[Point, ...]:
    """At most ``MAX_LASSO_POINTS`` corners, rounded as the URL writes them, so that a reload changes nothing."""
    step = max(1, math.ceil(len(polygon) / MAX_LASSO_POINTS))
    return tuple((float(_number(x)), float(_number(y))) for x, y in polygon[::step])


def _number(value: float) -> str:
    return f"{value:.5g}"


def _written(name: str, value: Any) -> str:
    if name == "lasso":
        return ";".join(f"{_number(x)},{_number(y)}" for x, y in value)
    if name in ("hidden", "chosen"):
        return ",".join(map(str, value)) or _NO_CLUSTER
    if name in ("flow", "tags"):
        return ",".join(map(str, value))
    return _number(value) if isinstance(value, float) else str(value)


def _one_of(choices: Any) -> Callable[[str], str | None]:
    """Reads what a Literal type allows."""
    return lambda text: text if text in get_args(choices) else None


def _read_number(text: str, low: float, high: float) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if low <= value <= high else None


def _read_weight(text: str) -> float | None:
    return _read_number(text, 0.0, 1.0)


def _read_scale(text: str) -> float | None:
    return _read_number(text, 1e-3, 1e3)


def _read_index(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _read_indices(text: str) -> tuple[int, ...] | None:
    indices = [_read_index(item) for item in text.split(",")]
    return None if None in indices else tuple(sorted(cast("set[int]", set(indices))))


def _read_chosen(text: str) -> tuple[int, ...] | None:
    indices = () if text == _NO_CLUSTER else _read_indices(text)
    return indices if indices is None or len(indices) <= MAX_CHOSEN else None


def _read_factor(text: str) -> float | None:
    return _read_number(text, *FACTORS)


def _read_lasso(text: str) -> tuple[Point, ...] | None:
    pairs = [corner.split(",") for corner in text.split(";")]
    if not 3 <= len(pairs) <= MAX_LASSO_POINTS or any(len(pair) != 2 for pair in pairs):
        return None
    numbers = [_read_number(item, -1e6, 1e6) for pair in pairs for item in pair]
    if any(number is None for number in numbers):
        return None
    finite = cast("list[float]", numbers)
    return tuple(zip(finite[::2], finite[1::2], strict=True))


def _read_text(text: str) -> str | None:
    return text or None


def _read_axis(text: str) -> Over | None:
    return next((axis for axis in AXES if axis == text), None)


def _read_score(text: str) -> str | None:
    return text if text in SCORES else None


def _read_rater(text: str) -> str | None:
    return " ".join(text.split())[:MAX_RATER].strip() or None


def _read_query(text: str) -> str | None:
    return " ".join(text.split())[:MAX_QUERY].strip() or None


def _read_tags(text: str) -> tuple[str, ...]:
    return tuple(sorted({tag.strip() for tag in text.split(",")} - {""}))


def _read_perturbation(text: str) -> str | None:
    try:
        return parse_perturbation(text).spec if len(text) <= MAX_SPEC else None
    except InputError:
        return None


def _read_flow(text: str) -> tuple[int, int] | None:
    ends = [_read_index(item) for item in text.split(",")]
    if len(ends) != 2 or None in ends or ends[0] == ends[1]:
        return None
    return cast("tuple[int, int]", tuple(ends))


READERS: dict[str, Callable[[str], Any]] = {
    "run": _read_text,
    "candidate": _read_text,
    "partition": _one_of(PartitionKind),
    "cluster": _read_index,
    "seed": _read_index,
    "weight": _read_weight,
    "scale": _read_scale,
    "smoothing": _one_of(Smoothing),
    "lasso": _read_lasso,
    "hidden": _read_indices,
    "section": _one_of(Section),
    "measure": _read_text,
    "across": _read_text,
    "along": _read_text,
    "axis": _read_axis,
    "score": _read_score,
    "tab": _one_of(Tab),
    "rater": _read_rater,
    "question": _read_text,
    "pick": _one_of(Pick),
    "chosen": _read_chosen,
    "field": _read_text,
    "value": str,
    "side": _one_of(Side),
    "action": _one_of(Action),
    "factor": _read_factor,
    "fix": _one_of(Fix),
    "part": _one_of(Part),
    "perturbation": _read_perturbation,
    "flow": _read_flow,
    "shelf": _one_of(Shelf),
    "query": _read_query,
    "tags": _read_tags,
    "left": _read_text,
    "right": _read_text,
    "tour": _read_index,
    "order": lambda text: text if text in ORDERS else None,
    "colour": _one_of(Colouring),
    "below": _one_of(GapTab),
}
