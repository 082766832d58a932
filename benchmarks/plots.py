"""What benchmarks share to draw: slopes with their errors, panels, and a figure of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000")
WIDTH, HEIGHT = 230, 220
# Parts of the time whose means are fitted: what lasts much shorter than one of them averages out; fewest with a sample.
BLOCKS, FEWEST = 6, 4


def exponent(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Exponent b of y = a x^b by least squares on logarithms, and its standard error; three points or more."""
    u, v = np.log(np.asarray(x, dtype=np.float64)), np.log(np.asarray(y, dtype=np.float64))
    u = u - u.mean()
    b = float(u @ v / (u @ u))
    rest = v - v.mean() - b * u
    return b, math.sqrt(float(rest @ rest) / (len(u) - 2) / float(u @ u))


@dataclass(frozen=True)
class Slope:
    """Units a minute, with a 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def in_words(self) -> str:
        """Where the interval lies."""
        if self.low > 0:
            return "above zero"
        return "below zero" if self.high < 0 else "includes zero"


def slope(seconds: Sequence[float], values: Sequence[float]) -> Slope:
    """Least squares through the means of ``BLOCKS`` blocks of equal duration.

    Neighboring samples are alike, so their number says nothing about precision: the interval has the degrees of freedom
    of the block means. It is wider by sqrt((1 + r) / (1 - r)) if the means' residuals still follow one another, with r
    their lag-1 correlation, to which 1 / ``BLOCKS`` is added for what the fit takes off it. ``tests/test_plots.py``
    simulates how often it holds the truth. A block without a sample is left out; ValueError if fewer than ``FEWEST``
    are left.
    """
    x, y = np.asarray(seconds, dtype=np.float64) / 60, np.asarray(values, dtype=np.float64) - values[0]
    u, v = stats.binned_statistic(x, [x, y], bins=BLOCKS).statistic
    filled = ~np.isnan(u)
    if filled.sum() < FEWEST:
        raise ValueError(f"{filled.sum()} of {BLOCKS} blocks have a sample, and a slope needs {FEWEST}")
    u, v = u[filled] - u[filled].mean(), v[filled] - v[filled].mean()
    fitted = float(u @ v / (u @ u))
    rest = v - fitted * u
    squares, free = float(rest @ rest), len(u) - 2
    alike = float(rest[1:] @ rest[:-1]) / squares if squares else 0.0
    alike = min(max(alike + 1 / BLOCKS, 0.0), 0.9)
    error = math.sqrt(squares / free / float(u @ u) * (1 + alike) / (1 - alike))
    reach = float(stats.t.ppf(0.975, free)) * error
    return Slope(fitted, fitted - reach, fitted + reach)


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
