"""Features made elsewhere: open, check and digest them in blocks of rows, without copying the whole.

Accepts an array in memory, a memory map or the path of a .npy file, which is mapped, of any precision; tables and other
files by :mod:`mauve_core.encoders.feature_tables`. float16 takes half the space; blocks are widened to float32, so that
later steps get the numbers of a fully converted file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.array_files import load_array
from mauve_core.base.errors import InputError, words_of
from mauve_core.base.files import require_plain_file, write_atomically
from mauve_core.corpus import Corpus
from mauve_core.encoders.feature_tables import SUFFIXES, matrix_of, names_table, read_features
from mauve_core.numerics.feature_space.stacked import Stacked, require_columns, require_usable

# An (n, d) array of numbers, a data frame of numbers, a column of vectors, or the path of a file that holds one.
FeaturesOrPath = ArrayLike | str | os.PathLike[str] | Any


def open_features(path: str | os.PathLike[str]) -> NDArray[np.floating]:
    """Open the array in a file, a .npy file as a read-only memory map, without checking its rows.

    Other files are read as :func:`mauve_core.encoders.feature_tables.read_features` does.

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
        Always write float16: half the space, three digits per number. ``benchmarks/half_precision.py`` measures the
        effect on scores.

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
