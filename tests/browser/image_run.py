"""A run of small images whose clusters are known: two groups of features far apart, and how many of each a side has."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from mauve_core import compare, read_corpus
from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.runs import Run, RunStore
from tests.images.made import draw_images

DIMENSION = 4
# Of one group in every dimension; of the other, it is negative. The standard deviation within each is 1.
CENTER = 20.0

# Images in each of the two groups, by source.
Counts = Mapping[str, tuple[int, int]]


def make_image_run(home: Path, counts: Counts, *, name: str = "images") -> Run:
    """Compare the sides in ``counts``, first the human one, and store the run under ``home/runs``."""
    corpora, features = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for seed, (source, (one, other)) in enumerate(counts.items()):
            path = draw_images(Path(folder) / source, one + other, seed=seed)
            corpora[source] = read_corpus(path, name=source)
            groups = np.repeat([CENTER, -CENTER], [one, other])[:, None]
            features[source] = groups + np.random.default_rng(seed).normal(size=(one + other, DIMENSION))
    candidates = {source: corpus for source, corpus in corpora.items() if source != HUMAN}
    score = ScoreConfig(k=2, seeds=2, restarts=1, bootstrap=100)
    comparison = compare(corpora[HUMAN], candidates, CompareConfig(encoder=None, score=score), features=features)
    return RunStore(home / "runs").save(name, comparison, corpora, features)
