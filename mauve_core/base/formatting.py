"""How results are written for people: one rule each for a number, its spread, an interval, a share and a file's size.

- **Spread**: ``0.881 ± 0.014``. The standard deviation has two significant digits (JCGM 100:2008, 7.2.6), the value as
  many decimals, six at most. Of two spreads the larger one decides. One of 0, or below all of these decimals, leaves
  the value its own. In a column of errors, and for a method's candidates, the middle one decides, as long as nobody
  loses or gains more than one digit.
- **Scores**, which lie between 0 and 1, and their differences have three decimals whatever their spread, as papers
  print them.
- **Alone** a value has four significant digits, and four decimals at most; below 0.0005 two significant digits. Where
  nobody knows how precise it is (p-values, distances), two or three significant digits and no zeros at the end.
- **Parts of an error**, in nats, have four decimals, so that they can be added up.
- **Interval**: ``0.790 to 0.900``, with the decimals of the value beside it; tables for papers put it in brackets.
- **Share**: ``46%``, without a space; in an interval both ends have the sign, ``−4% to 46%``. The narrower the interval
  beside a share, the more decimals both have.
- **Unknown**: a spread that there cannot be (one seed) is left out, one that could not be given is ``?``; for no value
  stands ``–``.
- Negative numbers have a minus, not a hyphen; a number that is rounded to 0 has no sign. Thousands have commas. Spaces
  inside are unbroken; :func:`with_plain_spaces` is for terminals and files, :func:`as_formula` for LaTeX.

What machines read (CSV, JSON, URLs) and settings, which stand as they were given, are not written by these.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

UNBROKEN = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
TO = f"{UNBROKEN}to{UNBROKEN}"

NONE = "–"
"""Stands for a value that does not exist."""

UNKNOWN = "?"
"""Stands for a spread that could not be given."""

SCORE_DECIMALS = 3
"""Of MAUVE and the other scores of a leaderboard."""

NATS_DECIMALS = 4
"""Of the parts of an error."""

CORRELATION_DECIMALS = 2
"""Of rank correlations over a run's candidates; the papers' own, of many settings, are printed with three."""

MOST_DECIMALS = 6
"""Of a value with its spread."""

_OWN_DIGITS = 4
_TINY = 5e-4
"""A value alone has two significant digits below this, because four decimals would leave it one or none."""

_LEAST_EXPONENT = -4
"""Below this power of ten a number is written with its exponent: 2.1e−5."""

_ROUNDING = 1e-12
"""A spread below this part of the value is that of the last digits of equal numbers."""

_SIZES = ("bytes", "kB", "MB", "GB", "TB")


def written(value: float, decimals: int | None = None, *, signed: bool = False) -> str:
    """A value alone.

    Parameters
    ----------
    decimals : int, optional
        Default: four significant digits, and four decimals at most; below 0.0005 two significant digits.
    signed : bool
        Whether a positive number has a plus.
    """
    if not math.isfinite(value):
        return NONE if math.isnan(value) else "∞" if value > 0 else f"{MINUS}∞"
    if decimals is None:
        if 0 < abs(value) < _TINY:
            return significant(value, 2, signed=signed)
        decimals = _own_decimals(value)
    if not signed:
        return f"{value:z,.{decimals}f}".replace("-", MINUS)
    text = f"{value:+z,.{decimals}f}".replace("-", MINUS)
    return text if text.strip("+0.") else text[1:]


def significant(value: float, digits: int = 2, *, signed: bool = False) -> str:
    """A value of unknown precision: so many significant digits without zeros at the end, and all before the point."""
    if value == 0 or not math.isfinite(value):
        return written(value, 0)
    exponent = _exponent(value, digits)
    if exponent >= _LEAST_EXPONENT:
        text = written(value, max(digits - 1 - exponent, 0), signed=signed)
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa = written(float(f"{value:.{digits - 1}e}".partition("e")[0]), digits - 1, signed=signed)
    return f"{mantissa.rstrip('0').rstrip('.')}e{MINUS}{-exponent}"


def with_spread(
    value: float,
    sd: float | None,
    decimals: int | None = None,
    *,
    signed: bool = False,
    value_in: str = "{}",
    missing: str = "",
) -> str:
    """``0.881 ± 0.014``, in one piece.

    Parameters
    ----------
    sd : float or None
        None and NaN: not known.
    decimals : int, optional
        Of both; default: what the two significant digits of ``sd`` need.
    signed : bool
        Whether a positive value has a plus.
    value_in : str
        What stands around the value, such as ``**{}**``.
    missing : str
        What stands for an unknown ``sd``: ``UNKNOWN`` where there should be one; by default the value stands alone.
    """
    if not math.isfinite(value):
        return value_in.format(written(value))
    if sd is None or math.isnan(sd):
        alone = value_in.format(written(value, decimals, signed=signed))
        return f"{alone}{UNBROKEN}±{UNBROKEN}{missing}" if missing else alone
    decimals = decimals_of(value, sd) if decimals is None else decimals
    shown = value_in.format(written(value, decimals, signed=signed))
    return f"{shown}{UNBROKEN}±{UNBROKEN}{written(sd, decimals)}"


def with_two_spreads(value: float, first: float | None, second: float | None, decimals: int | None = None) -> str:
    """``0.971 ± 0.002 / 0.015``, a dash for a spread that there is not; all with the same decimals."""
    if not math.isfinite(value):
        return written(value)
    decimals = decimals_of(value, first, second) if decimals is None else decimals
    sds = f"{UNBROKEN}/{UNBROKEN}".join(written(math.nan if sd is None else sd, decimals) for sd in (first, second))
    return f"{written(value, decimals)}{UNBROKEN}±{UNBROKEN}{sds}"


def with_spreads(values: Iterable[float], sds: Iterable[float | None]) -> list[str]:
    """:func:`with_spread` of a column, with decimals as even as :func:`even_decimals` makes them."""
    rows = list(zip(values, sds, strict=True))
    return [
        with_spread(value, sd, decimals)
        for (value, sd), decimals in zip(rows, even_decimals([decimals_of(*row) for row in rows]), strict=True)
    ]


def even_decimals(own: Sequence[int]) -> list[int]:
    """Those of the middle row, for rows with these decimals of their own; at most one more or fewer than their own."""
    middle = sorted(own)[len(own) // 2] if own else 0
    return [min(max(middle, each - 1), each + 1) for each in own]


def decimals_of(value: float, *sds: float | None) -> int:
    """Decimals of a value with these spreads, of which None and NaN are not known: the largest one decides."""
    largest = max((sd for sd in sds if sd is not None and math.isfinite(sd)), default=0.0)
    if largest <= max(0.5 * 10.0**-MOST_DECIMALS, _ROUNDING * abs(value)):
        return _own_decimals(value)
    return min(max(1 - _exponent(largest, 2), 0), MOST_DECIMALS)


def interval(low: float, high: float, decimals: int, *, signed: bool = False) -> str:
    """``0.790 to 0.900``, in one piece; an end without a limit is an infinity sign."""
    return f"{written(low, decimals, signed=signed)}{TO}{written(high, decimals, signed=signed)}"


def correlation(value: float, *, signed: bool = False) -> str:
    """``0.96``, a rank correlation; ``+0.96`` beside others that may be negative."""
    return written(value, CORRELATION_DECIMALS, signed=signed)


def as_percent(share: float, decimals: int = 0) -> str:
    """``46%`` of the share 0.46."""
    return f"{written(100 * share, decimals)}%" if math.isfinite(share) else NONE


def percent_interval(low: float, high: float, decimals: int = 0) -> str:
    """``−4% to 46%``, in one piece."""
    return f"{as_percent(low, decimals)}{TO}{as_percent(high, decimals)}"


def percent_with_interval(share: float, low: float, high: float) -> str:
    """``12% (−4% to 46%)``, ``1.2% (0.3% to 2.1%)``: a decimal for an interval below 10 points, two below one point."""
    decimals = sum(high - low < width for width in (0.1, 0.01))
    return f"{as_percent(share, decimals)}{UNBROKEN}({percent_interval(low, high, decimals)})"


def file_size(size: float) -> str:
    """``35.2 MB``: three digits, in powers of 1,000 bytes."""
    unit = 0
    while size >= 999.5 and unit < len(_SIZES) - 1:
        size, unit = size / 1000, unit + 1
    return f"{significant(size, 3)}{UNBROKEN}{_SIZES[unit]}"


def with_plain_spaces(text: str) -> str:
    """``text`` as people type and search it."""
    return text.replace(UNBROKEN, " ")


def as_formula(text: str) -> str:
    """What the others here wrote, as a formula of LaTeX: its own signs, a hyphen for the minus."""
    text = re.sub(r"(?<=\d),(?=\d)", "{,}", text)
    for written, latex in ((MINUS, "-"), ("±", r"\pm"), ("∞", r"\infty"), (UNBROKEN, " ")):
        text = text.replace(written, latex)
    return f"${text}$"


def _own_decimals(value: float) -> int:
    """Four significant digits of a value, and four decimals at most."""
    if abs(value) < 1 or not math.isfinite(value):
        return _OWN_DIGITS
    return max(_OWN_DIGITS - 1 - _exponent(value, _OWN_DIGITS), 0)


def _exponent(value: float, digits: int) -> int:
    """The power of ten of the first digit of ``value`` rounded to so many digits."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2])
