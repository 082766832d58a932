"""Report section on copied texts, and on differences of format between the candidates and the human texts."""

from __future__ import annotations

from mauve_core.analysis.precomputed import run_preflight
from mauve_core.analysis.preflight import COLUMNS, headline, rule_sentence, shown_rows
from mauve_core.reporting.blocks import Remarks, Section, Table
from mauve_core.store import Run


def preflight_section(run: Run) -> Section:
    """The flagged kinds of format in a table; a sentence where there is none."""
    found, said = run_preflight(run), run.comparison.words.said
    remarks = (said(headline(found)),)
    if not found.shown:
        return Section("format", "Format", (Remarks(remarks),))
    table = Table("Differences of format", tuple(map(said, COLUMNS)), tuple(shown_rows(found)), rule_sentence(found))
    return Section("format", "Format", (Remarks(remarks, weighty=True), table))
