"""Indicators to compare with human judgments: the run's scores, the gaps of its text measures, and other methods.

Each indicator measures a candidate's closeness to the human texts, so the human side has none. JMLR 2023, tables 4, 9
and 10, and ICLR 2023, figure 2, are such comparisons.

The worst case of a correlation (JMLR 2023, equation 30) takes standard deviations of one kind for all indicators. They
are over generations, as in the paper, if every candidate has several under every indicator, or its decoder draws
nothing, so that they would all be the same. Methods have none then. Otherwise all are over texts, by the jackknife of
the text measures. Every indicator says which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mauve_core.base.config import SCORES
from mauve_core.base.errors import MauveLensError
from mauve_core.decoding import parse_decoder
from mauve_core.experiments.methods.method import Method
from mauve_core.experiments.methods.table import MethodTable, stored_methods
from mauve_core.experiments.score_spread import score_sds_over_texts
from mauve_core.experiments.text_measures import measure_title
from mauve_core.experiments.text_measures.base import Measurements
from mauve_core.experiments.text_measures.stored import decoder_of, stored_measurements
from mauve_core.judgments.correlating import Indicator
from mauve_core.runs import Run
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import HIGHER_IS_CLOSER, TITLES

# What standard deviations are over.
TEXTS, GENERATIONS = "texts", "generations"

# A run -> standard deviations by score and candidate.
SdsOverTexts = Callable[[Run], Mapping[str, Mapping[str, float]]]


def run_indicators(run: Run, sds: SdsOverTexts = score_sds_over_texts) -> tuple[dict[str, Indicator], tuple[str, ...]]:
    """The run's scores, and what is stored of its text measures and methods; also why any of these are missing.

    ``sds`` gives the scores' standard deviations over texts; a caller may keep them.
    """
    measurements, problems = None, []
    try:
        measurements = stored_measurements(run)
    except MauveLensError as error:
        problems.append(str(error))
    generations = _repeated(run.comparison, measurements, _written_once(run))
    found = score_indicators(run, generations=generations, sds=sds)
    if measurements is not None:
        found |= measure_indicators(measurements, generations=generations)
    try:
        table = stored_methods(run)
        found |= {} if table is None else method_indicators(table, generations=generations)
    except MauveLensError as error:
        problems.append(str(error))
    return found, tuple(problems)


def _written_once(run: Run) -> set[str]:
    """Candidates with one generation because their decoder draws nothing at random."""
    found = set()
    for candidate in run.comparison.candidates:
        spec = decoder_of(candidate.name, run.corpora[candidate.name])
        if candidate.source.generations == 1 and spec is not None and not parse_decoder(spec).is_random:
            found.add(candidate.name)
    return found


def _repeated(comparison: Comparison, measurements: Measurements | None, fixed: set[str]) -> bool:
    """Whether the spread over generations of every indicator is known: some candidate has one, and the others' is 0."""
    several = {each.name for each in comparison.candidates if each.source.generations > 1}
    if not several or several | fixed != {each.name for each in comparison.candidates}:
        return False
    rows = () if measurements is None else measurements.rows
    gaps = [row.gap for row in rows if row.candidate in several and row.gap is not None]
    return all(gap.generations is not None for gap in gaps)


def score_indicators(
    run: Run, *, generations: bool = False, sds: SdsOverTexts = score_sds_over_texts
) -> dict[str, Indicator]:
    """Mean of every pairwise score, by title, and its standard deviation over texts, or over generations."""
    candidates, found = run.comparison.candidates, {}
    over_texts = {} if generations else sds(run)
    for score in SCORES:
        estimates = {candidate.name: candidate.scores[score] for candidate in candidates}
        over_generations = {name: each.generations_sd for name, each in estimates.items()}
        found[TITLES[score]] = Indicator(
            {name: estimate.mean for name, estimate in estimates.items()},
            {name: sd for name, sd in over_generations.items() if sd is not None} if generations else over_texts[score],
            HIGHER_IS_CLOSER[score],
            GENERATIONS if generations else TEXTS,
        )
    return found


def measure_indicators(measurements: Measurements, *, generations: bool = False) -> dict[str, Indicator]:
    """Gap to the human side, |T(Q) - T(P)|, by title, with its standard deviation over texts, or over generations;
    smaller is closer.

    Measures without a gap for any candidate are left out.
    """
    found = {}
    for measure in measurements.measures:
        rows = [measurements.row(measure, candidate) for candidate in measurements.candidates]
        gaps = {row.candidate: row.gap for row in rows if row is not None and row.gap is not None}
        if gaps:
            found[f"{measure_title(measure)}, gap"] = Indicator(
                {name: gap.value for name, gap in gaps.items()},
                {
                    name: sd
                    for name, gap in gaps.items()
                    if (sd := gap.generations_sd if generations else gap.sd) is not None
                },
                higher_is_closer=False,
                over=GENERATIONS if generations else TEXTS,
            )
    return found


def method_indicators(table: MethodTable, *, generations: bool = False) -> dict[str, Indicator]:
    """Value of every method, with its standard deviation over texts, by title.

    That over generations is unknown, because methods take all generations together.

    Plain k-means is left out: it is the run's own MAUVE.
    """
    return {
        result.method.title: Indicator(
            {name: score.value for name, score in result.scores.items()},
            {}
            if generations
            else {name: score.sd_texts for name, score in result.scores.items() if score.sd_texts is not None},
            result.method.higher_is_closer,
            "" if generations else TEXTS,
        )
        for result in table.results
        if result.method != Method()
    }
