"""``mauve-lens methods``: compare estimators, divergences and summaries on one stored run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mauve_core.base.config import (
    ABOUT_CORRECTIONS,
    ABOUT_EXPECTATIONS,
    ESTIMATOR_NAMES,
    METHOD_SEEDS,
    PRESET_NAMES,
    SUMMARY_NAMES,
)
from mauve_core.base.formatting import (
    NONE,
    correlation,
    decimals_of,
    even_decimals,
    printable,
    with_two_spreads,
    written,
)
from mauve_core.base.words import TEXTS
from mauve_core.cli.options import add_again_option, add_device_option, add_output_options, of_run, show_result
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import HUMAN_VS_HUMAN, aligned

if TYPE_CHECKING:
    from mauve_core.experiments.methods import MethodScore, MethodTable
    from mauve_core.figures.method_tests import Tested
    from mauve_core.tasks.compare_methods import CompareMethodsTask


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "methods",
        description="A method is ESTIMATOR[:divergence=...,summary=...,smoothing=...,scale=...,expectation=...,"
        f"correction=...]. Estimators: {', '.join(ESTIMATOR_NAMES)}. Summaries: {', '.join(SUMMARY_NAMES)}. "
        f"Expectations, for estimators without bins: {ABOUT_EXPECTATIONS} "
        f"Corrections, for estimators with bins: {ABOUT_CORRECTIONS}",
    )
    parser.add_argument("id", metavar="RUN", help="id of a stored run; see mauve-lens runs")
    parser.add_argument("--method", action="append", default=[], metavar="METHOD", help="one or more")
    parser.add_argument(
        "--preset", action="append", default=[], choices=PRESET_NAMES, help="a predefined set of methods"
    )
    parser.add_argument(
        "--seeds", type=int, default=METHOD_SEEDS, metavar="N", help=f"seeds of random methods; default: {METHOD_SEEDS}"
    )
    parser.add_argument(
        "--permutations",
        type=int,
        default=0,
        metavar="N",
        help="also test P = Q with this many permutations, such as 999, for methods with bins and no correction",
    )
    parser.add_argument("--human-model", metavar="MODEL", help="for --method direct: model for the human side")
    parser.add_argument(
        "--candidate-model", metavar="MODEL", help="for --method direct: model that wrote the candidates"
    )
    add_device_option(parser, of="device for training networks and running models: cpu, cuda ...", default="cpu")
    add_again_option(parser)
    add_output_options(parser, table=True)
    parser.set_defaults(run=of_run(_methods))


def _methods(args: argparse.Namespace) -> int:
    task = task_of(args)
    comparison = task.load().comparison
    return show_result(
        args,
        "methods",
        task,
        lambda table: "\n\n".join(filter(None, [scores_table(table, comparison), agreement_table(table)])),
        lambda table: _notes(table, comparison),
        "Intervals",
        lambda table: {"ranks": _ranks(table, comparison)},
    )


def _notes(table: MethodTable, comparison: Comparison) -> list[str]:
    from mauve_core.experiments.methods import disagreements
    from mauve_core.figures.agreement import answer

    apart = [item for item in disagreements(table, comparison) if item.told_apart]
    found = [f"{item.method.title} ranks {item.closer} before {item.farther}. {item.reason}" for item in apart]
    return [*table.notes, *filter(None, [answer(table, comparison)]), *found]


def _ranks(table: MethodTable, comparison: Comparison) -> list[dict[str, Any]]:
    """For each method: its spec, whether its ranks are the leaderboard's, and the candidates from the closest on."""
    from mauve_core.experiments.methods import method_standings, score_of

    found = []
    for result in table.results:
        places = method_standings(result, table.candidates, comparison)
        of = [{name: getattr(item, name) for name in ("candidate", "rank", "tied", "joined")} for item in places]
        own = score_of(result.method, comparison) is not None
        found.append({"method": result.method.spec, "as_leaderboard": own, "candidates": of})
    return found


def task_of(args: argparse.Namespace) -> CompareMethodsTask:
    """The task that the arguments describe; the default is the preset of divergences."""
    from mauve_core.experiments.methods import PRESETS, parse_method
    from mauve_core.tasks.compare_methods import CompareMethodsTask

    requested = [parse_method(spec) for spec in args.method]
    requested += [method for name in args.preset for method in PRESETS[name]]
    specs = tuple(method.spec for method in dict.fromkeys(requested))
    return CompareMethodsTask(
        args.id,
        specs or CompareMethodsTask.methods,
        seeds=args.seeds,
        permutations=args.permutations,
        human_model=args.human_model,
        candidate_model=args.candidate_model,
        device=args.device,
    )


def scores_table(table: MethodTable, comparison: Comparison | None) -> str:
    """One row per method, one column per candidate: value, standard deviations over seeds and texts, and rank.

    ``comparison`` is the run's, whose scores keep their ranks.
    """
    from mauve_core.experiments.methods import method_standings
    from mauve_core.experiments.methods.ranks import about_ranks
    from mauve_core.figures.method_tests import LEVEL, about_corrections, about_expectations, p_values_of
    from mauve_core.figures.methods import ABOUT_LEADERBOARD, leaderboard_decimals, mark

    said = TEXTS.said if comparison is None else comparison.words.said
    rows, tests = [["Method", *map(printable, table.candidates), said(HUMAN_VS_HUMAN)]], p_values_of(table)
    for result in table.results:
        scores = [result.scores[name] for name in table.candidates]
        alike = even_decimals([decimals_of(score.value, score.sd_seeds, score.sd_texts) for score in scores])
        own = leaderboard_decimals(result.method)
        decimals = alike if own is None else [own] * len(alike)
        own_tests = [tests.get((result.method, name)) for name in table.candidates]
        ranks = {item.candidate: item.label for item in method_standings(result, table.candidates, comparison)}
        labels = [ranks[name] for name in table.candidates]
        cells = [_cell(*each) for each in zip(scores, decimals, labels, own_tests, strict=True)]
        title = f"{result.method.title}{mark(result.method, comparison)}"
        rows.append([title, *cells, NONE if result.ceiling is None else _cell(result.ceiling, own)])
    halves = (
        "" if table.results[0].ceiling is None else f" Human vs. human: {table.results[0].ceiling.n:,} texts per side."
    )
    tested = ""
    if tests:
        tested = (
            f" p: p-value of P = Q, {table.settings['permutations']} permutations within prompts, first seed; "
            f"*: at most {LEVEL:g} after Holm's correction for all {len(tests)} tests."
        )
    if any(score.z is not None for result in table.results for score in result.scores.values()):
        tested += " z: standard scores above random halves of the human texts."
    for about in filter(None, (about_expectations(table), about_corrections(table))):
        tested += f" {about}"
    about = said(
        f"Value \u00b1 standard deviation over seeds / over texts; {NONE} if there is none. "
        "MAUVE and the areas under transport frontiers: larger is closer to the human texts; all others: smaller. "
        f"In parentheses the rank, = if it is shared. {about_ranks(table, comparison)} "
        f"{ABOUT_LEADERBOARD}{halves}{tested}"
    )
    return f"{aligned(rows)}\n\n{about}"


def agreement_table(table: MethodTable) -> str:
    """Spearman correlations between methods' rankings: one row and one column per method.

    Empty for fewer than ``LEAST_CORRELATED`` candidates: a sentence says which methods reverse two.
    """
    from mauve_core.figures.agreement import LEAST_CORRELATED

    if len(table.candidates) < LEAST_CORRELATED:
        return ""
    numbers = [str(index) for index in range(1, len(table.results) + 1)]
    rows = [["Spearman", *numbers]]
    for number, result, row in zip(numbers, table.results, table.agreement(), strict=True):
        rows.append([f"{number} {result.method.title}", *(correlation(value) for value in row)])
    return aligned(rows)


def _cell(score: MethodScore, decimals: int | None = None, rank: str = "", test: Tested | None = None) -> str:
    place = f" ({rank})" if rank else ""
    tested = "" if test is None else f" ({test.label})"
    above = "" if score.z is None else f" (z = {written(score.z, 1)})"
    return f"{with_two_spreads(score.value, score.sd_seeds, score.sd_texts, decimals)}{place}{tested}{above}"
