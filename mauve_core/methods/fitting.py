"""Two sides of features fitted by an estimator, and what a method makes of the fit, with each group of texts left out.

A fit is the costly part and serves every divergence, smoothing and summary. Estimators with bins keep their bins while
texts are left out; the others are fitted again without them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.config import ScoreConfig
from mauve_core.methods.method import Method
from mauve_core.numerics.classifier_ratios import classifier_ratios
from mauve_core.numerics.clustering import default_k, kmeans
from mauve_core.numerics.gaussian_ratios import gaussian_ratios
from mauve_core.numerics.gram_kernels import Gram, ngram_gram, subsequence_gram
from mauve_core.numerics.kde_ratios import kde_ratios
from mauve_core.numerics.knn_ratios import knn_ratios, knn_ratios_from_gram
from mauve_core.numerics.mmd import mmd, mmd_left_out
from mauve_core.numerics.quantisers import QUANTISERS
from mauve_core.numerics.ratios import LogRatios, ratio_atoms
from mauve_core.numerics.reduction import reduce_features
from mauve_core.numerics.smoothing import probabilities
from mauve_core.numerics.string_models import string_ratios
from mauve_core.numerics.transport import frechet_cost, plug_in_cost, quantised_cost
from mauve_core.progress import Progress, silent

Features = NDArray[np.float32]
Tokens = list[NDArray[np.int64]]
Rows = NDArray[np.int64]
Histograms = tuple[NDArray[np.float64], NDArray[np.float64]]

NGRAM = 3
"""Tokens of the n-grams of the n-gram kernel."""

MMD_SPLITS = 100
"""Random halves of the human side behind the z-score of the MMD."""


@dataclass(frozen=True, eq=False)
class Sides:
    """The human side and one candidate, ready to be fitted.

    Attributes
    ----------
    x_p, x_q : (n, d) and (m, d) float32 arrays
    without : sequence of (rows of x_p, rows of x_q)
        What is kept when a group of texts is left out; empty where no spread over texts is asked for.
    score : ScoreConfig
    tokens : callable
        Gives the token ids of the texts of both sides, for estimators that read texts.
    device : str
    progress : callable
    """

    x_p: Features
    x_q: Features
    without: Sequence[tuple[Rows, Rows]]
    score: ScoreConfig
    tokens: Callable[[], tuple[Tokens, Tokens]]
    device: str = "cpu"
    progress: Progress = silent

    @cached_property
    def reduced(self) -> NDArray[np.float32]:
        """(n + m, c) coordinates of both sides in one space, as for the published scores."""
        stacked = np.concatenate([self.x_p, self.x_q])
        return reduce_features(stacked, explained_variance=self.score.explained_variance).array

    @property
    def k(self) -> int:
        """Clusters, where their number is free."""
        return self.score.k or default_k(len(self.x_p), len(self.x_q))


class Fit(ABC):
    """One estimator fitted to two sides.

    Attributes
    ----------
    notes : tuple of str
    z : float or None
        Standard scores above halves of the human side, where the estimator has them.
    """

    notes: tuple[str, ...] = ()
    z: float | None = None

    @abstractmethod
    def value(self, method: Method) -> float:
        """The method's value on all texts; may be infinite."""

    @abstractmethod
    def left_out(self, method: Method) -> NDArray[np.float64] | None:
        """(groups,) values without each group of texts; None where they cannot be had."""


class Binned(Fit):
    """Texts in bins.

    Parameters
    ----------
    labels_p, labels_q : (n,) and (m,) arrays of int
    k : int
    without : as of :class:`Sides`
    """

    def __init__(
        self, labels_p: NDArray[np.int32], labels_q: NDArray[np.int32], k: int, without: Sequence[tuple[Rows, Rows]]
    ) -> None:
        self.labels, self.k = (labels_p, labels_q), k
        if min(map(len, self.labels)) < k:
            self.notes = (f"{k:,} bins: fewer texts than bins on a side, so that even equal sides look far apart",)
        self._without = without

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(k,) texts in each bin, the human side first."""
        p, q = (np.bincount(labels, minlength=self.k).astype(np.int64) for labels in self.labels)
        return p, q

    def counts_without(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(groups, k) the same without each group of texts."""
        p, q = (
            np.array([np.bincount(labels[rows[side]], minlength=self.k) for rows in self._without], dtype=np.int64)
            for side, labels in enumerate(self.labels)
        )
        return p, q

    def value(self, method: Method) -> float:
        return float(method.value(*(probabilities(side, method.smoothing) for side in self.counts())))

    def left_out(self, method: Method) -> NDArray[np.float64] | None:
        if not self._without:
            return None
        return np.asarray(method.value(*(probabilities(side, method.smoothing) for side in self.counts_without())))


class Ratios(Fit):
    """Density ratios at the texts, or at draws; fitted anew without each group, unless that is too costly."""

    def __init__(self, sides: Sides, estimate: Callable[[Features, Features], LogRatios], *, again: bool) -> None:
        found = estimate(sides.x_p, sides.x_q)
        self.notes = found.notes
        self._all = ratio_atoms(found)
        self._sides, self._estimate, self._again = sides, estimate, again

    @cached_property
    def _without(self) -> list[Histograms]:
        pairs = ((self._sides.x_p[p], self._sides.x_q[q]) for p, q in self._sides.without)
        return [ratio_atoms(self._estimate(x_p, x_q)) for x_p, x_q in pairs]

    def value(self, method: Method) -> float:
        return float(method.value(*self._all))

    def left_out(self, method: Method) -> NDArray[np.float64] | None:
        if not self._again or not self._sides.without:
            return None
        return np.array([float(method.value(*pair)) for pair in self._without])


class Strings(Fit):
    """5-gram models of the tokens; the models stay while scored texts are left out."""

    def __init__(self, sides: Sides, seed: SeedSequence) -> None:
        found = string_ratios(*sides.tokens(), seed=int(seed.generate_state(1)[0]))
        self.notes = found.ratios.notes
        self._found, self._without = found, sides.without

    def value(self, method: Method) -> float:
        return float(method.value(*ratio_atoms(self._found.ratios)))

    def left_out(self, method: Method) -> NDArray[np.float64] | None:
        found, values = self._found, []
        for rows_p, rows_q in self._without:
            at_p = found.ratios.at_p[np.isin(found.rows_p, rows_p)]
            at_q = found.ratios.at_q[np.isin(found.rows_q, rows_q)]
            if not at_p.size or not at_q.size:
                return None
            values.append(float(method.value(*ratio_atoms(LogRatios(at_p, at_q)))))
        return np.array(values) if values else None


class Neighbours(Fit):
    """Nearest neighbours in a Gram matrix of all texts, P's first."""

    def __init__(self, sides: Sides, kernel: Callable[[Tokens], Gram]) -> None:
        p, q = sides.tokens()
        gram = kernel([*p, *q])
        found = knn_ratios_from_gram(gram.kernel, len(p))
        self.notes = (*gram.notes, *found.notes)
        self._all, self._kernel, self._n, self._without = ratio_atoms(found), gram.kernel, len(p), sides.without

    @cached_property
    def _fitted_without(self) -> list[Histograms]:
        found = []
        for rows_p, rows_q in self._without:
            rows = np.concatenate([rows_p, rows_q + self._n])
            found.append(ratio_atoms(knn_ratios_from_gram(self._kernel[np.ix_(rows, rows)], len(rows_p))))
        return found

    def value(self, method: Method) -> float:
        return float(method.value(*self._all))

    def left_out(self, method: Method) -> NDArray[np.float64] | None:
        pairs = self._fitted_without
        return np.array([float(method.value(*pair)) for pair in pairs]) if pairs else None


class Distance(Fit):
    """A distance of its own."""

    def __init__(
        self,
        sides: Sides,
        compute: Callable[[Features, Features], float],
        notes: tuple[str, ...] = (),
        *,
        again: bool = True,
    ) -> None:
        self._value = compute(sides.x_p, sides.x_q)
        self.notes = notes
        self._sides, self._compute, self._again = sides, compute, again

    @cached_property
    def _without(self) -> NDArray[np.float64]:
        pairs = self._sides.without
        return np.array([self._compute(self._sides.x_p[p], self._sides.x_q[q]) for p, q in pairs])

    def value(self, method: Method) -> float:  # noqa: ARG002 (such a method has no parts)
        return self._value

    def left_out(self, method: Method) -> NDArray[np.float64] | None:  # noqa: ARG002
        return self._without if self._again and self._sides.without else None


class Discrepancy(Fit):
    """The MMD, with its standard score."""

    def __init__(self, sides: Sides, seed: SeedSequence) -> None:
        found = mmd(sides.x_p, sides.x_q, splits=MMD_SPLITS, seed=seed)
        self.notes, self.z, self._value = found.notes, found.z, found.value
        self._sides, self._seed = sides, seed

    @cached_property
    def _without(self) -> NDArray[np.float64]:
        return mmd_left_out(self._sides.x_p, self._sides.x_q, self._sides.without, seed=self._seed)

    def value(self, method: Method) -> float:  # noqa: ARG002
        return self._value

    def left_out(self, method: Method) -> NDArray[np.float64] | None:  # noqa: ARG002
        return self._without if self._sides.without else None


def fit(estimator: str, sides: Sides, seed: SeedSequence) -> Fit:
    """The estimator of that name, fitted.

    Raises
    ------
    InputError
        The features are not ones that it can take.
    """
    return _FITS[estimator](sides, seed)


def _binned(name: str, sides: Sides, seed: SeedSequence) -> Fit:
    quantiser = QUANTISERS[name]
    k = sides.k if quantiser.bins is None else None
    found = quantiser.fit(sides.reduced, k, seed=seed, progress=sides.progress, device=sides.device)
    n = len(sides.x_p)
    return Binned(found.labels[:n], found.labels[n:], found.k, sides.without)


def _quantised_transport(sides: Sides, seed: SeedSequence) -> Fit:
    """Between the centres of k-means clusters, which stay as they are while texts are left out."""
    found = kmeans(sides.reduced, sides.k, restarts=sides.score.restarts, seed=seed)
    n = len(sides.x_p)
    return _BinnedTransport(Binned(found.labels[:n], found.labels[n:], sides.k, sides.without), found.centers)


class _BinnedTransport(Fit):
    def __init__(self, bins: Binned, centres: NDArray[np.float64]) -> None:
        self._bins, self._centres = bins, centres

    def value(self, method: Method) -> float:  # noqa: ARG002
        p, q = map(probabilities, self._bins.counts())
        return quantised_cost(p, q, self._centres)

    def left_out(self, method: Method) -> NDArray[np.float64] | None:  # noqa: ARG002
        pairs = list(zip(*self._bins.counts_without(), strict=True))
        if not pairs:
            return None
        return np.array([quantised_cost(probabilities(p), probabilities(q), self._centres) for p, q in pairs])


_FITS: dict[str, Callable[[Sides, SeedSequence], Fit]] = {
    **{name: partial(_binned, name) for name in QUANTISERS},
    "knn": lambda sides, _: Ratios(sides, knn_ratios, again=True),
    "kde": lambda sides, _: Ratios(sides, kde_ratios, again=True),
    "classifier": lambda sides, seed: Ratios(sides, partial(classifier_ratios, seed=seed), again=False),
    "gaussian": lambda sides, seed: Ratios(sides, partial(gaussian_ratios, seed=seed), again=True),
    "strings": Strings,
    "ngram-kernel": lambda sides, _: Neighbours(sides, partial(ngram_gram, n=NGRAM)),
    "subsequence-kernel": lambda sides, _: Neighbours(sides, subsequence_gram),
    "transport": lambda sides, seed: Distance(sides, lambda p, q: plug_in_cost(p, q, seed=seed).value),
    "frechet": lambda sides, _: Distance(sides, lambda p, q: frechet_cost(p, q).value),
    "quantised-transport": _quantised_transport,
    "mmd": Discrepancy,
}

DRAWING = frozenset({*QUANTISERS, "classifier", "gaussian", "strings", "quantised-transport"})
"""Estimators whose result depends on a seed."""
