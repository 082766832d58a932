"""What benchmarks share to draw: slopes on logarithmic axes with their standard error, panels, and a figure of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000")
WIDTH, HEIGHT = 230, 220


def slope(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Exponent b of y = a x^b by least squares on logarithms, and its standard error; three points or more."""
    u, v = np.log(np.asarray(x, dtype=np.float64)), np.log(np.asarray(y, dtype=np.float64))
    u = u - u.mean()
    b = float(u @ v / (u @ u))
    rest = v - v.mean() - b * u
    return b, math.sqrt(float(rest @ rest) / (len(u) - 2) / float(u @ u))


def panel(
    title: str,
    unit: str,
    lines: Mapping[str, Sequence[tuple[float, float]]],
    low: float,
    high: float,
    *,
    named: bool = False,
) -> str:
    """One set of axes, both logarithmic; the vertical one reaches over whole decades from ``low`` to ``high``.

    ``named`` gives the panel colour keys of its own, where those of the figure do not hold.
    """
    xs = sorted({x for line in lines.values() for x, _ in line})
    left, right = math.log(xs[0]), math.log(xs[-1])
    bottom, top = math.floor(math.log10(low)), math.ceil(math.log10(high))

    def across(x: float) -> float:
        return 14 + (WIDTH - 28) * (math.log(x) - left) / max(right - left, 1e-9)

    def down(y: float) -> float:
        return HEIGHT * (1 - (math.log10(y) - bottom) / max(top - bottom, 1))

    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/><text x="6" y="-8">{title}</text>']
    for decade in range(bottom, top + 1):
        y = down(10.0**decade)
        parts.append(f'<line x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="-5" y="{y + 4:.1f}" text-anchor="end">{10.0**decade:g}</text>')
    for x in xs:
        label = f"{x / 1e6:g}M" if x >= 1e6 else f"{x / 1e3:g}k" if x >= 1e4 else f"{x:g}"
        parts.append(f'<text x="{across(x):.1f}" y="{HEIGHT + 14}" text-anchor="middle">{label}</text>')
    for place, ((name, line), colour) in enumerate(zip(lines.items(), COLOURS, strict=False)):
        points = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in line)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        parts += [f'<circle cx="{across(x):.1f}" cy="{down(y):.1f}" r="2.5" fill="{colour}"/>' for x, y in line]
        if named:
            foot = 18 + 15 * place
            parts.append(f'<line x1="8" x2="22" y1="{foot - 4}" y2="{foot - 4}" stroke="{colour}" stroke-width="3"/>')
            parts.append(f'<text x="27" y="{foot}">{name}</text>')
    parts.append(f'<text x="-34" y="{HEIGHT / 2}" transform="rotate(-90 -34 {HEIGHT / 2})">{unit}</text>')
    return "".join(parts)


def series_panel(title: str, minutes: Sequence[float], values: Sequence[float]) -> str:
    """A series on plain axes from zero, each 200th of the time as a line from its least value to its most."""
    last, top = max(minutes[-1], 1e-9), max(max(values), 1e-9) * 1.08

    def across(minute: float) -> float:
        return WIDTH * minute / last

    def down(value: float) -> float:
        return HEIGHT * (1 - value / top)

    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/><text x="6" y="-8">{title}</text>']
    for tick in np.linspace(0, 1, 5):
        y = HEIGHT * (1 - tick)
        parts.append(f'<line x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="-5" y="{y + 4:.1f}" text-anchor="end">{tick * top:,.3g}</text>')
        parts.append(f'<text x="{WIDTH * tick:.1f}" y="{HEIGHT + 14}" text-anchor="middle">{tick * last:.3g}</text>')
    bins = np.minimum((np.asarray(minutes) / last * 200).astype(int), 199)
    points = []
    for place in np.unique(bins):
        inside = np.asarray(values)[bins == place]
        x = across((place + 0.5) / 200 * last)
        points += [f"{x:.1f},{down(float(inside.min())):.1f}", f"{x:.1f},{down(float(inside.max())):.1f}"]
    parts.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{COLOURS[0]}" stroke-width="1.2"/>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT + 28}" text-anchor="middle">minutes</text>')
    return "".join(parts)


def spread_panel(
    title: str, foot: str, lines: Sequence[Sequence[Sequence[float]]], labels: Sequence[str] | None = None
) -> str:
    """Curves over 0, 1, 2 ... (or ``labels``) on plain axes from zero; each point is the mean of some values, a line
    reaches from the least of them to the most; where there are none, there is no point."""
    last, top = (
        max(len(line) for line in lines) - 1,
        max(max(values, default=0) for line in lines for values in line) * 1.08,
    )

    def across(number: float) -> float:
        return 14 + (WIDTH - 28) * number / max(last, 1)

    def down(value: float) -> float:
        return HEIGHT * (1 - value / top)

    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/><text x="6" y="-8">{title}</text>']
    for tick in np.linspace(0, 1, 5):
        y, value = HEIGHT * (1 - tick), tick * top
        label = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
        parts.append(f'<line x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="-5" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for number in range(last + 1):
        label = str(number) if labels is None else labels[number]
        parts.append(f'<text x="{across(number):.1f}" y="{HEIGHT + 14}" text-anchor="middle">{label}</text>')
    for line, colour in zip(lines, COLOURS, strict=False):
        points = [
            (across(number), float(np.mean(values)), min(values), max(values))
            for number, values in enumerate(line)
            if values
        ]
        path = " ".join(f"{x:.1f},{down(mean):.1f}" for x, mean, _, _ in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        for x, mean, low, high in points:
            ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{down(low):.1f}" y2="{down(high):.1f}"'
            parts.append(f'<line {ends} stroke="{colour}"/>')
            parts.append(f'<circle cx="{x:.1f}" cy="{down(mean):.1f}" r="2.5" fill="{colour}"/>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT + 28}" text-anchor="middle">{foot}</text>')
    return "".join(parts)


def figure(title: str, panels: Sequence[str], keys: Sequence[str]) -> str:
    """Panels side by side, a line of colour keys below."""
    left, top, gap = 56, 60, 62
    wide, high = left + len(panels) * (WIDTH + gap), top + HEIGHT + 56
    moved = [
        f'<g transform="translate({left + place * (WIDTH + gap)} {top})">{inside}</g>'
        for place, inside in enumerate(panels)
    ]
    legend = []
    for place, (key, colour) in enumerate(zip(keys, COLOURS, strict=False)):
        x = left + 170 * place
        line = f'<line x1="{x}" x2="{x + 18}" y1="{high - 18}" y2="{high - 18}" stroke="{colour}" stroke-width="3"/>'
        legend.append(f'{line}<text x="{x + 23}" y="{high - 14}">{key}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="11">'
        f'<rect width="{wide}" height="{high}" fill="white"/><text x="{left}" y="24" font-size="14">{title}</text>'
        f"{''.join(moved)}{''.join(legend)}</svg>\n"
    )
