"""What takes seconds to find out about a run and never changes: score bases, words and properties, kept beside it.

Files lie in the run's folder, below ``derived``, one an item: plain arrays, no pickle. They follow from the run alone,
so they may be deleted at any time; what is missing, damaged or of another format is found out again and kept. A folder
that cannot be written keeps nothing, and everything is found out each time.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from mauve_core.config import HUMAN, PartitionKind, Smoothing
from mauve_core.errors import InputError, StorageError
from mauve_core.estimates import ScoreBasis, Spread, score_basis
from mauve_core.files import write_atomically
from mauve_core.numerics.frontier import REFERENCE_WEIGHTS, Frontier
from mauve_core.progress import Progress, silent
from mauve_core.properties import PROPERTIES, text_properties
from mauve_core.store import Run
from mauve_core.words import WordCounts, count_words

DERIVED = "derived"
FORMAT = 1
"""Version of the files; those of another version are made again."""

KEPT_SMOOTHINGS: tuple[Smoothing, ...] = ("none", "krichevsky-trofimov")
"""Smoothings whose score bases are kept; about 2 MB a candidate, partition and smoothing."""

READING = "reading the texts"
"""Stage of the work, for whoever shows progress."""

_KINDS: tuple[PartitionKind, ...] = ("pairwise", "joint")
_Arrays = dict[str, NDArray[Any]]


def derive(run: Run, progress: Progress = silent) -> None:
    """Find out and keep everything, for a run that was just made; what is there already stays."""
    sources = [source.name for source in run.comparison.sources]
    steps: list[Callable[[], object]] = [
        *(lambda kind=kind, each=each: run_basis(run, kind, each) for kind in _KINDS for each in KEPT_SMOOTHINGS),
        *(lambda name=name: run_words(run, name) for name in sources),
        *(lambda name=name: run_properties(run, name) for name in sources),
    ]
    for done, step in enumerate(steps):
        progress(READING, done, len(steps))
        step()
    progress(READING, len(steps), len(steps))


def run_basis(run: Run, kind: PartitionKind, smoothing: Smoothing) -> dict[str, ScoreBasis]:
    """As ``mauve_core.estimates.score_basis``; kept for ``KEPT_SMOOTHINGS``."""
    if smoothing not in KEPT_SMOOTHINGS:
        return score_basis(run.comparison, kind, smoothing)
    names = [candidate.name for candidate in run.comparison.candidates]
    names += [HUMAN] if kind == "pairwise" and run.comparison.halves is not None else []

    def make() -> _Arrays:
        found = score_basis(run.comparison, kind, smoothing)
        return {
            f"{place}-{part}": array
            for place, name in enumerate(names)
            for part, array in _arrays_of_basis(found[name]).items()
        }

    arrays = _kept(run, f"basis-{kind}-{smoothing}", make)
    return {name: _basis(arrays, place) for place, name in enumerate(names)}


def run_words(run: Run, source: str) -> WordCounts:
    """The words of one source's texts, as ``mauve_core.words.count_words`` has them."""

    def make() -> _Arrays:
        found = count_words(run.corpora[source].texts)
        return {
            "vocabulary": np.array(found.vocabulary.tolist(), dtype=np.str_),
            "data": found.matrix.data,
            "indices": found.matrix.indices,
            "indptr": found.matrix.indptr,
        }

    arrays = _kept(run, f"words-{_place(run, source)}", make)
    shape = len(run.corpora[source]), arrays["vocabulary"].size
    matrix = csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
    return WordCounts(arrays["vocabulary"].astype(object), matrix)


def run_properties(run: Run, source: str) -> dict[str, NDArray[np.float64]]:
    """As ``mauve_core.properties.text_properties`` of one source's texts."""
    arrays = _kept(run, f"properties-{_place(run, source)}", lambda: text_properties(run.corpora[source].texts))
    return {name: arrays[name] for name in PROPERTIES}


def _place(run: Run, source: str) -> int:
    names = [each.name for each in run.comparison.sources]
    if source not in names:
        raise InputError(f"No source named {source!r} in run {run.id}", allowed=", ".join(names))
    return names.index(source)


def _kept(run: Run, name: str, make: Callable[[], Mapping[str, NDArray[Any]]]) -> _Arrays:
    """The arrays kept under that name, else those that ``make`` returns, which are then kept."""
    path = run.path / DERIVED / f"{name}.npz"
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            if int(file["format"]) == FORMAT:
                return {key: file[key] for key in file.files}
    except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile):
        pass  # not there, damaged or of another format: made again
    arrays = dict(make())
    if run.path.is_dir():
        with suppress(StorageError):  # a home that is full or read-only can still be looked at
            write_atomically(path, lambda stream: np.savez(stream, format=np.array(FORMAT), **arrays))  # type: ignore[arg-type]
    return arrays


def _arrays_of_basis(basis: ScoreBasis) -> _Arrays:
    arrays: _Arrays = {}
    for name, pair in (("plain", basis.plain), ("star", basis.star)):
        for which, frontier in zip(("own", "resampled"), pair, strict=True):
            arrays |= {f"{name}-{which}-1": frontier.type1, f"{name}-{which}-2": frontier.type2}
    for name, spread in (("integral", basis.frontier_integral), ("mid", basis.mid)):
        arrays |= {f"{name}-own": spread.values, f"{name}-resampled": spread.resampled}
    return arrays


def _basis(arrays: Mapping[str, NDArray[Any]], place: int) -> ScoreBasis:
    def frontier(name: str) -> Frontier:
        return Frontier(REFERENCE_WEIGHTS, arrays[f"{place}-{name}-1"], arrays[f"{place}-{name}-2"])

    def spread(name: str) -> Spread:
        return Spread(arrays[f"{place}-{name}-own"], arrays[f"{place}-{name}-resampled"])

    return ScoreBasis(
        plain=(frontier("plain-own"), frontier("plain-resampled")),
        star=(frontier("star-own"), frontier("star-resampled")),
        frontier_integral=spread("integral"),
        mid=spread("mid"),
    )
