"""The synthetic study as the files a person would have: texts as JSONL, features as .npy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from mauve_core.analyses.comparison_task import ComparisonTask
from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.texts.text_files import TextFile
from tests.synthetic import make_comparison_inputs

FAST = ScoreConfig(seeds=2, restarts=1, bootstrap=100)


def write_study(folder: Path, n: int = 40) -> list[str]:
    """Write ``<name>.jsonl`` and ``<name>.npy`` for every side; returns the names, ``human`` first."""
    human, candidates, features = make_comparison_inputs(n)
    folder.mkdir(parents=True, exist_ok=True)
    for name, corpus in {HUMAN: human, **candidates}.items():
        rows = [{"id": i, "text": t, "note": "kept"} for i, t in zip(corpus.ids, corpus.texts, strict=True)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        np.save(folder / f"{name}.npy", features[name])
    return [HUMAN, *candidates]


def make_task(folder: Path, *, name: str = "study", n: int = 40) -> ComparisonTask:
    """A task over such files that needs no encoder and takes well under a second."""
    names = write_study(folder, n)
    files = {name: TextFile(str(folder / f"{name}.jsonl"), features=str(folder / f"{name}.npy")) for name in names}
    config = CompareConfig(encoder=None, score=FAST, projection=False)
    return ComparisonTask(name, files.pop(HUMAN), files, config)
