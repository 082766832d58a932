"""Features in tables and in files other than .npy are the array that was put there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from mauve_core.base.errors import InputError
from mauve_core.encoders.external_features import matrix_of, open_features

ARRAY = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
OTHER = np.ones((6, 3), np.float32)


def write(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    if path.suffix == ".npz":
        np.savez(path, **arrays)  # type: ignore[arg-type]
    elif path.suffix == ".safetensors":
        save_file(arrays, path)
    else:
        pq.write_table(pa.table({name: list(array) for name, array in arrays.items()}), path)
    return path


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".parquet"])
def test_the_only_array_of_a_file_is_taken_and_one_of_several_is_named(suffix: str, tmp_path: Path) -> None:
    one = write(tmp_path / f"one{suffix}", {"x": ARRAY})
    np.testing.assert_array_equal(open_features(one), ARRAY)
    several = write(tmp_path / f"several{suffix}", {"x": ARRAY, "y": OTHER, "n": np.arange(6)})
    np.testing.assert_array_equal(open_features(f"{several}#y"), OTHER)
    with pytest.raises(InputError, match=rf"has 2 arrays.*several{suffix}#NAME.*Received: x, y"):
        open_features(several)
    with pytest.raises(InputError, match=r"no array named 'z'.*Allowed: (x, y, n|n, x, y)"):
        open_features(f"{several}#z")
    with pytest.raises(InputError):
        open_features(f"{several}#n")


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".parquet"])
def test_a_file_that_cannot_be_read_is_refused(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        open_features(tmp_path / f"missing{suffix}")
    (tmp_path / f"broken{suffix}").write_bytes(b"\x80\x00\x00\x00\x00\x00\x00\x00{broken" * 9)
    with pytest.raises(InputError, match="cannot be read"):
        open_features(tmp_path / f"broken{suffix}")
    whole = write(tmp_path / f"whole{suffix}", {"x": ARRAY}).read_bytes()
    (tmp_path / f"half{suffix}").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="cannot be read"):
        open_features(tmp_path / f"half{suffix}")


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ([[1.0, 2.0], [1.0]], "different lengths.*Received: 1, 2"),
        ([[1.0, 2.0], None], "lacks 1 vectors"),
        ([["a"], ["b"]], "no arrays"),
    ],
)
def test_a_column_without_a_vector_for_each_row_is_refused(column: Any, said: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": column}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match=said):
        open_features(tmp_path / "x.parquet")


def test_fixed_lists_and_slices_of_a_column_keep_their_rows(tmp_path: Path) -> None:
    kind = pa.list_(pa.float32(), 4)
    pq.write_table(pa.table({"x": pa.array(ARRAY.tolist(), kind)}), tmp_path / "x.parquet", row_group_size=2)
    np.testing.assert_array_equal(open_features(tmp_path / "x.parquet"), ARRAY)


def test_tables_in_memory() -> None:
    for given in (
        pd.DataFrame(ARRAY),
        pd.Series(list(ARRAY)),
        ARRAY.tolist(),
        pa.array(ARRAY.tolist(), pa.list_(pa.float32())),
    ):
        np.testing.assert_array_equal(matrix_of(given, "x"), ARRAY)
    assert matrix_of(ARRAY, "x") is ARRAY


def test_a_tensor_of_a_type_that_numpy_lacks() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(ARRAY).to(torch.bfloat16).requires_grad_()
    np.testing.assert_array_equal(matrix_of(tensor, "x"), tensor.detach().float().numpy())


@pytest.mark.parametrize(
    "given", [[[1.0], [1.0, 2.0]], [["a"]], None, 3, np.ones(3), np.ones((3, 0)), pd.Series([[1], [1, 2]])]
)
def test_what_is_no_matrix_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match="What it is cannot be used"):
        matrix_of(given, "What it is")
