"""Report sections on clusters and texts: histogram, ledgers and leading clusters; findings; answers to one prompt; what
clusters capture.

Each candidate's clusters are those of its pairwise partition under its median seed (``Comparison.median_seed``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mauve_core.analyses.attributes_over_k import AttributeTable, stored_attributes
from mauve_core.analyses.diversity import (
    ABOUT_AGREEMENT,
    AGREEMENT_COLUMNS,
    MEASURED_COLUMNS,
    agreement_cells,
    diversity_of_run,
    gap_sentence,
    measured_rows,
    measured_sentence,
    missed_sentence,
    sentence,
    several_answers,
)
from mauve_core.analyses.gap import DIRECTIONS, TOGETHER, ledger_rows, row_labels
from mauve_core.base.config import FDR, HUMAN, PartitionKind
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.base.formatting import NONE, SCORE_DECIMALS, as_percent, percent_with_interval, written
from mauve_core.figures import attributes as figures
from mauve_core.figures.clusters import cluster_figure
from mauve_core.figures.diversity import diversity_figure
from mauve_core.figures.gap import common_reach, ledger_figure
from mauve_core.figures.theme import HUMAN_COLOUR, candidate_colour
from mauve_core.findings.clusters import (
    ADDS,
    CONFIDENCE,
    MISSES,
    cluster_table,
    cost_intervals,
    has_costs,
    ordered,
    with_intervals,
)
from mauve_core.findings.finding import Finding, contrasted, run_findings
from mauve_core.findings.precomputed import (
    run_cluster_names,
    run_cluster_words,
    run_exchange_rate,
    run_gap_test,
    run_stability,
)
from mauve_core.findings.why_cards import labelled
from mauve_core.reporting.blocks import (
    PICTURES,
    Block,
    Card,
    Cards,
    Chart,
    Part,
    Remarks,
    Sample,
    Section,
    Side,
    Table,
    pictures_of,
)
from mauve_core.reporting.score_sections import WEIGHT
from mauve_core.runs import Run
from mauve_core.scoring.tables import score_in_words, seed_in_words
from mauve_core.stats.stability import LABELS
from mauve_core.texts import Corpus

KIND: PartitionKind = "pairwise"

# Number of clusters per direction whose texts are shown.
TOP_CLUSTERS = 3

# Texts per side of a cluster.
SAMPLES = 2

# Characters per text.
SAMPLE_LENGTH = 500

# Maximum number of clusters in a histogram; the shares of those shown differ the most.
MOST_BARS = 300

_WORDS = 8
_TITLES = {
    ADDS: ("Adds", "the model has what the {reference_items} lack"),
    MISSES: ("Misses", "the {reference_items} have what the model lacks"),
}


def clusters_section(run: Run, candidates: Sequence[str], left_out: int, chosen: int | None = None) -> Section:
    """One part per candidate in order, the first one open; ``left_out`` is the number of the run's other candidates.

    ``chosen`` is a cluster of the first candidate, whose texts open that part.
    """
    words = run.comparison.words
    lines = [
        f"Pairwise partitions: {words.reference_items} clustered with one candidate at a time, as for the leaderboard, "
        "so a cluster number means something else in every part. Each part shows the k-means seed under which the "
        "candidate's MAUVE is the median. The cost of a cluster is its share of the frontier integral, with "
        f"{CONFIDENCE:.0%} bootstrap intervals at this n and k that hold for all clusters at once, clusters held "
        f"fixed. Blue: {words.reference_items}; the other color: the candidate, as in all figures.",
        "Is a cluster's difference real? " + "; ".join(f"{name}: {meaning}" for name, meaning in LABELS.items()) + ".",
    ]
    if left_out:
        lines.append(f"{len(candidates)} of {len(candidates) + left_out} candidates are shown.")
    parts = [_part(run, name, index, None if index else chosen) for index, name in enumerate(candidates)]
    return Section("clusters", "Clusters and gap", (Remarks(tuple(lines)), *parts))


def _part(run: Run, candidate: str, index: int, chosen: int | None) -> Part:
    partition = run.comparison.partition(KIND, candidate)
    counts = partition.counts(HUMAN), partition.counts(candidate)
    shown = f"Pairwise partition, seed {partition.seed + 1} of {run.comparison.config.score.seeds}"
    score = Remarks((_score(run, candidate, partition.seed),))
    blocks: list[Block]
    table, tested = cluster_table(*counts, WEIGHT), run_gap_test(run, KIND, candidate)
    if not tested.explains:
        blocks = [
            score,
            *_chosen(run, candidate, table, chosen),
            Remarks((tested.in_words(run.comparison.words),)),
            _histogram(run, table, candidate, index, shown),
        ]
        return Part(candidate, tuple(blocks), open=index == 0)
    rate = run_exchange_rate(run, KIND, candidate)
    table = with_intervals(
        table, *cost_intervals(run.comparison, KIND, candidate, partition.seed, rate=rate).of_clusters
    )
    blocks = [score, *_chosen(run, candidate, table, chosen), _histogram(run, table, candidate, index, shown)]
    blocks += _ledgers(run, candidate, table, index, shown)
    return Part(candidate, tuple(blocks), open=index == 0)


def _score(run: Run, candidate: str, seed: int) -> str:
    own = score_in_words(run.comparison, candidate, KIND)
    return f"{candidate}: {own}. These clusters: {seed_in_words(run.comparison, candidate, KIND, seed)}."


def _ledgers(run: Run, candidate: str, table: pd.DataFrame, index: int, shown: str) -> list[Block]:
    ledgers = {direction: ledger_rows(table, direction) for direction in DIRECTIONS}
    labels, notes = _trusted(run, candidate)
    words, names = _words(run, candidate), _names(run, candidate)
    reach = common_reach(*ledgers.values())
    blocks: list[Block] = []
    for direction, rows in ledgers.items():
        blocks.append(_ledger(run, rows, table, direction, names, reach, candidate, index, shown))
        blocks.append(_ledger_table(run, rows, direction, names, words, labels))
        blocks.append(_cards(run, candidate, direction, rows, names, words, labels))
    return [*blocks, Remarks(notes)] if notes else blocks


def _histogram(run: Run, table: pd.DataFrame, candidate: str, index: int, shown_partition: str) -> Chart:
    order = "cost" if has_costs(table) else "difference"
    rows = ordered(table, order)
    shown = rows
    if len(rows) > MOST_BARS:
        most = rows["difference"].abs().nlargest(MOST_BARS).index
        shown = rows.loc[np.sort(most)].reset_index(drop=True)
    words = run.comparison.words
    which = f"{len(shown):,} of {len(rows):,} clusters, those whose shares differ the most"
    return Chart(
        f"clusters-{index}",
        cluster_figure(shown, candidate, colour=_colour(run, candidate), names=_names(run, candidate), words=words),
        f"{words.items.capitalize()} in each cluster: {words.reference} against {candidate}",
        f"{shown_partition}; {which if len(shown) < len(rows) else f'{len(rows):,} clusters'}, sorted by "
        f"{_ORDERS[order]}. {int(table['human'].sum()):,} {words.reference} and {int(table['model'].sum()):,} model "
        f"{words.items}." + (_BELOW if order == "cost" else ""),
    )


_ORDERS = {"cost": "cost", "difference": "the difference of the shares"}
_BELOW = " Below: each cluster's cost, a share of the frontier integral."


def _ledger(
    run: Run,
    rows: pd.DataFrame,
    table: pd.DataFrame,
    direction: str,
    names: Sequence[str],
    reach: tuple[float, float],
    candidate: str,
    index: int,
    shown_partition: str,
) -> Chart:
    title, meaning = map(run.comparison.words.fill, _TITLES[direction])
    bars, share = int((rows["cluster"] != TOGETHER).sum()), rows["share"].sum()
    total = f"{as_percent(share)} of the frontier integral of {written(table['cost'].sum(), SCORE_DECIMALS)}"
    return Chart(
        f"{title.lower()}-{index}",
        ledger_figure(rows, direction, names, colour=_colour(run, candidate), reach=reach, words=run.comparison.words),
        f"{title}: {meaning} ({candidate})",
        f"{shown_partition}. Together {total}; bars: the costliest {bars} of "
        f"{int(rows['clusters'].sum()):,} such clusters; lines: intervals.",
    )


def _ledger_table(
    run: Run,
    rows: pd.DataFrame,
    direction: str,
    names: Sequence[str],
    words: dict[int, list[str]],
    labels: NDArray[np.str_] | None,
) -> Table:
    title, meaning = map(run.comparison.words.fill, _TITLES[direction])
    cells = []
    for label, (_, row) in zip(row_labels(rows, names), rows.iterrows(), strict=True):
        cluster = int(row["cluster"])
        one = cluster != TOGETHER
        share = _share(row) if one else as_percent(row["share"], 1)
        trust = str(labels[cluster]) if one and labels is not None else ""
        top_words = ", ".join(words.get(cluster, ())) if one else ""
        sizes = (f"{int(row[side]):,}" for side in ("human", "model"))
        cells.append((label, share, trust, *sizes, top_words))
    columns = ("Cluster", "cost", "stability", run.comparison.words.reference, "model", "distinctive words")
    return Table(f"{title}: {meaning}, by cluster", columns, tuple(cells), folded=True)


def _cards(
    run: Run,
    candidate: str,
    direction: str,
    rows: pd.DataFrame,
    names: Sequence[str],
    words: dict[int, list[str]],
    labels: NDArray[np.str_] | None,
) -> Cards:
    title, _ = _TITLES[direction]
    leading = rows[rows["cluster"] != TOGETHER].head(TOP_CLUSTERS)
    cards = tuple(_card(run, candidate, row, names, words, labels) for _, row in leading.iterrows())
    return Cards(f"{title}: leading clusters and {run.comparison.words.items} in them", cards)


def _chosen(run: Run, candidate: str, table: pd.DataFrame, cluster: int | None) -> tuple[Cards, ...]:
    """The card of the cluster that the reader is sent for, if there is one."""
    if cluster is None or cluster >= len(table):
        return ()
    row = table.rename(columns={"cost_share": "share"}).iloc[cluster]
    labels, _ = _trusted(run, candidate)
    card = _card(run, candidate, row, _names(run, candidate), _words(run, candidate), labels)
    return (Cards("The cluster that was open", (card,)),)


def _card(
    run: Run,
    candidate: str,
    row: pd.Series,
    names: Sequence[str],
    words: dict[int, list[str]],
    labels: NDArray[np.str_] | None,
) -> Card:
    cluster, kind = int(row["cluster"]), run.comparison.words
    facts = [f"{int(row['human']):,} {kind.reference} and {int(row['model']):,} model {kind.items}"]
    if "low" in row:
        facts.insert(0, f"{_share(row)} of the frontier integral")
    if labels is not None:
        facts.append(str(labels[cluster]))
    sides = tuple(_side(run, source, candidate, cluster) for source in (HUMAN, candidate))
    return Card(labelled(names, cluster), tuple(facts), ", ".join(words.get(cluster, ())), sides)


def _side(run: Run, source: str, candidate: str, cluster: int) -> Side:
    """The cluster's first items in file order, to avoid a selected sample."""
    indices = np.flatnonzero(run.comparison.partition(KIND, candidate).labels[source] == cluster)
    corpus = run.corpora[source]
    colour = HUMAN_COLOUR if source == HUMAN else _colour(run, candidate)
    words, total = run.comparison.words, int(indices.size)
    if corpus.media is not None:
        return Side(words.source(source), colour, total, (), words, pictures_of(corpus, indices[:PICTURES].tolist()))
    samples = tuple(_sample(corpus, int(index)) for index in indices[:SAMPLES])
    return Side(words.source(source), colour, total, samples, words)


def _colour(run: Run, candidate: str) -> str:
    return candidate_colour([each.name for each in run.comparison.candidates], candidate)


def _sample(corpus: Corpus, index: int) -> Sample:
    text = corpus.texts[index]
    return Sample(corpus.ids[index], text[:SAMPLE_LENGTH], max(len(text) - SAMPLE_LENGTH, 0))


def _share(row: pd.Series) -> str:
    return percent_with_interval(row["share"], row["low"], row["high"])


def _words(run: Run, candidate: str) -> dict[int, list[str]]:
    """The distinctive words of every cluster that has any; empty if the texts have no countable words."""
    try:
        found = run_cluster_words(run, KIND, candidate, run.comparison.median_seed(candidate, KIND))
    except MauveLensError:
        return {}
    return {cluster: [each.word for each in words[:_WORDS]] for cluster, words in enumerate(found) if words}


def _names(run: Run, candidate: str) -> tuple[str, ...]:
    return run_cluster_names(run, KIND, candidate, run.comparison.median_seed(candidate, KIND))


def _trusted(run: Run, candidate: str) -> tuple[NDArray[np.str_] | None, tuple[str, ...]]:
    """Each cluster's stability label, or None with the reason."""
    try:
        found = run_stability(run, KIND, candidate, run.comparison.median_seed(candidate, KIND))
    except MauveLensError as error:
        return None, (f"Whether the differences are real could not be determined: {error}",)
    return found.label, found.notes


DIFFERS = "What differs"

FINDING_COLUMNS = ("Candidate", "Finding", "Difference", "Of the gap")

NO_FINDING = "no difference that holds for {items} that did not suggest it"


def findings_section(run: Run, candidates: Sequence[str]) -> Section:
    """The clearest finding of each candidate in a table, with pictures if the items have any.

    Where there are too few items, a sentence says so.
    """
    words = run.comparison.words
    try:
        clearest = {name: next(iter(run_findings(run, name)), None) for name in candidates}
    except InputError as error:
        return Section("findings", DIFFERS, (Remarks((str(error),)),))
    rows = tuple(_finding_row(name, finding, words.fill(NO_FINDING)) for name, finding in clearest.items())
    split = "Some prompts' texts suggest statements, the texts of the others test them"
    if not run.comparison.has_words:
        split = f"Some {words.items} suggest statements, the others test them"
    note = (
        f"The clearest difference of each candidate; mauve-lens explain has all. {split}; an expected share of at most "
        f"{as_percent(FDR)} is false. Difference: 95% interval, in {words.items} of 100. Of the gap: how much of the "
        f"frontier integral goes if the candidate has it as often as the {words.reference_items}, with its 95% "
        f"interval; {NONE}: none is above 0, too few {words.items}, or no gap to explain."
    )
    found = [each for each in clearest.values() if each is not None and run.corpora[each.candidate].media is not None]
    cards = tuple(_finding_card(run, each) for each in found)
    pictures = (Cards(f"{words.items.capitalize()} of both sides", cards),) if found else ()
    return Section("findings", DIFFERS, (Table(DIFFERS, FINDING_COLUMNS, rows, note), *pictures))


def _finding_row(candidate: str, finding: Finding | None, nothing: str) -> tuple[str, ...]:
    if finding is None:
        return candidate, nothing, NONE, NONE
    equal = finding.held_equal
    return candidate, finding.statement, finding.points, equal.percent if equal else NONE


def _finding_card(run: Run, finding: Finding) -> Card:
    """The first pictures in file order: those that show the finding, and of the other side those that do not."""
    names, words = (finding.reference, finding.candidate), finding.words
    human, model = words.reference_items, f"{words.items} of {finding.candidate}"
    shown, other = (human, model) if finding.shown_by == "human" else (model, human)
    colours = HUMAN_COLOUR, candidate_colour([each.name for each in run.comparison.candidates], finding.candidate)
    chosen = contrasted(finding, *(len(run.corpora[name]) for name in names))
    sides = tuple(
        Side(words.source(name), colour, rows.size, (), words, pictures_of(run.corpora[name], rows[:PICTURES].tolist()))
        for name, colour, rows in zip(names, colours, chosen, strict=True)
    )
    facts = f"{shown} that {finding.condition}", f"{other} of which this is not so"
    return Card(f"{finding.candidate} {finding.does}", facts, "", sides)


ANSWERS = "Answers to one prompt"

ABOUT_ANSWERS = (
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
        return Section("variety", ANSWERS, (Remarks((str(error),)),))
    said = [sentence(name, own, found.gap) for name, own in found.candidates.items()]
    chart = diversity_figure(found, [each.name for each in run.comparison.candidates])
    rows = [(name, *cells) for name, own in found.candidates.items() for cells in measured_rows(own)]
    about = [f"{name}: {measured_sentence(own)}" for name, own in found.candidates.items()]
    about += [f"{name}: {missed_sentence(missed, run.comparison.words)}" for name, missed in found.missed.items()]
    about.append(gap_sentence(found.gap))
    if found.single:
        about.append(f"One answer to a prompt, so not measured: {', '.join(found.single)}.")
    table = Table("Variety of answers", ("Candidate", "Measure", *MEASURED_COLUMNS[1:]), tuple(rows), " ".join(about))
    blocks: list[Block] = [
        Remarks(tuple(said)),
        Chart("variety", chart, "How different the answers are", ABOUT_ANSWERS),
        table,
    ]
    if found.pairs:
        pairs = tuple(agreement_cells(each, str) for each in found.pairs)
        blocks.append(Table("Do candidates say the same?", AGREEMENT_COLUMNS, pairs, ABOUT_AGREEMENT))
    return Section("variety", ANSWERS, tuple(blocks))


CAPTURED = "What clusters capture"

_READING = (
    "How well do clusters predict metadata columns and simple properties as their number grows? If length alone "
    "explains the clusters, it may also explain the score. In half of the {items}, each cluster is assigned its most "
    "frequent value; the other half is guessed."
)


def attributes_blocks(run: Run) -> tuple[Block, ...]:
    """Figures, table and notes of the run's attributes, if any; StorageError or InputError if the table is damaged."""
    table = stored_attributes(run)
    if table is None or not table.rows:
        return ()
    words = run.comparison.words
    about = figures.described(table, words)
    charts = tuple(_chart(part, table) for part in figures.PARTS if figures.lines_of(part, table))
    return (Remarks((words.fill(_READING),)), *charts, _numbers(table), Remarks((about, *table.notes)))


def _chart(part: str, table: AttributeTable) -> Chart:
    lines = figures.lines_of(part, table)
    drawn = lines[: figures.MOST_LINES]
    head, meaning = figures.PARTS[part]
    some = (
        f"{len(drawn)} of {len(lines)} columns are drawn; the table has them all. " if len(drawn) < len(lines) else ""
    )
    note = f"{some}Band: ± one standard deviation; vertical line: the run's own k."
    return Chart(f"attributes-{part}", figures.part_figure(part, table, drawn), f"{head}: {meaning}", note)


def _numbers(table: AttributeTable) -> Table:
    shown = figures.shown_table(table)
    rows = tuple(
        (str(column), f"{k:,}", f"{n:,}", *(cell or NONE for cell in cells))
        for column, k, n, *cells in shown.itertuples(index=False)
    )
    return Table(CAPTURED, tuple(map(str, shown.columns)), rows, folded=True)
