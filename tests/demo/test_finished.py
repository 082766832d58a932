"""Finished runs among the program's files: stored as they were made, with items and features given beside them."""

from __future__ import annotations

import threading
import zipfile

import numpy as np
import pytest

from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.base.errors import StorageError
from mauve_core.demo.finished import FINISHED, pack, store
from mauve_core.findings.precomputed import derive
from mauve_core.runs import RunStore
from mauve_core.runs.placing import PARTIAL
from mauve_core.scoring.compare import compare
from mauve_core.texts import corpus_from_texts
from tests.synthetic import make_comparison_inputs

pytestmark = pytest.mark.integration

TODO = "mauve-lens demo --rebuild-analyses"


@pytest.fixture
def made(tmp_path, own_home):
    """A run with a result and what pages need first, its archive, and its sides; it is no longer stored."""
    human, candidates, features = make_comparison_inputs(60, 16)
    score = ScoreConfig(seeds=2, restarts=1, bootstrap=100)
    comparison = compare(human, candidates, CompareConfig(None, score, projection=False), features=features)
    runs = RunStore()
    run = runs.save("made", comparison, corpora := {HUMAN: human, **candidates}, features)
    runs.attach(run.id, "sweep-k", {"points": [1, 2]})
    runs.describe(run.id, notes="Of two sides.")
    derive(run)
    pack(run, path := tmp_path / FINISHED)
    files = {file.relative_to(run.path).as_posix(): file.read_bytes() for file in run.path.rglob("*") if file.is_file()}
    runs.delete(run.id)
    return files, path, (corpora, features)


def test_a_stored_run_has_the_files_of_the_one_that_was_packed_but_words_and_score_bases(made):
    files, path, sides = made
    run = store(path, lambda: sides, todo=TODO)
    found = {file.relative_to(run.path).as_posix(): file.read_bytes() for file in run.path.rglob("*") if file.is_file()}
    assert found == {name: data for name, data in files.items() if not name.startswith(("derived/ba", "derived/words"))}
    assert len(found) < len(files)
    assert run.notes == "Of two sides."


def test_the_archive_holds_neither_items_nor_features_nor_words(made):
    _, path, (corpora, _) = made
    with zipfile.ZipFile(path) as archive:
        stored = b"".join(archive.read(name) for name in archive.namelist())
        names = archive.namelist()
    assert not [name for name in names if name.startswith(("texts", "features", "derived/words"))]
    for text in corpora[HUMAN].texts:
        assert text.encode() not in stored
        assert text.encode("utf-32-le") not in stored


def test_without_features_the_run_is_stored_without_them(made):
    _, path, (corpora, _) = made
    run = store(path, lambda: (corpora, None), todo=TODO)
    assert run.features(HUMAN) is None
    assert RunStore().load(run.id).comparison.candidates[0].scores


def test_a_stored_run_is_kept_and_gets_the_results_that_it_lacks(made):
    _, path, sides = made
    run = store(path, lambda: sides, todo=TODO)
    (run.path / "attached" / "sweep-k.json").unlink()
    RunStore().attach(run.id, "lengths", {"own": True})
    again = store(path, lambda: pytest.fail("the texts are not read again"), todo=TODO)
    assert again.attachment("sweep-k") == {"points": [1, 2]}
    assert again.attachment("lengths") == {"own": True}
    assert (again.path / "comparison.json").stat().st_mtime_ns == (run.path / "comparison.json").stat().st_mtime_ns


def test_another_run_of_that_id_is_replaced_and_its_notes_stay(made):
    _, path, (corpora, features) = made
    human, candidates, _ = make_comparison_inputs(30, 16)
    few = {name: array[:30] for name, array in features.items()}
    config = CompareConfig(None, ScoreConfig(seeds=1, restarts=1, bootstrap=100), projection=False)
    other = compare(human, candidates, config, features=few)
    RunStore().save("made", other, {HUMAN: human, **candidates}, few)
    RunStore().describe("made", notes="Mine.")
    run = store(path, lambda: (corpora, features), todo=TODO)
    assert run.comparison.human.n == 60
    assert run.notes == "Mine."
    assert [summary.id for summary in RunStore().list()] == ["made"]


def test_an_unreadable_run_of_that_id_is_replaced(made):
    _, path, sides = made
    run = store(path, lambda: sides, todo=TODO)
    (run.path / "comparison.json").write_text('{"format": 1}')
    assert store(path, lambda: sides, todo=TODO).digest == run.digest


def test_other_texts_other_features_and_a_damaged_archive_are_refused(made):
    _, path, (corpora, features) = made
    human = corpora[HUMAN]
    texts = corpus_from_texts(["other", *human.texts[1:]], name=HUMAN, ids=human.ids)
    for sides in (
        ({**corpora, HUMAN: texts}, features),
        (corpora, {**features, "close": features["close"] + np.float32(1)}),
    ):
        with pytest.raises(StorageError, match=r"was not made of these: (human|features-1\.npy)\..*rebuild-analyses"):
            store(path, lambda sides=sides: sides, todo=TODO)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(StorageError, match="missing or damaged"):
        store(path, lambda: (corpora, features), todo=TODO)
    path.unlink()
    with pytest.raises(StorageError, match="missing or damaged"):
        store(path, lambda: (corpora, features), todo=TODO)
    assert not RunStore().list()
    assert not list(RunStore().root.glob(f"{PARTIAL}*"))


def test_of_two_at_once_one_waits_and_both_end_with_the_same_run(made):
    _, path, sides = made
    asked, begun, go_on = [], threading.Event(), threading.Event()

    def slowly():
        asked.append(True)
        begun.set()
        assert go_on.wait(30)
        return sides

    ended = []
    threads = [threading.Thread(target=lambda: ended.append(store(path, slowly, todo=TODO).id)) for _ in range(2)]
    threads[0].start()
    assert begun.wait(30)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert ended == ["made", "made"]
    assert len(asked) == 1
    assert [summary.id for summary in RunStore().list()] == ["made"]
