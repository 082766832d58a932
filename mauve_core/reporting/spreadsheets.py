"""CSV tables that a spreadsheet can open without running formulas."""

from __future__ import annotations

import csv

import pandas as pd

from mauve_core.runs.rating_tables import FORMULA_STARTS


def csv_bytes(table: pd.DataFrame) -> bytes:
    """The table as quoted CSV in UTF-8; a cell or heading that looks like a formula gets a leading apostrophe."""
    text = [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]
    safe = table.assign(**{name: table[name].astype(object).map(_plain) for name in text}).rename(columns=_plain)
    return safe.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC).encode("utf-8")


def _plain(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
