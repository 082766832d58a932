"""Who is closest to people by each text measure, and the tests that ranks come from, for a report."""

from __future__ import annotations

from collections.abc import Sequence

from mauve_core.base.formatting import NONE, significant
from mauve_core.base.words import TEXTS, Words
from mauve_core.experiments.text_measures import MeasureDifference, Measurements, measure_title
from mauve_core.experiments.text_measures.ranking import (
    closest_sentence,
    measure_standings,
    measure_tests_sentence,
    ranked_tests,
    test_decimals,
)
from mauve_core.figures.differences import difference_label, exchanged_label
from mauve_core.figures.measures import value_label
from mauve_core.reporting.blocks import Block, Remarks, Table
from mauve_core.scoring.tables import rank_label

# Maximum rows of the table of tests; with more, a sentence says where they are.
MOST_TESTS = 1000


def measure_rankings(found: Measurements, order: Sequence[str], words: Words = TEXTS) -> tuple[Block, ...]:
    """Gaps with ranks, who is closest by each measure, and the tests of every two candidates, folded."""
    ranked = [name for name in found.measures if any(row.gap for row in found.rows if row.measure == name)]
    if not ranked:
        return ()
    tests = [each for name in ranked for each in ranked_tests(found, name, order)]
    blocks: list[Block] = [_gaps(found, ranked, order, tests)]
    sentences = tuple(
        f"{measure_title(name)}. {sentence}"
        for name in ranked
        if (sentence := closest_sentence(found, name, order, str, words))
    )
    if sentences:
        blocks.append(Remarks(sentences))
    if len(tests) > MOST_TESTS:
        blocks.append(Remarks((f"{len(tests):,} tests of gaps are left out here; mauve-lens test prints them.",)))
    elif tests:
        blocks.append(_tests(found, ranked, order, words))
    return tuple(blocks)


def _gaps(
    found: Measurements, measures: Sequence[str], order: Sequence[str], tests: Sequence[MeasureDifference]
) -> Table:
    rows = [[name] for name in order if name in found.candidates]
    for measure in measures:
        placed = {each.row.candidate: each for each in measure_standings(found, measure, order)}
        for row in rows:
            own = placed.get(row[0])
            gap = None if own is None else own.row.gap
            row.append(
                NONE if own is None or gap is None else f"{value_label(gap)}\n({rank_label(own.rank, own.tied)})"
            )
    note = "In parentheses the rank, the smallest gap first, = where it is shared."
    note += f" {measure_tests_sentence(tests)}" if tests else ""
    columns = ("Texts", *map(measure_title, measures))
    return Table("Gap to the human texts, |T(Q) − T(P)|", columns, tuple(map(tuple, rows)), note)


def _tests(found: Measurements, measures: Sequence[str], order: Sequence[str], words: Words) -> Table:
    rows = []
    for measure in measures:
        tests = ranked_tests(found, measure, order)
        decimals = test_decimals(tests) if tests else 0
        rows += [
            (
                measure_title(measure),
                each.first,
                each.second,
                difference_label(each, decimals),
                NONE if each.p_value is None else significant(each.p_value),
                NONE if each.p_adjusted is None else significant(each.p_adjusted),
                "yes" if each.told_apart else "no",
                exchanged_label(each, words),
            )
            for each in tests
        ]
    columns = ("Measure", "Candidate", "Other", "Gap, candidate − other", "p", "p adjusted", "told apart", "n")
    note = "A negative difference: the candidate is closer to the human texts. Below it, its 95% interval."
    return Table("Gaps of every two candidates, tested", columns, tuple(rows), note, folded=True)
