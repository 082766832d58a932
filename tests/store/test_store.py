"""Runs come back bit for bit, are there whole or not at all, and damage is reported and never guessed around."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.files import write_atomically
from mauve_core.runs import COMPARISON, ID_PATTERN, PARTIAL, Run, RunStore, run_id
from mauve_core.runs.index import INDEX
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.serialization import to_json
from tests.handmade import N, make_comparison, make_corpora, make_features, with_tests


def save(store: RunStore, name: str = "Study one", **options: bool) -> Run:
    return store.save(name, with_tests(make_comparison()), make_corpora(), make_features(), **options)


def assert_same(first: Comparison, second: Comparison) -> None:
    assert (first.human, first.config, first.warnings) == (second.human, second.config, second.warnings)
    assert first.map_fitted == second.map_fitted
    assert first.differences == second.differences
    assert first.differences
    assert first.prompts is not None
    assert second.prompts is not None
    assert list(first.prompts) == list(second.prompts)
    for name, codes in first.prompts.items():
        assert second.prompts[name].dtype == codes.dtype == np.int32
        assert second.prompts[name].tobytes() == codes.tobytes()
    assert dict(first.environment) == dict(second.environment)
    assert first.projection is not None
    assert second.projection is not None
    assert first.projection.tobytes() == second.projection.tobytes()
    pairs = list(zip(first.joint, second.joint, strict=True))
    assert first.halves is not None
    assert second.halves is not None
    candidates = zip((*first.candidates, first.halves), (*second.candidates, second.halves), strict=True)
    for one, two in candidates:
        assert (one.source, one.scores, one.joint_scores) == (two.source, two.scores, two.joint_scores)
        pairs += zip(one.partitions, two.partitions, strict=True)
    for one, two in pairs:
        assert (one.kind, one.seed, one.k, one.objective) == (two.kind, two.seed, two.k, two.objective)
        assert list(one.labels) == list(two.labels)
        for name in one.labels:
            assert one.labels[name].dtype == two.labels[name].dtype == np.int32
            assert one.labels[name].tobytes() == two.labels[name].tobytes()


def test_a_run_comes_back_bit_for_bit(store: RunStore) -> None:
    saved = save(store)
    loaded = RunStore(store.root).load(saved.id)
    assert_same(saved.comparison, loaded.comparison)
    assert (loaded.id, loaded.name, loaded.created) == ("study-one", "Study one", saved.created)
    features = make_features()
    for name, corpus in make_corpora().items():
        back = loaded.corpora[name]
        assert (back.texts, back.ids, back.prompts, back.digest) == (
            corpus.texts,
            corpus.ids,
            corpus.prompts,
            corpus.digest,
        )
        assert back.metadata.to_dict("list") == corpus.metadata.to_dict("list")
        stored = loaded.features(name)
        assert stored is not None
        assert stored.tobytes() == features[name].tobytes()


def test_what_is_loaded_cannot_be_changed_by_accident(store: RunStore) -> None:
    run = store.load(save(store).id)
    features = run.features(HUMAN)
    assert isinstance(features, np.memmap)
    for array in (features, run.comparison.projection, run.comparison.joint[0].labels[HUMAN]):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_without_map_and_features(store: RunStore) -> None:
    comparison = make_comparison()
    bare = Comparison(**{**vars(comparison), "projection": None, "joint": ()})
    run = store.load(store.save("bare", bare, make_corpora()).id)
    assert run.comparison.projection is None
    assert run.comparison.joint == ()
    assert run.features(HUMAN) is None
    with pytest.raises(InputError, match="No source named 'nobody'"):
        run.features("nobody")


def test_list_shows_the_newest_first_and_matches_the_runs(store: RunStore) -> None:
    runs = []
    for second in (1, 3, 2):
        run = save(store, f"run {second}")
        text = (run.path / COMPARISON).read_text().replace(run.created, f"2030-01-01T00:00:0{second}+00:00")
        (run.path / COMPARISON).write_text(text)
        runs.append(run)
    (store.root / INDEX).unlink(missing_ok=True)
    listed = store.list()
    assert [summary.id for summary in listed] == ["run-3", "run-2", "run-1"]
    assert listed == [store.load(summary.id).summary for summary in listed]
    assert listed[0].candidates == tuple(name for name in N if name != HUMAN)
    assert (listed[0].n, listed[0].encoder) == (N[HUMAN], None)


def test_the_index_follows_the_folders(store: RunStore) -> None:
    first, second = save(store, "first"), save(store, "second")
    before = store.list()
    (store.root / INDEX).unlink(missing_ok=True)
    assert store.list() == before, "rebuilt from the folders"
    shutil.rmtree(first.path)
    assert [summary.id for summary in store.list()] == [second.id]


def test_a_half_written_run_is_invisible(store: RunStore) -> None:
    run = save(store)
    shutil.copytree(run.path, store.root / f"{PARTIAL}abc")
    unfinished = shutil.copytree(run.path, store.root / "unfinished")
    (unfinished / COMPARISON).unlink()
    assert [summary.id for summary in store.list()] == [run.id]
    for name in (f"{PARTIAL}abc", "unfinished"):
        with pytest.raises(InputError, match="No run has the id"):
            store.load(name)


@pytest.mark.parametrize("fails_at", range(1, 13))
def test_a_full_disk_leaves_everything_as_it_was(
    store: RunStore, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    """Whichever file of the run is the one that no longer fits: 4 labels, 1 map, 1 prompts, 3 texts ..."""
    earlier = save(store, "earlier")
    written = 0

    def failing(path: Path, content: object) -> None:
        nonlocal written
        written += 1
        if written == fails_at:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_atomically(path, content)  # type: ignore[arg-type]

    for module in ("base.files", "runs.folder", "texts.corpus", "encoders.external_features"):
        monkeypatch.setattr(f"mauve_core.{module}.write_atomically", failing)
    with pytest.raises(StorageError, match="No space left"):
        save(store, "later")
    assert written == fails_at
    assert [summary.id for summary in store.list()] == ["earlier"]
    assert_same(store.load("earlier").comparison, earlier.comparison)
    assert sorted(path.name for path in store.root.iterdir() if path.is_dir()) == ["earlier"]


def test_equal_names_get_ids_of_their_own(store: RunStore) -> None:
    assert [save(store, "Same name").id for _ in range(3)] == ["same-name", "same-name-2", "same-name-3"]


def test_equal_names_saved_at_once_get_ids_of_their_own(store: RunStore) -> None:
    with ThreadPoolExecutor(4) as pool:
        ids = [run.id for run in pool.map(lambda _: save(store, "race"), range(8))]
    assert len(set(ids)) == 8
    assert {summary.id for summary in store.list()} == set(ids)


def test_replace_takes_the_place_of_the_run(store: RunStore) -> None:
    save(store, "demo")
    run = store.save("Demo", make_comparison(), make_corpora(), replace=True)
    assert run.id == "demo"
    assert [(summary.id, summary.name) for summary in store.list()] == [("demo", "Demo")]
    assert store.load("demo").features(HUMAN) is None, "the new run has no features"


def test_a_misspelled_id_is_told_the_nearest(store: RunStore) -> None:
    save(store, "decoders")
    with pytest.raises(InputError, match=r"Did you mean decoders\? List the runs with: mauve-lens runs"):
        store.load("decodres")
    with pytest.raises(InputError) as far:
        store.load("xyz")
    assert "Did you mean" not in str(far.value)


def test_delete_removes_one_run(store: RunStore) -> None:
    kept, gone = save(store, "kept"), save(store, "gone")
    store.delete(gone.id)
    assert [summary.id for summary in store.list()] == [kept.id]
    assert not gone.path.exists()
    assert [deleted.summary.id for deleted in store.deleted()] == ["gone"]
    with pytest.raises(InputError, match=r"No run has the id 'gone'.*Allowed: kept"):
        store.delete(gone.id)


@pytest.mark.parametrize(
    "identifier", ["../runs/study-one", "/etc", "", ".", "..", "study-one/", "STUDY-ONE", "a\x00b"]
)
def test_an_id_cannot_leave_the_folder(store: RunStore, identifier: str) -> None:
    save(store)
    for action in (store.load, store.delete):
        with pytest.raises(InputError, match="No run has the id"):
            action(identifier)
    assert len(store.list()) == 1


@given(st.text(max_size=200))
def test_ids_are_safe_or_refused(name: str) -> None:
    if re.search(r"[a-z0-9]", unicodedata.normalize("NFKD", name).lower()):
        assert ID_PATTERN.fullmatch(run_id(name))
        assert run_id(run_id(name)) == run_id(name)
    else:
        with pytest.raises(InputError, match="name cannot be used"):
            run_id(name)


def test_accents_do_not_break_an_id() -> None:
    names = {"é": "e", "Café au lait": "cafe-au-lait", "Größe": "gro-e", "𝐀１": "a1", "İ": "i"}
    assert {name: run_id(name) for name in names} == names
    with pytest.raises(InputError, match="a letter from a to z or a digit"):
        run_id("日本")


def test_every_source_needs_its_texts_and_features(store: RunStore) -> None:
    corpora, features = make_corpora(), make_features()
    cases = [
        ({**corpora, "b": corpora["b"].take([0, 1])}, features, "corpus for the source 'b'.*Received: 2 rows"),
        ({HUMAN: corpora[HUMAN]}, features, "corpus.*Received: none"),
        (corpora, {**features, HUMAN: features["b"]}, "feature array for the source 'human'.*Allowed: 7 rows"),
    ]
    for given_corpora, given_features, message in cases:
        with pytest.raises(InputError, match=message):
            store.save("bad", make_comparison(), given_corpora, given_features)
    assert store.list() == []


def _shorten_labels(folder: Path) -> None:
    np.save(folder / "pairwise-1.npy", np.zeros((2, 3), dtype=np.int32))


def _shorten_prompts(folder: Path) -> None:
    np.save(folder / "prompts.npy", np.load(folder / "prompts.npy")[:-1])


def _pickle_labels(folder: Path) -> None:
    np.save(folder / "joint.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)


def _change(folder: Path, key: str, value: object) -> None:
    meta = json.loads((folder / COMPARISON).read_text())
    meta[key] = value
    (folder / COMPARISON).write_text(json.dumps(meta))


DAMAGE = {
    "too few labels": _shorten_labels,
    "pickled labels": _pickle_labels,
    "labels cut off": lambda folder: (folder / "joint.npy").write_bytes((folder / "joint.npy").read_bytes()[:-5]),
    "too few prompts": _shorten_prompts,
    "no prompts": lambda folder: (folder / "prompts.npy").unlink(),
    "no map": lambda folder: (folder / "projection.npy").unlink(),
    "no texts": lambda folder: (folder / "texts-2.parquet").unlink(),
    "texts cut off": lambda folder: (folder / "texts-0.parquet").write_bytes(b"PAR1"),
    "texts of another side": lambda folder: shutil.copy(folder / "texts-2.parquet", folder / "texts-0.parquet"),
    "broken record": lambda folder: (folder / COMPARISON).write_text("{"),
    "no comparison": lambda folder: _change(folder, "comparison", {}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_reported(store: RunStore, damage: str) -> None:
    run = save(store)
    DAMAGE[damage](run.path)
    with pytest.raises(StorageError):
        store.load(run.id)
    store.delete(run.id)
    assert store.list() == []


def test_damaged_features_are_reported(store: RunStore) -> None:
    run = save(store)
    np.save(run.path / "features-0.npy", np.zeros((2, 2), dtype=np.float32))
    with pytest.raises(StorageError, match=r"features-0\.npy is damaged"):
        store.load(run.id).features(HUMAN)
    np.save(run.path / "features-0.npy", np.array([None] * 7, dtype=object), allow_pickle=True)
    with pytest.raises(StorageError, match=r"features-0\.npy is damaged"):
        store.load(run.id).features(HUMAN)


def _piped(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def _endless(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def _blank(path: Path) -> None:
    path.write_bytes(b"{}")
    os.truncate(path, 400_000_000)


@pytest.mark.parametrize("damage", [_piped, _endless, _blank])
@pytest.mark.parametrize("name", ["about.json", COMPARISON])
def test_a_document_that_is_none_is_damage_of_its_run_alone(
    store: RunStore, name: str, damage: Callable[[Path], None]
) -> None:
    run, other = save(store, "one"), save(store, "two")
    damage(run.path / name)
    assert [summary.id for summary in store.list()] == [other.id]
    assert list(store.damaged()) == [run.id]
    with pytest.raises(StorageError, match=rf"Run one cannot be read because {name} is damaged"):
        store.load(run.id)
    store.delete(run.id)
    assert store.damaged() == {}


@pytest.mark.parametrize("damage", [_piped, _endless])
@pytest.mark.parametrize("name", ["texts-1.parquet", "joint.npy", "prompts.npy", "features-0.npy"])
def test_a_file_that_is_none_is_not_waited_for(store: RunStore, name: str, damage: Callable[[Path], None]) -> None:
    run = save(store)
    damage(run.path / name)
    with pytest.raises(StorageError, match=rf"{name} is .*damaged"):
        store.load(run.id).features(HUMAN)


def test_a_record_that_is_a_link_to_itself_hides_no_other_run(store: RunStore) -> None:
    run, other = save(store, "one"), save(store, "two")
    (run.path / COMPARISON).unlink()
    (run.path / COMPARISON).symlink_to(COMPARISON)
    assert [summary.id for summary in store.list()] == [other.id]


def test_damaged_texts_are_named_with_the_cure_of_a_run(store: RunStore) -> None:
    run = save(store)
    (run.path / "texts-0.parquet").write_bytes(b"PAR1")
    with pytest.raises(StorageError, match=r"Run study-one .*texts-0\.parquet.*mauve-lens runs delete study-one"):
        store.load(run.id)


@pytest.mark.parametrize(
    ("name", "cure", "damage"),
    [
        ("probes", "mauve-lens probe study-one", _piped),
        ("sweep-k", "mauve-lens sweep study-one --over k", _endless),
        ("measures", "mauve-lens measure study-one", _blank),
        ("note", "Delete .*note.json; the run is complete without it", lambda path: path.write_text("{")),
    ],
)
def test_a_damaged_result_is_named_with_its_own_cure(
    store: RunStore, name: str, cure: str, damage: Callable[[Path], None]
) -> None:
    run = save(store)
    store.attach(run.id, name, {"a": 1})
    damage(run.path / "attached" / f"{name}.json")
    with pytest.raises(StorageError, match=f"The result {name} of run study-one is damaged: .*{cure}") as caught:
        store.load(run.id).attachment(name)
    assert "runs delete" not in str(caught.value)
    store.attach(run.id, name, {"a": 2})
    assert store.load(run.id).attachment(name) == {"a": 2}


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (1, r"made by .* before 0\.2\.0\. Compare its texts again"),
        (3, r"made by .* newer than this one\. Update"),
    ],
)
def test_a_run_of_another_version_says_so(store: RunStore, layout: int, message: str) -> None:
    run = save(store)
    _change(run.path, "format", layout)
    with pytest.raises(StorageError, match=message) as caught:
        store.load(run.id)
    assert "delete" not in str(caught.value)
    assert str(store.damaged()[run.id]) == str(caught.value)


def test_a_field_and_a_score_of_a_later_version_change_nothing(store: RunStore) -> None:
    run = save(store)
    meta = json.loads((run.path / COMPARISON).read_text())
    record = meta["comparison"]
    record["later"] = record["config"]["later"] = record["candidates"][0]["partitions"][0]["later"] = {"any": 1}
    for scores in ("scores", "joint_scores"):
        record["candidates"][0][scores]["later"] = record["candidates"][0][scores]["mauve"]
    record["differences"].append({**record["differences"][0], "score": "later"})
    (run.path / COMPARISON).write_text(json.dumps(meta))
    loaded = store.load(run.id).comparison
    assert_same(loaded, run.comparison)
    assert to_json(loaded) == to_json(run.comparison)


def test_files_that_were_exchanged_are_noticed(store: RunStore) -> None:
    run = save(store)
    labels = np.load(run.path / "pairwise-0.npy")
    np.save(run.path / "pairwise-0.npy", labels[:, ::-1])
    with pytest.raises(StorageError, match=r"pairwise-0\.npy is damaged.*not the file that was stored with its record"):
        store.load(run.id)
    np.save(run.path / "pairwise-0.npy", labels)
    features = store.load(run.id).features("b")
    assert features is not None
    np.save(run.path / "features-2.npy", features[::-1])
    with pytest.raises(StorageError, match=r"features-2\.npy is damaged"):
        store.load(run.id).features("b")


def test_k_is_the_number_of_clusters_of_the_labels(store: RunStore) -> None:
    run = save(store)
    meta = json.loads((run.path / COMPARISON).read_text())
    meta["comparison"]["candidates"][0]["partitions"][0]["k"] += 1
    (run.path / COMPARISON).write_text(json.dumps(meta))
    with pytest.raises(StorageError, match="labels 0 to 2 of 4 clusters"):
        store.load(run.id)


def test_an_abandoned_folder_goes_when_a_run_is_saved(store: RunStore) -> None:
    (store.root / f"{PARTIAL}old").mkdir()
    save(store, "now")
    assert not (store.root / f"{PARTIAL}old").exists()


@pytest.mark.slow
def test_listing_and_loading_import_no_torch(store: RunStore) -> None:
    run = save(store)
    code = (
        "import sys\nfrom pathlib import Path\nfrom mauve_core.runs import RunStore\n"
        f"store = RunStore(Path({str(store.root)!r}))\nstore.list()\nstore.load({run.id!r}).features('human')\n"
        "heavy = {'torch', 'transformers', 'sklearn', 'umap'} & set(sys.modules)\nsys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
