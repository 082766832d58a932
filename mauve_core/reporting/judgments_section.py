"""Report blocks on human ratings: a ranking for each question, and its correlations with the scores.

It uses the Judge page's defaults: a tie is half a win each, and speed excludes no answer. Raters stay anonymous.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from mauve_core.analyses.human_ranking import Indicator, Ranking, correlations, rank, run_indicators
from mauve_core.base.config import QUESTIONS
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import NONE, correlation, interval
from mauve_core.figures import judgments as figures
from mauve_core.reporting.blocks import Block, Chart, Remarks, Table
from mauve_core.runs import Run
from mauve_core.runs.ratings import RatingStore
from mauve_core.scoring.tables import rank_label

_SCALE = (
    "Bradley–Terry scores in the papers' unit: in 73 of 100 pairs, a source is preferred to one that is 100 points "
    "lower; 0 is the mean. Sources whose intervals overlap with that of the first of their group share its rank."
)
_AGREEMENT = (
    "Spearman's rank correlation over the candidates only, since the human side has no distance to itself. ↑ larger "
    "is closer to human texts, ↓ smaller is; the sign of the correlation is such that + is agreement. Worst case: the "
    "lowest correlation when every value moves up or down by its standard deviation. Scores: pairwise partition."
)


def judgments_blocks(run: Run) -> tuple[Block, ...]:
    """Rankings with intervals and correlations with scores, if rated; StorageError or InputError if damaged."""
    rankings = _rankings(run)
    if not rankings:
        return ()
    first = next(iter(rankings))
    names = [candidate.name for candidate in run.comparison.candidates]
    chart = Chart(
        "judgments",
        figures.ranking_figure(rankings, first, names),
        "Bradley–Terry scores of all sources, question by question",
        f"{_SCALE} Rows are in the order of the first question.",
    )
    indicators, problems = run_indicators(run)
    blocks: list[Block] = [chart]
    blocks += [_ranking_table(ranking, folded=question != first) for question, ranking in rankings.items()]
    blocks.append(_notes(rankings))
    blocks += [_agreement(ranking, indicators, folded=question != first) for question, ranking in rankings.items()]
    if problems:
        blocks.append(Remarks(tuple(f"Missing here: {problem}" for problem in problems), weighty=True))
    return tuple(blocks)


def _rankings(run: Run) -> dict[str, Ranking]:
    """Rankings by question, if any rating refers to texts that still exist."""
    ratings = RatingStore(run.ratings_path).list()
    sources = [source.name for source in run.comparison.sources]
    found = {}
    for question in QUESTIONS if ratings else ():
        try:
            found[question] = rank(ratings, sources, question, corpora=run.corpora)
        except InputError:  # no rating of this question is left
            continue
    return found


def _ranking_table(ranking: Ranking, *, folded: bool) -> Table:
    frame = figures.ranking_frame(ranking)
    several = frame["group"].nunique() > 1
    rows = []
    for _, row in frame.iterrows():
        rank = NONE if math.isnan(row["rank"]) else rank_label(int(row["rank"]), bool(row["tied"]))
        counts = [f"{row[name]:,}" for name in ("wins", "losses", "ties", "comparisons")]
        cells = [str(row["source"]), rank, _score(row["score"], row["low"], row["high"]), *counts]
        rows.append((*cells, *([str(row["group"] + 1)] if several else [])))
    columns = ("Source", "Rank", "Score", "won", "lost", "tied", "n", *(["group"] if several else []))
    title = f"{figures.TITLES[ranking.question]}: {QUESTIONS[ranking.question]}"
    return Table(title, columns, tuple(rows), figures.described(ranking), folded)


def _score(score: float, low: float, high: float) -> str:
    if math.isnan(score):
        return figures.NOT_PLACED
    return f"{figures.points(score)}\n{interval(low, high, 1, signed=True)}"


def _notes(rankings: Mapping[str, Ranking]) -> Remarks:
    """Notes shared by all questions once, others with the question's name."""
    shared = [note for note in next(iter(rankings.values())).notes if all(note in r.notes for r in rankings.values())]
    own = [
        f"{figures.TITLES[question]}: {note}"
        for question, ranking in rankings.items()
        for note in ranking.notes
        if note not in shared
    ]
    return Remarks((*shared, *own))


def _agreement(ranking: Ranking, indicators: Mapping[str, Indicator], *, folded: bool) -> Table:
    frame = figures.correlation_frame(correlations(ranking, indicators), indicators, ranking.question)
    noted = bool((frame["note"] != "").any())
    rows = []
    for _, row in frame.iterrows():
        arrow = "↑" if row["closer"] == "larger" else "↓"
        worst = figures.worst_label(row["worst_case"], row["worst_case_exact"], row["worst_case_at_least"])
        cells = (f"{row['indicator']} {arrow}", correlation(row["spearman"], signed=True), worst, f"{row['n']:,}")
        rows.append((*cells, *([str(row["note"])] if noted else [])))
    known = frame.loc[frame["spearman"].notna(), "n"]
    few = "" if known.empty else figures.few_candidates(int(known.min()))
    worst_title = figures.worst_title(frame["sd_over"])
    columns = (
        "Score, measure or method",
        "Spearman",
        worst_title[0].lower() + worst_title[1:],
        "n",
        *(["note"] if noted else []),
    )
    title = f"Which scores agree with people: {figures.TITLES[ranking.question]}"
    return Table(
        title, columns, tuple(rows), f"{_AGREEMENT} {figures.sd_sentence(frame['sd_over'])} {few}".strip(), folded
    )
