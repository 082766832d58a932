"""What a list of runs lets people do: find, describe, delete and take back; files are the truth, whatever the index."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mauve_core.base.config import QUESTIONS, EncoderConfig
from mauve_core.base.errors import InputError, StorageError
from mauve_core.runs import COMPARISON, PARTIAL, Run, RunStore, placing
from mauve_core.runs.folder import ABOUT, MAX_NAME, MAX_TAG, MAX_TAGS
from mauve_core.runs.index import INDEX
from mauve_core.runs.placing import clear_away
from mauve_core.runs.ratings import RatingStore, pair_plan
from tests.handmade import make_comparison, make_corpora, make_features

pytestmark = pytest.mark.integration


def save(store: RunStore, name: str, **options: bool) -> Run:
    return store.save(name, make_comparison(), make_corpora(), make_features(), **options)


def ids(store: RunStore, *query: object) -> set[str]:
    return {summary.id for summary in store.list(*query)}  # type: ignore[arg-type]


def size_on_disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_every_word_is_looked_for_everywhere(store: RunStore) -> None:
    first, second = save(store, "News stories"), save(store, "Poems")
    store.describe(first.id, tags=["GPU", "final"], notes="Größe 1,000 texts")
    store.describe(second.id, tags=["draft"], notes="100%_sure")
    both = {first.id, second.id}
    assert ids(store) == ids(store, "") == ids(store, "  ") == both
    assert ids(store, "stor") == ids(store, "GRÖSSE") == ids(store, "gpu NEWS") == {first.id}
    assert ids(store, "/data/human.jsonl") == ids(store, "grün") == both, "human side and candidates"
    assert ids(store, "gpu poems") == set(), "all words in one run"
    assert ids(store, "%") == ids(store, "0%_s") == {second.id}, "no wildcards"
    assert ids(store, "", ["GPU"]) == ids(store, "news", ["final", "GPU"]) == {first.id}
    assert ids(store, "", ["GPU", "draft"]) == ids(store, "", ["gp"]) == set()


def test_an_encoder_is_found(store: RunStore) -> None:
    run = save(store, "one")
    record = json.loads((run.path / "comparison.json").read_text())
    record["comparison"]["config"]["encoder"] = EncoderConfig("gpt2-large").as_dict()
    (run.path / "comparison.json").write_text(json.dumps(record))
    assert ids(store, "GPT2") == {run.id}, "the comparison changed, so its line does"


def test_tags_are_counted(store: RunStore) -> None:
    for name, tags in (("one", ["b", "Ä"]), ("two", ["b"]), ("three", [])):
        store.describe(save(store, name).id, tags=tags)
    assert list(store.tags().items()) == [("b", 2), ("Ä", 1)]


def test_what_is_said_of_a_run_is_seen_everywhere(store: RunStore) -> None:
    run = save(store, "Study one")
    said = store.describe(run.id, name="  Study\n two ", tags=["b", " a ", "b", ""], notes=" two\nlines\x00 ")
    assert (said.id, said.name, said.tags, said.notes) == (run.id, "Study two", ("a", "b"), "two\nlines\ufffd")
    assert said.bytes == size_on_disk(run.path)
    assert store.list() == [said]
    loaded = store.load(run.id)
    assert (loaded.name, loaded.tags, loaded.notes, loaded.summary) == (said.name, said.tags, said.notes, said)
    (store.root / INDEX).unlink()
    assert store.list() == [said], "it stands in the run's folder"
    assert store.describe(run.id) == said, "None leaves all as it is"
    assert store.describe(run.id, notes="").tags == ("a", "b")
    assert store.describe(run.id, tags=()).name == "Study two"


def test_tags_are_given_and_taken_one_by_one(store: RunStore) -> None:
    run = save(store, "one")
    assert store.tag(run.id, add=["b", "a"]).tags == ("a", "b")
    assert store.tag(run.id, add=["c", "a"], remove=["b", "none"]).tags == ("a", "c")
    assert store.tag(run.id, add=["a"], remove=["a", "c"]).tags == ("a",), "what is added is there"
    with pytest.raises(InputError, match="too many tags"):
        store.tag(run.id, add=map(str, range(MAX_TAGS)))
    assert store.list()[0].tags == ("a",)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "  "},
        {"name": "x" * (MAX_NAME + 1)},
        {"name": 3},
        {"tags": ["x" * (MAX_TAG + 1)]},
        {"tags": ["a,b"]},
        {"tags": "word"},
        {"tags": [str(i) for i in range(MAX_TAGS + 1)]},
        {"tags": [None]},
        {"notes": "x" * 20_001},
    ],
)
def test_what_cannot_be_said_changes_nothing(store: RunStore, wrong: dict[str, object]) -> None:
    run = save(store, "one")
    before = store.describe(run.id, name="kept", tags=["kept"], notes="kept")
    with pytest.raises(InputError, match=r"Allowed: .*Received: "):
        store.describe(run.id, **{"name": "new", "tags": ["new"], "notes": "new", **wrong})  # type: ignore[arg-type]
    assert store.list() == [before]
    with pytest.raises(InputError, match=r"No run has the id 'two'.*Allowed: one"):
        store.describe("two", name="new")


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"name": null, "tags": "a", "notes": ""}', '{"name": 1, "tags": [], "notes": ""}']
)
def test_damage_is_reported_and_does_not_hide_the_others(store: RunStore, text: str) -> None:
    save(store, "other")
    run = save(store, "one")
    (run.path / ABOUT).write_text(text)
    (run.path / "touched").touch()
    wrong = r"about\.json is damaged.*Repair or delete"
    for call in (lambda: store.load(run.id), lambda: store.describe(run.id, notes="x")):
        with pytest.raises(StorageError, match=wrong):
            call()
    assert [summary.name for summary in store.list()] == ["other"]
    assert re.search(wrong, str(store.damaged()[run.id]))
    assert store.describe("other", notes="x").notes == "x"
    (run.path / ABOUT).unlink()
    assert {summary.name for summary in store.list()} == {"other", "one"}


def test_a_run_made_anew_keeps_what_people_said_but_takes_its_new_name(store: RunStore) -> None:
    run = save(store, "demo")
    store.describe(run.id, name="My demo", tags=["kept"], notes="kept")
    again = store.save("Demo", make_comparison(), make_corpora(), replace=True)
    (line,) = store.list()
    assert (line.id, line.name, line.tags, line.notes) == ("demo", "Demo", ("kept",), "kept")
    assert again.summary == line


def test_a_run_made_anew_stays_as_it_was_when_its_place_cannot_be_taken(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.describe(save(store, "demo").id, notes="kept")
    rename = Path.rename

    def refusing(self: Path, target: Path) -> Path:
        if self.name.startswith(PARTIAL):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refusing)
        with pytest.raises(StorageError, match="Input/output error"):
            save(store, "demo", replace=True)
    assert (store.list(), store.deleted()) == ([before], [])

    def killed(self: Path, target: Path) -> Path:
        if self.name.startswith(PARTIAL):
            raise KeyboardInterrupt
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            save(store, "demo", replace=True)
    (entry,) = store.deleted()
    assert store.restore(entry.token) == before


def test_the_bin_holds_runs_whole_and_gives_them_back(store: RunStore) -> None:
    run = save(store, "one")
    store.attach(run.id, "measures", {"a": 1})
    said = store.describe(run.id, name="Named", tags=["t"])
    files = {path.relative_to(run.path): path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    store.delete(run.id)
    assert (store.list(), store.tags()) == ([], {})
    (entry,) = store.deleted()
    assert entry.summary == said
    assert entry.deleted > said.created[:10]
    with pytest.raises(InputError, match="No run has the id 'one'"):
        store.load(run.id)
    assert store.restore(entry.token) == said
    assert {path.relative_to(run.path): path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == files
    assert (store.list(), store.deleted()) == ([said], [])
    assert not any((store.root / placing.BIN).iterdir())


def test_a_restored_run_does_not_push_out_another(store: RunStore) -> None:
    for _ in range(2):
        store.delete(save(store, "same").id)
    save(store, "same")
    later, earlier = store.deleted()
    assert later.token > earlier.token
    assert [store.restore(entry.token).id for entry in (earlier, later)] == ["same-2", "same-3"]
    assert ids(store) == {"same", "same-2", "same-3"}


def test_the_bin_is_emptied_of_one_or_of_all(store: RunStore) -> None:
    for name in ("one", "two", "three"):
        store.delete(save(store, name).id)
    kept, first, _ = store.deleted()
    size = size_on_disk(store.root / placing.BIN / first.token / "run")
    assert store.purge(first.token) == size == first.summary.bytes
    assert first not in store.deleted()
    assert kept in store.deleted()
    before = store.disk_use().bin
    assert store.purge() == before > 0
    assert (store.deleted(), store.purge(), store.disk_use().total) == ([], 0, 0)


@pytest.mark.parametrize("token", ["", "..", "../../one", "20260101T000000000000-00000000", "one"])
def test_a_token_that_is_none_is_refused(store: RunStore, token: str) -> None:
    run = save(store, "one")
    for call in (store.restore, store.purge):
        with pytest.raises(InputError, match=r"The bin has no entry .*Allowed: it is empty"):
            call(token)
    assert run.path.exists()


def test_nothing_leaves_the_bin_by_itself_whatever_the_clock_says(store: RunStore) -> None:
    store.delete(save(store, "old").id)
    (entry,) = store.deleted()
    long_ago = store.root / placing.BIN / f"19700101T000000000000{entry.token[21:]}"
    (store.root / placing.BIN / entry.token).rename(long_ago)  # as for a clock that has jumped
    noted = (long_ago / "deleted.json").read_text().replace(entry.deleted, "1970-01-01T00:00:00+00:00")
    (long_ago / "deleted.json").write_text(noted)
    save(store, "now")
    store.import_(store.export("now", store.root.parent))
    (kept,) = store.deleted()
    assert (kept.token, kept.deleted[:4], kept.damage) == (long_ago.name, "1970", "")
    assert store.restore(kept.token).id == "old"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b"{}", b'{"deleted": 5, "summary": {}}', None])
def test_a_damaged_entry_of_the_bin_stands_for_itself(store: RunStore, content: bytes | None) -> None:
    run = save(store, "one")
    store.describe(run.id, name="Name of it")
    for name in ("one", "two"):
        store.delete(name if name == "one" else save(store, name).id)
    two, one = store.deleted()
    path = store.root / placing.BIN / one.token / "deleted.json"
    path.unlink() if content is None else path.write_bytes(content)
    assert store.deleted()[0] == two
    damaged = store.deleted()[1]
    assert (damaged.token, damaged.summary.name, damaged.summary.n) == (one.token, "Name of it", 7)
    assert "deleted.json is damaged" in damaged.damage
    assert damaged.deleted[:13] == one.deleted[:13]
    assert store.restore(two.token).id == "two"
    assert store.restore(one.token).id == "name-of-it"
    assert ids(store) == {"two", "name-of-it"}


def test_a_run_of_which_nothing_can_be_read_can_still_be_taken_out_of_the_bin(store: RunStore) -> None:
    run = save(store, "one")
    store.delete(run.id)
    (entry,) = store.deleted()
    folder = store.root / placing.BIN / entry.token
    (folder / "deleted.json").write_text("{")
    (folder / "run" / COMPARISON).write_text("{")
    (damaged,) = store.deleted()
    assert damaged.summary.bytes > 0
    back = store.restore(entry.token)
    assert list(store.damaged()) == [back.id] == [entry.token.lower()]


def test_a_noted_id_leads_out_of_no_folder(store: RunStore) -> None:
    store.delete(save(store, "one").id)
    (entry,) = store.deleted()
    path = store.root / placing.BIN / entry.token / "deleted.json"
    path.write_text(path.read_text().replace('"id": "one"', '"id": "../../one"'))
    assert store.restore(entry.token).id == "one"
    assert not (store.root.parent.parent / "one").exists()


def test_what_a_killed_process_left_goes_when_the_next_one_starts(store: RunStore) -> None:
    fill = (
        "import os, sys, time; from pathlib import Path; from mauve_core.runs.placing import partial_folder\n"
        "with partial_folder(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'half').write_bytes(b'x' * 1000); print(folder.name, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", fill, str(store.root)]
    killed, working = (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    )
    names = [each.stdout.readline().strip() for each in (killed, working) if each.stdout is not None]
    killed.kill()
    killed.communicate()
    assert sorted(path.name for path in store.root.glob(f"{PARTIAL}*")) == sorted(names)
    start = f"from mauve_core.runs import RunStore; RunStore({str(store.root)!r})"
    subprocess.run([sys.executable, "-c", start], check=True)
    assert [path.name for path in store.root.glob(f"{PARTIAL}*")] == names[1:], "what is being written stays"
    working.communicate("")


def test_a_move_to_the_bin_that_was_cut_off_leaves_the_run(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    run = save(store, "one")

    def killed(self: Path, target: Path) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(StorageError, match="Input/output error"):
            store.delete(run.id)
    assert (ids(store), store.deleted()) == ({run.id}, [])
    store.delete(run.id)
    assert len(store.deleted()) == 1
    assert len(placing.tokens(store.root)) == 2, "one holds no run"
    clear_away(store.root)
    assert placing.tokens(store.root) == [entry.token for entry in store.deleted()]


def test_sizes_follow_what_is_found_out_later(store: RunStore) -> None:
    run = save(store, "one")
    assert store.list()[0].bytes == size_on_disk(run.path)
    store.attach(run.id, "measures", {"a": "x" * 1000})
    (run.path / "derived").mkdir()
    assert store.list()[0].bytes == size_on_disk(run.path)
    (run.path / "derived" / "basis.npz").write_bytes(b"x" * 500)
    assert store.list()[0].bytes == size_on_disk(run.path)
    plan = pair_plan(run.corpora, rater="ann")
    RatingStore(run.ratings_path).append(plan[0].ratings("ann", dict.fromkeys(QUESTIONS, "tie"), 5.0))
    with (run.path / "joint.npy").open("ab") as stream:
        stream.write(b"x" * 100)
    use = store.disk_use()
    assert use.runs == {run.id: size_on_disk(run.path)}
    assert use.total == store.list()[0].bytes == size_on_disk(run.path)


def test_a_folder_that_vanishes_or_comes_by_itself_is_noticed(store: RunStore) -> None:
    run = save(store, "one")
    shutil.copytree(run.path, store.root / "copied")
    assert ids(store) == {"one", "copied"}
    shutil.rmtree(run.path)
    assert ids(store) == {"copied"}
    (store.root / "copied" / "comparison.json").unlink()
    assert ids(store) == set()


def test_a_damaged_run_hides_no_other(store: RunStore) -> None:
    good, bad = save(store, "good").id, save(store, "bad").id
    record = (store.root / bad / COMPARISON).read_text()
    (store.root / bad / COMPARISON).write_text("{")
    assert [summary.id for summary in store.list()] == [good]
    assert list(store.damaged()) == [bad]
    assert "Run bad cannot be read" in str(store.damaged()[bad])
    (store.root / bad / COMPARISON).write_text(record)
    assert {summary.id for summary in store.list()} == {good, bad}
    assert store.damaged() == {}
    (store.root / bad / COMPARISON).write_text("{")
    store.delete(bad)
    assert store.damaged() == {}
    assert [item.summary.id for item in store.deleted()] == [bad]
