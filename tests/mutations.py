"""A run with something of every kind beside it, and stored JSON with one leaf swapped for something else."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mauve_core.analyses.attributes_over_k import AttributesTask
from mauve_core.analyses.encoders import CompareEncodersTask
from mauve_core.analyses.estimator_sweeps import SweepTask
from mauve_core.analyses.measures_over_lengths import LengthsTask
from mauve_core.analyses.measures_over_neighbours import NeighboursTask
from mauve_core.analyses.method_scores import CompareMethodsTask
from mauve_core.analyses.methods import PRESETS
from mauve_core.analyses.over_shards import ATTACHMENT as OVER_SHARDS
from mauve_core.analyses.over_shards import CLUSTERS_ATTACHMENT as CLUSTERS_OVER_SHARDS
from mauve_core.analyses.over_shards import (
    CandidateOverAll,
    ClusterOverAll,
    ClustersOverAll,
    CountedPhrase,
    SideOverAll,
)
from mauve_core.analyses.positions import ATTACHMENT as POSITIONS
from mauve_core.analyses.probe_results import ATTACHMENT as PROBES
from mauve_core.analyses.text_measures import measure_run
from mauve_core.base.config import HUMAN
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.runs import Run, RunStore
from mauve_core.shards.cluster_texts import KeptText
from mauve_core.shards.plan import Pass, ShardedCandidate, ShardedComparison, ShardedSide
from tests.encoder_tables import position_example
from tests.probe_tables import table_of
from tests.synthetic import make_run
from tests.tiny_models import make_gpt2
from tests.word_files import by_topic

# What stands in a leaf's place; the program itself writes NaN and Infinity nowhere.
SWAPPED: tuple[Any, ...] = ([], {}, "", None, 10**30, 1e30, -1, True, float("nan"), float("inf"))

Place = tuple[str | int, ...]


def make_full_run(home: Path) -> Run:
    """A run called ``synthetic`` with something of every kind beside it; ``home`` is the program's home."""
    return add_everything(make_run(home, n=40, seeds=2, projection=False), home)


def add_everything(run: Run, home: Path) -> Run:
    """The run of the sides of :mod:`tests.synthetic`, with something of every kind beside it."""
    with pytest.MonkeyPatch.context() as patch:  # the packaged model would first be converted, which takes 20 s
        patch.setattr("mauve_core.analyses.text_measures.DEFAULT_MODEL", str(make_gpt2(home / "gpt2")))
        measure_run(run, ["length", "distinct"], device="cpu")
        LengthsTask(run.id, (4, 8), ("length", "distinct"), device="cpu").compute()
    NeighboursTask(run.id, (1, 5), ("precision", "recall")).compute()
    CompareMethodsTask(run.id, tuple(method.spec for method in PRESETS["divergences"]), permutations=19).compute()
    SweepTask(run.id, "scale", (1.0, 5.0)).perform()
    AttributesTask(run.id, splits=2).compute()
    CompareEncodersTask(run.id, (str(by_topic(home / "topics.txt")),)).compute()
    RunStore(run.path.parent).attach(
        run.id, POSITIONS, dataclass_to_json(dataclasses.replace(position_example(), n=20))
    )
    ids = run.corpora[HUMAN].ids[::2]
    table = table_of(run, {"typos": {ids[0]: 1}, "drop-articles": {ids[1]: 0}})
    RunStore(run.path.parent).attach(run.id, PROBES, dataclass_to_json(table))
    RunStore(run.path.parent).attach(run.id, OVER_SHARDS, dataclass_to_json(over_shards_example(run)))
    RunStore(run.path.parent).attach(run.id, CLUSTERS_OVER_SHARDS, dataclass_to_json(clusters_over_shards_example(run)))
    RunStore(run.path.parent).describe(run.id, tags=["a"], notes="notes")
    return run


def over_shards_example(run: Run) -> ShardedComparison:
    """Scores of a run as if they were those over all texts of shards."""
    comparison = run.comparison
    sides = tuple(ShardedSide(source.name, 2, source.n, {"empty": 1}, 0, 9, "0" * 64) for source in comparison.sources)
    candidates = tuple(
        ShardedCandidate(each.name, 4, 2, 0.9, 20, (2, 2), (1.5, 1.5), "0" * 64, each.scores)
        for each in comparison.candidates
    )
    passes = (Pass("encode", 2, 0, 1.5, 2**20),)
    settings, tested = comparison.config.score, comparison.differences
    return ShardedComparison(sides, candidates, None, settings, "local, 2 workers", passes, tested)


def clusters_over_shards_example(run: Run) -> ClustersOverAll:
    """Clusters that belong to :func:`over_shards_example`: one that a candidate adds to, and one that it misses."""
    text = KeptText("an id", "a prompt", "what someone wrote", True)

    def side(n: int, phrase: str, human: int, model: int) -> SideOverAll:
        phrases = (CountedPhrase(phrase, human, model),)
        return SideOverAll(n, 1.2, 2, (text,) * 2, (text,) * 2, phrases)

    clusters = (
        ClusterOverAll(3, "rain, cloud", side(2, "weather", 2, 3), side(12, "rain", 0, 4)),
        ClusterOverAll(0, "bread, milk", side(11, "bread", 6, 1), side(7, "milk", 2, 4)),
    )
    return ClustersOverAll(tuple(CandidateOverAll(each.name, 1, clusters) for each in run.comparison.candidates))


def leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    """Every leaf, list and mapping; of the items of a list, the first."""
    if isinstance(value, list) and value:
        yield place
        yield from leaves(value[0], (*place, 0))
    elif isinstance(value, dict) and value:
        yield place
        for key in value:
            yield from leaves(value[key], (*place, key))
    else:
        yield place


def value_at(values: Any, place: Place) -> Any:
    """What stands at that place."""
    for key in place:
        values = values[key]
    return values


def swapped(values: Any, place: Place, leaf: Any) -> Any:
    """The same with another leaf at that place."""
    if not place:
        return leaf
    changed = copy.deepcopy(values)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = leaf
    return changed
