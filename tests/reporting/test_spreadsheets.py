"""CSV: formulas are defused, everything else comes back as it was."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest

from mauve_core.reporting.spreadsheets import FORMULA_STARTS, csv_bytes
from tests.payloads import PAYLOADS


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_formulas_are_defused(start: str) -> None:
    table = pd.DataFrame({"id": [f"{start}cmd|calc"], f"{start}x": ["fine"]})
    back = pd.read_csv(io.BytesIO(csv_bytes(table)), keep_default_na=False)
    assert back.iloc[0, 0] == f"'{start}cmd|calc"
    assert back.columns[1] == f"'{start}x"


def test_no_cell_and_no_heading_of_a_payload_is_a_formula() -> None:
    texts = [*PAYLOADS.values()]
    data = csv_bytes(pd.DataFrame([texts], columns=texts)).decode()
    head, row = csv.reader(io.StringIO(data, newline=""))
    assert not [cell for cell in (*head, *row) if cell.startswith(FORMULA_STARTS)]
    assert [cell.removeprefix("'") for cell in row] == [text.removeprefix("'") for text in texts]


def test_other_cells_come_back() -> None:
    table = pd.DataFrame({"id": ["a,1", 'b"2', "c\nd", "é"], "n": [-1.5, 2.0, -3.0, 4.0]})
    pd.testing.assert_frame_equal(pd.read_csv(io.BytesIO(csv_bytes(table))), table)
