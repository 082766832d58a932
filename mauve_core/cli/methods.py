"""``mauve-lens methods`` and ``mauve-lens encoders``: a stored run under other estimators, divergences, summaries and
encoders, and how far they agree.
"""

from __future__ import annotations

import argparse
import math
import textwrap
from typing import TYPE_CHECKING, Any

from mauve_core.base.arguments import named
from mauve_core.base.config import (
    ABOUT_CORRECTIONS,
    ABOUT_EXPECTATIONS,
    ESTIMATOR_NAMES,
    METHOD_SEEDS,
    POSITION_TEXTS,
    PRESET_NAMES,
    SUMMARY_NAMES,
    USUAL_ENCODERS,
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
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.base.words import TEXTS, Words
from mauve_core.cli.options import (
    LINE,
    add_again_option,
    add_device_option,
    add_output_options,
    of_run,
    show_result,
    stored_or_computed,
    write,
    write_json,
)
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import aligned, texts_interval
from mauve_core.stats.scores import SCORES

if TYPE_CHECKING:
    from mauve_core.analyses.encoders import EncoderTable, Reference
    from mauve_core.analyses.method_scores import CompareMethodsTask, MethodScore, MethodTable
    from mauve_core.analyses.positions import PositionTable
    from mauve_core.figures.methods import Tested


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
    _add_encoders(commands)


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
    from mauve_core.analyses.method_scores import disagreements
    from mauve_core.figures.agreement import answer

    apart = [item for item in disagreements(table, comparison) if item.told_apart]
    found = [f"{item.method.title} ranks {item.closer} before {item.farther}. {item.reason}" for item in apart]
    return [*table.notes, *filter(None, [answer(table, comparison)]), *found]


def _ranks(table: MethodTable, comparison: Comparison) -> list[dict[str, Any]]:
    """For each method: its spec, whether its ranks are the leaderboard's, and the candidates from the closest on."""
    from mauve_core.analyses.method_scores import method_standings, score_of

    found = []
    for result in table.results:
        places = method_standings(result, table.candidates, comparison)
        of = [{name: getattr(item, name) for name in ("candidate", "rank", "tied", "joined")} for item in places]
        own = score_of(result.method, comparison) is not None
        found.append({"method": result.method.spec, "as_leaderboard": own, "candidates": of})
    return found


def task_of(args: argparse.Namespace) -> CompareMethodsTask:
    """The task that the arguments describe; the default is the preset of divergences."""
    from mauve_core.analyses.method_scores import CompareMethodsTask
    from mauve_core.analyses.methods import PRESETS, parse_method

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
    from mauve_core.analyses.method_scores import about_ranks, method_standings
    from mauve_core.figures.methods import (
        ABOUT_LEADERBOARD,
        LEVEL,
        about_corrections,
        about_expectations,
        leaderboard_decimals,
        mark,
        p_values_of,
    )

    words = TEXTS if comparison is None else comparison.words
    rows, tests = [["Method", *map(printable, table.candidates), words.halves]], p_values_of(table)
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
        ""
        if table.results[0].ceiling is None
        else f" {words.halves.capitalize()}: {table.results[0].ceiling.n:,} {words.items} per side."
    )
    tested = ""
    if tests:
        tested = (
            f" p: p-value of P = Q, {table.settings['permutations']} permutations within {words.group}s, first seed; "
            f"*: at most {LEVEL:g} after Holm's correction for all {len(tests)} tests."
        )
    if any(score.z is not None for result in table.results for score in result.scores.values()):
        tested += f" z: standard scores above random halves of the {words.reference_items}."
    for about in filter(None, (about_expectations(table), about_corrections(table))):
        tested += f" {about}"
    about = (
        f"Value \u00b1 standard deviation over seeds / over {words.items}; {NONE} if there is none. MAUVE and the "
        f"areas under transport frontiers: larger is closer to the {words.reference_items}; all others: smaller. In "
        f"parentheses the rank, = if it is shared. {about_ranks(table, comparison)} {ABOUT_LEADERBOARD}{halves}{tested}"
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


def _add_encoders(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "encoders",
        description="An encoder is MODEL[:pooling=...,layer=...,max_tokens=...]. The run's own encoder is always "
        "compared, with the scores of its leaderboard. Texts that are encoded already are not encoded again.",
    )
    parser.add_argument("id", metavar="RUN", help="id of a stored run; see mauve-lens runs")
    parser.add_argument(
        "--encoder",
        action="append",
        default=[],
        metavar="ENCODER",
        help="one or more: catalog name, Hugging Face id, local folder, GGUF file or LoRA adapter, or a file of "
        "word vectors; "
        f"default: {', '.join(USUAL_ENCODERS)}; of a run of other items, theirs on this machine",
    )
    parser.add_argument("--score", choices=SCORES, default="mauve", help="score to print; default: mauve")
    add_device_option(parser)
    parser.add_argument(
        "--positions",
        action="store_true",
        help="only: where in the text each encoder looks, from human texts with their beginning or their end shuffled",
    )
    parser.add_argument(
        "--texts",
        type=int,
        default=POSITION_TEXTS,
        metavar="N",
        help=f"human texts for --positions; default: {POSITION_TEXTS}",
    )
    add_again_option(parser)
    add_output_options(parser, table=True)
    parser.set_defaults(run=of_run(_encoders))


def _encoders(args: argparse.Namespace) -> int:
    from mauve_core.analyses.encoders import CompareEncodersTask, references
    from mauve_core.analyses.positions import PositionsTask
    from mauve_core.figures import agreement as figures

    if args.positions:
        positions = PositionsTask(args.id, tuple(args.encoder) or None, args.texts, args.device)
        return show_result(args, "encoders", positions, positions_table, lambda found: found.notes, "Every seed")
    task = CompareEncodersTask(args.id, tuple(args.encoder) or None, args.device)
    table, where = stored_or_computed(args, task)
    run = RunStore().load(args.id)
    if args.json:
        write_json(_json(run, table), "encoders")
        return 0
    named(args.score, dict.fromkeys(table.score_names), "score")
    found, problem = references(run, table, args.score)
    parts = [encoder_scores_table(table, args.score, run.comparison.words), encoder_agreement_table(table, args.score)]
    parts += [references_table(found, table)] if found else []
    write("\n\n".join(parts))
    words, contradictions = figures.encoders_in_words(table, args.score)
    notes = [f"{title}: {note}" for title, each in zip(table.titles, table.results, strict=True) for note in each.notes]
    for line in (words, *contradictions, *table.notes, *notes, *filter(None, [problem])):
        write(f"  {printable(line)}")
    write(f"\n{where} Every score, its interval and tests: add --json")
    return 0


def positions_table(table: PositionTable) -> str:
    """Where each encoder looks, in a sentence; one row per encoder."""
    from mauve_core.figures import agreement as position_figures

    rows = [[printable(title), *cells] for title, *cells in position_figures.position_rows(table)]
    parts = [position_figures.positions_in_words(table), position_figures.about_positions(table, TEXTS)]
    words, about = ("\n".join(textwrap.wrap(printable(each), LINE)) for each in parts)
    return f"{words}\n\n{aligned([list(position_figures.HEADER), *rows])}\n\n{about}"


def encoder_scores_table(table: EncoderTable, score: str, words: Words) -> str:
    """Two rows per candidate, one column per encoder: mean, standard deviation over seeds and rank; interval."""
    from mauve_core.figures import agreement as figures

    rows = [[f"Candidate, {SCORES[score].title}", *map(printable, table.titles)]]
    intervals = figures.interval_cells(table, score)
    for name, cells in figures.score_cells(table, score).items():
        rows += [[printable(name), *cells], ["", *intervals[name]]]
    if any(each.ceiling for each in table.results):
        means, low_high = zip(*figures.ceiling_cells(table, score), strict=True)
        rows += [[words.halves, *means], ["", *low_high]]
    closer = "larger" if SCORES[score].higher_is_closer else "smaller"
    return (
        f"{aligned(rows)}\n\nMean \u00b1 standard deviation over k-means seeds; below, the {texts_interval()}.\nIn "
        "parentheses the rank, = if no test tells it from the first of its group. "
        f"{closer.capitalize()} is closer to the human texts.\nScores of different encoders do not compare; their "
        "rankings do."
    )


def encoder_agreement_table(table: EncoderTable, score: str) -> str:
    """Spearman correlations between encoders; below the diagonal, pairs reversed and those told apart by both."""
    numbers = [str(index) for index in range(1, len(table.results) + 1)]
    rows = [["Spearman", *numbers]]
    for index, row in enumerate(table.agreement(score)):
        cells = [correlation(value) for value in row]
        for other in range(index):
            found = table.reversals(score, index, other)
            cells[other] = f"{len(found)} ({sum(each.told_apart for each in found)})"
        rows.append([f"{numbers[index]} {printable(table.titles[index])}", *cells])
    pairs = math.comb(len(table.candidates), 2)
    return (
        f"{aligned(rows)}\n\nBelow the diagonal: pairs of candidates, of {pairs}, in opposite orders; in parentheses "
        "those that both encoders tell apart."
    )


def references_table(found: tuple[Reference, ...], table: EncoderTable) -> str:
    """Spearman correlations with the text measures' gaps and with ratings: one row per measure or question."""
    from mauve_core.figures import agreement as figures

    rows = [["Spearman with", "n", *map(printable, table.titles)]]
    for each in found:
        values = (NONE if value is None else correlation(value, signed=True) for value in each.values)
        rows.append([figures.reference_title(each), str(each.n), *values])
    return f"{aligned(rows)}\n\n+: the encoder's score and the measure, or the raters, agree on who is closer."


def _json(run: Run, table: EncoderTable) -> dict[str, Any]:
    from mauve_core.analyses.encoders import references

    count = len(table.results)
    return {
        "run": run.id,
        "titles": list(table.titles),
        **dataclass_to_json(table),
        "agreement": {
            score: [[None if math.isnan(value) else value for value in row] for row in table.agreement(score).tolist()]
            for score in table.score_names
        },
        "reversals": [
            {"score": score, "first": one, "second": other, **dataclass_to_json(item)}
            for score in table.score_names
            for one in range(count)
            for other in range(one + 1, count)
            for item in table.reversals(score, one, other)
        ],
        "references": {
            score: [dataclass_to_json(each) for each in references(run, table, score)[0]] for score in table.score_names
        },
    }
