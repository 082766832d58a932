"""The demo study as a stored run, found without reading its texts, which takes seconds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mauve_core.base.bundled import bundled
from mauve_core.base.config import CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import StorageError
from mauve_core.scoring.result import Comparison
from mauve_core.store import ATTACHED, COMPARISON, RunStore
from mauve_core.store.folder import about_run, read_comparison, read_record

DEMO_RUN = "demo"
DATA = bundled("demo")
MODEL = "smollm2-135m"
ENCODER = EncoderConfig(model=MODEL, max_tokens=160)
CONFIG = CompareConfig(encoder=ENCODER, score=ScoreConfig())
"""Encoder and scores of the demo study; 160 tokens, so that no text of 128 is cut when tokenized again."""

_ALWAYS = {"measures", "sweep-decoder"}
"""What is attached to the run besides the manifest's analyses."""


def read_manifest(data: Path = DATA) -> dict[str, Any]:
    """Read the manifest, which says what the demo was made of; StorageError if there is none."""
    path = data / "manifest.json"
    if not path.exists():
        raise StorageError(f"No demo study under {data}", todo="Create it: mauve-lens demo --rebuild (takes hours)")
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return manifest


def stored_demo(digests: Mapping[str, str]) -> Comparison | None:
    """The demo run's comparison, if it is stored with the texts of these digests, by side, and today's settings."""
    folder = RunStore().root / DEMO_RUN
    if not (folder / COMPARISON).exists():
        return None
    comparison = read_comparison(folder, read_record(folder))
    stored = {source.name: source.digest for source in comparison.sources}
    return comparison if comparison.config == CONFIG and stored == digests else None


def is_prepared(data: Path = DATA) -> bool:
    """Whether ``prepare_demo`` would find nothing to do, as far as the manifest tells."""
    manifest = read_manifest(data)
    comparison = stored_demo(manifest.get("measures", {}).get("sources", {}))
    folder = RunStore().root / DEMO_RUN
    if comparison is None or not about_run(folder).notes or not (folder / ATTACHED).is_dir():
        return False
    clusters = clusters_digest(comparison)
    analyses = manifest.get("analyses", {}).items()
    wanted = {name for name, entry in analyses if entry.get("clusters", clusters) == clusters} | _ALWAYS
    return wanted <= {path.stem for path in (folder / ATTACHED).iterdir()}


def clusters_digest(comparison: Comparison) -> str:
    """SHA-256 of every cluster label of the run's partitions."""
    digest = hashlib.sha256()
    partitions = [*comparison.joint, *(part for each in comparison.candidates for part in each.partitions)]
    for part in partitions:
        for side in sorted(part.labels):
            digest.update(part.labels[side].astype("<i8").tobytes())
    return digest.hexdigest()
