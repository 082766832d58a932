"""A run as one file comes back bit for bit; whatever else is handed in is refused and leaves nothing."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import io
import json
import os
import sqlite3
import stat
import warnings
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mauve_core.__main__ import main
from mauve_core.base.config import HUMAN, QUESTIONS
from mauve_core.base.errors import InputError, StorageError
from mauve_core.runs import Run, RunStore, archive
from mauve_core.runs.archive import LeftOutWarning
from mauve_core.runs.index import INDEX
from mauve_core.runs.ratings import RatingStore, pair_plan
from mauve_core.scoring.result import Comparison
from tests.handmade import make_comparison, make_corpora, make_features, with_tests

pytestmark = pytest.mark.integration

Files = dict[str, bytes]


@pytest.fixture
def elsewhere(tmp_path: Path) -> RunStore:
    """The store of another machine."""
    return RunStore(tmp_path / "elsewhere")


@pytest.fixture
def run(store: RunStore) -> Run:
    """With all that a run can have."""
    saved = store.save("Study one", with_tests(make_comparison()), make_corpora(), make_features())
    store.attach(saved.id, "measures", {"rows": [1, 2]})
    (saved.path / "derived").mkdir()
    (saved.path / "derived" / "basis.npz").write_bytes(b"follows from the run")
    rate(saved, 0, 3)
    store.describe(saved.id, name="Näme", tags=["a", "b"], notes="notes")
    return store.load(saved.id)


def rate(run: Run, first: int, last: int) -> RatingStore:
    ratings, plan = RatingStore(run.ratings_path), pair_plan(run.corpora, rater="ann")
    for index in range(first, last):
        ratings.append(plan[index].ratings("ann", dict.fromkeys(QUESTIONS, "tie"), 5.0))
    ratings.skip("ann", plan[last])
    return ratings


def files_of(folder: Path) -> Files:
    names = [path for path in folder.rglob("*") if path.is_file() and "derived" not in path.parts]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in names}


def write_zip(path: Path, files: Files, manifest: dict[str, object] | None = None) -> Path:
    """An archive of these files; its manifest is honest unless one is given."""
    described = {n: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for n, data in files.items()}
    honest = {"format": 1, "program": "0", "id": "study-one", "files": described}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(name, data)
        packed.writestr("manifest.json", json.dumps({**honest, **(manifest or {})}))
    return path


def test_a_run_comes_back_bit_for_bit(store: RunStore, run: Run, elsewhere: RunStore, tmp_path: Path) -> None:
    path = store.export(run.id, tmp_path)
    assert path == tmp_path / "study-one.mauve-run.zip"
    line = elsewhere.import_(path)
    assert elsewhere.list() == [line]
    there = elsewhere.load("study-one")
    before, after = files_of(run.path), files_of(there.path)
    ratings = before.pop("ratings.sqlite"), after.pop("ratings.sqlite")
    assert before == after
    assert {"attached/measures.json", "prompts.npy"} <= set(before)
    assert not (there.path / "derived").exists(), "found out again where it is opened"
    dumps = []
    for index, data in enumerate(ratings):
        (tmp_path / f"{index}.sqlite").write_bytes(data)
        with closing(sqlite3.connect(tmp_path / f"{index}.sqlite")) as connection:
            dumps.append(list(connection.iterdump()))
    assert dumps[0] == dumps[1]
    assert RatingStore(there.ratings_path).counts() == RatingStore(run.ratings_path).counts()
    assert dataclasses.replace(line, bytes=0) == dataclasses.replace(run.summary, bytes=0)


def test_the_file_says_what_it_holds_and_stores_arrays_as_they_are(store: RunStore, run: Run, tmp_path: Path) -> None:
    with zipfile.ZipFile(store.export(run.id, tmp_path / "any name.zip")) as packed:
        assert packed.testzip() is None
        manifest = json.loads(packed.read("manifest.json"))
        assert set(packed.namelist()) == {*manifest["files"], "manifest.json"}
        for name, item in manifest["files"].items():
            data = packed.read(name)
            assert (len(data), hashlib.sha256(data).hexdigest()) == (item["size"], item["sha256"])
            stored = packed.getinfo(name).compress_type == zipfile.ZIP_STORED
            assert stored == (not name.endswith(".json"))
    assert (manifest["format"], manifest["id"]) == (1, "study-one")


def test_ratings_that_still_lie_in_the_log_are_exported(
    store: RunStore, run: Run, elsewhere: RunStore, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(run.ratings_path)) as other:
        assert other.execute("SELECT count(*) FROM ratings").fetchone()  # keeps the log from being folded in
        ratings = rate(run, 3, 5)
        log = run.ratings_path.with_name("ratings.sqlite-wal")
        assert log.stat().st_size > 0
        elsewhere.import_(store.export(run.id, tmp_path))
    assert RatingStore(elsewhere.load(run.id).ratings_path).list() == ratings.list()
    assert ratings.counts().pairs == 5


def test_bare_runs_and_half_precision_travel(store: RunStore, elsewhere: RunStore, tmp_path: Path) -> None:
    bare = Comparison(**{**vars(make_comparison()), "projection": None, "joint": (), "halves": None})
    half = {name: array.astype(np.float16) for name, array in make_features().items()}
    store.save("bare", bare, make_corpora())
    store.save("half", make_comparison(), make_corpora(), half)
    for run_id in ("bare", "half"):
        elsewhere.import_(store.export(run_id, tmp_path))
        assert files_of(elsewhere.root / run_id) == files_of(store.root / run_id)
    features = elsewhere.load("half").features(HUMAN)
    assert features is not None
    assert features.dtype == np.float16


def test_an_import_pushes_nothing_out_and_may_get_a_name(store: RunStore, run: Run, tmp_path: Path) -> None:
    path = store.export(run.id, tmp_path)
    assert [store.import_(path).id for _ in range(2)] == ["study-one-2", "study-one-3"]
    named = store.import_(path, name="Second look")
    assert (named.id, named.name, named.tags, named.notes) == ("second-look", "Second look", ("a", "b"), "notes")
    assert len(store.list()) == 4
    with pytest.raises(InputError, match="name cannot be used"):
        store.import_(path, name="?")
    renamed = write_zip(tmp_path / "x.zip", _entries(path), {"id": "../../etc"})
    assert store.import_(renamed).id == "name", "an id that is none gives way to the name"


def test_an_export_that_fails_leaves_the_one_from_before(
    store: RunStore, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store.export(run.id, tmp_path)
    before, listed = path.read_bytes(), sorted(tmp_path.iterdir())

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(archive, "_add", full)
    with pytest.raises(StorageError, match="No space left"):
        store.export(run.id, tmp_path)
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == (before, listed)
    with pytest.raises(InputError, match="No run has the id 'none'"):
        store.export("none", tmp_path)


def test_a_full_disk_leaves_nothing_of_an_import(
    store: RunStore, run: Run, elsewhere: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store.export(run.id, tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", full)
        with pytest.raises(StorageError, match="No space left"):
            elsewhere.import_(path)
    assert left_in(elsewhere) == set()


def left_in(store: RunStore) -> set[str]:
    return {path.name for path in store.root.iterdir() if path.name != INDEX}


# What is handed in by somebody who means harm, or by a broken download


def _npy(array: np.ndarray, **options: bool) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def _header(shape: str) -> bytes:
    """An array that promises much and holds nothing."""
    return _npy(np.zeros((1, 1), np.float32)).replace(b"(1, 1), }" + b" " * (len(shape) - 6), f"{shape}, }}".encode())


def _table(file: bytes, **columns: object) -> bytes:
    table = pq.read_table(io.BytesIO(file))
    for name, values in columns.items():
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(values, pa.large_string()))
    stream = io.BytesIO()
    pq.write_table(table, stream, compression="zstd")
    return stream.getvalue()


def _changed(file: bytes, **values: object) -> bytes:
    return json.dumps({**json.loads(file), **values}).encode()


def _with_trigger(file: bytes, folder: Path) -> bytes:
    path = folder / "triggered.sqlite"
    path.write_bytes(file)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TRIGGER t AFTER INSERT ON ratings BEGIN DELETE FROM ratings; END")
    return path.read_bytes()


def _honest(files: Files) -> Files:
    """With the digests of the arrays as they are in the record."""
    stored = json.loads(files["comparison.json"])["files"]
    digests = {name: hashlib.sha256(files[name]).hexdigest() for name in stored}
    return {**files, "comparison.json": _changed(files["comparison.json"], files=digests)}


def _without(files: Files, name: str) -> Files:
    return {key: data for key, data in files.items() if key != name}


NAN = np.full((7, 4), np.nan, np.float32)
HOSTILE: dict[str, Callable[[Files, Path], Files]] = {
    "absolute name": lambda files, folder: {**files, str(folder / "outside"): b"x"},
    "name that climbs": lambda files, _: {**files, "../outside": b"x"},
    "name that climbs back in": lambda files, _: {**files, "attached/../../outside.json": b"{}"},
    "backslashes": lambda files, _: {**files, "..\\outside": b"x"},
    "unknown name": lambda files, _: {**files, "run.py": b"x"},
    "derived": lambda files, _: {**files, "derived/basis.npz": b"x"},
    "hidden name": lambda files, _: {**files, "attached/.x.json": b"{}"},
    "newline in a name": lambda files, _: {**files, "about.json\n": b"{}"},
    "no comparison": lambda files, _: _without(files, "comparison.json"),
    "no texts": lambda files, _: _without(files, "texts-1.parquet"),
    "no prompts": lambda files, _: _without(files, "prompts.npy"),
    "features in part": lambda files, _: _without(files, "features-1.npy"),
    "array too many": lambda files, _: {**files, "pairwise-7.npy": files["pairwise-0.npy"]},
    "pickled array": lambda files, _: {**files, "joint.npy": _npy(np.array([{}], object), allow_pickle=True)},
    "promised array": lambda files, _: {**files, "joint.npy": _header("(9000000000, 9000)")},
    "not finite": lambda files, _: _honest({**files, "features-0.npy": _npy(NAN)}),
    "features that were exchanged": lambda files, _: {**files, "features-0.npy": _npy(np.ones((7, 4), np.float32))},
    "labels that were exchanged": lambda files, _: {**files, "joint.npy": _npy(np.full((2, 18), 2, np.int32))},
    "features of others": lambda files, _: _honest({**files, "features-0.npy": _npy(np.ones((3, 4), np.float32))}),
    "labels out of range": lambda files, _: _honest({**files, "joint.npy": _npy(np.full((2, 18), 99, np.int32))}),
    "broken record": lambda files, _: {**files, "comparison.json": b"{"},
    "deep record": lambda files, _: {**files, "comparison.json": b"[" * 100_000},
    "not a number": lambda files, _: {**files, "attached/measures.json": b'{"a": NaN}'},
    "another version": lambda files, _: {**files, "comparison.json": _changed(files["comparison.json"], format=1)},
    "no settings": lambda files, _: {**files, "comparison.json": _changed(files["comparison.json"], comparison={})},
    "name of no text": lambda files, _: {**files, "comparison.json": _changed(files["comparison.json"], name=["x"])},
    "no date": lambda files, _: {**files, "comparison.json": _changed(files["comparison.json"], created="<b>")},
    "texts of another side": lambda files, _: {**files, "texts-0.parquet": files["texts-1.parquet"]},
    "changed text": lambda files, _: {
        **files,
        "texts-0.parquet": _table(files["texts-0.parquet"], text=[f"other {i}" for i in range(7)]),
    },
    "table that is none": lambda files, _: {**files, "texts-0.parquet": b"PAR1"},
    "attached list": lambda files, _: {**files, "attached/measures.json": b"[]"},
    "damaged about": lambda files, _: {**files, "about.json": b'{"name": 1, "tags": [], "notes": ""}'},
    "ratings that are none": lambda files, _: {**files, "ratings.sqlite": b"SQLite format 3\x00" + bytes(4096)},
    "ratings with a trigger": lambda files, folder: {
        **files,
        "ratings.sqlite": _with_trigger(files["ratings.sqlite"], folder),
    },
    "compressed beyond measure": lambda files, _: {**files, "attached/z.json": b'{"a": "' + b" " * (8 << 20) + b'"}'},
}


# Why, where another check would refuse it too.
REASONS = {
    "unknown name": "it contains a file that does not belong to a run.*Received: 'run.py'",
    "name that climbs": "it contains a file that does not belong to a run",
    "derived": "it contains a file that does not belong to a run",
    "no texts": r"missing or unexpected files: .*texts-1\.parquet",
    "no prompts": r"missing or unexpected files: prompts\.npy",
    "array too many": r"missing or unexpected files: .*pairwise-7\.npy",
    "pickled array": "the run in it cannot be read: .*Python objects",
    "promised array": "the run in it cannot be read: joint.npy: its header declares",
    "features that were exchanged": "features-0.npy is damaged or missing: it is not the file that was stored",
    "labels that were exchanged": "joint.npy is damaged or missing: it is not the file that was stored",
    "features of others": "features-0.npy is damaged or missing: shape",
    "labels out of range": "the labels or the map is damaged or missing: labels 99 to 99 of 3 clusters",
    "not finite": "the run in it cannot be read: .*finite",
    "not a number": "measures.json: it contains NaN",
    "name of no text": "name of the run cannot be used",
    "another version": r"it was made by a version of MAUVE Lens before 0\.2\.0\. Compare its texts again",
    "changed text": "cannot be read: texts-0.parquet no longer holds the texts that were stored in it",
    "ratings with a trigger": "its tables are not those of a ratings file",
    "compressed beyond measure": "would expand from .* to 8,388,[0-9]+ bytes.*Allowed: at most 300 to 1",
    "a link": "about.json is not a regular file",
    "a file twice": "it contains the same file twice",
    "a folder": "it contains a file that does not belong to a run",
    "another packing": "uses an unsupported compression method",
    "an encrypted file": "is encrypted",
    "another bit": "joint.npy has changed since it was exported",
    "a file that the manifest does not know": "its files do not match its manifest",
    "a file that is missing": "its files do not match its manifest",
    "another layout": "layout 2",
    "a deep manifest": "its manifest is damaged",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_no_export_holds_is_refused(
    store: RunStore, run: Run, elsewhere: RunStore, tmp_path: Path, what: str
) -> None:
    files = _entries(store.export(run.id, tmp_path))
    assert elsewhere.import_(write_zip(tmp_path / "honest.zip", files)).id == "study-one"
    path = write_zip(tmp_path / "hostile.zip", HOSTILE[what](files, tmp_path))
    before, around = elsewhere.list(), set(tmp_path.iterdir())
    with pytest.raises(InputError, match=rf"^hostile\.zip cannot be imported: .*{REASONS.get(what, '')}"):
        elsewhere.import_(path)
    assert elsewhere.list() == before
    assert left_in(elsewhere) == {"study-one"}
    assert set(tmp_path.iterdir()) == around, "nothing is written elsewhere"


def _entries(path: Path) -> Files:
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist() if name != "manifest.json"}


def _link(path: Path, files: Files) -> None:
    info = zipfile.ZipInfo("about.json")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    _raw(path, {**files, "about.json": b"/etc/passwd"}, {"about.json": info})


def _twice(path: Path, files: Files) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile warns of the second
        write_zip(path, files)
        with zipfile.ZipFile(path, "a") as packed:
            packed.writestr("about.json", files["about.json"])


def _lzma(path: Path, files: Files) -> None:
    info = zipfile.ZipInfo("about.json")
    info.compress_type = zipfile.ZIP_LZMA
    _raw(path, files, {"about.json": info})


def _raw(path: Path, files: Files, infos: dict[str, zipfile.ZipInfo]) -> None:
    write_zip(path, files)
    with zipfile.ZipFile(path) as packed:
        manifest = packed.read("manifest.json")
    with zipfile.ZipFile(path, "w") as packed:
        for name, data in {**files, "manifest.json": manifest}.items():
            packed.writestr(infos.get(name, name), data, infos[name].compress_type if name in infos else None)


def _folder_entry(path: Path, files: Files) -> None:
    write_zip(path, files)
    with zipfile.ZipFile(path, "a") as packed:
        packed.mkdir("attached")


def _flip(path: Path, files: Files) -> None:
    """One bit of a stored array, and its checksum with it."""
    write_zip(
        path, {**files, "joint.npy": files["joint.npy"][:-1] + bytes([files["joint.npy"][-1] ^ 1])}, _claim(files)
    )


def _claim(files: Files) -> dict[str, object]:
    return {"files": {n: {"size": len(d), "sha256": hashlib.sha256(d).hexdigest()} for n, d in files.items()}}


def _encrypted(path: Path, files: Files) -> None:
    write_zip(path, files)
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        data[at + offset] |= 1
    path.write_bytes(data)


def _manifest(**values: object) -> Callable[[Path, Files], object]:
    return lambda path, files: write_zip(path, files, values)


def _bytes(content: bytes) -> Callable[[Path, Files], object]:
    return lambda path, _: path.write_bytes(content)


def _cut(path: Path, files: Files) -> None:
    write_zip(path, files)
    path.write_bytes(path.read_bytes()[:-2000])


def _bare_manifest(path: Path, manifest: bytes | None) -> None:
    with zipfile.ZipFile(path, "w") as packed:
        if manifest is not None:
            packed.writestr("manifest.json", manifest)


BROKEN: dict[str, Callable[[Path, Files], object]] = {
    "a link": _link,
    "a file twice": _twice,
    "a folder": _folder_entry,
    "another packing": _lzma,
    "an encrypted file": _encrypted,
    "another bit": _flip,
    "a file that the manifest does not know": lambda path, files: write_zip(
        path, files, _claim(_without(files, "about.json"))
    ),
    "a file that is missing": lambda path, files: write_zip(path, _without(files, "about.json"), _claim(files)),
    "another layout": _manifest(format=2),
    "files of no kind": _manifest(files=[1]),
    "a size of no kind": _manifest(files={"about.json": {"size": None, "sha256": ""}}),
    "no manifest": lambda path, _: _bare_manifest(path, None),
    "a broken manifest": lambda path, _: _bare_manifest(path, b"{"),
    "a deep manifest": lambda path, _: _bare_manifest(path, b"[" * 100_000),
    "a list as manifest": lambda path, _: _bare_manifest(path, b"[]"),
    "cut off": _cut,
    "no zip": _bytes(b"a text"),
    "nothing": _bytes(b""),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_archive_is_refused(store: RunStore, run: Run, elsewhere: RunStore, tmp_path: Path, what: str) -> None:
    path = tmp_path / "broken.zip"
    BROKEN[what](path, _entries(store.export(run.id, tmp_path)))
    with pytest.raises(InputError, match=rf"^broken\.zip cannot be imported: .*{REASONS.get(what, '')}"):
        elsewhere.import_(path)
    assert (elsewhere.list(), left_in(elsewhere)) == ([], set())


def test_a_file_that_is_not_there_is_said_so(elsewhere: RunStore, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"The archive of a run .* does not exist"):
        elsewhere.import_(tmp_path / "none.zip")


@pytest.mark.parametrize("kind", ["a named pipe", "a device", "a folder"])
def test_what_is_no_plain_file_is_neither_opened_nor_waited_for(elsewhere: RunStore, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "it.zip"
    if kind == "a device":
        path = Path("/dev/zero")
    else:
        os.mkfifo(path) if kind == "a named pipe" else path.mkdir()
    with pytest.raises(InputError, match=rf"The archive of a run .* is {kind}\. Allowed: a regular file"):
        elsewhere.import_(path)
    assert (elsewhere.list(), left_in(elsewhere)) == ([], set())


def test_a_list_of_files_that_is_too_long_is_not_read(
    elsewhere: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as packed:
        for number in range(1000):
            packed.writestr(f"{number}", b"")
    monkeypatch.setattr(archive, "MAX_DIRECTORY", 10_000)
    with pytest.raises(InputError, match=r"its file list takes .* bytes; at most 10,000 are allowed"):
        elsewhere.import_(path)


@pytest.mark.parametrize("name", ["comparison.json", "attached/measures.json", "manifest.json"])
def test_json_of_too_many_values_is_not_parsed(
    store: RunStore, run: Run, elsewhere: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    files = _entries(store.export(run.id, tmp_path))
    many = b'{"a": [' + b"{}," * 100_000 + b"{}]}"
    path = tmp_path / "many.zip"
    if name == "manifest.json":
        _bare_manifest(path, many)
    else:
        write_zip(path, {**files, name: many})
    monkeypatch.setenv("MAUVE_LENS_MAX_VALUES", "100000")
    with pytest.raises(InputError, match=r"too many values.*at most 100,000.*set MAUVE_LENS_MAX_VALUES"):
        elsewhere.import_(path)


@pytest.mark.filterwarnings("default:.*was left out of the export")
def test_damaged_ratings_stop_an_export_with_the_way_out(
    store: RunStore, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(store.root.parent))
    run.ratings_path.write_bytes(b"no database" * 1000)
    path = tmp_path / "out.zip"
    with pytest.raises(StorageError, match=r"The ratings .* are damaged: .*\.recover.*--without-ratings"):
        store.export(run.id, path)
    assert not path.exists()
    assert main(["runs", "export", run.id, "--out", str(path)]) == 1
    assert main(["runs", "export", run.id, "--out", str(path), "--without-ratings"]) == 0
    with zipfile.ZipFile(path) as packed:
        assert "ratings.sqlite" not in packed.namelist()
    assert "comparison.json" in zipfile.ZipFile(path).namelist()


def _linked(name: str) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        secret = folder.parent.parent / "secret"
        secret.write_bytes((folder / name).read_bytes())
        (folder / name).unlink()
        (folder / name).symlink_to(secret)

    return change


UNFIT: dict[str, Callable[[Path], object]] = {
    "pairwise-0.npy": lambda folder: (folder / "pairwise-0.npy").write_bytes(b""),
    "features-1.npy": lambda folder: np.save(folder / "features-1.npy", np.ones((5, 4), np.float32)),
    "texts-0.parquet": lambda folder: (folder / "texts-0.parquet").write_bytes(b"PAR1"),
    "texts-1.parquet": lambda folder: (folder / "texts-1.parquet").unlink(),
    "comparison.json": lambda folder: (folder / "comparison.json").write_text("{"),
    "about.json": lambda folder: (folder / "about.json").write_text("{"),
    "joint.npy": _linked("joint.npy"),
    "ratings.sqlite": _linked("ratings.sqlite"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_could_not_be_imported_is_not_exported(store: RunStore, run: Run, tmp_path: Path, name: str) -> None:
    UNFIT[name](run.path)
    with pytest.raises(StorageError, match=name) as caught:
        store.export(run.id, tmp_path / "out.zip")
    assert caught.value.todo
    assert "/mauve-lens-" not in str(caught.value), "where the copy was checked is gone by now"
    assert not (tmp_path / "out.zip").exists()


def test_a_linked_record_is_not_exported(store: RunStore, run: Run, tmp_path: Path) -> None:
    _linked("comparison.json")(run.path)
    with pytest.raises(StorageError, match=r"comparison\.json is damaged"):
        store.export(run.id, tmp_path)


DAMAGED_RESULTS: dict[str, Callable[[Path], object]] = {
    "no JSON": lambda path: path.write_text("{"),
    "a named pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a link": lambda path: (path.unlink(), path.symlink_to("/etc/passwd")),
    "a link to a device": lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGED_RESULTS)
def test_a_damaged_result_is_left_out_with_a_note(
    store: RunStore, run: Run, elsewhere: RunStore, tmp_path: Path, damage: str
) -> None:
    store.attach(run.id, "methods", {"kept": 1})
    DAMAGED_RESULTS[damage](run.path / "attached" / "measures.json")
    (run.path / "derived" / "basis.npz").unlink()
    os.mkfifo(run.path / "derived" / "basis.npz")
    with pytest.warns(LeftOutWarning, match=r"attached/measures\.json of run study-one is damaged and was left out"):
        path = store.export(run.id, tmp_path)
    there = elsewhere.load(elsewhere.import_(path).id)
    assert (there.attachment("methods"), there.attachment("measures")) == ({"kept": 1}, None)


def test_a_result_that_its_reader_refuses_is_left_out(
    store: RunStore, run: Run, elsewhere: RunStore, tmp_path: Path
) -> None:
    def refuse(stored: Run) -> object:
        raise InputError("A number is out of range", received=str(stored.attachment("measures")))

    with pytest.warns(LeftOutWarning, match="measures.*A number is out of range"):
        path = store.export(run.id, tmp_path, documents={"measures": refuse})
    assert elsewhere.load(elsewhere.import_(path).id).attachment("measures") is None


def test_results_behind_a_linked_folder_are_not_exported(store: RunStore, run: Run, tmp_path: Path) -> None:
    (run.path / "attached").rename(tmp_path / "attached")
    (run.path / "attached").symlink_to(tmp_path / "attached")
    with pytest.warns(LeftOutWarning, match="attached of run study-one is damaged"):
        path = store.export(run.id, tmp_path)
    with zipfile.ZipFile(path) as packed:
        assert not [name for name in packed.namelist() if name.startswith("attached/")]


def test_an_archive_of_a_newer_version_asks_for_an_update(elsewhere: RunStore, run: Run, tmp_path: Path) -> None:
    path = write_zip(tmp_path / "newer.zip", files_of(run.path), {"format": 2})
    with pytest.raises(InputError, match=r"different layout.*Update the program"):
        elsewhere.import_(path)


def test_damaged_files_that_stand_in_the_way_are_not_copied_without_end(store: RunStore, run: Run) -> None:
    for name, target in (("ratings.sqlite", "/dev/zero"), ("about.json", "/dev/zero")):
        (run.path / name).unlink()
        (run.path / name).symlink_to(target)
    saved = store.save("Study one", make_comparison(), make_corpora(), replace=True)
    assert not (saved.path / "ratings.sqlite").exists()
    assert not (saved.path / "about.json").exists()


def test_damaged_ratings_and_notes_lose_no_run_that_takes_its_place(store: RunStore, run: Run) -> None:
    run.ratings_path.write_bytes(b"no database" * 1000)
    (run.path / "about.json").write_text("{")
    saved = store.save("Study one", make_comparison(), make_corpora(), replace=True)
    assert (saved.id, saved.path, saved.notes, saved.features(HUMAN)) == (run.id, run.path, "", None)
    assert (run.path / "ratings.sqlite").read_bytes() == b"no database" * 1000, "for whoever saves what can be saved"
    assert (run.path / "about.damaged.json").read_text() == "{"
    assert store.load(run.id).comparison.config == make_comparison().config


def test_a_run_that_is_too_large_is_refused_before_it_is_unpacked(
    store: RunStore, run: Run, elsewhere: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store.export(run.id, tmp_path)
    size = sum(len(data) for data in _entries(path).values())
    with monkeypatch.context() as patch:
        patch.setattr(archive, "_unpack", lambda *_: pytest.fail("unpacked"))
        patch.setattr(archive, "MAX_BYTES", size - 1)
        with pytest.raises(InputError, match="too large"):
            elsewhere.import_(path)
    monkeypatch.setattr(archive, "MAX_BYTES", size)
    assert elsewhere.import_(path).id == run.id


def test_a_table_that_grows_in_memory_is_refused_before_it_is_read(
    store: RunStore, run: Run, elsewhere: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One text of 1 MB, three hundred times over, takes a few kB in the file."""
    files = _entries(store.export(run.id, tmp_path))
    table = pa.table({"id": pa.array([str(i) for i in range(300)]), "text": pa.array(["x" * (1 << 20)] * 300)})
    stream = io.BytesIO()
    pq.write_table(table, stream, compression="zstd")
    assert len(stream.getvalue()) < 300_000
    path = write_zip(tmp_path / "bomb.zip", {**files, "texts-0.parquet": stream.getvalue()})
    monkeypatch.setattr(archive, "read_run", lambda *_: pytest.fail("read"))
    with pytest.raises(
        InputError,
        match=r"texts-0\.parquet holds or unpacks to more than 268,435,456 bytes.*MAUVE_LENS_MAX_UNPACKED_MB",
    ):
        elsewhere.import_(path)
    assert left_in(elsewhere) == set()
