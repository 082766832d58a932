"""``mauve-lens sweep``: score a stored run over one setting and save the result with it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mauve_core.base.config import EVERY_AXIS, METHOD_SEEDS
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import NONE, printable, with_two_spreads
from mauve_core.cli.options import add_device_option, add_output_options, of_run, show_result
from mauve_core.scoring.tables import aligned, mean_and_spread
from mauve_core.stats.scores import SCORES

if TYPE_CHECKING:
    from mauve_core.analyses.estimator_sweeps import EstimatorSweep
    from mauve_core.analyses.sweeps import Sweep

_TITLES = {"length": "Tokens", "n": "n", "k": "k", "scale": "c", "decoder": "Parameter"}
_SHOWN = "mauve"


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "sweep",
        description="Settings: text length, n, k, the constant c (scale), or the decoder's parameter. Parameters of "
        "estimators without bins: neighbors (nearest neighbors), components (principal components of nearest "
        "neighbors, kernel density and Gaussian), bandwidth (kernel density, as a multiple of the chosen one).",
    )
    parser.add_argument("id", metavar="RUN", help="id of a stored run; see mauve-lens runs")
    parser.add_argument("--over", required=True, choices=EVERY_AXIS, help="setting to vary")
    parser.add_argument("--values", metavar="A,B,...", help="values of that setting; default: a few sensible ones")
    parser.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help=f"seeds per point; default: as in the run, for a parameter of estimators that draw {METHOD_SEEDS}",
    )
    add_device_option(parser, of="for --over length: auto, cpu, cuda, cuda:1 ...")
    add_output_options(parser, table=True)
    parser.set_defaults(run=of_run(_sweep))


def _sweep(args: argparse.Namespace) -> int:
    from mauve_core.analyses.estimator_sweeps import SweepTask

    task = SweepTask(args.id, args.over, numbers(args.values), args.seeds, args.device)
    return show_result(args, "sweep", task, _shown, lambda sweep: sweep.notes, "Every score")


def _shown(sweep: Sweep | EstimatorSweep) -> str:
    from mauve_core.analyses.estimator_sweeps import EstimatorSweep

    return estimator_table(sweep) if isinstance(sweep, EstimatorSweep) else table(sweep)


def numbers(text: str | None) -> tuple[float, ...] | None:
    """Parse numbers such as ``10,20,50``; None for no text, InputError if a part is not a number."""
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        allowed = "numbers separated by commas, such as 10,20,50"
        raise InputError("--values cannot be read", allowed=allowed, received=text) from error


def table(sweep: Sweep) -> str:
    """MAUVE at every point, with its spread over seeds."""
    from mauve_core.figures.sweeps import about_leaderboard

    named = sweep.over == "decoder"
    rows = [[_TITLES[sweep.over], "Decoder" if named else "Candidate", "n", "k", SCORES[_SHOWN].title]]
    rows[0] += ["Texts"] if named else []
    for point in sweep.points:
        sizes = [f"{point.value:g}", printable(point.candidate), str(point.n), str(point.k)]
        cells = [*sizes, mean_and_spread(point.scores[_SHOWN])]
        rows.append([*cells, *([printable(point.source)] if named else [])])
    seeds = sweep.settings["seeds"]
    spread = f"mean \u00b1 standard deviation over {seeds} seeds" if seeds > 1 else "one seed, so the spread is unknown"
    about = f"{SCORES[_SHOWN].title}: {spread}; larger is closer, at most 1. {about_leaderboard(sweep)}"
    return f"{aligned(rows)}\n\n{about}"


def estimator_table(sweep: EstimatorSweep) -> str:
    """MAUVE at every point, with its standard deviations over seeds and over texts."""
    from mauve_core.analyses.methods import ESTIMATORS
    from mauve_core.figures.sweeps import ESTIMATOR_TITLES, about_default

    rows = [["Estimator", ESTIMATOR_TITLES[sweep.over], "Candidate", "n", SCORES[_SHOWN].title]]
    for point in sweep.points:
        cell = with_two_spreads(point.score.value, point.score.sd_seeds, point.score.sd_texts)
        title = ESTIMATORS[point.method].title
        rows.append([title, f"{point.value:g}", printable(point.candidate), str(point.score.n), cell])
    about = (
        f"{SCORES[_SHOWN].title}: value \u00b1 standard deviation over seeds / over texts, {NONE} if there is none; "
        f"larger is closer, at most 1. {about_default(sweep)}"
    )
    return f"{aligned(rows)}\n\n{about}"
