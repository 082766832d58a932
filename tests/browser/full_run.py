"""A run on which every view has something to show: measured, swept, probed, rated, held against other methods."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from mauve_core.analyses.attributes_over_k import AttributesTask
from mauve_core.analyses.estimator_sweeps import SweepTask
from mauve_core.analyses.method_scores import CompareMethodsTask
from mauve_core.analyses.probe_results import ATTACHMENT as PROBES
from mauve_core.analyses.text_measures import MeasureTask
from mauve_core.base.config import HUMAN, QUESTIONS
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.runs import Run, RunStore
from mauve_core.runs.ratings import OPTIONS, RatingStore, pair_plan
from tests.probe_tables import table_of
from tests.synthetic import make_run, with_map

RATED = 12
# Measures that read neither a model nor a tokenizer.
CHEAP = ("length", "precision", "recall")

# View, query, and how many of its controls follow the URL at least.
FOLLOWED: tuple[tuple[str, Mapping[str, str], int], ...] = (
    (
        "compare",
        {"candidate": "shifted", "weight": "0.3", "scale": "2", "partition": "joint", "smoothing": "laplace"},
        5,
    ),
    ("decoders", {"measure": "recall"}, 3),
    ("decoders", {"section": "sweeps", "axis": "k", "score": "frontier_integral"}, 3),
    (
        "clusters",
        {"cluster": "3", "weight": "0.3", "order": "p", "whose": "model", "smoothing": "laplace", "human_text": "1"},
        5,
    ),
    ("clusters", {"cluster": "3", "detail": "why", "pair": "1", "categories": "1", "numbers": "none"}, 5),
    ("gap", {"cluster": "3", "below": "few", "score": "frontier_integral", "fix": "drop", "weight": "0.7"}, 5),
    ("gap", {"below": "what-if", "chosen": "2,3", "action": "weight", "factor": "0.25", "side": "both"}, 6),
    ("map", {"colour": "log_ratio", "weight": "0.2", "hidden": "1"}, 3),
    (
        "texts",
        {"find": "riv*", "in": "shifted", "from_words": "5", "where": "topic", "is": "river", "beside": "close"},
        4,
    ),
    ("probes", {"by": "mauve", "yardstick": "off", "less": "control"}, 3),
    ("judge", {"tab": "results", "ties": "random", "seconds": "45"}, 4),
    ("published", {"paper": "neurips-2021", "published": "self_bleu", "plane": "ranks", "table": "news_grover"}, 5),
    ("runs", {"query": "full", "tags": "final"}, 3),
)


def make_full_run(home: Path) -> Run:
    """The run ``synthetic`` under ``home`` with everything that can be added to it."""
    run = with_map(make_run(home, n=80, seeds=2, projection=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAUVE_LENS_HOME", str(home))
        MeasureTask(run.id, CHEAP).perform()
        SweepTask(run.id, "k", (4, 8, 16)).perform()
        CompareMethodsTask(run.id).perform()
        AttributesTask(run.id, splits=2).perform()
    _probe(run)
    _rate(run)
    return RunStore(home / "runs").load(run.id)


def _probe(run: Run) -> None:
    """The first texts of the largest cluster go to another one."""
    part = run.comparison.joint[0]
    ids, labels = run.corpora[HUMAN].ids[::2], part.labels[HUMAN][::2]
    big = int(np.bincount(labels, minlength=part.k).argmax())
    there = [text_id for text_id, cluster in zip(ids, labels, strict=True) if cluster == big]
    moved = dict.fromkeys(there[:4], (big + 1) % part.k)
    table = table_of(run, {"shuffle-words": moved, "typos": moved, "typos@0.5": {}})
    RunStore(run.path.parent).attach(run.id, PROBES, dataclass_to_json(table))


def _rate(run: Run) -> None:
    store, plan = RatingStore(run.ratings_path), pair_plan(run.corpora, rater="Ann")
    for place in range(RATED):
        answers = dict.fromkeys(QUESTIONS, OPTIONS[place % len(OPTIONS)])
        store.append(plan[place].ratings("Ann", answers, 40.0))
