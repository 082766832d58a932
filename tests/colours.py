"""Colors in a drawn figure, and whose each trace is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import plotly.graph_objects as go

from mauve_core.figures.theme import HUMAN_COLOUR, as_label, candidate_colour

_HEX, _RGBA = re.compile(r"#[0-9a-f]{6}$"), re.compile(r"rgba\((\d+),\s*(\d+),\s*(\d+),\s*([\d.]+)\)$")
_SAYS = "meta", "name", "legendgroup", "hovertemplate"
# Width of the transparent bars that take clicks; their hovers name a candidate.
_CLICKED = 1
# Property with a scale from one side to the other.
_OF_BOTH = "colorscale"


def traces_of(figure: go.Figure) -> list[dict[str, Any]]:
    """Traces as they are sent."""
    found: list[dict[str, Any]] = json.loads(figure.to_json())["data"]
    return found


def colours(part: Any) -> set[str]:
    """All colors in a trace or a layout as ``#rrggbb``, without what is clear, and without scales between two sides."""
    return set(_colours(part))


def _colours(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        for name, inner in part.items():
            if name != _OF_BOTH:
                yield from _colours(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _colours(inner)
    elif isinstance(part, str):
        if _HEX.match(part):
            yield part
        elif (found := _RGBA.match(part)) and float(found[4]) > 0:
            yield "#" + "".join(f"{int(channel):02x}" for channel in found.groups()[:3])


def owner(trace: dict[str, Any], candidates: Sequence[str]) -> str | None:
    """The candidate that a trace names; None if it names none."""
    said = " ".join(str(trace.get(name, "")) for name in _SAYS)
    named = [
        name
        for name in sorted(candidates, key=len, reverse=True)
        if re.search(rf"(?<!\w){re.escape(as_label(name))}(?!\w)", said)
    ]
    return named[0] if named else None


def wrong(traces: Sequence[dict[str, Any]], candidates: Sequence[str], shown: str | None = None) -> list[str]:
    """What is wrong with the colors of candidates: a sentence for each trace.

    With ``shown``, the figure is of that candidate alone: no trace that does not name another has its color.
    """
    own = {name: candidate_colour(candidates, name) for name in candidates}
    said = []
    for place, trace in enumerate(traces):
        if trace["type"] == "bar" and trace.get("width") == _CLICKED:
            continue
        found, whose = colours(trace), owner(trace, candidates)
        if whose is not None and found and own[whose] not in found:
            said.append(f"trace {place} of {whose} has {sorted(found)}")
        others = {colour for name, colour in own.items() if name != (whose or shown)}
        if (whose or shown) and found & others:
            said.append(f"trace {place} has the color of another candidate: {sorted(found & others)}")
        if whose is not None and HUMAN_COLOUR in found:
            said.append(f"trace {place} of {whose} is human blue")
        scale = trace.get("marker", {}).get(_OF_BOTH)
        if shown and scale and (scale[0][1], scale[-1][1]) != (own[shown], HUMAN_COLOUR):
            said.append(f"trace {place} is not between the colors of both sides: {scale}")
    return said


def blue(traces: Sequence[dict[str, Any]]) -> int:
    """Number of traces that are human blue."""
    return sum(HUMAN_COLOUR in colours(trace) for trace in traces)
