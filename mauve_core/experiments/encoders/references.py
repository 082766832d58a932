"""Correlation of each encoder's scores with measures that need no encoder's scores: text measures and human ratings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from mauve_core.base.config import QUESTIONS
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.experiments.encoders.table import FEWEST, EncoderTable
from mauve_core.experiments.indicators import measure_indicators
from mauve_core.experiments.text_measures.stored import stored_measurements
from mauve_core.judgments.correlating import Indicator, correlations
from mauve_core.judgments.ranking import rank
from mauve_core.judgments.storage import RatingStore
from mauve_core.runs import Run
from mauve_core.scoring.result import Estimate
from mauve_core.scoring.tables import HIGHER_IS_CLOSER
from mauve_core.stats.rank_correlation import spearman


@dataclass(frozen=True)
class Reference:
    """Spearman's correlation of every encoder's score with one other measure of the candidates.

    Attributes
    ----------
    title : str
        Name of the text measure, or the question of the ratings.
    kind : str
        "measure" or "ratings".
    values : tuple of float or None
        By encoder, + for agreement; None if undefined.
    n : int
        Candidates with both values.
    """

    title: str
    kind: str
    values: tuple[float | None, ...]
    n: int


def references(run: Run, table: EncoderTable, score: str) -> tuple[tuple[Reference, ...], str]:
    """Return the correlations with the gaps of the run's text measures and with its ratings, if any.

    Returns
    -------
    tuple of Reference
    str
        Why measures or ratings are missing although there are some; empty if none are.
    """
    found: list[Reference] = []
    problems: list[str] = []
    for read in (_with_measures, _with_ratings):
        try:
            found += read(run, table, score)
        except MauveLensError as error:
            problems.append(str(error))
    return tuple(found), " ".join(problems)


def _with_measures(run: Run, table: EncoderTable, score: str) -> list[Reference]:
    measurements = stored_measurements(run)
    gaps = {} if measurements is None else measure_indicators(measurements)
    return [_with_measure(title, gap, table, score) for title, gap in gaps.items()]


def _with_measure(title: str, gap: Indicator, table: EncoderTable, score: str) -> Reference:
    names = [name for name in table.candidates if math.isfinite(gap.values.get(name, math.nan))]
    if len(names) < FEWEST:
        return Reference(title, "measure", (None,) * len(table.results), len(names))
    closeness = [-gap.values[name] for name in names]
    values = (spearman(result.closeness(score, names), closeness) for result in table.results)
    return Reference(title, "measure", tuple(None if math.isnan(value) else value for value in values), len(names))


def _with_ratings(run: Run, table: EncoderTable, score: str) -> list[Reference]:
    ratings = RatingStore(run.ratings_path).list()
    sources = [source.name for source in run.comparison.sources]
    numbered = {str(index): _indicator(result.scores, score) for index, result in enumerate(table.results)}
    found = []
    for question in QUESTIONS if ratings else ():
        try:
            ranking = rank(ratings, sources, question, corpora=run.corpora)
        except InputError:  # no rating of this question is left
            continue
        rows = correlations(ranking, numbered)
        found.append(Reference(question, "ratings", tuple(row.spearman for row in rows), rows[0].n))
    return found


def _indicator(scores: Mapping[str, Mapping[str, Estimate]], score: str) -> Indicator:
    return Indicator(
        {name: each[score].mean for name, each in scores.items()}, higher_is_closer=HIGHER_IS_CLOSER[score]
    )
