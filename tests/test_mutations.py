"""Every leaf of what is stored, swapped: reading refuses it with an error of ours, or whatever reads it works."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mauve_core.__main__ import main
from mauve_core.analyses import measures_over_lengths, measures_over_neighbours
from mauve_core.analyses.attached_results import check_documents
from mauve_core.analyses.attributes_over_k import stored_attributes
from mauve_core.analyses.encoders import stored_encoders
from mauve_core.analyses.measures_over_lengths import stored_lengths
from mauve_core.analyses.measures_over_neighbours import stored_neighbours
from mauve_core.analyses.method_scores import stored_methods
from mauve_core.analyses.over_shards import stored_clusters_over_all, stored_over_shards
from mauve_core.analyses.positions import stored_positions
from mauve_core.analyses.probe_results import stored_probes
from mauve_core.analyses.sweeps import stored_sweep
from mauve_core.analyses.text_measures import stored_measurements
from mauve_core.base.errors import InputError, MauveLensError, StorageError
from mauve_core.base.json_codec import from_json
from mauve_core.figures import measures
from mauve_core.reporting import attached_sections as sections
from mauve_core.reporting.attached_sections import encoders_blocks, over_shards_blocks, positions_blocks
from mauve_core.reporting.cluster_section import attributes_blocks
from mauve_core.reporting.html_report import html_report
from mauve_core.runs import Run, RunStore
from mauve_core.runs.folder import read_record
from mauve_core.scoring import serialization
from mauve_core.scoring.result import Candidate, Comparison, Partition
from mauve_core.stats.scores import SCORES
from tests.mutations import SWAPPED, Place, leaves, make_full_run, swapped, value_at
from tests.synthetic import make_run

Reader = Callable[[Run], object]


def neighbours_drawn(run: Run) -> None:
    """What the Decoders page shows of the table over numbers of neighbors."""
    table = stored_neighbours(run)
    assert table is not None
    order = [candidate.name for candidate in run.comparison.candidates]
    measures.neighbours_figure(table, order)
    measures.neighbours_frame(table)
    measures.neighbours_described(table)
    for name in table.measures:
        measures.neighbours_table(table, name, order)
        measures_over_neighbours.order_sentence(table, name)


def lengths_drawn(run: Run) -> None:
    """What the Decoders page shows of the table over lengths."""
    table = stored_lengths(run)
    assert table is not None
    order = [candidate.name for candidate in run.comparison.candidates]
    measures.lengths_figure(table, order)
    measures.lengths_frame(table)
    measures.lengths_described(table)
    for name in table.measures:
        measures.lengths_table(table, name, order, gaps=table.has_gaps(name))
        measures_over_lengths.order_sentence(table, name)


# What reads a document, and what draws it.
ATTACHED: dict[str, tuple[Reader, Reader]] = {
    "measures": (stored_measurements, sections._measures),
    "neighbours": (stored_neighbours, neighbours_drawn),
    "lengths": (stored_lengths, lengths_drawn),
    "methods": (stored_methods, sections._methods),
    "probes": (stored_probes, sections._probes),
    "sweep-scale": (lambda run: stored_sweep(run, "scale"), sections._sweeps),
    "attributes": (stored_attributes, attributes_blocks),
    "encoders": (stored_encoders, encoders_blocks),
    "positions": (stored_positions, positions_blocks),
    "shards": (stored_over_shards, over_shards_blocks),
    "shards-clusters": (stored_clusters_over_all, over_shards_blocks),
}


@pytest.fixture(scope="module")
def full_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    home = tmp_path_factory.mktemp("full")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAUVE_LENS_HOME", str(home))
        yield make_full_run(home)


@pytest.fixture
def run(full_run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(full_run.path.parent.parent))
    return full_run


def kind_of(place: Place) -> Place:
    """Where it stands, whichever score and place of a list: all of these are read and drawn alike."""
    return tuple("a score" if key in SCORES else 0 if isinstance(key, int) else key for key in place)


def each_swapped(path: Path) -> Iterator[tuple[Place, Any]]:
    """Write every mutation in turn, and in the end what was there."""
    original = path.read_bytes()
    values = json.loads(original)
    try:
        for place in leaves(values):
            for leaf in SWAPPED:
                path.write_text(json.dumps(swapped(values, place, leaf)))
                yield place, leaf
            found = value_at(values, place)
            if isinstance(found, list) and found:
                for name, leaf in (("less", found[:-1]), ("more", [*found, found[-1]])):
                    path.write_text(json.dumps(swapped(values, place, leaf)))
                    yield (*place, name), leaf
    finally:
        path.write_bytes(original)


@pytest.mark.trial
@pytest.mark.parametrize("name", ["comparison", "about"])
def test_a_swapped_leaf_of_a_run_is_refused_or_does_no_harm(own_home: Path, name: str) -> None:
    """Of a run with nothing beside it, whose report is quick to draw: what is attached has the next test."""
    run = make_run(own_home, n=40, seeds=2, projection=False)
    RunStore().describe(run.id, tags=["a"], notes="notes")
    path, refused, worked = run.path / f"{name}.json", 0, 0
    drawn: set[Place] = {("comparison", "joint")}  # without, a report says that there is no partition
    for place, _ in each_swapped(path):
        try:
            read_record(run.path)  # refuses most, and is quick
            found = RunStore().load(run.id)
        except MauveLensError:
            refused += 1
            continue
        if kind_of(place) not in drawn:
            html_report(found, [found.comparison.candidates[0].name])
            drawn.add(kind_of(place))
        worked += 1
    assert refused
    assert worked


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACHED)
def test_a_swapped_leaf_of_a_document_is_refused_or_drawn(run: Run, name: str) -> None:
    read, draw = ATTACHED[name]
    refused, drawn = 0, set()
    for place, leaf in each_swapped(run.path / "attached" / f"{name}.json"):
        try:
            read(run)
        except MauveLensError:
            refused += 1
            continue
        kind = (kind_of(place), repr(leaf))
        if kind not in drawn:
            draw(run)
            drawn.add(kind)
    assert refused
    assert drawn


@pytest.mark.slow
def test_a_score_that_is_none_stands_for_itself_everywhere(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run.path / "comparison.json"
    store, original = RunStore(), path.read_bytes()
    place = ("comparison", "candidates", 0, "scores", "mid", "high")
    other = store.import_(store.export(run.id, tmp_path), name="sound")
    try:
        path.write_text(json.dumps(swapped(json.loads(original), place, None)))
        with pytest.raises(StorageError, match="damaged"):
            store.export(run.id, tmp_path)
        assert [line.id for line in store.list()] == [other.id]
        assert list(store.damaged()) == [run.id]
        for command in (["runs", "show", run.id], ["report", run.id, "--out", str(tmp_path / "x.html")]):
            assert main(command) == 1
            assert f"Run {run.id} cannot be read" in capsys.readouterr().err
        assert main(["runs", "show", other.id]) == 0
    finally:
        path.write_bytes(original)
        store.delete(other.id)
        store.purge()


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("shards-clusters", ("candidates", 0, "clusters", 0, "human", "n"), 10**9, "do not fit together"),
        ("shards-clusters", ("candidates", 0, "clusters", 0, "human", "n"), 0, "do not fit together"),
        ("sweep-scale", ("points", 0, "value"), 0, "numbers above 0"),
    ],
)
def test_numbers_that_cannot_be_drawn_are_refused(run: Run, name: str, place: Place, value: int, message: str) -> None:
    path = run.path / "attached" / f"{name}.json"
    original = path.read_bytes()
    try:
        path.write_text(json.dumps(swapped(json.loads(original), place, value)))
        with pytest.raises(InputError, match=message):
            ATTACHED[name][0](run)
    finally:
        path.write_bytes(original)


def test_a_damaged_document_is_not_imported(run: Run, tmp_path: Path) -> None:
    store, path = RunStore(run.path.parent), run.path / "attached" / "methods.json"
    original = path.read_bytes()
    try:
        path.write_text(json.dumps(swapped(json.loads(original), ("results", 0, "scores", "close", "p_value"), 2)))
        archive = store.export(run.id, tmp_path)
    finally:
        path.write_bytes(original)
    with pytest.raises(InputError, match=r"attached/methods.json: .*p_value.* cannot be used"):
        store.import_(archive, check=check_documents)
    assert [line.id for line in store.list()] == [run.id]


def test_records_have_every_field_of_what_they_stand_for() -> None:
    """A field that is stored and not checked, or checked and not stored, is noticed here."""

    def names(kind: type) -> set[str]:
        return {field.name for field in dataclasses.fields(kind)}

    of_units = {"units"}, {"groups", "contents"}  # stored together
    assert names(serialization.ComparisonRecord) - of_units[0] == names(Comparison) - of_units[1]
    assert names(serialization.CandidateRecord) == names(Candidate)
    assert names(serialization.PartitionRecord) | {"kind", "labels"} == names(Partition)


def test_more_clusters_than_texts_are_refused_before_anything_counts_them(run: Run) -> None:
    record = serialization.record_of_comparison(run.comparison)
    arrays = serialization.arrays_of_comparison(run.comparison)
    for k in (81, 2**31 - 1):
        changed = swapped(record, ("candidates", 0, "partitions", 0, "k"), k)
        with pytest.raises(ValueError, match="clusters of 80 texts"):
            serialization.comparison_from_record(from_json(serialization.ComparisonRecord, changed, "run"), arrays)
    assert np.array_equal(arrays["joint"], serialization.arrays_of_comparison(run.comparison)["joint"])
