"""Formatting for people: one rule each for values, spreads, intervals, shares and file sizes; summaries of objects.

- **Spread**: ``0.881 ± 0.014``. The standard deviation has two significant digits (JCGM 100:2008, 7.2.6); the value
  has as many decimals, at most six. Of two spreads, the larger one decides. A spread of 0, or too small for these
  decimals, leaves the value its own. In a column of errors, and for a method's candidates, the middle one decides,
  unless a row would gain or lose more than one digit.
  Two spreads of different origin are named: ``0.795 ± 0.031 (seeds) ± 0.012 (5 generations)``.
- **Scores**, which lie between 0 and 1, and their differences always have three decimals, as in papers.
- **Alone**, a value has four significant digits and at most four decimals; below 0.0005, two significant digits.
  Values of unknown precision (p-values, distances) have two or three significant digits and no trailing zeros.
- **Parts of an error**, in nats, have four decimals, so that they add up.
- **Interval**: ``0.790 to 0.900``, with the decimals of its value; tables for papers use brackets.
- **Share**: ``46%``, without a space; both ends of an interval have the sign, ``−4% to 46%``. The narrower the
  interval, the more decimals it and its share have. Parts of a whole are rounded so that they add up.
- **Unknown**: a spread that cannot exist (one seed) is left out, one that is not available is ``?``, and a missing
  value is ``–``.
- Negative numbers have a minus sign, not a hyphen; a number that rounds to 0 has no sign. Thousands have commas.
  Spaces are non-breaking; :func:`with_plain_spaces` converts for terminals and files, :func:`as_formula` for LaTeX.

Machine-readable output (CSV, JSON, URLs) and settings do not use these functions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

UNBROKEN = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
TO = f"{UNBROKEN}to{UNBROKEN}"

# Shown for a missing value.
NONE = "–"

# Shown for a spread that is not available.
UNKNOWN = "?"

# Decimals of MAUVE and the other scores of a leaderboard.
SCORE_DECIMALS = 3

# Decimals of the parts of an error.
NATS_DECIMALS = 4

# Decimals of rank correlations over a run's candidates. The papers' own, over many settings, have three.
CORRELATION_DECIMALS = 2

# Maximum decimals of a value with its spread.
MOST_DECIMALS = 6

_OWN_DIGITS = 4
# Below this, a value alone has two significant digits: four decimals would leave it one or none.
_TINY = 5e-4

# Below this power of ten, a number has an exponent: 2.1e−5.
_LEAST_EXPONENT = -4

# A relative spread below this is rounding error of equal numbers.
_ROUNDING = 1e-12

_SIZES = ("bytes", "kB", "MB", "GB", "TB")


def written(value: float, decimals: int | None = None, *, signed: bool = False) -> str:
    """Format a value alone.

    Parameters
    ----------
    decimals : int, optional
        Default: four significant digits and at most four decimals; below 0.0005, two significant digits.
    signed : bool
        Put a plus before positive numbers.
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
    """Format a value of unknown precision: ``digits`` significant digits, all integer digits, no trailing zeros."""
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
    """Format ``0.881 ± 0.014`` with non-breaking spaces.

    Parameters
    ----------
    sd : float or None
        None and NaN mean unknown.
    decimals : int, optional
        Of both; default: what the two significant digits of ``sd`` need.
    signed : bool
        Put a plus before positive values.
    value_in : str
        Template around the value, such as ``**{}**``.
    missing : str
        Shown for an unknown ``sd``: ``UNKNOWN`` where there should be one; by default, the value alone.
    """
    if not math.isfinite(value):
        return value_in.format(written(value))
    if sd is None or math.isnan(sd):
        alone = value_in.format(written(value, decimals, signed=signed))
        return f"{alone}{UNBROKEN}±{UNBROKEN}{missing}" if missing else alone
    decimals = decimals_of(value, sd) if decimals is None else decimals
    shown = value_in.format(written(value, decimals, signed=signed))
    return f"{shown}{UNBROKEN}±{UNBROKEN}{written(sd, decimals)}"


def over_generations(sd: float, generations: int, decimals: int | None = None) -> str:
    """Format the spread over generations, named: ``± 0.012 (5 generations)``."""
    return f"±{UNBROKEN}{written(sd, decimals)}{UNBROKEN}({generations:,}{UNBROKEN}generations)"


def with_named_spreads(
    value: float,
    first_sd: float | None,
    generations_sd: float | None,
    generations: int,
    decimals: int | None = None,
    *,
    value_in: str = "{}",
    over: str = "seeds",
    missing: str = "",
) -> str:
    """Format ``0.795 ± 0.031 (seeds) ± 0.012 (5 generations)``; without several generations, as :func:`with_spread`.

    ``first_sd`` and ``generations_sd`` are standard deviations; None and NaN mean unknown. ``over`` names the first.
    """
    if generations_sd is None or math.isnan(generations_sd):
        return with_spread(value, first_sd, decimals, value_in=value_in, missing=missing)
    decimals = decimals_of(value, first_sd, generations_sd) if decimals is None else decimals
    score = with_spread(value, first_sd, decimals, value_in=value_in, missing=missing)
    known = first_sd is not None and not math.isnan(first_sd)
    named = f"{UNBROKEN}({over})" if known or missing else ""
    return f"{score}{named} {over_generations(generations_sd, generations, decimals)}"


def with_two_spreads(value: float, first: float | None, second: float | None, decimals: int | None = None) -> str:
    """Format ``0.971 ± 0.002 / 0.015``, with a dash for a missing spread and the same decimals throughout."""
    if not math.isfinite(value):
        return written(value)
    decimals = decimals_of(value, first, second) if decimals is None else decimals
    sds = f"{UNBROKEN}/{UNBROKEN}".join(written(math.nan if sd is None else sd, decimals) for sd in (first, second))
    return f"{written(value, decimals)}{UNBROKEN}±{UNBROKEN}{sds}"


def with_spreads(values: Iterable[float], sds: Iterable[float | None]) -> list[str]:
    """Format a column with :func:`with_spread`, with decimals evened out by :func:`even_decimals`."""
    rows = list(zip(values, sds, strict=True))
    return [
        with_spread(value, sd, decimals)
        for (value, sd), decimals in zip(rows, even_decimals([decimals_of(*row) for row in rows]), strict=True)
    ]


def even_decimals(own: Sequence[int]) -> list[int]:
    """Give each row the decimals of the middle row, but at most one more or fewer than its own."""
    middle = sorted(own)[len(own) // 2] if own else 0
    return [min(max(middle, each - 1), each + 1) for each in own]


def decimals_of(value: float, *sds: float | None) -> int:
    """Return the decimals of a value with these spreads: the largest decides; None and NaN mean unknown."""
    largest = max((sd for sd in sds if sd is not None and math.isfinite(sd)), default=0.0)
    if largest <= max(0.5 * 10.0**-MOST_DECIMALS, _ROUNDING * abs(value)):
        return _own_decimals(value)
    return min(max(1 - _exponent(largest, 2), 0), MOST_DECIMALS)


def interval(low: float, high: float, decimals: int, *, signed: bool = False) -> str:
    """Format ``0.790 to 0.900`` with non-breaking spaces; an unbounded end is an infinity sign."""
    return f"{written(low, decimals, signed=signed)}{TO}{written(high, decimals, signed=signed)}"


def correlation(value: float, *, signed: bool = False) -> str:
    """Format a rank correlation: ``0.96``, or ``+0.96`` beside others that may be negative."""
    return written(value, CORRELATION_DECIMALS, signed=signed)


def as_percent(share: float, decimals: int = 0) -> str:
    """Format the share 0.46 as ``46%``."""
    return f"{written(100 * share, decimals)}%" if math.isfinite(share) else NONE


def percent_interval(low: float, high: float, decimals: int = 0) -> str:
    """Format ``−4% to 46%`` with non-breaking spaces."""
    return f"{as_percent(low, decimals)}{TO}{as_percent(high, decimals)}"


def percent_with_interval(share: float, low: float, high: float) -> str:
    """Format ``12% (−4% to 46%)``: one decimal if the interval is narrower than 10 points, two below one point."""
    decimals = sum(high - low < width for width in (0.1, 0.01))
    return f"{as_percent(share, decimals)}{UNBROKEN}({percent_interval(low, high, decimals)})"


def even_parts(shares: Sequence[float], decimals: int = 1) -> list[float]:
    """Round shares to percents with these decimals so that they add up to their rounded sum (largest remainders)."""
    unit = 10.0 ** (-2 - decimals)
    exact = [share / unit for share in shares]
    whole = [math.floor(each) for each in exact]
    missing = round(sum(exact)) - sum(whole)
    for index in sorted(range(len(exact)), key=lambda index: whole[index] - exact[index])[:missing]:
        whole[index] += 1
    return [each * unit for each in whole]


def plural(number: int, word: str) -> str:
    """Format ``1 worker`` or ``1,024 workers``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def verb(number: int, one: str, more: str) -> str:
    """Return the form of a verb that goes with a number: ``1 of 20 texts was``, ``2 of 20 texts were``."""
    return one if number == 1 else more


def file_size(size: float) -> str:
    """Format ``35.2 MB``: three digits, in powers of 1,000 bytes."""
    unit = 0
    while size >= 999.5 and unit < len(_SIZES) - 1:
        size, unit = size / 1000, unit + 1
    return f"{significant(size, 3)}{UNBROKEN}{_SIZES[unit]}"


def printable(text: str) -> str:
    """Escape control characters to get one line: text from files must not control the terminal."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def with_plain_spaces(text: str) -> str:
    """Replace non-breaking spaces with plain ones, for typing and searching."""
    return text.replace(UNBROKEN, " ")


def as_formula(text: str) -> str:
    """Turn text from the functions above into a LaTeX formula: LaTeX signs, a hyphen for the minus."""
    text = re.sub(r"(?<=\d),(?=\d)", "{,}", text)
    for written, latex in ((MINUS, "-"), ("±", r"\pm"), ("∞", r"\infty"), (UNBROKEN, " ")):
        text = text.replace(written, latex)
    return f"${text}$"


def _own_decimals(value: float) -> int:
    """Return the decimals for four significant digits, at most four."""
    if abs(value) < 1 or not math.isfinite(value):
        return _OWN_DIGITS
    return max(_OWN_DIGITS - 1 - _exponent(value, _OWN_DIGITS), 0)


def _exponent(value: float, digits: int) -> int:
    """Return the power of ten of the first digit of ``value`` after rounding to ``digits`` digits."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2])


# Lines of a summary, and characters of each.
MOST_LINES, LINE = 10, 100

# Characters of a name; of a longer one, beginning and end.
NAME = 40


def summary(title: str, lines: Sequence[str] = (), *, of: str = "") -> str:
    """Put a title and lines below it into at most ``MOST_LINES`` lines of at most ``LINE`` characters each.

    Parameters
    ----------
    title : str
    lines : sequence of str
        Indented below the title; those that find no room are counted.
    of : str
        What the lines are, in the plural: ``candidates``.
    """
    room = MOST_LINES - 1
    shown = list(lines) if len(lines) <= room else list(lines[: room - 1])
    if len(shown) < len(lines):
        shown.append(f"and {len(lines) - len(shown):,} more {of}".rstrip())
    return "\n".join([_cut(title), *(_cut(f"  {line}") for line in shown)])


def short(name: object) -> str:
    """Return a name from a file in one line, quoted, with at most about ``NAME`` characters."""
    line = printable(_ends(str(name), 10 * NAME))
    return f"'{_ends(line, NAME)}'"


def _cut(line: str) -> str:
    line = printable(with_plain_spaces(line[: 10 * LINE]))
    return line if len(line) <= LINE else f"{line[: LINE - 1]}…"


def _ends(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most // 2) + 1 :]}"
