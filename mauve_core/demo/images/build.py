"""Make the files of the demo of images: train the model of digits, sample it at each temperature, compare."""

from __future__ import annotations

import dataclasses
import json
import platform
from pathlib import Path
from typing import Any

import torch

from mauve_core.analysis.findings.of_run import run_findings
from mauve_core.analysis.precomputed import derive
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig
from mauve_core.base.files import digest_of_file, write_atomically
from mauve_core.base.progress import Progress, silent
from mauve_core.demo.finished import FINISHED, pack
from mauve_core.demo.images.digits import PACKAGE, SHA256, SPLIT_SEED, SPLITS, real_digits, write_archive
from mauve_core.demo.images.flow import Velocity, sample, train
from mauve_core.demo.images.study import DATA, DEMO_RUN, MANIFEST, NOTES, image_corpora
from mauve_core.encoders.features import FeatureStore
from mauve_core.scoring.compare import compare
from mauve_core.scoring.result import Candidate
from mauve_core.store import RunStore
from mauve_core.tasks.measure import MeasureTask
from mauve_core.texts.kinds import kind_of

TEMPERATURES = (0.4, 0.6, 0.8, 1.0, 1.2)
STEPS = {"training": 3_000, "sampling": 12}
SEED = 0
MODEL = kind_of("image").model


def side_name(temperature: float) -> str:
    """Return a side's name, in which the sweep over decoders finds the temperature."""
    return f"temperature:t={temperature:g}"


def build_images(data: Path = DATA, *, progress: Progress = silent) -> Path:
    """Train the model, write its digits under ``data``, and compare them, in half an hour on two cores.

    Returns the path of the finished run; errors as :func:`mauve_core.demo.images.digits.real_digits`.
    """
    write_sides(train(real_digits("training"), steps=STEPS["training"], seed=SEED, progress=progress), data)
    return rebuild_run(data, progress=progress)


def rebuild_run(data: Path = DATA, *, progress: Progress = silent) -> Path:
    """Compare the committed digits with real ones, in minutes, and write the finished run, whose path is returned.

    The run that is stored under the demo's name has its features; they are too large to be committed.
    """
    corpora = image_corpora(data, progress)
    candidates = {name: corpus for name, corpus in corpora.items() if name != HUMAN}
    config, features = CompareConfig(encoder=EncoderConfig(model=MODEL)), FeatureStore()
    found = compare(corpora[HUMAN], candidates, config, feature_store=features, progress=progress)
    found = dataclasses.replace(
        found,
        human=dataclasses.replace(found.human, origin=Path(found.human.origin).name),
        candidates=tuple(_of_file(each) for each in found.candidates),
        halves=None if found.halves is None else _of_file(found.halves),
    )
    entries = ((source.name, features.get(source.features_key)) for source in found.sources)
    arrays, runs = {name: entry.array for name, entry in entries if entry is not None}, RunStore()
    run = runs.save(DEMO_RUN, found, corpora, arrays, replace=True)
    runs.describe(run.id, notes=NOTES, tags=())
    derive(run, progress)
    for candidate in found.candidates:
        run_findings(run, candidate.name)
    MeasureTask(DEMO_RUN).compute(progress)
    pack(run, data / FINISHED)
    return data / FINISHED


def _of_file(candidate: Candidate) -> Candidate:
    """Return the candidate with the name of its file alone: its folder is one of this machine."""
    source = dataclasses.replace(candidate.source, origin=Path(candidate.source.origin).name)
    return dataclasses.replace(candidate, source=source)


def write_sides(model: Velocity, data: Path) -> Path:
    """Write an archive of PNG files for each temperature, and the manifest, whose path is returned.

    Each digit has the class and the name of a held-out real digit. All temperatures start from the same noise, but for
    its scale.
    """
    labels = real_digits("real").labels
    sides: dict[str, Any] = {}
    for temperature in TEMPERATURES:
        made = sample(model, labels, temperature=temperature, steps=STEPS["sampling"], seed=SEED)
        path = data / f"temperature-{temperature:g}.zip"
        write_archive(path, made)
        sides[side_name(temperature)] = {
            "file": path.name,
            "temperature": temperature,
            "images": len(made),
            "sha256": digest_of_file(path),
        }
    manifest = {
        "real": {"package": PACKAGE, "file_sha256": SHA256, "split_seed": SPLIT_SEED, "splits": SPLITS},
        "model": {
            "parameters": sum(weights.numel() for weights in model.parameters()),
            "steps": STEPS,
            "seed": SEED,
            "torch": torch.__version__,
            "machine": platform.machine(),
        },
        "sides": sides,
        "command": "mauve-lens demo images --rebuild",
    }
    text = json.dumps(manifest, indent=1) + "\n"
    write_atomically(data / MANIFEST, lambda stream: stream.write(text.encode()))
    return data / MANIFEST
