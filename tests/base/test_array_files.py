"""Files of arrays that are damaged or made to do harm give one kind of error, before memory is taken."""

from __future__ import annotations

import gc
import os
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from mauve_core.base.archives import load_array, load_arrays
from mauve_core.base.errors import InputError
from mauve_core.encoders.external_features import open_features


def npy(header: str | bytes, version: int = 1, body: bytes = bytes(64)) -> bytes:
    data = header.encode() if isinstance(header, str) else header
    return b"\x93NUMPY" + bytes([version, 0]) + len(data).to_bytes(2 * version, "little") + data + body


def of_shape(shape: str, descr: str = "'<f4'") -> bytes:
    return npy(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n")


HOSTILE = {
    "10^30 rows": of_shape(f"({10**30}, 3)"),
    "more bytes than addresses": of_shape("(4611686018427387904, 4)"),
    "more bytes than the file has": of_shape("(5, 4)"),
    "10^25 columns of no rows": of_shape(f"(0, {10**25})"),
    "negative": of_shape("(-1, 3)"),
    "negative twice": of_shape("(-2, -2)"),
    "truth value": of_shape("(True, 3)"),
    "fraction": of_shape("(1.0, 3)"),
    "no shape": of_shape("None"),
    "a thousand dimensions": of_shape("(" + "1, " * 1000 + ")"),
    "long number": of_shape(f"({'9' * 5000},)"),
    "unclosed": npy("{'descr': '<f4', 'shape': (2, "),
    "unclosed text": npy("{'descr': '<f4"),
    "deep": npy("(" * 500),
    "no literal": npy("os.system('x')"),
    "NUL": npy(b"\0\0"),
    "another encoding": npy(b"{'\xff': 1}"),
    "no header": npy(""),
    "long header": b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(100),
    "another version": npy("{}", version=3),
    "unknown type": of_shape("(1, 2)", "'zz'"),
    "number as type": of_shape("(1, 2)", "5"),
    "Python objects": of_shape("(1, 2)", "'|O'"),
    "records": of_shape("(1, 2)", "[('a', '<f4')]"),
    "arrays in arrays": of_shape("(1, 2)", "('<f4', (1000000,))"),
    "zip": b"PK\x03\x04" + bytes(100),
    "pickle": b"\x80\x04].",
    "empty": b"",
    "magic alone": b"\x93NUMPY",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_no_array(what: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(HOSTILE[what])
    for mapped in (False, True):
        with pytest.raises(ValueError, match=r"\w"):
            load_array(path, mapped=mapped)
    with pytest.raises(InputError, match=r"The feature file .*x\.npy cannot be read: .*numpy\.save"):
        open_features(path)


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_no_array_in_an_archive(what: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", HOSTILE[what])
    with pytest.raises(ValueError, match=r"\w"):
        load_arrays(path)


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
        np.array([True, False]),
        np.array(["a", "bcd"]),
        np.array(7),
        np.zeros((0, 3), dtype=np.float16),
    ],
    ids=["floats", "by columns", "truth values", "text", "one number", "no rows"],
)
def test_arrays_come_back(array: np.ndarray, mapped: bool, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", array)
    found = load_array(tmp_path / "x.npy", mapped=mapped)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found, array)
    np.savez(tmp_path / "x.npz", a=array, b=np.array(1))
    both = load_arrays(tmp_path / "x.npz")
    np.testing.assert_array_equal(both["a"], array)
    assert (both["a"].dtype, both["b"].item()) == (array.dtype, 1)
    both["a"][...] = both["a"]


def test_a_packed_archive_is_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros(10**6))
    with pytest.raises(ValueError, match="compressed"):
        load_arrays(tmp_path / "x.npz")
    (tmp_path / "y.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(ValueError, match="not an array file"):
        load_arrays(tmp_path / "y.npz")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x")
    for load in (load_array, load_arrays, open_features):
        with pytest.raises(ValueError, match="is a named pipe"):
            load(tmp_path / "x")


@pytest.mark.parametrize("allocations", range(10, 40, 5))
def test_threads_read_headers_at_once(allocations: int, tmp_path: Path) -> None:
    """Before Python 3.11.8 this fails where the garbage collector lets another thread run while a literal is parsed."""
    path = tmp_path / "array.npy"
    np.save(path, np.zeros((2, 3)))

    def let_others_run(phase: str, info: dict[str, int]) -> None:
        time.sleep(1e-4)

    thresholds = gc.get_threshold()
    gc.callbacks.append(let_others_run)
    gc.set_threshold(allocations)
    try:
        with ThreadPoolExecutor(4) as pool:
            shapes = list(pool.map(lambda _: load_array(path).shape, range(200)))
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(let_others_run)
    assert shapes == [(2, 3)] * 200


def test_the_directory_of_an_archive_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "a.npz", a=np.ones(3))
    monkeypatch.setattr("mauve_core.base.archives.DIRECTORY_BYTES", 40)
    with pytest.raises(ValueError, match="its file list takes 51 bytes"):
        load_arrays(tmp_path / "a.npz")
