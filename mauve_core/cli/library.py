"""``mauve-lens runs compare`` and ``runs again``: compare two runs' settings, or repeat a run with other settings."""

from __future__ import annotations

import argparse
import dataclasses
import textwrap
from typing import Any, TypedDict

from mauve_core.analysis.comparability import Difference, differences, one_leaderboard, require_comparable
from mauve_core.base.config import SCORES
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import printable
from mauve_core.cli.options import (
    ENCODER_OPTIONS,
    LINE,
    SCORE_OPTIONS,
    add_encoder_options,
    add_name_option,
    add_normalize_option,
    add_output_options,
    add_score_options,
    make_run,
    normalize_steps,
    write,
    write_json,
)
from mauve_core.scoring.result import Comparison, Estimate
from mauve_core.scoring.serialization import CandidateJson, to_json
from mauve_core.scoring.tables import (
    TITLES,
    aligned,
    interval_of,
    letters_sentence,
    mean_and_spread,
    standings,
    texts_interval,
    texts_scored,
)
from mauve_core.store import RunStore
from mauve_core.tasks.recompare import RecompareTask, changed, suggested_name


class RunsComparedJson(TypedDict):
    """Two runs: how their settings differ, and one leaderboard if they are comparable.

    Attributes
    ----------
    runs : pair of str
        Ids.
    comparable : bool
        Whether everything that decides a score is equal.
    differences : list of Difference
        Of their settings.
    candidates : list of CandidateJson or None
        Those of both runs; None if they are not comparable.
    """

    runs: tuple[str, str]
    comparable: bool
    differences: list[Difference]
    candidates: list[CandidateJson] | None


def add_actions(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add both actions to ``mauve-lens runs``."""
    compare = actions.add_parser(
        "compare", help="show the differences between two runs, and one leaderboard if they are comparable"
    )
    compare.add_argument("ids", metavar="ID", nargs=2)
    compare.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one JSON object")
    compare.set_defaults(run=_compare)
    recompare = actions.add_parser(
        "again",
        help="compare the texts of a run again with other settings",
        description="Settings that are not given stay the same. Texts are encoded again only for a different encoder, "
        "or if they are normalized.",
    )
    recompare.add_argument("id", metavar="ID")
    add_name_option(recompare, "the old name and the changed settings")
    recompare.add_argument(
        "--leave-out", action="append", default=[], metavar="NAME", help="a candidate; may be repeated"
    )
    recompare.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one JSON object")
    add_output_options(recompare)
    add_normalize_option(recompare)
    add_encoder_options(recompare, default="the run's")
    add_score_options(recompare)
    recompare.set_defaults(run=_recompare)


def _compare(args: argparse.Namespace) -> int:
    store = RunStore()
    left, right = (store.load(run_id).comparison for run_id in args.ids)
    found = differences(left, right)
    refusal = _refusal(left, right)
    board = None if refusal else one_leaderboard(left, right, _titles(args.ids))
    if "json" in args:
        rows = None if board is None else to_json(board)["candidates"]
        entries = [dataclasses.asdict(item) for item in found]
        compared = {"comparable": board is not None, "differences": entries, "candidates": rows}
        write_json({"runs": args.ids, **compared}, "runs compare")
        return 0
    write(_difference_table(found, args.ids))
    write(f"\n{refusal}" if board is None else f"\n{_leaderboard(board)}")
    return 0


def _titles(ids: list[str]) -> tuple[str, str]:
    return (ids[0], ids[1]) if ids[0] != ids[1] else (f"{ids[0]} (1)", f"{ids[1]} (2)")


def _refusal(left: Comparison, right: Comparison) -> str:
    """Why the scores are not comparable; empty if they are."""
    try:
        require_comparable(left, right)
    except InputError as error:
        return printable(str(error))
    return ""


def _difference_table(found: tuple[Difference, ...], ids: list[str]) -> str:
    if not found:
        return "The settings are the same"
    rows = [["Setting", *ids, "Counts", "Why"]]
    for item in found:
        cells = [item.setting, item.left, item.right, "yes" if item.counts else "no", item.reason]
        rows.append([printable(cell) for cell in cells])
    return aligned(rows)


def _leaderboard(board: Comparison) -> str:
    rows = [["Rank", "Letters", "Candidate", "n", "k", *(TITLES[score] for score in SCORES)]]
    for standing in standings(board):
        candidate = standing.candidate
        rank = f"{standing.rank} =" if standing.tied else str(standing.rank)
        sizes = [texts_scored(candidate.source).replace(",", ""), str(candidate.partitions[0].k)]
        cells = [rank, standing.letters, printable(candidate.name), *sizes]
        rows.append([*cells, *(_shown(candidate.scores[score]) for score in SCORES)])
    about = (
        f"In parentheses the {texts_interval(board.config.score.confidence)}. Candidates tie (=) where their intervals "
        f"overlap with those of the first of their group. {letters_sentence(board)}"
    )
    return f"{aligned(rows)}\n\n{textwrap.fill(about, LINE)}"


def _shown(estimate: Estimate) -> str:
    return f"{mean_and_spread(estimate)} ({interval_of(estimate)})"


def _recompare(args: argparse.Namespace) -> int:
    run = RunStore().load(args.id)
    names = (*ENCODER_OPTIONS, *SCORE_OPTIONS)
    changes: dict[str, Any] = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    before = run.comparison.config
    config = changed(before, changes | ({"projection": False} if args.no_map else {}))
    steps = normalize_steps(args)
    name = args.name or suggested_name(run.name, before, config, steps)
    task = RecompareTask(name, run.id, config, tuple(args.leave_out), args.device, steps)
    compared = f"See the differences: mauve-lens runs compare {run.id}"
    return make_run(args, task, lambda made: f"Stored as run {made.id}. {compared} {made.id}")
