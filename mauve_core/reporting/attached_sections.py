"""Report sections for later analyses of a run, each only if the run has its results.

Measures with the tests that their ranks come from, methods, encoders, probes, sweeps, and the scores over all texts of
corpora in shards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mauve_core.analyses.encoders import EncoderTable, references, stored_encoders
from mauve_core.analyses.estimator_sweeps import EstimatorSweep, stored_estimator_sweep
from mauve_core.analyses.measure_terms import MeasureDifference, Measurements
from mauve_core.analyses.method_scores import about_ranks, method_standings, stored_methods
from mauve_core.analyses.methods import ESTIMATORS
from mauve_core.analyses.over_shards import (
    ABOUT,
    ABOUT_CLUSTERS,
    CandidateOverAll,
    answers_over_all,
    cluster_rows,
    cluster_sentence,
    columns_of,
    missing_sentence,
    over_all_rows,
    sample_sentence,
    share_table,
    stored_clusters_over_all,
    stored_over_shards,
)
from mauve_core.analyses.positions import positions_sentence, stored_positions
from mauve_core.analyses.probe_results import about_test, detections, stored_probes, summary
from mauve_core.analyses.sweeps import Sweep, stored_sweep
from mauve_core.analyses.text_measures import (
    closest_sentence,
    measure_standings,
    measure_tests_sentence,
    measure_title,
    ranked_tests,
    stored_measurements,
    test_decimals,
)
from mauve_core.base.config import AXES, ESTIMATOR_AXES, HUMAN, Over
from mauve_core.base.errors import MauveLensError
from mauve_core.base.formatting import NONE, as_percent, correlation, significant
from mauve_core.base.words import TEXTS, Words
from mauve_core.figures import agreement, sweeps
from mauve_core.figures import agreement as figures
from mauve_core.figures import measures as measure_figures
from mauve_core.figures import methods as method_figures
from mauve_core.figures import probes as probe_figures
from mauve_core.figures import sweeps as sweep_figures
from mauve_core.figures.agreement import answer
from mauve_core.figures.differences import difference_label, exchanged_label
from mauve_core.figures.leaderboard import titled
from mauve_core.figures.measures import value_label
from mauve_core.figures.methods import about_corrections, about_expectations
from mauve_core.reporting.blocks import Block, Chart, Remarks, Section, Table
from mauve_core.reporting.cluster_section import CAPTURED, attributes_blocks
from mauve_core.reporting.judgments_section import judgments_blocks
from mauve_core.runs import Run
from mauve_core.scoring.tables import mean_and_spread, rank_label, texts_interval
from mauve_core.shards.plan import ShardedComparison
from mauve_core.stats.scores import REFERENCE_SCORE

# Maximum rows of the table of tests; with more, a sentence says where they are.
MOST_TESTS = 1000


def measure_rankings(found: Measurements, order: Sequence[str], words: Words = TEXTS) -> tuple[Block, ...]:
    """Gaps with ranks, who is closest by each measure, and the tests of every two candidates, folded."""
    ranked = [name for name in found.measures if any(row.gap for row in found.rows if row.measure == name)]
    if not ranked:
        return ()
    tests = [each for name in ranked for each in ranked_tests(found, name, order)]
    blocks: list[Block] = [_gaps(found, ranked, order, tests, words)]
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
    found: Measurements,
    measures: Sequence[str],
    order: Sequence[str],
    tests: Sequence[MeasureDifference],
    words: Words,
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
    note += f" {measure_tests_sentence(tests, words)}" if tests else ""
    columns = (words.items.capitalize(), *map(measure_title, measures))
    return Table(f"Gap to the {words.reference_items}, |T(Q) − T(P)|", columns, tuple(map(tuple, rows)), note)


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
    note = f"A negative difference: the candidate is closer to the {words.reference_items}. Below it, its 95% interval."
    return Table("Gaps of every two candidates, tested", columns, tuple(rows), note, folded=True)


# The score that is reported, as published.
SCORE = REFERENCE_SCORE


def encoders_blocks(run: Run) -> tuple[Block, ...]:
    """In words, the grid of correlations and two tables, if computed; StorageError or InputError if damaged."""
    table = stored_encoders(run)
    if table is None:
        return positions_blocks(run)
    words, contradictions = figures.encoders_in_words(table, SCORE)
    chart = Chart(
        "encoders",
        figures.encoder_agreement_figure(table, SCORE),
        "Agreement of the encoders' rankings",
        "Spearman's correlation of the candidates' rankings: 1 is the same order, −1 the opposite one. It ignores the "
        "spread; pairs of candidates that two encoders tell apart in opposite orders are named above.",
        narrow=True,
    )
    blocks: list[Block] = [Remarks((words, *contradictions)), chart, _scores(table, run.comparison.words)]
    blocks += _references(run, table)
    described = zip(figures.encoder_names(table), table.titles, table.results, strict=True)
    about = [f"{title}: {figures.about_encoder(name, result)}" for name, title, result in described]
    return (*blocks, Remarks((*table.notes, *about)), *positions_blocks(run))


def positions_blocks(run: Run) -> tuple[Block, ...]:
    """Where in a text the encoders look, if computed; StorageError or InputError if damaged."""
    table = stored_positions(run)
    if table is None:
        return ()
    rows = tuple(map(tuple, agreement.position_rows(table)))
    found = Table(
        "Where in the text encoders look",
        agreement.HEADER,
        rows,
        agreement.about_positions(table, run.comparison.words),
    )
    return Remarks((agreement.positions_in_words(table), *table.notes)), found


def _numbered(table: EncoderTable) -> tuple[str, ...]:
    return tuple(f"{number} {title}" for number, title in enumerate(table.titles, start=1))


def _scores(table: EncoderTable, words: Words) -> Table:
    intervals = figures.interval_cells(table, SCORE)
    rows = [
        (name, *(f"{cell}\n{low_high}" for cell, low_high in zip(cells, intervals[name], strict=True)))
        for name, cells in figures.score_cells(table, SCORE).items()
    ]
    if any(result.ceiling for result in table.results):
        rows.append((words.halves, *map("\n".join, figures.ceiling_cells(table, SCORE))))
    note = (
        "Mean ± standard deviation over k-means seeds; in parentheses the rank, = where no test tells it from the "
        f"first of its group; below, the {texts_interval(items=words.items)}. Pairwise partitions with the run's own "
        "settings; the first encoder is the run's own. Compare rankings, not scores, between encoders."
    )
    return Table(f"{titled(SCORE)} under each encoder", ("Candidate", *_numbered(table)), tuple(rows), note)


def _references(run: Run, table: EncoderTable) -> list[Block]:
    found, problem = references(run, table, SCORE)
    blocks: list[Block] = []
    if found:
        rows = tuple(
            (
                figures.reference_title(each),
                f"{each.n:,}",
                *(NONE if value is None else correlation(value, signed=True) for value in each.values),
            )
            for each in found
        )
        p = run.comparison.words.reference_items
        note = f"+ is agreement on who is closer to the {p}: with the gap of a text measure, or with ratings."
        columns = ("Spearman with", "n", *_numbered(table))
        blocks.append(Table("Agreement of the encoders with measures and people", columns, rows, note, folded=True))
    if problem:
        blocks.append(Remarks((f"Measures or ratings are missing here: {problem}",), weighty=True))
    return blocks


OVER_SHARDS = "Over all texts"


def over_shards_blocks(run: Run) -> tuple[Block, ...]:
    """Sentences, the scores and the clusters, if the run is a sample; StorageError or InputError if damaged."""
    found = stored_over_shards(run)
    if found is None:
        return ()
    columns, rows = over_all_rows(found)
    said = [*map(str, answers_over_all(found, run)), sample_sentence(run, found)]
    said += filter(None, [missing_sentence(found)])
    scores = Remarks(tuple(said)), Table("Scores over all texts", columns, tuple(rows), ABOUT)
    clusters = stored_clusters_over_all(run)
    if clusters is None:
        return scores
    return *scores, *(block for each in clusters.candidates for block in _clusters(found, each, run.comparison.words))


def _clusters(found: ShardedComparison, candidate: CandidateOverAll, words: Words) -> tuple[Block, ...]:
    said = cluster_sentence(share_table(found, candidate), candidate.name, words=words)
    if not said:
        return ()
    rows = tuple(cluster_rows(found, candidate, len(candidate.clusters)))
    title = f"Clusters over all texts: {candidate.name}"
    return Remarks((said,)), Table(title, columns_of(candidate.name), rows, ABOUT_CLUSTERS, folded=True)


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
        f"Every measure beside the {words.reference} value",
        f"Measures are computed from {words.items}, not clusters. Blue: {words.reference_items}, T(P), with interval; "
        f"dots: candidates, T(Q). None of the measures says which {words.items} are better: a good candidate lies "
        f"where the {words.reference_items} do.",
    )
    note = f"{measure_figures.spreads_in_words(found, words)}; ? where none could be computed."
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
    words = run.comparison.words
    note = (
        f"Value ± standard deviation over seeds / over {words.items}, – where there is none; in parentheses the rank, "
        f"= where it is shared. ↑ larger is closer to the {words.reference_items}, ↓ smaller is. "
        f"{method_figures.ABOUT_LEADERBOARD}"
    )
    note = " ".join(filter(None, [note, about_expectations(table), about_corrections(table)]))
    said = answer(table, run.comparison)
    found = (Remarks((said,), weighty=True),) if said else ()
    return (*found, chart, Table("Methods", ("Method", *table.candidates, words.halves), tuple(rows), note))


def _probes(run: Run) -> tuple[Block, ...]:
    table = stored_probes(run)
    if table is None:
        return ()
    control = table.control
    lines = [control, *probe_figures.by_distance(table, PROBED_BY)]
    measures = list(control.scores)
    rows = tuple(
        (
            table.words.source(probe_figures.row_label(line)),
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
        f"Both halves of each split are clustered anew. One half of {_whose(table.source, table.words)}, perturbed, "
        f"against the untouched other half; n = {control.n:,}, k = {control.k:,}. Gray band: both halves untouched, "
        "the noise floor. Open diamonds: other sources, in their own colors, in place of the perturbed half.",
    )
    columns = ("Compared half", "changed", "moved", *(probe_figures.titled(name) for name in measures))
    note = (
        f"Changed: share of its {items} that differ; moved: share of them now in a different cluster of the run. "
        f"{probe_figures.ABOUT_LEADERBOARD}"
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
    title = f"{sweeps.ESTIMATED_SCORE} against {sweeps.PARAMETER_TITLES[sweep.over]}"
    chart = Chart(
        f"sweep-{sweep.over}",
        sweeps.estimator_sweep_figure(sweep, order),
        title,
        f"One panel per estimator. {run.comparison.words.fill(sweeps.ABOUT_BANDS)} {sweeps.about_default(sweep)}",
    )
    rows = tuple(
        (
            ESTIMATORS[point.method].title,
            point.candidate,
            f"{point.value:g}",
            sweeps.score_in_words(point),
            f"{point.score.n:,}",
        )
        for point in sweep.points
    )
    columns = ("Estimator", "Candidate", sweeps.PARAMETER_TITLES[sweep.over], sweeps.ESTIMATED_SCORE, "n")
    return [
        chart,
        Table(title, columns, rows, run.comparison.words.fill(sweeps.ABOUT_SPREADS), folded=True),
        *_notes(sweep.notes),
    ]


def _whose(source: str, words: Words) -> str:
    return f"the {words.reference_items}" if source == HUMAN else f"the {words.items} of {source}"


def _notes(notes: tuple[str, ...]) -> tuple[Block, ...]:
    return (Remarks(notes),) if notes else ()


# Title and content of each section, by its key, in their order.
ATTACHED: Mapping[str, tuple[str, Callable[[Run], tuple[Block, ...]]]] = {
    "shards": (OVER_SHARDS, over_shards_blocks),
    "captured": (CAPTURED, attributes_blocks),
    "judgments": ("What people prefer", judgments_blocks),
    "measures": ("Measures", _measures),
    "methods": ("Methods", _methods),
    "encoders": ("Encoders", encoders_blocks),
    "probes": ("Probes", _probes),
    "sweeps": ("Sweeps", _sweeps),
}
