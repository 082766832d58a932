"""Features made elsewhere: arrays, files and tables of them, and encoders that are functions or objects.

An array in memory, a memory map or a .npy file, which is mapped, may have any precision, and is checked and digested in
blocks of rows, without copying the whole. float16 takes half the space; blocks are widened to float32, so that later
steps get the numbers of a fully converted file. A data frame of numbers and a column of vectors are read into memory,
as are other files: a .npz or .safetensors file has one two-dimensional array, a Parquet file one column of vectors.
Where there are more, the path names one after a #: ``features.parquet#embedding``.

What an encoder from elsewhere returns is checked like features from a file. It is never stored by content, because
nothing tells what such an encoder is.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.archives import load_array, load_arrays
from mauve_core.base.errors import InputError, library_errors, words_of
from mauve_core.base.extras import require
from mauve_core.base.files import require_plain_file, write_atomically
from mauve_core.clusters.features import Stacked, require_columns, require_usable
from mauve_core.encoders.features import Features
from mauve_core.texts import Corpus

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


# An (n, d) array of numbers, a data frame of numbers, a column of vectors, or the path of a file that holds one.
FeaturesOrPath = ArrayLike | str | os.PathLike[str] | Any


def open_features(path: str | os.PathLike[str]) -> NDArray[np.floating]:
    """Open the array in a file, a .npy file as a read-only memory map, without checking its rows.

    Other files are read as :func:`mauve_core.encoders.external_features.read_features` does.

    Raises
    ------
    InputError
        The file is missing, or not a two-dimensional array of numbers (pickled objects are refused).
    """
    if names_table(os.fspath(path)):
        return read_features(os.fspath(path))
    path = Path(path)
    try:
        require_plain_file(path, "feature file")
        array = load_array(path, mapped=True)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(
            f"The feature file {path} cannot be read: {words_of(error)}",
            allowed=f"a .npy file, or one of {', '.join(SUFFIXES)}",
            todo="Write the array with numpy.save",
        ) from error
    if array.ndim != 2 or array.dtype.kind not in "fiu" or array.shape[1] == 0:
        shape = f"{array.dtype} array of shape {array.shape}"
        raise InputError(f"{path} holds no features", allowed="a two-dimensional array of numbers", received=shape)
    return array


def features_of(name: str, corpus: Corpus, features: FeaturesOrPath) -> NDArray[np.floating]:
    """Return the features of one side, one row per text, without copying or checking the numbers.

    Raises
    ------
    InputError
        The file is missing, not a table of numbers, or has another number of rows.
    """
    path = features if isinstance(features, str | os.PathLike) else None
    array = matrix_of(features, f"The features of {name!r}") if path is None else open_features(path)
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise InputError(
            f"The features of {name!r} do not match its texts",
            allowed=f"numbers of shape ({len(corpus)}, d)",
            received=f"{array.dtype} of shape {array.shape}",
        )
    require_columns(array.shape[1], _called(name, array))
    if len(array) != len(corpus):
        left_out = f"; of its rows, {'; '.join(map(str, corpus.exclusions))}" if corpus.exclusions else ""
        raise InputError(
            f"The {_called(name, array)} do not match its texts: wrong number of rows",
            allowed=f"shape ({len(corpus)}, d), one row for each text of {corpus.origin}{left_out}",
            received=f"shape {array.shape}",
        )
    return array


def require_one_width(arrays: Mapping[str, NDArray[np.floating]]) -> None:
    """Raise InputError unless all sides have features of the same dimension."""
    widths = {name: array.shape[1] for name, array in arrays.items()}
    if len(set(widths.values())) > 1:
        raise InputError(
            "The sides have features of different dimensions",
            allowed="the same dimension for all, from one encoder",
            received=", ".join(
                f"{Path(_file_of(arrays[name]) or name).name}: {width}" for name, width in widths.items()
            ),
        )


def checked_digest(name: str, corpus: Corpus, array: NDArray[np.floating]) -> str:
    """Return the SHA-256 of the shape and the numbers as float32; it does not depend on their precision.

    Raises
    ------
    InputError
        Rows are not finite in float32 or all zeros; names them, and the text of the first.
    """
    table = require_usable(array, name=_called(name, array), ids=corpus.ids)
    state = hashlib.sha256(f"{table.shape}".encode())
    for _, rows in table.blocks():
        state.update(np.ascontiguousarray(rows).data)
    return state.hexdigest()


def write_features(path: Path, array: NDArray[np.floating], *, half: bool = False) -> None:
    """Write a .npy file in blocks, atomically: float16 if the array is (lossless), else float32.

    Parameters
    ----------
    path : Path
    array : (n, d) array
    half : bool
        Always write float16: half the space, three digits per number.

    Raises
    ------
    InputError
        A number is too large for float16.
    StorageError
        The disk is full or refuses.
    """
    table, dtype = Stacked([array]), np.dtype(np.float16 if half or array.dtype == np.float16 else np.float32)

    def write(stream: IO[bytes]) -> None:
        header = {"descr": dtype.str, "fortran_order": False, "shape": table.shape}
        np.lib.format.write_array_header_1_0(stream, header)
        for block, rows in table.blocks():
            with np.errstate(over="ignore"):
                narrow = np.ascontiguousarray(rows, dtype=dtype)
            if half and not np.isfinite(narrow).all():
                raise InputError(
                    f"Features of rows {block.start} to {block.stop - 1} do not fit in half precision",
                    allowed=f"numbers up to {float(np.finfo(np.float16).max):.0f}",
                    received=f"{float(np.abs(rows).max()):.0f}",
                    todo="Keep them in float32",
                )
            stream.write(narrow.data)

    write_atomically(path, write)


def _called(name: str, array: NDArray[np.floating]) -> str:
    file = _file_of(array)
    return f"features of {name!r}" + (f" ({file})" if file else "")


def _file_of(array: NDArray[np.floating]) -> str:
    """Return the file that the array is mapped from; empty for an array in memory."""
    return str(getattr(array, "filename", None) or "")


class HasEncode(Protocol):
    """An object whose ``encode`` takes a list of texts and returns an (n, d) array."""

    def encode(self, texts: list[str], /) -> Any: ...


# A function from n texts to an (n, d) array, or an object with such a method ``encode``.
EncoderObject = Callable[[list[str]], Any] | HasEncode


def is_encoder_object(encoder: object) -> TypeGuard[EncoderObject]:
    """Whether it is a function or an object with ``encode``; a class is neither."""
    encodes = callable(encoder) or callable(getattr(encoder, "encode", None))
    return encodes and not isinstance(encoder, type | str)


def encoded_by(encoder: EncoderObject, corpus: Corpus, name: str) -> NDArray[np.floating]:
    """Return the (n, d) features that an encoder gives for the texts of a side.

    Raises
    ------
    InputError
        What it returns is not an (n, d) array of numbers. What the encoder itself raises passes through.
    """
    encode: Any = getattr(encoder, "encode", encoder)
    found = encode(list(corpus.texts))
    array = matrix_of(found.array if isinstance(found, Features) else found, f"What the encoder returned for {name!r}")
    if len(array) != len(corpus):
        raise InputError(
            f"The encoder returned a wrong number of rows for {name!r}",
            allowed=f"({len(corpus)}, d), one row for each text, in their order",
            received=f"shape {array.shape}",
        )
    return array
