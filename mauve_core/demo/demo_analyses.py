"""Analyses of the demo study from committed files, so that no page of it waits: sweeps, methods, encoders and others.

Each is a task with its defaults, but that there are more methods and encoders, and other measures over length; the file
is the result as the task keeps it beside the run. Most results follow the run's clusters, and k-means follows the last
digits of a machine's arithmetic. So the manifest has a digest of the clusters, and a run with others goes without the
files: its pages compute the analyses anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mauve_core.base.errors import StorageError
from mauve_core.base.files import write_atomically
from mauve_core.base.progress import Progress
from mauve_core.demo.stored import clusters_digest
from mauve_core.experiments.attributes_over_k.table import ATTACHMENT as ATTRIBUTES
from mauve_core.experiments.encoders import USUAL
from mauve_core.experiments.encoders.positions import ATTACHMENT as POSITIONS
from mauve_core.experiments.encoders.table import ATTACHMENT as ENCODERS
from mauve_core.experiments.methods import PRESETS
from mauve_core.experiments.methods.table import ATTACHMENT as METHODS
from mauve_core.experiments.sweeps import EVERY_AXIS, attachment_name
from mauve_core.experiments.text_measures.over_lengths import ATTACHMENT as LENGTHS
from mauve_core.experiments.text_measures.over_neighbours import ATTACHMENT as NEIGHBOURS
from mauve_core.store import Run, RunStore
from mauve_core.tasks.attributes import AttributesTask
from mauve_core.tasks.base import RunTask
from mauve_core.tasks.compare_encoders import CompareEncodersTask
from mauve_core.tasks.compare_methods import CompareMethodsTask
from mauve_core.tasks.lengths import LengthsTask
from mauve_core.tasks.neighbours import NeighboursTask
from mauve_core.tasks.positions import PositionsTask
from mauve_core.tasks.sweep import SweepTask

FOLDER = "analyses"

COMPARED = tuple(dict.fromkeys(method.spec for name in ("divergences", "estimators") for method in PRESETS[name]))
"""The demo's methods: other divergences in the run's own clusters, and other estimators."""


def analyses(run: str) -> dict[str, RunTask]:
    """The tasks by the name of the attachment that each keeps beside the run with that id.

    The sweep over decoders is not among them: it reads the run's own scores, at once.
    """
    sweeps = {attachment_name(over): SweepTask(run, over) for over in EVERY_AXIS if over != "decoder"}
    return {
        **sweeps,
        METHODS: CompareMethodsTask(run, COMPARED),
        ENCODERS: CompareEncodersTask(run, USUAL[1:]),
        ATTRIBUTES: AttributesTask(run),
        NEIGHBOURS: NeighboursTask(run),
        POSITIONS: PositionsTask(run, (USUAL[1], USUAL[3])),
        LENGTHS: LengthsTask(run, (32, 64, 128), ("frechet", "precision", "recall", "repetition", "distinct", "zipf")),
    }


def build_analysis(run: Run, name: str, data: Path, progress: Progress) -> dict[str, Any]:
    """Compute one analysis of the demo run, write its file, and return the manifest entry."""
    analyses(run.id)[name].compute(progress)
    text = json.dumps(run.attachment(name), ensure_ascii=False, separators=(",", ":")) + "\n"
    file = f"{FOLDER}/{name}.json"
    (data / FOLDER).mkdir(exist_ok=True)
    write_atomically(data / file, lambda stream: stream.write(text.encode()))
    return {"file": file, "made_of": made_of(run), "clusters": clusters_digest(run.comparison)}


def import_analyses(run: Run, data: Path, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Put the committed analyses beside the run, but those that it has and those of other clusters.

    StorageError if one belongs to other texts or settings.
    """
    inputs, clusters = made_of(run), clusters_digest(run.comparison)
    for name, entry in entries.items():
        if entry["made_of"] != inputs:
            raise StorageError(
                f"The committed analysis {name!r} was not made from the committed texts with these settings",
                todo=f"Compute it again: mauve-lens demo --rebuild-analyses {name}",
            )
        if entry["clusters"] == clusters and run.attachment(name) is None:
            values = json.loads((data / entry["file"]).read_text(encoding="utf-8"))
            own = {"run": run.id, "created": run.created}
            values["settings"] |= {key: value for key, value in own.items() if key in values["settings"]}
            RunStore().attach(run.id, name, values)


def made_of(run: Run) -> str:
    """SHA-256 of the run's texts and settings."""
    texts = {source.name: source.digest for source in run.comparison.sources}
    return hashlib.sha256(json.dumps([texts, run.comparison.config.as_dict()]).encode()).hexdigest()
