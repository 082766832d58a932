"""Numbers for every token of every text, cached on disk by content, so that the model reads each text once.

An entry is one ``.npy`` file in ``<home>/likelihoods``: a (total, 2 + c) float64 array. Each row holds the text's
index, whether that text was truncated, and c numbers of one token. The file name is a digest of the texts, prompts,
weights and computation, so entries never become stale.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.archives import load_array
from mauve_core.base.files import home, remove, storage_errors, write_array
from mauve_core.base.formatting import verb
from mauve_core.encoders.features import DamagedEntryWarning

# Numbers for the tokens of each text, and which texts were truncated.
Computed = tuple[Sequence[NDArray[np.float64]], NDArray[np.bool_]]

Computation = Callable[[], Computed]

# Part of every name; increase it if the same inputs would give different numbers.
FORMAT = 1


@dataclass(frozen=True, eq=False)
class Positions:
    """c numbers for each token that the model scored.

    Attributes
    ----------
    owner : (total,) int64 array
        Index of the token's text; ascending.
    values : (total, c) float64 array
    cut : (n,) bool array
        Whether the text exceeded the model's limit.
    """

    owner: NDArray[np.int64]
    values: NDArray[np.float64]
    cut: NDArray[np.bool_]

    @property
    def note(self) -> str:
        """A note if texts were truncated, else empty."""
        count = int(self.cut.sum())
        return (
            f"{count:,} of {len(self.cut):,} texts {verb(count, 'was', 'were')} cut at the scorer's limit"
            if count
            else ""
        )

    def of_texts(self, rows: NDArray[np.int64] | None) -> NDArray[np.float64]:
        """Numbers for the tokens of the texts at ``rows``; None takes all."""
        return self.values if rows is None else self.values[np.isin(self.owner, rows)]

    def first(self, length: int) -> Positions:
        """The numbers of each text's first ``length`` tokens; ``cut`` marks the texts that end before at the limit."""
        counts = np.bincount(self.owner, minlength=len(self.cut))
        kept = np.arange(len(self.owner)) - np.repeat(np.cumsum(counts) - counts, counts) < length
        return Positions(self.owner[kept], self.values[kept], self.cut & (counts < length))


def entry_path(model: str, what: str, texts: Sequence[str], prompts: Sequence[str] | None, **settings: Any) -> Path:
    """Path of the numbers ``what`` for these texts under the weights with digest ``model``."""
    content = [FORMAT, model, what, settings, list(texts), None if prompts is None else list(prompts)]
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    return home() / "likelihoods" / f"{digest}.npy"


def stored_or(path: Path, n: int, columns: int, compute: Computation) -> Positions:
    """The entry at ``path``; computes and stores it if it is missing, or damaged (DamagedEntryWarning).

    Parameters
    ----------
    n, columns : int
        Texts, and numbers per token.
    compute : callable
        Returns (t_i,) or (t_i, c) for each text, and (n,) whether each was truncated.

    Raises
    ------
    StorageError
        Writing to disk fails.
    """
    try:
        return _read(path, n, columns)
    except FileNotFoundError:
        pass
    except (ValueError, OSError) as error:
        message = f"The stored likelihoods {path} were damaged ({error}); they are recomputed"
        warnings.warn(message, DamagedEntryWarning, stacklevel=2)
        with storage_errors(path):
            remove(path)
    found, cut = compute()
    owner = np.repeat(np.arange(n), [len(numbers) for numbers in found])
    values = np.concatenate([np.asarray(numbers, dtype=np.float64).reshape(-1, columns) for numbers in found])
    write_array(path, np.column_stack([owner, cut[owner], values]))
    return Positions(owner, values, cut)


def _read(path: Path, n: int, columns: int) -> Positions:
    array = load_array(path)
    if array.dtype != np.float64 or array.ndim != 2 or array.shape[1] != 2 + columns or not np.isfinite(array).all():
        raise ValueError(f"{array.dtype} array of shape {array.shape}")
    owner = array[:, 0].astype(np.int64)
    indices, first = np.unique(owner, return_index=True)
    if not np.array_equal(indices, np.arange(n)) or (np.diff(array[:, 0]) < 0).any():
        raise ValueError(f"not the tokens of {n} texts")
    return Positions(owner, array[:, 2:], array[first, 1] == 1)
