"""Report section on how different candidates' answers to one prompt are; only where a prompt has several answers."""

from __future__ import annotations

from mauve_core.base.errors import InputError
from mauve_core.experiments.diversity import diversity_of_run, several_answers
from mauve_core.experiments.diversity.wording import (
    ABOUT_AGREEMENT,
    AGREEMENT_COLUMNS,
    MEASURED_COLUMNS,
    agreement_cells,
    gap_sentence,
    measured_rows,
    measured_sentence,
    missed_sentence,
    sentence,
)
from mauve_core.figures.diversity import diversity_figure
from mauve_core.reporting.blocks import Block, Chart, Remarks, Section, Table
from mauve_core.store import Run

TITLE = "Answers to one prompt"

NOTE = (
    "Filled: answers to one prompt; open: as many answers to different prompts; with 95% intervals over prompts. The "
    "closer the two are, the less a prompt's answers have in common."
)


def diversity_section(run: Run) -> Section | None:
    """Sentences, a chart and tables; a sentence where features are not found; None with one answer to a prompt."""
    if not several_answers(run):
        return None
    try:
        found = diversity_of_run(run)
    except InputError as error:
        return Section("variety", TITLE, (Remarks((str(error),)),))
    said = [sentence(name, own, found.gap) for name, own in found.candidates.items()]
    chart = diversity_figure(found, [each.name for each in run.comparison.candidates])
    rows = [(name, *cells) for name, own in found.candidates.items() for cells in measured_rows(own)]
    about = [f"{name}: {measured_sentence(own)}" for name, own in found.candidates.items()]
    about += [f"{name}: {missed_sentence(missed)}" for name, missed in found.missed.items()]
    about.append(gap_sentence(found.gap))
    if found.single:
        about.append(f"One answer to a prompt, so not measured: {', '.join(found.single)}.")
    table = Table("Variety of answers", ("Candidate", "Measure", *MEASURED_COLUMNS[1:]), tuple(rows), " ".join(about))
    blocks: list[Block] = [Remarks(tuple(said)), Chart("variety", chart, "How different the answers are", NOTE), table]
    if found.pairs:
        pairs = tuple(agreement_cells(each, str) for each in found.pairs)
        blocks.append(Table("Do candidates say the same?", AGREEMENT_COLUMNS, pairs, ABOUT_AGREEMENT))
    return Section("variety", TITLE, tuple(blocks))
