"""Tables as CSV that a spreadsheet opens without running anything in them."""

from __future__ import annotations

import csv

import pandas as pd

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""A cell of text that starts so would be read as a formula."""


def csv_bytes(table: pd.DataFrame) -> bytes:
    """The table as CSV in UTF-8; text that starts like a formula, headings included, gets a leading apostrophe.

    All text is quoted, so that a line break of any kind stays inside its cell.
    """
    text = [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]
    safe = table.assign(**{name: table[name].astype(object).map(_plain) for name in text}).rename(columns=_plain)
    return safe.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC).encode("utf-8")


def _plain(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
