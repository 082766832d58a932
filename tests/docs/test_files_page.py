"""The page on files has the rows of the table of real inputs, which are read in a test of their own, and no others."""

from __future__ import annotations

from pathlib import Path

from tests.corpus.real_inputs import INPUTS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "files.md").read_text(encoding="utf-8")
HEAD = ["| file | text | prompt | id |", "| --- | --- | --- | --- |"]


def test_the_table_of_the_page_is_that_of_the_tests() -> None:
    assert [line for line in PAGE.splitlines() if line.startswith("|")] == [*HEAD, *(kind.row for kind in INPUTS)]
