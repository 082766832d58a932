"""How numbers are written: the rules by example, what a reader can read back, and no place that formats by hand."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mauve_core.base.formatting import (
    MINUS,
    MOST_DECIMALS,
    NONE,
    SCORE_DECIMALS,
    UNBROKEN,
    as_percent,
    decimals_of,
    even_decimals,
    even_parts,
    interval,
    percent_interval,
    percent_with_interval,
    significant,
    with_plain_spaces,
    with_spread,
    with_spreads,
    with_two_spreads,
    written,
)

ROOT = Path(__file__).resolve().parents[2]

values = st.floats(-1e9, 1e9, allow_subnormal=False)
spreads = st.floats(1e-9, 1e6)


def read_back(text: str) -> float:
    """The number that a reader sees."""
    return float(text.replace(MINUS, "-").replace(",", ""))


def decimals(text: str) -> int:
    return len(text.partition(".")[2])


def last_place(text: str) -> float:
    """The size of the last digit."""
    mantissa, _, power = text.replace(MINUS, "-").partition("e")
    return 10.0 ** (int(power or 0) - decimals(mantissa))


@pytest.mark.parametrize(
    ("value", "sd", "said"),
    [
        (0.0856, 0.023, "0.086 ± 0.023"),
        (1.331, 0.18, "1.33 ± 0.18"),
        (0.8812, 0.0141, "0.881 ± 0.014"),
        (0.95312, 0.0021, "0.9531 ± 0.0021"),
        (14.5312, 0.4231, "14.53 ± 0.42"),
        (1234.56, 78.9, "1,235 ± 79"),
        (98765.4, 4321.0, "98,765 ± 4,321"),
        (0.5, 0.0996, "0.50 ± 0.10"),  # two digits after rounding, not before
        (0.5, 0.00994, "0.5000 ± 0.0099"),
        (-0.1005, 0.023, "−0.101 ± 0.023"),
        (-0.0004, 0.012, "0.000 ± 0.012"),
        (0.5, 1.234e-7, "0.5000 ± 0.0000"),
        (0.5, 1.234e-6, "0.500000 ± 0.000001"),
        (0.7625, 1.4e-16, "0.7625 ± 0.0000"),
        (1e15, 0.2, "1,000,000,000,000,000 ± 0"),  # the sd is that of the last digits
        (14.5312, 0.0, "14.53 ± 0.00"),
        (0.84321, None, "0.8432"),
        (0.84321, math.nan, "0.8432"),
        (math.nan, 0.1, NONE),
        (math.inf, math.nan, "∞"),
        (-math.inf, 0.1, "−∞"),
    ],
)
def test_a_spread_decides_the_decimals_of_both(value: float, sd: float | None, said: str) -> None:
    assert with_plain_spaces(with_spread(value, sd)) == said


def test_scores_have_three_decimals_whatever_their_spread() -> None:
    assert with_spread(0.843219, 0.11, SCORE_DECIMALS) == f"0.843{UNBROKEN}±{UNBROKEN}0.110"
    assert with_spread(0.0036, 0.00012, SCORE_DECIMALS) == f"0.004{UNBROKEN}±{UNBROKEN}0.000"
    assert with_spread(0.8432, None, SCORE_DECIMALS) == "0.843"


@pytest.mark.parametrize(
    ("value", "first", "second", "said"),
    [
        (0.97131, 0.0021, 0.015, "0.971 ± 0.002 / 0.015"),
        (0.97131, 0.015, 0.0021, "0.971 ± 0.015 / 0.002"),
        (0.97131, None, 0.0021, "0.9713 ± – / 0.0021"),
        (0.97131, None, None, "0.9713 ± – / –"),
        (1234.5, 0.0, 20.0, "1,234 ± 0 / 20"),
        (math.inf, None, None, "∞"),
    ],
)
def test_of_two_spreads_the_larger_one_decides(
    value: float, first: float | None, second: float | None, said: str
) -> None:
    assert with_plain_spaces(with_two_spreads(value, first, second)) == said


@pytest.mark.parametrize(
    ("own", "even"),
    [
        ([3, 4, 4, 3, 4], [4, 4, 4, 4, 4]),
        ([3, 3, 4], [3, 3, 3]),
        ([0, 3, 3, 6], [1, 3, 3, 5]),
        ([2], [2]),
        ([], []),
    ],
)
def test_in_a_column_the_middle_row_decides_within_a_digit(own: list[int], even: list[int]) -> None:
    assert even_decimals(own) == even


def test_a_column_may_hold_what_is_not_finite() -> None:
    said = with_spreads([math.inf, math.nan, 0.5], [None, math.nan, 0.012])
    assert [with_plain_spaces(cell) for cell in said] == ["∞", NONE, "0.5000 ± 0.0120"]
    assert with_plain_spaces(with_two_spreads(0.5, math.nan, 0.012)) == "0.500 ± – / 0.012"


def test_a_column_is_written_with_even_decimals() -> None:
    said = with_spreads([0.0990, 0.0843, 0.1423, 123.4], [0.017, 0.0087, 0.0091, None])
    assert [with_plain_spaces(cell) for cell in said] == [
        "0.0990 ± 0.0170",
        "0.0843 ± 0.0087",
        "0.1423 ± 0.0091",
        "123.40",
    ]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.97131, "0.9713"),
        (1.23456, "1.235"),
        (9.9996, "10.00"),
        (123.456, "123.5"),
        (123456.7, "123,457"),
        (0.00162, "0.0016"),
        (-0.00041, "−0.00041"),
        (3.2e-5, "3.2e−5"),
        (-9.96e-5, "−0.0001"),
        (0.0, "0.0000"),
        (-0.0, "0.0000"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "–"),
    ],
)
def test_a_value_alone(value: float, said: str) -> None:
    assert written(value) == said


@pytest.mark.parametrize(("value", "said"), [(-5.66, "−5.7"), (-0.04, "0.0"), (1234.56, "+1,234.6")])
def test_a_sign_stands_before_what_is_not_rounded_to_0(value: float, said: str) -> None:
    assert written(value, 1, signed=True) == said


@pytest.mark.parametrize(
    ("value", "digits", "said"),
    [
        (0.001, 2, "0.001"),
        (1 / 3, 2, "0.33"),
        (1.0, 2, "1"),
        (1e-6, 2, "1e−6"),
        (9.96e-5, 2, "0.0001"),
        (-2.14e-7, 2, "−2.1e−7"),
        (1234.5, 3, "1,234"),
        (12.34, 3, "12.3"),
        (0.0, 2, "0"),
        (math.nan, 2, "–"),
    ],
)
def test_significant_digits(value: float, digits: int, said: str) -> None:
    assert significant(value, digits) == said


def test_intervals_and_shares() -> None:
    assert with_plain_spaces(interval(0.79, 0.9, 3)) == "0.790 to 0.900"
    assert with_plain_spaces(interval(-math.inf, 3.21, 1, signed=True)) == "−∞ to +3.2"
    assert [as_percent(share) for share in (0.461, -0.04, -0.001, 1, math.nan)] == ["46%", "−4%", "0%", "100%", "–"]
    assert as_percent(0.12345, 1) == "12.3%"
    assert with_plain_spaces(percent_interval(-0.04, 0.461)) == "−4% to 46%"
    assert with_plain_spaces(percent_with_interval(0.1234, -0.04, 0.461)) == "12% (−4% to 46%)"
    assert with_plain_spaces(percent_with_interval(0.0123, 0.003, 0.0214)) == "1.2% (0.3% to 2.1%)"
    assert with_plain_spaces(percent_with_interval(0.0023, 0.0015, 0.0031)) == "0.23% (0.15% to 0.31%)"


@given(values, spreads)
def test_a_value_and_its_spread_are_read_back_to_half_of_their_common_last_place(value: float, sd: float) -> None:
    said = with_spread(value, sd)
    assert not {" ", "-"} & set(said)
    shown, _, around = said.split(UNBROKEN)
    assert decimals(shown) == decimals(around) <= MOST_DECIMALS
    half = last_place(shown) / 2
    assert abs(read_back(shown) - value) <= half * (1 + 1e-9) + 1e-15 * abs(value)
    assert abs(read_back(around) - sd) <= half * (1 + 1e-9)


@given(values, st.floats(1e-4, 99))
def test_a_spread_has_two_digits(value: float, sd: float) -> None:
    assume(sd > 1e-12 * abs(value))
    digits = with_spread(value, sd).split(UNBROKEN)[2].replace(".", "").lstrip("0")
    assert len(digits) == 2


@given(values, st.integers(0, 8))
def test_a_number_is_read_back_to_half_of_its_last_place(value: float, places: int) -> None:
    for said in (written(value, places), written(value, places, signed=True)):
        assert abs(read_back(said) - value) <= 0.5 * 10.0**-places * (1 + 1e-9) + 1e-15 * abs(value)
    assert (MINUS in said) == (read_back(said) < 0)
    assert said.startswith("+") == (read_back(said) > 0)


@given(values.filter(lambda value: abs(value) > 1e-200), st.integers(1, 6))
def test_significant_digits_are_read_back(value: float, digits: int) -> None:
    said = significant(value, digits)
    allowed = 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) + 1 - digits + 1e-9)
    assert abs(read_back(said) - value) <= min(allowed, 0.5)


@given(values, st.lists(st.none() | st.floats(0, 1e6), max_size=3))
def test_decimals_never_grow_with_a_further_spread(value: float, sds: list[float | None]) -> None:
    assume(any(sd is not None and sd > 1e-5 and sd > 1e-11 * abs(value) for sd in sds))
    assert decimals_of(value, *sds, 123.0) <= decimals_of(value, *sds)


# A format with a number of decimals, or with a sign.
HAND_MADE = re.compile(r"\.[0-9{].*[fge%]$|^[+z]")

LEFT_ALONE = {
    "app/mauve_app/url/parameters.py": "the URL",
    "app/mauve_app/views/decoders_study.py": "settings as they are typed",
    "mauve_core/figures/text_map.py": "a path in SVG",
    "mauve_core/figures/sampling.py": "ticks of round numbers",
    "mauve_core/figures/frontier.py": "coordinates in SVG",
}


def made_by_hand(path: Path) -> Iterator[str]:
    """Formats of numbers in a file's f-strings; a level of confidence is a setting."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            form = ast.unparse(node.format_spec)[2:-1]
            if HAND_MADE.search(form) and not ast.unparse(node.value).lower().endswith("confidence"):
                yield f"{path.relative_to(ROOT)}:{node.lineno}: {form}"


def people_read() -> Iterator[Path]:
    for folder in ("app", "mauve_core/figures", "mauve_core/reporting", "mauve_core/cli"):
        yield from sorted((ROOT / folder).rglob("*.py"))
    yield ROOT / "mauve_core/scoring/tables.py"


@pytest.mark.slow
def test_no_place_that_people_read_formats_a_number_by_hand() -> None:
    found = [line for path in people_read() for line in made_by_hand(path)]
    assert [line for line in found if line.partition(":")[0] not in LEFT_ALONE] == []
    assert {line.partition(":")[0] for line in found} == set(LEFT_ALONE)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(0, 2))
def test_rounded_parts_add_up(shares: list[float], decimals: int) -> None:
    unit = 10.0 ** (-2 - decimals)
    parts = even_parts(shares, decimals)
    assert round(sum(parts) / unit) == round(sum(share / unit for share in shares))
    for part, share in zip(parts, shares, strict=True):
        assert abs(part - share) < unit * (1 + 1e-6)
        assert part / unit == pytest.approx(round(part / unit), abs=1e-6)


def test_the_largest_remainders_are_rounded_up() -> None:
    assert even_parts([1 / 3, 1 / 3, 1 / 3], 0) == pytest.approx([0.34, 0.33, 0.33])
    assert even_parts([0.0044, 0.0046, 0.991], 1) == pytest.approx([0.004, 0.005, 0.991])
