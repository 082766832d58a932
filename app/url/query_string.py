"""The state of a visit as a query string, and back: a field a parameter, of the same name, departures alone.

What a reader here does not know is None, and counts as absent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast, get_args

from app.url.state import (
    FACTORS,
    MAX_CHOSEN,
    MAX_LASSO_POINTS,
    MAX_QUERY,
    MAX_RATER,
    MAX_SECONDS,
    MAX_SPEC,
    MAX_TRIED,
    Action,
    Area,
    Detail,
    Fix,
    Form,
    GapTab,
    Less,
    Moves,
    Part,
    Pick,
    Plane,
    Point,
    Section,
    Shelf,
    Side,
    State,
    Tab,
    Yardstick,
)
from mauve_core.analysis.cluster_table import ORDERS
from mauve_core.base.config import SCORES, PartitionKind, Smoothing
from mauve_core.base.errors import InputError
from mauve_core.experiments.perturbations import parse_perturbation
from mauve_core.experiments.sweeps import AXES, Over
from mauve_core.figures.map import Colouring
from mauve_core.judgments import TieRule

_NOTHING = "none"
"""An empty choice, where no choice means another one."""


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
    if name == "tried":
        return "\n".join(value) or _NOTHING
    if name in ("flow", "tags", "against"):
        return ",".join(map(str, value))
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or _NOTHING
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
    indices = () if text == _NOTHING else _read_indices(text)
    return indices if indices is None or len(indices) <= MAX_CHOSEN else None


def _read_tried(text: str) -> tuple[str, ...] | None:
    specs = () if text == _NOTHING else tuple(dict.fromkeys(text.split("\n")))
    return specs if len(specs) <= MAX_TRIED and all(0 < len(spec) <= MAX_SPEC for spec in specs) else None


def _read_against(text: str) -> tuple[str, str] | None:
    domain, _, reference = text.partition(",")
    return (domain, reference) if domain and reference else None


def _read_seconds(text: str) -> int | None:
    seconds = _read_index(text)
    return seconds if seconds is None or seconds <= MAX_SECONDS else None


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
    "form": _one_of(Form),
    "detail": _one_of(Detail),
    "area": _one_of(Area),
    "human_text": _read_index,
    "model_text": _read_index,
    "pair": _read_index,
    "column": _read_text,
    "captured": _one_of(Form),
    "categories": _read_chosen,
    "numbers": _read_chosen,
    "whose": _one_of(Side),
    "pure": _read_text,
    "measured": _one_of(Form),
    "swept": _one_of(Form),
    "by": _read_text,
    "yardstick": _one_of(Yardstick),
    "less": _one_of(Less),
    "moves": _one_of(Moves),
    "sheet": _read_index,
    "source": _read_text,
    "text": _read_index,
    "tried": _read_tried,
    "ties": _one_of(TieRule),
    "seconds": _read_seconds,
    "paper": _read_text,
    "published": _read_text,
    "against": _read_against,
    "plane": _one_of(Plane),
    "table": _read_text,
}
