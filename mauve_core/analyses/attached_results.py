"""Results that a run keeps in ``attached/``: what reads and checks each, the run as one file, the run's verdict, and
highlights.

Highlights are what they show beyond the leaderboard, in up to three sentences, each with the page that shows it:

- A text measure by which the candidate with the lowest MAUVE is closest to the human texts.
- A perturbation that MAUVE does not detect.
- Two candidates that another encoder ranks in the opposite order, if both encoders tell them apart.

Nothing is computed for them, and what was not computed is not spoken of. Names and values are those of the pages.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from mauve_core.analyses import (
    attributes_over_k,
    encoders,
    estimator_sweeps,
    measures_over_lengths,
    measures_over_neighbours,
    method_scores,
    over_shards,
    positions,
    probe_results,
    sweeps,
    text_measures,
)
from mauve_core.analyses.encoders import elsewhere, stored_encoders
from mauve_core.analyses.measure_terms import Value
from mauve_core.analyses.probe_results import detections, stored_probes
from mauve_core.analyses.text_measures import measure_standings, measure_title, stored_measurements
from mauve_core.base.config import AXES, ESTIMATOR_AXES
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.base.formatting import UNKNOWN, printable, with_spread
from mauve_core.findings.precomputed import run_gap_test, run_main_reason, run_preflight
from mauve_core.findings.verdicts import Verdict, verdict_of
from mauve_core.runs import COMPARISON, Run, RunStore
from mauve_core.runs.folder import read_run
from mauve_core.scoring.tables import mean_and_spread, standings
from mauve_core.stats.scores import SCORES

# Each returns None if the run has no such document, and raises StorageError or InputError if it is damaged.
DOCUMENTS: dict[str, Callable[[Run], object]] = {
    text_measures.ATTACHMENT: text_measures.stored_measurements,
    measures_over_lengths.ATTACHMENT: measures_over_lengths.stored_lengths,
    measures_over_neighbours.ATTACHMENT: measures_over_neighbours.stored_neighbours,
    method_scores.ATTACHMENT: method_scores.stored_methods,
    probe_results.ATTACHMENT: probe_results.stored_probes,
    attributes_over_k.ATTACHMENT: attributes_over_k.stored_attributes,
    encoders.ATTACHMENT: encoders.stored_encoders,
    positions.ATTACHMENT: positions.stored_positions,
    over_shards.ATTACHMENT: over_shards.stored_over_shards,
    over_shards.CLUSTERS_ATTACHMENT: over_shards.stored_clusters_over_all,
    **{sweeps.attachment_name(over): partial(sweeps.stored_sweep, over=over) for over in AXES},
    **{
        sweeps.attachment_name(over): partial(estimator_sweeps.stored_estimator_sweep, over=over)
        for over in ESTIMATOR_AXES
    },
}


def check_documents(run: Run) -> None:
    """Read all documents of a run; StorageError or InputError names the first that is damaged."""
    for name, read in DOCUMENTS.items():
        try:
            read(run)
        except InputError as error:
            raise InputError(
                f"attached/{name}.json: {error.wrong}", allowed=error.allowed, received=error.received
            ) from error


def save_run(run: Run, path: str | Path, *, ratings: bool = True) -> Path:
    """Write a stored run to one file, with everything attached to it, and return the file's path.

    Parameters
    ----------
    run : Run
    path : str or Path
        The file, or a folder in which it becomes ``<id>.mauve-run.zip``; an existing file is replaced.
    ratings : bool
        Include people's ratings.

    Raises
    ------
    InputError
        The run is no longer in its store.
    StorageError
        A file of the run is missing or damaged, or the disk refuses; no partial file is left.
    """
    store = RunStore(run.path.parent)
    return store.export(run.path.name, Path(path), ratings=ratings, documents=DOCUMENTS)


def load_run(path: str | Path) -> Run:
    """Open a run: a file that :meth:`mauve_core.results.Results.save` wrote, or the folder of a stored run.

    A file is unpacked into a temporary folder that lasts as long as this process; :meth:`RunStore.import_` keeps it.

    Raises
    ------
    InputError
        There is no such file or folder, it is no run, or it is damaged or too large.
    StorageError
        A file of the folder is damaged, or the disk refuses.
    """
    path = Path(path)
    if path.is_dir():
        if not (path / COMPARISON).is_file():
            raise InputError(
                f"The folder {path} is no run",
                allowed=f"a folder with {COMPARISON}, or a file that Results(run).save or mauve-lens runs export wrote",
            )
        return read_run(path)
    folder = Path(tempfile.mkdtemp(prefix="mauve-lens-"))
    try:
        store = RunStore(folder / "runs")
        run = store.load(store.import_(path, check=check_documents).id)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return run


def verdict(run: Run) -> Verdict:
    """Say what a run says; what is slow is kept beside the run (``mauve_core.findings.precomputed``)."""
    return verdict_of(
        run.comparison,
        lambda candidate: run_gap_test(run, "pairwise", candidate),
        lambda candidate: run_main_reason(run, candidate),
        run_preflight(run),
        elsewhere(run),
    )


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
    """The findings of a run, in the order of the list above; a damaged attachment has none.

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
            f"({_value(row.model)}; {reference}: {_value(row.human)}) and the lowest {SCORES[SCORE].title} "
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
