"""``mauve-lens test``: which of two candidates is closer to the human texts, by a score or by a text measure, and
whether that is more than chance."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING

from mauve_core.base.arguments import named
from mauve_core.base.config import MEASURE_NAMES
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import NONE, SCORE_DECIMALS, interval, printable, significant, written
from mauve_core.base.words import Words
from mauve_core.cli.options import of_run, write, write_json
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.result import Difference
from mauve_core.scoring.serialization import difference_json
from mauve_core.scoring.tables import DETECTABLE, aligned, disagreement_sentence, pairing_sentence, tests_sentence
from mauve_core.stats.scores import SCORES

if TYPE_CHECKING:
    from mauve_core.analyses.measure_terms import MeasureDifference

# Columns of what is printed about a measure.
_WIDTH = 100


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "test",
        description="Test which of two candidates is closer to the human texts: a t test of the difference of their "
        "scores, with a jackknife over prompts. With --measure, test the gaps |T(Q) - T(P)| and the values T(Q) of "
        "a stored text measure by a jackknife over prompts. p-values are adjusted over all pairs of the run (Holm).",
    )
    parser.add_argument("id", metavar="RUN", help="id of a stored run; see mauve-lens runs")
    parser.add_argument("--a", metavar="NAME", help="a candidate; default: every pair of candidates")
    parser.add_argument("--b", metavar="NAME", help="the candidate that it is compared with")
    by = parser.add_mutually_exclusive_group()
    by.add_argument("--score", choices=SCORES, default="mauve", help="default: mauve")
    by.add_argument(
        "--measure", metavar="NAME", help=f"a text measure in place of a score: one of {', '.join(MEASURE_NAMES)}"
    )
    parser.add_argument("--json", action="store_true", help="print JSON: one object for --a and --b, else a list")
    parser.set_defaults(run=of_run(_test))


def _test(args: argparse.Namespace) -> int:
    run = RunStore().load(args.id)
    if (args.a is None) != (args.b is None) or (args.a is not None and args.a == args.b):
        raise InputError(
            "Two candidates are needed for a test",
            allowed="both --a and --b, with different names, or neither",
            received=", ".join(f"--{side} {getattr(args, side)}" for side in "ab" if getattr(args, side) is not None),
        )
    for name in filter(None, (args.a, args.b)):
        run.comparison.candidate(name)  # raises InputError if unknown
    if args.measure is not None:
        return _test_measure(run, args)
    named(args.score, dict.fromkeys(run.comparison.score_names), "score")
    found = [each for each in run.comparison.differences if each.score == args.score]
    if args.a is not None:
        found = [each.seen_from(args.a) for each in found if {each.first, each.second} == {args.a, args.b}]
    if args.json:
        values = [difference_json(each) for each in found]
        write_json(values if args.a is None else values[0])
        return 0
    if not found:
        write("The run has one candidate, so there is no pair to test.")
        return 0
    words = run.comparison.words
    reach = f"Interval of the difference: {run.comparison.config.score.confidence:.0%}, by the same jackknife."
    told = (
        reach,
        tests_sentence(found, run.comparison.words),
        words.fill(DETECTABLE),
        disagreement_sentence(found),
        pairing_sentence(run.comparison),
    )
    said = " ".join(filter(None, told))
    write(_table(found, run.comparison.words) + "\n\n" + "\n".join(textwrap.wrap(said, 110)))
    return 0


def _table(found: list[Difference], words: Words) -> str:
    from mauve_core.figures.differences import exchanged_label

    title = SCORES[found[0].score].title
    rows = [["a", "b", f"{title}: a − b", "interval", "p", "p adjusted", "told apart", "detectable", "n"]]
    for each in found:
        rows.append(
            [
                printable(each.first),
                printable(each.second),
                written(each.difference, SCORE_DECIMALS),
                interval(each.low, each.high, SCORE_DECIMALS),
                significant(each.p_value),
                significant(each.p_adjusted),
                "yes" if each.told_apart else "no",
                NONE if each.detectable is None else significant(each.detectable),
                exchanged_label(each, words),
            ]
        )
    return aligned(rows)


def _test_measure(run: Run, args: argparse.Namespace) -> int:
    from mauve_core.analyses.text_measures import closest_sentence, measure_tests_sentence, stored_measurements
    from mauve_core.analyses.text_measures import difference_json as measure_difference_json

    found = _pairs(run, args.measure)
    if args.a is not None:
        found = [
            tuple(each.seen_from(args.a) for each in tests)
            for tests in found
            if {tests[0].first, tests[0].second} == {args.a, args.b}
        ]
    if args.a is not None and not found:
        raise InputError(
            f"The measure {args.measure} is not defined for both candidates",
            received=f"{args.a}, {args.b}",
            todo=f"The notes of mauve-lens measure {run.id} --measure {args.measure} say why",
        )
    if args.json:
        values = [measure_difference_json(tests) for tests in found]
        write_json(values if args.a is None else values[0])
        return 0
    if not found:
        write("Fewer than two candidates have the measure, so there is no pair to test.")
        return 0
    lines = [measure_tests_sentence([each for tests in found for each in tests], run.comparison.words)]
    lines.append(run.comparison.words.fill(DETECTABLE))
    if args.a is None and (measured := stored_measurements(run)) is not None:
        order = [candidate.name for candidate in run.comparison.candidates]
        lines.append(closest_sentence(measured, args.measure, order, words=run.comparison.words))
    paragraphs = ["\n".join(textwrap.wrap(line, _WIDTH)) for line in lines if line]
    write("\n\n".join([*_measure_tables(found, run.comparison.words), *paragraphs]))
    return 0


def _pairs(run: Run, measure: str) -> list[tuple[MeasureDifference, ...]]:
    """The stored tests of each pair: of the gap, if T(P) is defined, and of the value."""
    from mauve_core.analyses.text_measures import MEASURES, stored_measurements

    if measure not in MEASURES:
        raise InputError(f"No measure is named {measure!r}", allowed=", ".join(MEASURES))
    measured = stored_measurements(run)
    scorer = " --scorer MODEL" if "model" in MEASURES[measure].needs else ""
    todo = f"Run mauve-lens measure {run.id} --measure {measure}{scorer}"
    if measured is None or measure not in measured.measures:
        raise InputError(f"The measure {measure} was not computed for run {run.id}", todo=todo)
    pairs: dict[tuple[str, str], list[MeasureDifference]] = {}
    for each in (*measured.tests(measure), *measured.tests(measure, "value")):
        pairs.setdefault((each.first, each.second), []).append(each)
    return [tuple(tests) for tests in pairs.values()]


def _measure_tables(found: list[tuple[MeasureDifference, ...]], words: Words) -> list[str]:
    """One table for each kind of test, under a line that says what is tested and on how many texts."""
    return [_measure_table([tests[place] for tests in found], words) for place in range(len(found[0]))]


def _measure_table(tests: list[MeasureDifference], words: Words) -> str:
    from mauve_core.analyses.text_measures import measure_title, test_decimals

    title, decimals = measure_title(tests[0].measure), test_decimals(tests)
    rows = [["a", "b", "a \u2212 b", "interval", "p (Holm)", "apart", "detectable"]]
    rows += [[printable(each.first), printable(each.second), *_cells(each, decimals)] for each in tests]
    sizes = sorted({each.n for each in tests})
    n = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    unit = f"{words.group}s" if all(each.paired for each in tests) else words.items
    heading = f"{f'Gap of {title}' if tests[0].of == 'gap' else title}: a \u2212 b, {n} {unit} a pair"
    return f"{heading}\n{aligned(rows)}"


def _cells(test: MeasureDifference, decimals: int) -> list[str]:
    value = written(test.difference, decimals)
    if test.low is None or test.high is None or test.p_adjusted is None:
        return [value, NONE, NONE, "no", NONE]
    p_value, least = significant(test.p_adjusted), NONE if test.detectable is None else significant(test.detectable)
    return [value, interval(test.low, test.high, decimals), p_value, "yes" if test.told_apart else "no", least]
