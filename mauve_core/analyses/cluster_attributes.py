"""What clusters capture: how well they predict metadata columns and cheap text properties, as k grows.

For categories: held-out accuracy of guessing a text's category from its cluster, beside the baseline without clusters
(ICLR 2023, section 6.1); adjusted mutual information, which is 0 for uninformative clusters at any k; V-measure;
purity. For numbers: held-out R^2 (figure 13).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import Count, Share
from mauve_core.base.progress import Progress, silent
from mauve_core.scoring.result import Partition, SeedSpread
from mauve_core.stats.attributes import draw_halves, explained_variance, guess_categories, purity
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import kind_of
from mauve_core.texts.metadata import is_missing, python_values
from mauve_core.texts.properties import text_properties

if TYPE_CHECKING:
    import pandas as pd


# Kind of a column: text and truth values, numbers of the metadata, or a property of the texts.
Kind = Literal["category", "number", "surface"]

# Numeric properties of texts, judged beside the metadata columns.
SURFACE = ("length", "stop_words", "punctuation")

CATEGORICAL = ("accuracy", "baseline", "ami", "v_measure", "purity")
NUMERIC = ("r2",)

# A text column with more distinct values than this share of its texts names texts rather than sorts them. Texts of
# equal id count once: continuations of one prompt may share a value that names it.
MOST_DISTINCT = 0.5

# A column with fewer filled cells is left out.
LEAST_TEXTS = 10

# Progress stage; counts columns at each k.
STAGE = "Evaluating columns"


@dataclass(frozen=True)
class ValuePurity:
    """One category of a column.

    Attributes
    ----------
    value : str
        The category.
    n : int
        Number of its texts.
    share : float
        Their share of all texts, 0 to 1.
    purity : SeedSpread
        The category's mean share in the clusters of its texts, 0 to 1.
    """

    value: str
    n: Count
    share: Share
    purity: SeedSpread


@dataclass(frozen=True)
class Attribute:
    """How much the clusters tell about one column.

    Attributes
    ----------
    column : str
        A metadata column, or a name of ``SURFACE``.
    kind : {"category", "number", "surface"}
        Categories or numbers of metadata, or a property of the text itself.
    k : int
        Number of clusters.
    n, missing : int
        Number of texts with and without a value.
    scores : mapping of str to SeedSpread
        By name in ``CATEGORICAL`` or ``NUMERIC``. Accuracy, baseline and r2 have a value for each seed and split (by
        seed, then by split), the others one for each seed.
    by_value : tuple of ValuePurity
        For a category, the most frequent value first.
    """

    column: str
    kind: Kind
    k: Count
    n: Count
    missing: Count
    scores: Mapping[str, SeedSpread]
    by_value: tuple[ValuePurity, ...] = ()

    def __post_init__(self) -> None:
        names = CATEGORICAL if self.kind == "category" else NUMERIC
        if not set(names) <= set(self.scores):
            raise InputError("A column lacks scores", allowed=", ".join(names), received=", ".join(self.scores))


@dataclass(frozen=True)
class Attributes:
    """Every column at every k, in the order of the columns, then by increasing k; ``notes`` explain omitted columns."""

    rows: tuple[Attribute, ...]
    notes: tuple[str, ...]


def attributes(
    partitions: Sequence[Partition],
    corpora: Mapping[str, Corpus],
    *,
    columns: Sequence[str] | None = None,
    splits: int = 10,
    seed: int | np.random.SeedSequence,
    progress: Progress = silent,
) -> Attributes:
    """Judge how much the clusters of each partition tell about the texts.

    Parameters
    ----------
    partitions : sequence of Partition
        Those of equal k are repetitions under other seeds.
    corpora : mapping of str to Corpus
        Sources of the partitions whose texts are pooled: the human side alone, or both sides.
    columns : sequence of str, optional
        Metadata columns that all these corpora have; None takes all that can be judged.
    splits : int
        Number of random splits into two halves, the same for every column and partition; one half is for training.
        Texts of equal id, which continue the same prompt, stay in one half.
    seed : int or numpy.random.SeedSequence
    progress : callable
        May raise CancelledError.

    Raises
    ------
    InputError
        No partition, a source that a partition does not have with as many texts, or an unknown column.
    """
    _require_fit(partitions, corpora)
    rng = np.random.default_rng(seed)
    ids = np.array([text_id for corpus in corpora.values() for text_id in corpus.ids])
    train = draw_halves(ids, splits, rng)
    found, notes = _columns(corpora, columns)
    values: list[tuple[str, Kind, NDArray[Any]]] = [*found, *_surface(corpora)]
    by_k = _labels_by_k(partitions, list(corpora))
    steps = len(values) * len(by_k)
    rows = []
    for index, (column, kind, cells) in enumerate(values):
        present, problem = _filled(kind, cells, ids)
        problem = problem or _problem_of_halves(kind, cells[present], train[:, present])
        if problem:
            notes.append(f"{column}: left out because {problem}")
            continue
        for done, k in enumerate(sorted(by_k), start=index * len(by_k)):
            progress(STAGE, done, steps)
            rows.append(_judged(column, kind, cells, present, k, by_k[k], train))
    progress(STAGE, steps, steps)
    return Attributes(tuple(rows), tuple(notes))


def category_columns(corpora: Mapping[str, Corpus]) -> dict[str, NDArray[Any]]:
    """Return the category columns, text or truth values, that :func:`attributes` takes from all corpora.

    Each is an (n,) object array: the cells of all corpora in order, None where one is missing.
    """
    ids = np.array([text_id for corpus in corpora.values() for text_id in corpus.ids])
    usable = {}
    for name, kind, cells in _columns(corpora, None)[0]:
        if kind == "category" and not _filled(kind, cells, ids)[1]:
            usable[name] = cells
    return usable


def _require_fit(partitions: Sequence[Partition], corpora: Mapping[str, Corpus]) -> None:
    if not partitions or not corpora:
        raise InputError("There is nothing to evaluate", allowed="at least one partition and one corpus")
    for part in partitions:
        for name, corpus in corpora.items():
            if len(part.labels.get(name, ())) != len(corpus):
                raise InputError(f"A partition does not belong to the {len(corpus)} texts of {name!r}")


def _labels_by_k(partitions: Sequence[Partition], names: Sequence[str]) -> dict[int, list[NDArray[np.int32]]]:
    """Return the labels of the pooled sources under each partition, by number of clusters."""
    by_k: dict[int, list[NDArray[np.int32]]] = {}
    for part in partitions:
        by_k.setdefault(part.k, []).append(np.concatenate([part.labels[name] for name in names]))
    return by_k


def require_columns(corpora: Mapping[str, Corpus], columns: Sequence[str] | None) -> None:
    """Raise an InputError if a column is not in all corpora; None takes what there is."""
    everywhere = _shared_columns(corpora)
    unknown = [name for name in columns or () if name not in everywhere]
    if unknown:
        raise InputError(f"Not every corpus has a column {unknown[0]!r}", allowed=", ".join(everywhere) or "no column")


def _shared_columns(corpora: Mapping[str, Corpus]) -> list[str]:
    frames = [corpus.metadata for corpus in corpora.values()]
    names = dict.fromkeys(str(name) for frame in frames for name in frame.columns)
    return [name for name in names if all(name in frame.columns for frame in frames)]


def _columns(
    corpora: Mapping[str, Corpus], requested: Sequence[str] | None
) -> tuple[list[tuple[str, Kind, NDArray[Any]]], list[str]]:
    """Return (name, kind, cells) of each column that all corpora have, and notes on the others."""
    frames = [corpus.metadata for corpus in corpora.values()]
    names = list(dict.fromkeys(str(name) for frame in frames for name in frame.columns))
    require_columns(corpora, requested)
    everywhere = _shared_columns(corpora)
    notes = [f"{name}: left out because not every corpus has it" for name in names if name not in everywhere]
    columns: list[tuple[str, Kind, NDArray[Any]]] = []
    for name in everywhere if requested is None else requested:
        parts = [frame[name] for frame in frames]
        cells = np.array([cell for part in parts for cell in python_values(part)], dtype=object)
        columns.append((name, "number" if all(_is_number(part) for part in parts) else "category", cells))
    return columns, [] if requested is not None else notes


def _is_number(column: pd.Series[Any]) -> bool:
    return str(column.dtype) in ("int64", "Int64", "float64")


def _surface(corpora: Mapping[str, Corpus]) -> Iterator[tuple[str, Kind, NDArray[np.float64]]]:
    """Properties of texts; other items have theirs among the metadata."""
    if all(kind_of(corpus.kind).has_words for corpus in corpora.values()):
        surface = text_properties([text for corpus in corpora.values() for text in corpus.texts])
        yield from ((name, "surface", surface[name]) for name in SURFACE)


def _filled(kind: str, cells: NDArray[Any], ids: NDArray[np.str_]) -> tuple[NDArray[np.bool_], str]:
    """Return which cells have a value, and why these values cannot be judged, or an empty string."""
    present = np.array([not is_missing(cell) for cell in cells.tolist()])
    return present, _problem(kind, cells[present], ids[present])


def _problem(kind: str, cells: NDArray[Any], ids: NDArray[np.str_]) -> str:
    if cells.size < LEAST_TEXTS:
        return f"it has {cells.size} values; at least {LEAST_TEXTS} are needed"
    distinct, distinct_ids = len({str(cell) for cell in cells}), np.unique(ids).size
    if distinct == 1:
        return "all its values are equal"
    if kind == "category" and distinct > MOST_DISTINCT * distinct_ids:
        return f"it has {distinct:,} different values for {distinct_ids:,} items, so they identify them"
    if kind != "category" and not np.isfinite(cells.astype(np.float64)).all():
        return "not all its values are finite"
    return ""


def _problem_of_halves(kind: str, cells: NDArray[Any], train: NDArray[np.bool_]) -> str:
    """Return why these splits cannot judge the column, or an empty string."""
    if not (train.any(axis=1) & ~train.all(axis=1)).all():
        return "one half of a split has no value"
    if kind != "category" and any(np.ptp(cells[~half].astype(np.float64)) == 0 for half in train):
        return "all its values are equal in one half of a split"
    return ""


def _judged(
    column: str,
    kind: Kind,
    cells: NDArray[Any],
    present: NDArray[np.bool_],
    k: int,
    labels: Sequence[NDArray[np.int32]],
    train: NDArray[np.bool_],
) -> Attribute:
    """Judge one column at one k by its filled cells; ``labels`` has one row per seed, ``train`` one per split."""
    values, labels, halves = cells[present], [row[present] for row in labels], train[:, present]
    if kind == "category":
        scores, by_value = _category(values, labels, k, halves)
    else:
        scores, by_value = _number(values, labels, halves), ()
    return Attribute(column, kind, k, len(values), len(cells) - len(values), scores, by_value)


def _category(
    cells: NDArray[Any], labels: Sequence[NDArray[np.int32]], k: int, train: NDArray[np.bool_]
) -> tuple[dict[str, SeedSpread], tuple[ValuePurity, ...]]:
    from sklearn.metrics import adjusted_mutual_info_score, v_measure_score

    counts = Counter(str(cell) for cell in cells)
    # The most frequent value gets number 0, so that it wins ties in a cluster.
    names = sorted(counts, key=lambda name: (-counts[name], name))
    code_of = {name: code for code, name in enumerate(names)}
    codes = np.array([code_of[str(cell)] for cell in cells])
    guesses = [guess_categories(row, codes, train) for row in labels]
    purities = [purity(row, k, codes) for row in labels]
    scores = {
        "accuracy": SeedSpread.of([value for each in guesses for value in each.accuracy]),
        "baseline": SeedSpread.of(guesses[0].baseline),
        "ami": SeedSpread.of([adjusted_mutual_info_score(codes, row) for row in labels]),
        "v_measure": SeedSpread.of([v_measure_score(codes, row) for row in labels]),
        "purity": SeedSpread.of([each.overall for each in purities]),
    }
    by_value = tuple(
        ValuePurity(
            name,
            counts[name],
            float(purities[0].share[code]),
            SeedSpread.of([each.by_value[code] for each in purities]),
        )
        for code, name in enumerate(names)
    )
    return scores, by_value


def _number(
    cells: NDArray[Any], labels: Sequence[NDArray[np.int32]], train: NDArray[np.bool_]
) -> dict[str, SeedSpread]:
    numbers = cells.astype(np.float64)
    return {"r2": SeedSpread.of([value for row in labels for value in explained_variance(row, numbers, train)])}
