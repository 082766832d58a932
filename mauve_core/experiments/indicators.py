"""Indicators to compare with human judgments: the run's scores and the gaps of its text measures.

Each indicator measures a candidate's closeness to the human texts, so the human side has none.
"""

from __future__ import annotations

from mauve_core.base.config import SCORES
from mauve_core.base.errors import MauveLensError
from mauve_core.experiments.text_measures import Measurements, measure_title
from mauve_core.experiments.text_measures.stored import stored_measurements
from mauve_core.judgments import Indicator
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import HIGHER_IS_CLOSER, TITLES
from mauve_core.store import Run


def run_indicators(run: Run) -> tuple[dict[str, Indicator], str]:
    """The run's scores and the gaps of its text measures, if any; also the reason for missing gaps."""
    found, problem = score_indicators(run.comparison), ""
    try:
        measurements = stored_measurements(run)
        if measurements is not None:
            found |= measure_indicators(measurements)
    except MauveLensError as error:
        problem = str(error)
    return found, problem


def score_indicators(comparison: Comparison) -> dict[str, Indicator]:
    """Mean and standard deviation over k-means seeds of every pairwise score, by title."""
    found = {}
    for score in SCORES:
        estimates = {candidate.name: candidate.scores[score] for candidate in comparison.candidates}
        found[TITLES[score]] = Indicator(
            {name: estimate.mean for name, estimate in estimates.items()},
            {name: estimate.sd for name, estimate in estimates.items() if estimate.sd is not None},
            HIGHER_IS_CLOSER[score],
        )
    return found


def measure_indicators(measurements: Measurements) -> dict[str, Indicator]:
    """Gap to the human side, |T(Q) - T(P)|, with its standard deviation, by title; smaller is closer.

    Measures without a gap for any candidate are left out.
    """
    found = {}
    for measure in measurements.measures:
        rows = [measurements.row(measure, candidate) for candidate in measurements.candidates]
        gaps = {row.candidate: row.gap for row in rows if row is not None and row.gap is not None}
        if gaps:
            found[f"{measure_title(measure)}, gap"] = Indicator(
                {name: gap.value for name, gap in gaps.items()},
                {name: gap.sd for name, gap in gaps.items() if gap.sd is not None},
                higher_is_closer=False,
            )
    return found
