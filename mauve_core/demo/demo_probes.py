"""Probes of the demo study from a committed file, because encoding its perturbed texts takes a quarter of an hour.

The file has scores, p-values and clusters by text id, but no text: perturbed texts are made again from the human texts
when a page shows them. The manifest says what the file was made of, so that a stale one is noticed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import StorageError
from mauve_core.base.files import write_atomically
from mauve_core.base.json_codec import dataclass_to_json, from_json
from mauve_core.base.progress import Progress
from mauve_core.corpus import Corpus
from mauve_core.corpus.perturbations import parse_perturbation, perturb
from mauve_core.experiments.robustness import PAPER, ProbeLine, ProbeTable, probe_run
from mauve_core.experiments.robustness.table import ATTACHMENT
from mauve_core.store import Run, RunStore

PROBES_FILE = "probes.json"

DEMO_SPLITS = 1
"""The test of one split holds its level; more would tell the spread over texts, at twice to four times the cost."""

OTHER_CLUSTERS = (
    "The texts that changed cluster are left out: on this machine, the demo has other clusters than where its probes "
    "were computed. Probe again to see them."
)
"""Note of an imported table whose flows do not belong to the run's clusters: k-means follows the last digits."""


def build_probes(run: Run, data: Path, device: str, progress: Progress) -> dict[str, Any]:
    """Compute the standard probes of the demo run, write their file, and return the manifest entry."""
    table = probe_run(run, PAPER, splits=DEMO_SPLITS, device=device, progress=progress)
    text = json.dumps(dataclass_to_json(table), ensure_ascii=False) + "\n"
    write_atomically(data / PROBES_FILE, lambda stream: stream.write(text.encode()))
    human, seed = run.corpora[HUMAN], run.comparison.config.score.seed
    texts = {
        line.name: perturbed_digest(human, line.flow.ids, line.name, seed)
        for line in table.lines
        if line.flow is not None
    }
    return {
        "file": PROBES_FILE,
        **_made_of(run),
        "perturbed": texts,
        "command": "mauve-lens demo --rebuild-analyses probes",
    }


def import_probes(run: Run, data: Path, entry: Mapping[str, Any]) -> None:
    """Put the committed probes beside the run; StorageError if they belong to other texts or settings."""
    if {name: entry.get(name) for name in _made_of(run)} != _made_of(run):
        raise StorageError(
            "The committed probes were not made from the committed texts with these settings",
            todo="Compute them again: mauve-lens demo --rebuild-analyses probes (a quarter of an hour)",
        )
    table = from_json(ProbeTable, json.loads((data / entry["file"]).read_text(encoding="utf-8")))
    settings = {**table.settings, "run": run.id, "created": run.created}
    lines, notes = table.lines, table.notes
    if not all(_same_clusters(run, line) for line in lines):
        lines, notes = tuple(dataclasses.replace(line, flow=None) for line in lines), (*notes, OTHER_CLUSTERS)
    kept = ProbeTable(table.source, lines, settings, notes)
    RunStore().attach(run.id, ATTACHMENT, dataclass_to_json(kept))


def perturbed_digest(corpus: Corpus, ids: Sequence[str], spec: str, seed: int) -> str:
    """SHA-256 of these texts after a perturbation, which changes with what the perturbation does."""
    texts = dict(zip(corpus.ids, corpus.texts, strict=True))
    done = perturb([texts[text_id] for text_id in ids], ids, parse_perturbation(spec), seed=seed)
    return hashlib.sha256(json.dumps(done.texts).encode()).hexdigest()


def _made_of(run: Run) -> dict[str, Any]:
    sources = {source.name: source.digest for source in run.comparison.sources}
    return {"sources": sources, "config": json.loads(json.dumps(run.comparison.config.as_dict()))}


def _same_clusters(run: Run, line: ProbeLine) -> bool:
    if line.flow is None:
        return True
    labels = run.comparison.joint[0].labels[HUMAN]
    cluster = dict(zip(run.corpora[HUMAN].ids, labels, strict=True))
    return set(line.flow.ids) <= set(cluster) and all(
        int(cluster[text_id]) == before for text_id, before in zip(line.flow.ids, line.flow.before, strict=True)
    )
