"""The store of features: whole or not at all, checked when read, safe with several writers and with a full disk."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mauve_core.base import files
from mauve_core.base.errors import InputError, StorageError
from mauve_core.encoders.features import ARRAYS, INCOMING, DamagedEntryWarning, FeatureStore, Part

KEY, OTHER = "ab12", "cd34"
META = {"device": "cpu", "notes": ["über"]}


def arrays(seed: int = 0, n: int = 50, d: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    array = rng.normal(size=(n, d)).astype(np.float32)
    return array, rng.integers(1, 99, size=n).astype(np.int32), rng.random(n) < 0.5


def part(first: int, rows: int, value: float = 1.0, d: int = 8) -> Part:
    return Part(np.arange(first, first + rows), np.full((rows, d), value, dtype=np.float32), "cpu")


def all_files(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def store(tmp_path: Path) -> FeatureStore:
    return FeatureStore(tmp_path / "features")


def test_what_is_put_is_what_is_got(store: FeatureStore) -> None:
    assert store.get(KEY) is None
    array, lengths, cut = arrays()
    for stored in (store.put(KEY, array, lengths, cut, META), store.get(KEY)):
        assert stored is not None
        np.testing.assert_array_equal(stored.array, array)
        np.testing.assert_array_equal(stored.lengths, lengths)
        np.testing.assert_array_equal(stored.cut, cut)
        assert stored.meta == META
        assert isinstance(stored.array, np.memmap)
        assert not stored.array.flags.writeable
        assert (stored.array.dtype, stored.lengths.dtype, stored.cut.dtype) == (np.float32, np.int32, np.bool_)
    assert {path.name for path in all_files(store.root)} == {"meta.json", *(f"{name}.npy" for name in ARRAYS)}


def test_the_first_entry_stays(store: FeatureStore) -> None:
    store.put(KEY, *arrays(0), META)
    assert np.array_equal(store.put(KEY, *arrays(1), META).array, arrays(0)[0])


def test_an_entry_ends_its_parts_and_no_others(store: FeatureStore) -> None:
    store.save_part(KEY, part(0, 3))
    store.save_part(OTHER, part(0, 3))
    store.put(KEY, *arrays(), META)
    assert store.parts(KEY, 50) == []
    assert len(store.parts(OTHER, 50)) == 1


def test_parts_come_back(store: FeatureStore) -> None:
    assert store.parts(KEY, 10) == []
    store.save_part(KEY, part(0, 3, value=0.25))
    store.save_part(KEY, Part(np.array([9, 4]), np.ones((2, 8), dtype=np.float32), "cuda:0"))
    parts = sorted(store.parts(KEY, 10), key=lambda found: len(found.indices))
    assert [found.indices.tolist() for found in parts] == [[9, 4], [0, 1, 2]]
    assert [found.device for found in parts] == ["cuda:0", "cpu"]
    assert (parts[1].array == 0.25).all()
    store.discard_parts(KEY)
    assert store.parts(KEY, 10) == []


@pytest.mark.parametrize("key", ["", "../escape", "a/b", ".hidden", "ab.parts"])
def test_refuses_what_is_not_a_key(store: FeatureStore, key: str) -> None:
    with pytest.raises(InputError, match="key"):
        store.get(key)


@pytest.mark.parametrize(
    ("array", "lengths"), [((3, 2), (2,)), ((6,), (6,)), ((0, 4), (0,)), ((2, 3, 4), (2,))], ids=str
)
def test_refuses_what_is_not_features(store: FeatureStore, array: tuple[int, ...], lengths: tuple[int, ...]) -> None:
    cut = np.zeros(lengths, dtype=np.bool_)
    with pytest.raises(InputError, match="shapes"):
        store.put(KEY, np.zeros(array, dtype=np.float32), np.zeros(lengths, dtype=np.int32), cut, META)
    assert all_files(store.root) == set()


def _flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def _link(path: Path, target: str) -> None:
    path.unlink()
    path.symlink_to(target)


DAMAGES = {
    "a flipped bit in the numbers": lambda folder: _flip(folder / "features.npy", -5),
    "a flipped bit in the header": lambda folder: _flip(folder / "features.npy", 20),
    "a flipped bit in the lengths": lambda folder: _flip(folder / "lengths.npy", -1),
    "a truncated array": lambda folder: os.truncate(folder / "features.npy", 300),
    "an empty array": lambda folder: (folder / "cut.npy").write_bytes(b""),
    "a missing array": lambda folder: (folder / "features.npy").unlink(),
    "a missing record": lambda folder: (folder / "meta.json").unlink(),
    "half a record": lambda folder: os.truncate(folder / "meta.json", 30),
    "another record": lambda folder: (folder / "meta.json").write_text("[]"),
    "an array that is a folder": lambda folder: ((folder / "features.npy").unlink(), (folder / "features.npy").mkdir()),
    "a pipe for an array": lambda folder: ((folder / "cut.npy").unlink(), os.mkfifo(folder / "cut.npy")),
    "a pipe for a record": lambda folder: ((folder / "meta.json").unlink(), os.mkfifo(folder / "meta.json")),
    "a device for an array": lambda folder: _link(folder / "lengths.npy", "/dev/zero"),
    "a device for a record": lambda folder: _link(folder / "meta.json", "/dev/zero"),
    "a deep record": lambda folder: (folder / "meta.json").write_text("[" * 100_000),
    "a large record": lambda folder: os.truncate(folder / "meta.json", 1 << 30),
    "a file for an entry": lambda folder: (shutil.rmtree(folder), folder.write_bytes(b"x")),
    "a pipe for an entry": lambda folder: (shutil.rmtree(folder), os.mkfifo(folder)),
    "a link to itself for an entry": lambda folder: (shutil.rmtree(folder), folder.symlink_to(folder)),
    "a link to nothing for an entry": lambda folder: (shutil.rmtree(folder), folder.symlink_to(folder / "none")),
    "a record without digests": lambda folder: (folder / "meta.json").write_text(json.dumps({"meta": {}})),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_removed_with_a_warning(store: FeatureStore, damage: str) -> None:
    store.put(KEY, *arrays(0), META)
    store.put(OTHER, *arrays(1), META)
    DAMAGES[damage](store.root / KEY)
    with pytest.warns(DamagedEntryWarning, match=KEY):
        assert store.get(KEY) is None
    assert store.get(KEY) is None
    assert np.array_equal(store.put(KEY, *arrays(2), META).array, arrays(2)[0])
    assert store.get(OTHER) is not None


@pytest.mark.parametrize("position", [0.1, 0.5, 0.9])
def test_a_damaged_part_is_removed_with_a_warning(store: FeatureStore, position: float) -> None:
    store.save_part(KEY, part(0, 3))
    (path,) = all_files(store.root)
    os.truncate(path, int(path.stat().st_size * position))
    store.save_part(KEY, part(3, 3))
    with pytest.warns(DamagedEntryWarning, match=path.name):
        (found,) = store.parts(KEY, 10)
    assert found.indices.tolist() == [3, 4, 5]
    assert not path.exists()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_stands_in_the_place_of_a_part_is_removed(store: FeatureStore, make: Callable[[Path], None]) -> None:
    store.save_part(KEY, part(0, 3))
    (path,) = all_files(store.root)
    path.unlink()
    make(path)
    with pytest.warns(DamagedEntryWarning, match="were damaged"):
        assert store.parts(KEY, 10) == []
    assert list(store.root.iterdir()) == []
    make(path)
    store.discard_parts(KEY)
    assert list(store.root.iterdir()) == []


def test_a_flipped_bit_in_a_parts_numbers_is_noticed(store: FeatureStore) -> None:
    store.save_part(KEY, part(0, 3, value=1.5))
    (path,) = all_files(store.root)
    _flip(path, path.read_bytes().index(np.float32(1.5).tobytes() * 3) + 6)
    with pytest.warns(DamagedEntryWarning):
        assert store.parts(KEY, 10) == []


def test_rows_of_another_list_of_texts_are_refused(store: FeatureStore) -> None:
    store.save_part(KEY, part(8, 3))
    with pytest.warns(DamagedEntryWarning):
        assert store.parts(KEY, 10) == []


def test_an_object_array_is_not_unpickled(store: FeatureStore) -> None:
    store.put(KEY, *arrays(), META)
    path = store.root / KEY / "features.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    record = json.loads((store.root / KEY / "meta.json").read_text())
    record["digests"]["features"] = files.digest_of_file(path)
    (store.root / KEY / "meta.json").write_text(json.dumps(record))
    with pytest.warns(DamagedEntryWarning, match=KEY):
        assert store.get(KEY) is None


class FullDisk:
    """Lets ``good`` calls of ``os.fsync`` through, then says that no space is left."""

    def __init__(self, good: int) -> None:
        self.good = good
        self.fsync = os.fsync

    def __call__(self, descriptor: int) -> None:
        self.good -= 1
        if self.good < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.fsync(descriptor)


@pytest.mark.parametrize("good", range(4))
def test_a_full_disk_leaves_what_was_there(store: FeatureStore, monkeypatch: pytest.MonkeyPatch, good: int) -> None:
    store.put(OTHER, *arrays(1), META)
    store.save_part(KEY, part(0, 3))
    before = all_files(store.root)
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", FullDisk(good))
        with pytest.raises(StorageError, match=r"No space left .* Free some space"):
            store.put(KEY, *arrays(), META)
    assert all_files(store.root) == before
    assert store.get(KEY) is None
    assert len(store.parts(KEY, 50)) == 1
    stored = store.get(OTHER)
    assert stored is not None
    assert np.array_equal(stored.array, arrays(1)[0])
    assert np.array_equal(store.put(KEY, *arrays(), META).array, arrays()[0])


def test_a_full_disk_leaves_earlier_parts(store: FeatureStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.save_part(KEY, part(0, 3))
    before = all_files(store.root)
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", FullDisk(0))
        with pytest.raises(StorageError, match="No space left"):
            store.save_part(KEY, part(3, 3))
    assert all_files(store.root) == before
    store.save_part(KEY, part(3, 3))
    assert len(store.parts(KEY, 50)) == 2


def test_a_write_that_hits_the_end_of_the_disk_keeps_its_number(store: FeatureStore) -> None:
    # /dev/full refuses every write with ENOSPC: NumPy's own file writing would turn that into an error without number.
    from mauve_core.encoders.features import _HashingWriter

    with (
        pytest.raises(StorageError, match="No space left"),
        files.storage_errors(Path("/dev/full")),
        Path("/dev/full").open("wb", buffering=0) as stream,
    ):
        np.lib.format.write_array(_HashingWriter(stream), np.zeros(100_000), allow_pickle=False)


def test_an_unreadable_folder_is_said(store: FeatureStore, tmp_path: Path) -> None:
    blocked = FeatureStore(tmp_path / "file")
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StorageError, match="Cannot read or write"):
        blocked.put(KEY, *arrays(), META)


def test_what_dead_writers_left_is_swept(store: FeatureStore) -> None:
    left, half = store.root / ".incoming.0123456789abcdef", store.root / ".part.npz.0123456789abcdef"
    left.mkdir(parents=True)
    (left / "features.npy").write_bytes(b"half")
    half.write_bytes(b"half")
    with files.partial_folder(store.root / INCOMING) as working:
        store.put(KEY, *arrays(), META)
        assert {path.name for path in store.root.iterdir()} == {KEY, working.name}


@pytest.mark.slow
def test_concurrent_writers_do_no_harm(store: FeatureStore) -> None:
    errors: list[BaseException] = []
    written = [arrays(seed)[0] for seed in range(6)]

    def work(seed: int) -> None:
        try:
            for turn in range(15):
                key = f"{KEY}{turn}"
                store.save_part(key, part(seed, 1))
                store.parts(key, 50)
                stored = store.put(key, *arrays(seed), META)
                assert any(np.array_equal(stored.array, array) for array in written)
        except BaseException as error:  # noqa: BLE001 (handed to the main thread)
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with warnings.catch_warnings():
        warnings.simplefilter("error", DamagedEntryWarning)
        assert all(store.get(f"{KEY}{turn}") is not None for turn in range(15))
    assert {path.name for path in store.root.iterdir()} == {f"{KEY}{turn}" for turn in range(15)}
