"""Features as tables hold them: a data frame of numbers, a column of vectors, and files other than .npy.

A .npz or .safetensors file has one two-dimensional array, a Parquet file one column of vectors. Where there are more,
the path names one after a #: ``features.parquet#embedding``. All are read into memory; only .npy files are mapped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.array_files import load_arrays
from mauve_core.base.errors import InputError, library_errors, words_of
from mauve_core.base.extras import require
from mauve_core.base.files import require_plain_file

# Kinds of files that this module reads.
SUFFIXES = (".npz", ".safetensors", ".parquet")


def matrix_of(values: Any, what: str) -> NDArray[np.floating]:
    """Return an array, a tensor, a data frame of numbers or a column of vectors as an (n, d) array.

    Arrays of numbers are not copied.

    Raises
    ------
    InputError
        It has another shape, vectors of different lengths, or entries that are not numbers.
    """
    if hasattr(values, "detach"):  # a tensor, maybe on a device, maybe of a type that NumPy lacks
        values = values.detach().cpu()
        values = values.float() if "bfloat16" in str(values.dtype) else values
    try:
        array: NDArray[Any] = np.asanyarray(values.to_pylist() if hasattr(values, "to_pylist") else values)
        if array.dtype == object and array.ndim == 1 and array.size:  # a column of lists or arrays
            array = np.stack([np.asarray(vector) for vector in array])
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{what} cannot be used: {words_of(error)}", allowed="numbers of shape (n, d), or vectors of one length"
        ) from error
    if array.ndim != 2 or array.dtype.kind not in "fiu" or array.shape[1] == 0:
        received = f"{array.dtype} of shape {array.shape}"
        raise InputError(f"{what} cannot be used", allowed="numbers of shape (n, d)", received=received)
    return array


def names_table(path: str) -> bool:
    """Whether the path is of a file that this module reads, with or without the name of an array."""
    return Path(_parts(path)[0]).suffix.lower() in SUFFIXES


def read_features(path: str) -> NDArray[np.floating]:
    """Read the array of a .npz, .safetensors or Parquet file.

    Parameters
    ----------
    path : str
        Of the file; ``path#name`` chooses one of several arrays or columns.

    Raises
    ------
    InputError
        The file cannot be read, has no such array, or has several and none is named.
    """
    file, name = _parts(path)
    require_plain_file(Path(file), "feature file")

    def ours(error: BaseException) -> InputError:
        return InputError(f"The feature file {file} cannot be read: {words_of(error)}")

    try:
        with library_errors(ours):
            return matrix_of(_READERS[Path(file).suffix.lower()](Path(file), name), f"The array in {path}")
    except MemoryError as error:
        raise ours(error) from error


def _from_npz(file: Path, name: str) -> Any:
    arrays = load_arrays(file)
    return arrays[_chosen(file, name, arrays, [each for each, array in arrays.items() if array.ndim == 2])]


def _from_safetensors(file: Path, name: str) -> Any:
    require("safetensors")
    from safetensors import safe_open

    with safe_open(file, framework="numpy") as tensors:
        names = list(tensors.keys())
        wide = [each for each in names if len(tensors.get_slice(each).get_shape()) == 2]
        return tensors.get_tensor(_chosen(file, name, names, wide))


def _from_parquet(file: Path, name: str) -> Any:
    import pyarrow.parquet as pq

    schema = pq.read_schema(file)
    lists = [each.name for each in schema if _holds_vectors(each.type)]
    chosen = _chosen(file, name, schema.names, lists)
    column = pq.read_table(file, columns=[chosen], partitioning=None)[chosen].combine_chunks()
    if chosen not in lists:
        raise InputError(f"The column {chosen!r} of {file} holds no vectors", allowed=", ".join(lists) or "none")
    if column.null_count:
        raise InputError(f"The column {chosen!r} of {file} lacks {column.null_count:,} vectors")
    lengths = {int(length) for length in column.value_lengths().unique().to_pylist()}
    if len(lengths) != 1:
        raise InputError(
            f"The column {chosen!r} of {file} holds vectors of different lengths",
            received=", ".join(map(str, sorted(lengths)[:5])) or "no rows",
        )
    return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), *lengths)


def _holds_vectors(kind: Any) -> bool:
    import pyarrow.types as types

    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list) and bool(types.is_floating(kind.value_type) or types.is_integer(kind.value_type))


_READERS: dict[str, Callable[[Path, str], Any]] = {
    ".npz": _from_npz,
    ".safetensors": _from_safetensors,
    ".parquet": _from_parquet,
}


def _chosen(file: Path, name: str, names: Iterable[str], usable: Sequence[str]) -> str:
    """Return the name that was given, or the only one that could be meant."""
    if name:
        if name not in names:
            raise InputError(f"{file} has no array named {name!r}", allowed=", ".join(names))
        return name
    if len(usable) != 1:
        raise InputError(
            f"{file} has {len(usable) or 'no'} arrays of shape (n, d)",
            allowed=f"one, or its name after the path: {file.name}#NAME",
            received=", ".join(usable),
        )
    return usable[0]


def _parts(path: str) -> tuple[str, str]:
    """Return the file and the name after the last #, if the file before it is of a kind that is read here."""
    file, mark, name = path.rpartition("#")
    return (file, name) if mark and Path(file).suffix.lower() in SUFFIXES else (path, "")
