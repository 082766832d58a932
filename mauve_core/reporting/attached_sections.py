"""Report sections for later analyses of a run, each only if the run has its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import MauveLensError
from mauve_core.base.formatting import NONE, as_percent
from mauve_core.experiments.methods import ESTIMATORS, method_standings
from mauve_core.experiments.methods.ranks import about_ranks
from mauve_core.experiments.methods.table import stored_methods
from mauve_core.experiments.robustness import (
    about_test,
    detections,
    positions_sentence,
    stored_probes,
    summary,
)
from mauve_core.experiments.sweeps import (
    AXES,
    ESTIMATOR_AXES,
    EstimatorSweep,
    Over,
    Sweep,
    stored_estimator_sweep,
    stored_sweep,
)
from mauve_core.experiments.text_measures import measure_title
from mauve_core.experiments.text_measures.stored import stored_measurements
from mauve_core.figures import estimator_sweeps
from mauve_core.figures import measures as measure_figures
from mauve_core.figures import methods as method_figures
from mauve_core.figures import probes as probe_figures
from mauve_core.figures import sweeps as sweep_figures
from mauve_core.figures.agreement import answer
from mauve_core.figures.leaderboard import titled
from mauve_core.figures.method_tests import about_corrections, about_expectations
from mauve_core.reporting.attributes_section import TITLE as CAPTURED
from mauve_core.reporting.attributes_section import attributes_blocks
from mauve_core.reporting.blocks import Block, Chart, Remarks, Section, Table
from mauve_core.reporting.encoders_section import encoders_blocks
from mauve_core.reporting.judgments_section import judgments_blocks
from mauve_core.reporting.measure_rankings import measure_rankings
from mauve_core.reporting.over_shards_section import TITLE as OVER_SHARDS
from mauve_core.reporting.over_shards_section import over_shards_blocks
from mauve_core.scoring.tables import HUMAN_VS_HUMAN, mean_and_spread
from mauve_core.store import Run

SWEPT_SCORE = "mauve"
# Measure that sorts the perturbations, as on the page.
PROBED_BY = "jensen-shannon"


def attached_section(run: Run, key: str) -> Section | None:
    """The section of that key (``ATTACHED``); one with unreadable stored results says so, and None has no results."""
    title, make = ATTACHED[key]
    blocks = _or_why_not(make, run)
    return Section(key, title, blocks) if blocks else None


def _or_why_not(make: Callable[[Run], tuple[Block, ...]], run: Run) -> tuple[Block, ...]:
    try:
        return make(run)
    except MauveLensError as error:
        return (Remarks((f"The stored results cannot be read: {error}",), weighty=True),)


def _measures(run: Run) -> tuple[Block, ...]:
    found = stored_measurements(run)
    if found is None or not found.rows:
        return ()
    order = [candidate.name for candidate in run.comparison.candidates]
    shown = [name for name in order if name in found.candidates]
    words = run.comparison.words
    human = [words.reference_items]
    rows = [[name] for name in shown]
    for measure in found.measures:
        of = [found.row(measure, name) for name in shown]
        value = next((row.human for row in of if row is not None and row.human is not None), None)
        human.append(measure_figures.value_label(value))
        for cells, row in zip(rows, of, strict=True):
            cells.append(measure_figures.value_label(None if row is None else row.model))
    columns = (words.items.capitalize(), *(measure_title(measure) for measure in found.measures))
    chart = Chart(
        "measures",
        measure_figures.panels_figure(found, order, words=words),
        "Every measure beside the human value",
        words.said(
            "Measures are computed from texts, not clusters. Blue: human texts, T(P), with interval; dots: candidates, "
            "T(Q). None of the measures says which texts are better: a good decoder lies where people do."
        ),
    )
    note = f"{measure_figures.spreads_in_words(found)}; ? where none could be computed."
    values = Table(f"{words.item.capitalize()} measures", columns, (tuple(human), *map(tuple, rows)), note)
    return (chart, values, *measure_rankings(found, order, words), *_notes(found.notes))


def _methods(run: Run) -> tuple[Block, ...]:
    table = stored_methods(run)
    if table is None or not table.results:
        return ()
    order = [candidate.name for candidate in run.comparison.candidates]
    rows = []
    for number, result in enumerate(table.results, start=1):
        ranks = {item.candidate: item for item in method_standings(result, table.candidates, run.comparison)}
        arrow = "↑" if result.method.higher_is_closer else "↓"
        cells = [f"{number} {result.method.title} {arrow}{method_figures.mark(result.method, run.comparison)}"]
        decimals = method_figures.leaderboard_decimals(result.method)
        labels = method_figures.score_labels([result.scores[name] for name in table.candidates], decimals)
        cells += [f"{label}\n({ranks[name].label})" for name, label in zip(table.candidates, labels, strict=True)]
        rows.append((*cells, NONE if result.ceiling is None else method_figures.score_label(result.ceiling, decimals)))
    chart = Chart(
        "methods",
        method_figures.bump_figure(table, order, run.comparison),
        "Ranking by each method",
        "Methods with k-means use the run's pairwise clusters and seeds; others fit their own estimators to each "
        "pair. Rank 1 is on top; a gray bar joins candidates of the same rank. "
        f"{about_ranks(table, run.comparison)}",
    )
    note = (
        "Value ± standard deviation over seeds / over texts, – where there is none; in parentheses the rank, = where "
        f"it is shared. ↑ larger is closer to the human texts, ↓ smaller is. {method_figures.ABOUT_LEADERBOARD}"
    )
    note = " ".join(filter(None, [note, about_expectations(table), about_corrections(table)]))
    said = answer(table, run.comparison)
    found = (Remarks((said,), weighty=True),) if said else ()
    return (*found, chart, Table("Methods", ("Method", *table.candidates, HUMAN_VS_HUMAN), tuple(rows), note))


def _probes(run: Run) -> tuple[Block, ...]:
    table = stored_probes(run)
    if table is None:
        return ()
    control = table.control
    lines = [control, *probe_figures.by_distance(table, PROBED_BY)]
    measures = list(control.scores)
    rows = tuple(
        (
            probe_figures.row_label(line),
            as_percent(line.changed) if line.kind == "perturbation" else NONE,
            as_percent(probe_figures.moved_share(line)),
            *(probe_figures.spread_label(line.scores[name]) for name in measures),
        )
        for line in lines
    )
    items = table.words.items
    chart = Chart(
        "probes",
        probe_figures.distance_figure(table, PROBED_BY, [candidate.name for candidate in run.comparison.candidates]),
        f"What the scores notice in perturbed {items}",
        f"Both halves of each split are clustered anew. One half of the {items} of {_label(table.source)}, perturbed, "
        f"against the untouched other half; n = {control.n:,}, k = {control.k:,}. Gray band: both halves untouched, "
        "the noise floor. Open diamonds: other sources, in their own colors, in place of the perturbed half.",
    )
    columns = ("Compared half", "changed", "moved", *(probe_figures.titled(name) for name in measures))
    note = (
        f"Changed: share of its {items} that differ; moved: share of them now in a different cluster of the run. "
        f"{table.words.said(probe_figures.ABOUT_LEADERBOARD)}"
    )
    found = detections(table)
    answer = () if not found else (Remarks((summary(table), *(each.sentence for each in found)), weighty=True),)
    said = tuple(filter(None, (about_test(table), positions_sentence(table))))
    return (*answer, chart, Table("Probes", columns, rows, note), *_notes((*said, *table.notes)))


def _sweeps(run: Run) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for axis in AXES:
        sweep = stored_sweep(run, axis)
        if sweep is not None and sweep.points:
            blocks += _sweep(run, axis, sweep)
    for parameter in ESTIMATOR_AXES:
        found = stored_estimator_sweep(run, parameter)
        if found is not None:
            blocks += _estimator_sweep(run, found)
    return tuple(blocks)


def _sweep(run: Run, axis: Over, sweep: Sweep) -> list[Block]:
    order = [candidate.name for candidate in run.comparison.candidates]
    title = f"{titled(SWEPT_SCORE)} against {sweep_figures.X_TITLES[axis]}"
    chart = Chart(
        f"sweep-{axis}",
        sweep_figures.sweep_figure(sweep, SWEPT_SCORE, order, sweep_figures.own_values(sweep, run.comparison)),
        title,
        "Pairwise partition. Mean over k-means seeds; band or bar: ± one standard deviation; all other settings are "
        f"the run's own. {sweep_figures.about_leaderboard(sweep)}",
    )
    rows = tuple(
        (
            point.candidate,
            f"{point.value:g}",
            mean_and_spread(point.scores[SWEPT_SCORE]),
            f"{point.n:,}",
            f"{point.k:,}",
        )
        for point in sweep.points
    )
    columns = ("Candidate", sweep_figures.X_TITLES[axis], titled(SWEPT_SCORE), "n", "k")
    return [chart, Table(title, columns, rows, folded=True), *_notes(sweep.notes)]


def _estimator_sweep(run: Run, sweep: EstimatorSweep) -> list[Block]:
    order = [candidate.name for candidate in run.comparison.candidates]
    title = f"{estimator_sweeps.SCORE} against {estimator_sweeps.X_TITLES[sweep.over]}"
    chart = Chart(
        f"sweep-{sweep.over}",
        estimator_sweeps.estimator_sweep_figure(sweep, order),
        title,
        f"One panel per estimator. {estimator_sweeps.ABOUT_BANDS} {estimator_sweeps.about_default(sweep)}",
    )
    rows = tuple(
        (
            ESTIMATORS[point.method].title,
            point.candidate,
            f"{point.value:g}",
            estimator_sweeps.score_in_words(point),
            f"{point.score.n:,}",
        )
        for point in sweep.points
    )
    columns = ("Estimator", "Candidate", estimator_sweeps.X_TITLES[sweep.over], estimator_sweeps.SCORE, "n")
    return [chart, Table(title, columns, rows, estimator_sweeps.ABOUT_SPREADS, folded=True), *_notes(sweep.notes)]


def _label(source: str) -> str:
    return "people" if source == HUMAN else source


def _notes(notes: tuple[str, ...]) -> tuple[Block, ...]:
    return (Remarks(notes),) if notes else ()


# Title and content of each section, by its key, in their order.
ATTACHED: Mapping[str, tuple[str, Callable[[Run], tuple[Block, ...]]]] = {
    "shards": (OVER_SHARDS, over_shards_blocks),
    "captured": (CAPTURED, attributes_blocks),
    "judgments": ("What people prefer", judgments_blocks),
    "measures": ("Text measures", _measures),
    "methods": ("Methods", _methods),
    "encoders": ("Encoders", encoders_blocks),
    "probes": ("Probes", _probes),
    "sweeps": ("Sweeps", _sweeps),
}
