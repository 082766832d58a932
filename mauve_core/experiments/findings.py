"""What a run shows beyond its leaderboard, in up to three sentences, each with the page that shows it.

- A text measure by which the candidate with the lowest MAUVE is closest to the human texts.
- A perturbation that MAUVE does not detect.
- Two candidates that another encoder ranks in the opposite order, if both encoders tell them apart.

All of it comes from results that are stored with the run; nothing is computed here, and what was not computed is not
spoken of. Names and values are those of the pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mauve_core.base.errors import MauveLensError
from mauve_core.base.formatting import UNKNOWN, printable, with_spread
from mauve_core.experiments.encoders.table import stored_encoders
from mauve_core.experiments.robustness.detection import detections
from mauve_core.experiments.robustness.table import stored_probes
from mauve_core.experiments.text_measures import measure_title
from mauve_core.experiments.text_measures.base import Value
from mauve_core.experiments.text_measures.ranking import measure_standings
from mauve_core.experiments.text_measures.stored import stored_measurements
from mauve_core.runs import Run
from mauve_core.scoring.tables import TITLES, mean_and_spread, standings

Page = Literal["decoders", "probes", "encoders"]
SCORE = "mauve"

# Measures that are reported in place of a score; the first that contradicts MAUVE is named.
MEASURES_BY_INTEREST = ("perplexity", "zipf", "distinct", "diversity", "self-bleu", "repetition", "precision")


@dataclass(frozen=True)
class Finding:
    """One sentence about a run.

    Attributes
    ----------
    sentence : str
        Plain text; may hold names from files.
    page : {"decoders", "probes", "encoders"}
        Where it is seen.
    item : str
        What to show there: the measure or the perturbation, by name; empty for encoders.
    """

    sentence: str
    page: Page
    item: str = ""


def findings(run: Run) -> tuple[Finding, ...]:
    """The findings of a run, in the order of the module's list; a damaged attachment has none.

    The pages that show the attachments report their damage.
    """
    found = []
    for look in (_closest_by_measure, _undetected, _contradicted):
        try:
            finding = look(run)
        except MauveLensError:
            continue
        if finding is not None:
            found.append(finding)
    return tuple(found)


def _closest_by_measure(run: Run) -> Finding | None:
    """The last candidate by MAUVE is the closest by a measure; both places must be sure."""
    measurements, places = stored_measurements(run), standings(run.comparison, SCORE)
    if measurements is None or len(places) < 2 or places[-1].tied or places[-1].rank == 1:
        return None
    last = places[-1].candidate
    for measure in MEASURES_BY_INTEREST:
        ranked = measure_standings(measurements, measure, [place.candidate.name for place in places])
        if not ranked or ranked[0].rank != 1 or ranked[0].row.candidate != last.name:
            continue
        row = ranked[0].row
        if row.model is None or row.human is None:
            continue
        gap = "one of the smallest gaps" if ranked[0].tied else "the smallest gap"
        reference = run.comparison.words.reference_items
        return Finding(
            f"{printable(last.name)} has {gap} of all in {_in_a_sentence(measure_title(measure))} "
            f"({_value(row.model)}; {reference}: {_value(row.human)}) and the lowest {TITLES[SCORE]} "
            f"({mean_and_spread(last.scores[SCORE])}).",
            "decoders",
            measure,
        )
    return None


def _undetected(run: Run) -> Finding | None:
    """The perturbation, of those that are not detected, with the highest MAUVE."""
    table = stored_probes(run)
    missed = [] if table is None else [each for each in detections(table) if each.outcome == "not detected"]
    return Finding(missed[-1].sentence, "probes", missed[-1].name) if missed else None


def _contradicted(run: Run) -> Finding | None:
    """The first pair of candidates whose order the run's encoder and another one contradict beyond chance."""
    table = stored_encoders(run)
    if table is None:
        return None
    for place, title in enumerate(table.titles[1:], start=1):
        pair = next((each for each in table.reversals(SCORE, 0, place) if each.told_apart), None)
        if pair is not None:
            closer, farther = printable(pair.closer), printable(pair.farther)
            reference = run.comparison.words.reference_items
            return Finding(
                f"Encoders disagree: {table.titles[0]} puts {closer} closer to the {reference} than {farther}, {title} "
                "the other way round; each tells the two apart.",
                "encoders",
            )
    return None


def _in_a_sentence(title: str) -> str:
    """A title as it stands within a sentence; names and abbreviations keep their capitals."""
    return title if title[:1].isupper() and not title[1:2].islower() else title[:1].lower() + title[1:]


def _value(value: Value) -> str:
    return with_spread(value.value, value.sd, missing=UNKNOWN)
