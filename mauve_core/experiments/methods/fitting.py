"""Fit an estimator to two sides of features and evaluate methods, including without each group of texts.

Estimators with bins keep their bins while texts are left out; the others are fitted again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.clusters.quantisers import QUANTISERS
from mauve_core.estimators.kernel_discrepancy import kernel_distance, kernel_distances
from mauve_core.estimators.ratio_estimators import (
    classifier_ratios,
    gaussian_ratios,
    kde_ratios,
    knn_ratios,
    knn_ratios_from_gram,
)
from mauve_core.estimators.ratios import LogRatios, coordinates_kept
from mauve_core.estimators.string_kernels import Gram, ngram_gram, subsequence_gram
from mauve_core.estimators.string_models import string_ratios
from mauve_core.estimators.transport import plug_in_cost, plug_in_parts
from mauve_core.experiments.methods.distances import (
    CLUSTERED,
    Discrepancy,
    Distance,
    Frechet,
    Transport,
    WithoutBias,
    interpolated,
)
from mauve_core.experiments.methods.method import Method
from mauve_core.experiments.methods.sides import Binned, Features, Fit, Sides, Tokens

# Tokens per n-gram of the n-gram kernel.
NGRAM = 3


class RatioFit(Fit):
    """Density ratios of the texts, for all texts and without each group; serves every expectation."""

    def __init__(self, found: LogRatios, notes: tuple[str, ...] = ()) -> None:
        self.notes = (*notes, *found.notes)
        self.ratios = found

    @cached_property
    @abstractmethod
    def _without_groups(self) -> list[LogRatios]:
        """The ratios without each group of texts; empty if unavailable."""

    def value(self, method: Method) -> float:
        return method.ratio_value(self.ratios)

    def left_out(self, method: Method) -> NDArray[np.float64] | None:
        found = [method.ratio_value(ratios) for ratios in self._without_groups]
        return np.array(found) if found else None


class Estimated(RatioFit):
    """Density ratios at the texts or at draws; refitted without each group unless too costly."""

    def __init__(self, sides: Sides, estimate: Callable[[Features, Features], LogRatios], *, refit: bool) -> None:
        with coordinates_kept(sides.coordinates):
            super().__init__(estimate(sides.x_p, sides.x_q))
        self._sides, self._estimate, self._refit = sides, estimate, refit

    @cached_property
    def _without_groups(self) -> list[LogRatios]:
        pairs = ((self._sides.x_p[p], self._sides.x_q[q]) for p, q in self._sides.jackknife_rows)
        with coordinates_kept(self._sides.coordinates):
            return [self._estimate(x_p, x_q) for x_p, x_q in pairs] if self._refit else []


class Direct(RatioFit):
    """Probabilities of the texts under two models, which stay fixed while texts are left out."""

    def __init__(self, sides: Sides, _: SeedSequence) -> None:
        if sides.ratios is None:
            raise InputError(
                "Direct estimation needs two causal models, in place of the human side and of the candidates",
                todo="Name both: --human-model and --candidate-model",
            )
        self._jackknife_rows = sides.jackknife_rows
        super().__init__(sides.ratios())

    @cached_property
    def _without_groups(self) -> list[LogRatios]:
        ratios = self.ratios
        return [LogRatios(ratios.at_p[rows_p], ratios.at_q[rows_q]) for rows_p, rows_q in self._jackknife_rows]


class Strings(RatioFit):
    """5-gram models of the tokens; the models stay fixed while scored texts are left out."""

    def __init__(self, sides: Sides, seed: SeedSequence) -> None:
        self._scored = string_ratios(*sides.tokens(), seed=int(seed.generate_state(1)[0]))
        self._jackknife_rows = sides.jackknife_rows
        super().__init__(self._scored.ratios)

    @cached_property
    def _without_groups(self) -> list[LogRatios]:
        scored, found = self._scored, list[LogRatios]()
        for rows_p, rows_q in self._jackknife_rows:
            at_p = scored.ratios.at_p[np.isin(scored.rows_p, rows_p)]
            at_q = scored.ratios.at_q[np.isin(scored.rows_q, rows_q)]
            if not at_p.size or not at_q.size:
                return []
            found.append(LogRatios(at_p, at_q))
        return found


class Neighbours(RatioFit):
    """Nearest neighbors in a Gram matrix of all texts, P's first."""

    def __init__(self, sides: Sides, kernel: Callable[[Tokens], Gram]) -> None:
        p, q = sides.tokens()
        gram = kernel([*p, *q])
        self._kernel, self._n, self._jackknife_rows = gram.kernel, len(p), sides.jackknife_rows
        super().__init__(knn_ratios_from_gram(gram.kernel, len(p)), gram.notes)

    @cached_property
    def _without_groups(self) -> list[LogRatios]:
        found = []
        for rows_p, rows_q in self._jackknife_rows:
            rows = np.concatenate([rows_p, rows_q + self._n])
            found.append(knn_ratios_from_gram(self._kernel[np.ix_(rows, rows)], len(rows_p)))
        return found


def fit(estimator: str, sides: Sides, seed: SeedSequence, **parameters: float) -> Fit:
    """Fit the estimator of that name; InputError if the features do not suit it, or it has no such parameter.

    ``parameters`` are those of ``PARAMETERS``, by the names of the functions in ``estimators``; those left out
    have that function's defaults.
    """
    known = PARAMETERS.get(estimator, ())
    if unknown := sorted(parameters.keys() - set(known)):
        raise InputError(
            f"The method {estimator} has no such parameter",
            allowed=", ".join(known) or "none",
            received=", ".join(unknown),
        )
    return _FITS[estimator](sides, seed, **parameters)


def _binned(name: str, sides: Sides, seed: SeedSequence) -> Fit:
    quantiser = QUANTISERS[name]
    k = sides.k if quantiser.bins is None else None
    found = quantiser.fit(sides.reduced, k, seed=seed, progress=sides.progress, device=sides.device)
    n = len(sides.x_p)
    return Binned(found.labels[:n], found.labels[n:], found.k, sides)


_FITS: dict[str, Callable[..., Fit]] = {
    **{name: partial(_binned, name) for name in QUANTISERS},
    "knn": lambda sides, _, **given: Estimated(sides, partial(knn_ratios, **given), refit=True),
    "kde": lambda sides, _, **given: Estimated(sides, partial(kde_ratios, **given), refit=True),
    "classifier": lambda sides, seed: Estimated(sides, partial(classifier_ratios, seed=seed), refit=False),
    "gaussian": lambda sides, seed, **given: Estimated(sides, partial(gaussian_ratios, seed=seed, **given), refit=True),
    "direct": Direct,
    "strings": Strings,
    "ngram-kernel": lambda sides, _: Neighbours(sides, partial(ngram_gram, n=NGRAM)),
    "subsequence-kernel": lambda sides, _: Neighbours(sides, subsequence_gram),
    "transport": lambda sides, _: Distance(sides, plug_in_cost, plug_in_parts),
    "frechet": lambda sides, _: Frechet(sides),
    "frechet-limit": WithoutBias,
    "quantised-transport": Transport,
    **{name: partial(interpolated, name) for name in ("transport-linear", "transport-barycentric")},
    "mmd": Discrepancy,
    "kid": lambda sides, _: Distance(sides, kernel_distance, kernel_distances),
}

# Parameters that :func:`fit` takes, by estimator.
PARAMETERS: dict[str, tuple[str, ...]] = {
    "knn": ("k", "components"),
    "kde": ("components", "times"),
    "gaussian": ("components",),
}

# Estimators that cannot compare two halves of the human texts, because one model would stand for both.
WITHOUT_HALVES = frozenset({"direct"})

# Estimators with results that depend on a seed.
DRAWING = frozenset({*QUANTISERS, *CLUSTERED, "classifier", "gaussian", "strings"})

# Estimators that share clusters and thus a random stream; every other one has its own stream.
STREAMS = dict.fromkeys(CLUSTERED, CLUSTERED[0])
