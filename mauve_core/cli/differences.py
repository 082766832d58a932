"""``mauve-lens test``: which of two candidates is closer to the human texts, and whether that is more than chance."""

from __future__ import annotations

import argparse
import textwrap

from mauve_core.analysis.precomputed import run_differences
from mauve_core.base.config import SCORES
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import SCORE_DECIMALS, interval, significant, written
from mauve_core.cli.options import write, write_json
from mauve_core.scoring.result import Difference
from mauve_core.scoring.tables import TITLES, aligned, difference_json, printable, tests_sentence
from mauve_core.store import RunStore


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "test",
        help="test which of two candidates of a stored run is closer to the human texts",
        description="Exchange texts between two candidates, within prompts where they share them, and count how often "
        "their scores then differ at least as much. p-values are adjusted over all pairs of the run (Holm).",
    )
    parser.add_argument("id", metavar="RUN", help="id of a stored run; see mauve-lens runs")
    parser.add_argument("--a", metavar="NAME", help="a candidate; default: every pair of candidates")
    parser.add_argument("--b", metavar="NAME", help="the candidate that it is compared with")
    parser.add_argument("--score", choices=SCORES, default="mauve", help="default: mauve")
    parser.add_argument("--json", action="store_true", help="print JSON: one object for --a and --b, else a list")
    parser.set_defaults(run=_test)


def _test(args: argparse.Namespace) -> int:
    run = RunStore().load(args.id)
    if (args.a is None) != (args.b is None) or (args.a is not None and args.a == args.b):
        raise InputError(
            "Two candidates are needed for a test",
            allowed="both --a and --b, with different names, or neither",
            received=f"--a {args.a}, --b {args.b}",
        )
    for name in filter(None, (args.a, args.b)):
        run.comparison.candidate(name)  # raises InputError if unknown
    found = [each for each in run_differences(run) if each.score == args.score]
    if args.a is not None:
        found = [each.seen_from(args.a) for each in found if {each.first, each.second} == {args.a, args.b}]
    if args.json:
        values = [difference_json(each) for each in found]
        write_json(values if args.a is None else values[0])
        return 0
    if not found:
        write("The run has one candidate, so there is no pair to test.")
        return 0
    write(_table(found) + "\n\n" + "\n".join(textwrap.wrap(tests_sentence(found), 110)))
    return 0


def _table(found: list[Difference]) -> str:
    title = TITLES[found[0].score]
    rows = [["a", "b", f"{title}: a − b", "interval", "p", "p adjusted", "told apart", "n"]]
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
                f"{each.n:,} {'prompts' if each.paired else 'texts'}",
            ]
        )
    return aligned(rows)
