"""Report section on what the candidates do more or less than people, in tested sentences."""

from __future__ import annotations

from collections.abc import Sequence

from mauve_core.analysis.findings.finding import Finding, contrasted
from mauve_core.analysis.findings.of_run import run_findings
from mauve_core.base.config import FDR
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import NONE, as_percent
from mauve_core.figures.theme import HUMAN_COLOUR, candidate_colour
from mauve_core.reporting.blocks import Card, Cards, Remarks, Section, Side, Table
from mauve_core.reporting.pictures import PICTURES, pictures_of
from mauve_core.store import Run

TITLE = "What differs"

COLUMNS = ("Candidate", "Finding", "Difference", "Of the gap")

NOTHING = "no difference that holds for texts that did not suggest it"


def findings_section(run: Run, candidates: Sequence[str]) -> Section:
    """The clearest finding of each candidate in a table, with pictures if the items have any.

    Where there are too few items, a sentence says so.
    """
    said = run.comparison.words.said
    try:
        clearest = {name: next(iter(run_findings(run, name)), None) for name in candidates}
    except InputError as error:
        return Section("findings", TITLE, (Remarks((str(error),)),))
    rows = tuple(_row(name, finding, said(NOTHING)) for name, finding in clearest.items())
    split = "Some prompts' texts suggest statements, the texts of the others test them"
    if not run.comparison.has_words:
        split = "Some texts suggest statements, the others test them"
    note = said(
        f"The clearest difference of each candidate; mauve-lens explain has all. {split}; an expected share of at most "
        f"{as_percent(FDR)} is false. Difference: 95% interval, in texts of 100. Of the gap: how much of the frontier "
        f"integral goes if the candidate has it as often as people do, with its 95% interval; {NONE}: none is above 0, "
        "too few texts, or no gap to explain."
    )
    found = [each for each in clearest.values() if each is not None and run.corpora[each.candidate].media is not None]
    pictures = (Cards(said("Texts of both sides"), tuple(_card(run, each) for each in found)),) if found else ()
    return Section("findings", TITLE, (Table(TITLE, COLUMNS, rows, note), *pictures))


def _row(candidate: str, finding: Finding | None, nothing: str) -> tuple[str, ...]:
    if finding is None:
        return candidate, nothing, NONE, NONE
    equal = finding.held_equal
    return candidate, finding.statement, finding.points, equal.percent if equal else NONE


def _card(run: Run, finding: Finding) -> Card:
    """The first pictures in file order: those that show the finding, and of the other side those that do not."""
    names, words = (finding.reference, finding.candidate), finding.words
    human, model = words.reference_items, f"{words.items} of {finding.candidate}"
    shown, other = (human, model) if finding.shown_by == "human" else (model, human)
    colours = HUMAN_COLOUR, candidate_colour([each.name for each in run.comparison.candidates], finding.candidate)
    chosen = contrasted(finding, *(len(run.corpora[name]) for name in names))
    sides = tuple(
        Side(words.source(name), colour, rows.size, (), words, pictures_of(run.corpora[name], rows[:PICTURES].tolist()))
        for name, colour, rows in zip(names, colours, chosen, strict=True)
    )
    facts = f"{shown} that {finding.condition}", f"{other} of which this is not so"
    return Card(f"{finding.candidate} {finding.does}", facts, "", sides)
