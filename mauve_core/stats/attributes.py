"""How much clusters tell about known attributes of texts: categories such as topics, or numbers such as lengths.

Each cluster predicts the most frequent category of its training texts (Pimentel, Meister and Cotterell, ICLR 2023,
section 6.1), or the mean of a number over them (figure 13). Only held-out texts are predicted, so small clusters gain
nothing from their size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.stats import _checks


@dataclass(frozen=True, eq=False)
class Guesses:
    """Accuracy of predicted categories, in each split.

    Attributes
    ----------
    accuracy : (splits,) float64 array
        Share of the test texts whose category is that of their cluster.
    baseline : (splits,) float64 array
        Share of the test texts with the most frequent category of the training texts.
    """

    accuracy: NDArray[np.float64]
    baseline: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Purity:
    """Purity of clusters in one category.

    Attributes
    ----------
    by_cluster : (k,) float64 array
        Share of the most frequent category in the cluster; nan if it is empty.
    top : (k,) int64 array
        That category, the smallest number of a tie; -1 if the cluster is empty.
    by_value : (v,) float64 array
        For the texts of each category, its mean share in their clusters; nan if no text has it.
    share : (v,) float64 array
        Share of each category in all texts, the approximate ``by_value`` of uninformative clusters.
    overall : float
        Mean of ``by_cluster`` over texts.
    """

    by_cluster: NDArray[np.float64]
    top: NDArray[np.int64]
    by_value: NDArray[np.float64]
    share: NDArray[np.float64]
    overall: float


def draw_halves(groups: ArrayLike, splits: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(splits, n) tables that are true for training texts: half of the groups, drawn anew in each split.

    Parameters
    ----------
    groups : (n,) array
        Texts of one group, such as a prompt, stay together. At least two groups.
    splits : int

    Raises
    ------
    InputError
        There are fewer than two groups, or no split.
    """
    splits = _checks.whole("The number of splits", splits, low=1)
    names, codes = np.unique(np.asarray(groups), return_inverse=True)
    if names.size < 2:
        raise InputError("Too few texts to split", allowed="at least two in different groups")
    ranks = rng.permuted(np.tile(np.arange(names.size), (splits, 1)), axis=1)
    return np.asarray((ranks < names.size // 2)[:, codes.ravel()])


def guess_categories(labels: ArrayLike, categories: ArrayLike, train: NDArray[np.bool_]) -> Guesses:
    """Predict the category of test texts as the most frequent one among the training texts of their cluster.

    A cluster without a training text predicts the most frequent one of all. Ties go to the smallest number.

    Parameters
    ----------
    labels, categories : (n,) array of int
        Cluster and category of each text, from 0.
    train : (splits, n) array of bool
        From :func:`draw_halves`; both halves have texts.

    Raises
    ------
    InputError
        The arrays do not fit each other, or a split has an empty half.
    """
    clusters, values = _codes(labels, "Labels"), _codes(categories, "Categories")
    _require_fit(clusters, values, train)
    k, v = int(clusters.max()) + 1, int(values.max()) + 1
    cells, all_texts = clusters * v + values, np.bincount(clusters * v + values, minlength=k * v).reshape(k, v)
    accuracy, baseline = np.empty(len(train)), np.empty(len(train))
    for split, chosen in enumerate(train):
        seen = np.bincount(cells[chosen], minlength=k * v).reshape(k, v)
        test, common = all_texts - seen, int(seen.sum(axis=0).argmax())
        guess = np.where(seen.any(axis=1), seen.argmax(axis=1), common)
        accuracy[split] = test[np.arange(k), guess].sum() / test.sum()
        baseline[split] = test[:, common].sum() / test.sum()
    return Guesses(accuracy, baseline)


def explained_variance(labels: ArrayLike, values: ArrayLike, train: NDArray[np.bool_]) -> NDArray[np.float64]:
    """R^2 of predicting a number by its mean over the training texts of the cluster.

    A cluster without a training text predicts the mean of all training texts.

    Parameters
    ----------
    labels : (n,) array of int
        Cluster of each text, from 0.
    values : (n,) array
        Finite numbers.
    train : (splits, n) array of bool

    Returns
    -------
    (splits,) float64 array
        1 - squared errors / squared distances to the test texts' own mean: at most 1, below 0 if that mean predicts
        better; nan if the test texts are all equal.

    Raises
    ------
    InputError
        The arrays do not fit each other, numbers are not finite, or a split has an empty half.
    """
    clusters = _codes(labels, "Labels")
    numbers = _checks.numbers(values, "The array of values").astype(np.float64)
    _require_fit(clusters, numbers, train)
    if not np.isfinite(numbers).all():
        raise InputError("The values are not usable", allowed="finite numbers")
    centred, k = numbers - numbers.mean(), int(clusters.max()) + 1
    result = np.full(len(train), np.nan)
    for split, chosen in enumerate(train):
        sums = np.bincount(clusters[chosen], weights=centred[chosen], minlength=k)
        sizes = np.bincount(clusters[chosen], minlength=k)
        guess = np.divide(sums, sizes, out=np.full(k, centred[chosen].mean()), where=sizes > 0)
        test = centred[~chosen]
        if test.min() < test.max():
            errors = test - guess[clusters[~chosen]]
            result[split] = 1 - (errors @ errors) / ((test - test.mean()) ** 2).sum()
    return result


def purity(labels: ArrayLike, k: int, categories: ArrayLike) -> Purity:
    """Purity of the k clusters.

    Raises
    ------
    InputError
        The arrays do not fit each other, or labels lie beyond k.
    """
    clusters, values = _codes(labels, "Labels"), _codes(categories, "Categories")
    k = _checks.whole("The number of clusters", k, low=int(clusters.max()) + 1)
    _require_fit(clusters, values, None)
    v = int(values.max()) + 1
    table = np.bincount(clusters * v + values, minlength=k * v).reshape(k, v).astype(np.float64)
    sizes, totals = table.sum(axis=1), table.sum(axis=0)
    inside = np.divide(table, sizes[:, None], out=np.zeros_like(table), where=sizes[:, None] > 0)
    filled = sizes > 0
    return Purity(
        by_cluster=np.where(filled, inside.max(axis=1), np.nan),
        top=np.where(filled, table.argmax(axis=1), -1),
        by_value=np.divide((table * inside).sum(axis=0), totals, out=np.full(v, np.nan), where=totals > 0),
        share=totals / totals.sum(),
        overall=float(table.max(axis=1).sum() / sizes.sum()),
    )


def _codes(values: ArrayLike, what: str) -> NDArray[np.intp]:
    array = np.asarray(values)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu" or array.min() < 0:
        received = f"shape {array.shape}, dtype {array.dtype}"
        raise InputError(f"{what} are not usable", allowed="a row of whole numbers of at least 0", received=received)
    return array.astype(np.intp)


def _require_fit(labels: NDArray[np.intp], values: NDArray[np.generic], train: NDArray[np.bool_] | None) -> None:
    n = labels.size
    if values.shape != (n,):
        raise InputError("Labels and values do not match", allowed=f"shape ({n},)", received=f"shape {values.shape}")
    if train is None:
        return
    if train.dtype != np.bool_ or train.ndim != 2 or train.shape[1] != n:
        received = f"shape {train.shape}, dtype {train.dtype}"
        raise InputError(
            "The splits do not match the texts", allowed=f"booleans of shape (splits, {n})", received=received
        )
    if not train.any(axis=1).all() or train.all(axis=1).any():
        raise InputError("A split has an empty half", todo="Give more texts that have a value")
