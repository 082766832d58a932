"""Report section on what the candidates do more or less than people, in tested sentences."""

from __future__ import annotations

from collections.abc import Sequence

from mauve_core.analysis.findings.of_run import Q, run_findings
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import NONE, as_percent, percent_with_interval
from mauve_core.reporting.blocks import Remarks, Section, Table
from mauve_core.store import Run

TITLE = "What differs"

COLUMNS = ("Candidate", "Finding", "Difference", "Of the gap")

NOTHING = "no difference that holds for texts that did not suggest it"


def findings_section(run: Run, candidates: Sequence[str]) -> Section:
    """The clearest finding of each candidate in a table; a sentence where there are too few texts."""
    rows: list[tuple[str, ...]] = []
    try:
        for name in candidates:
            found = run_findings(run, name)
            rows += [(name, NOTHING, NONE, NONE)] if not found else []
            for each in found[:1]:
                equal = each.held_equal
                explains = equal is not None and equal.differs
                share = percent_with_interval(equal.gone, *equal.gone_range) if equal and explains else NONE
                rows.append((name, each.statement, each.points, share))
    except InputError as error:
        return Section("findings", TITLE, (Remarks((str(error),)),))
    note = (
        "The clearest difference of each candidate; mauve-lens explain has all. Some prompts' texts suggest "
        f"statements, the texts of the others test them; an expected share of at most {as_percent(Q)} is false. "
        "Difference: 95% interval, in texts of 100. Of the gap: how much of the frontier integral goes if the "
        "candidate has it as often as people do, beyond what the same weights on random texts take away, with the "
        f"range of 95% of those; {NONE}: none."
    )
    return Section("findings", TITLE, (Table(TITLE, COLUMNS, tuple(rows), note),))
