"""Estimators fitted to the human side and one candidate; a fit is the costly part and serves every method.

Estimators with bins keep their bins while a group of texts is left out; the others are fitted again. Transport, its
frontiers between cluster centers and the MMD have their own distance (JMLR 2023, section 7.4.2; Gretton et al., JMLR
2012). Model probabilities (JMLR 2023, section 7.3.3): the human distribution is unknown, so a causal model stands for
it too; both models score every text of both sides, after its prompt, and the results are cached on disk. The
candidate's model is used without its decoder's changes. There MAUVE has c = 1/2, as in figure 10, so it lies between
pi / 4 = 0.785, for sides that share nothing, and 1 (``estimators.ratios.SCALES``; the published 25 weights
make it 0.784), and is the mean over the texts of both sides, not over a side's own; for sides that share nothing the
two agree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.analyses.measure_inputs import Collection, MeasureContext
from mauve_core.analyses.methods import Method
from mauve_core.base.config import HUMAN, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import verb
from mauve_core.base.progress import Progress, silent
from mauve_core.clusters.k_means import Clustering, default_k, kmeans
from mauve_core.clusters.quantisers import QUANTISERS
from mauve_core.clusters.reduction import reduce_features
from mauve_core.encoders.catalogue import identify
from mauve_core.encoders.models import load_tokenizer
from mauve_core.estimators.kernel_discrepancy import kernel_distance, kernel_distances, mmd, mmd_left_out
from mauve_core.estimators.ratio_estimators import (
    classifier_ratios,
    gaussian_ratios,
    kde_ratios,
    knn_ratios,
    knn_ratios_from_gram,
)
from mauve_core.estimators.ratios import Coordinates, LogRatios, coordinates_kept, direct_ratios
from mauve_core.estimators.string_kernels import Gram, ngram_gram, subsequence_gram
from mauve_core.estimators.string_models import string_ratios
from mauve_core.estimators.transport import (
    barycentric_frontier,
    frechet_cost,
    frechet_limit,
    linear_frontier,
    plug_in_cost,
    plug_in_parts,
    quantised_cost,
)
from mauve_core.scoring.streams import stream
from mauve_core.stats.divergences import Frontier, probabilities
from mauve_core.stats.resampling import Corrected, bias_reduced
from mauve_core.stats.units import each_alone, units_of

Features = NDArray[np.float32]
Tokens = list[NDArray[np.int64]]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sides:
    """The human side and one candidate, ready for fitting.

    Attributes
    ----------
    x_p, x_q : (n, d) and (m, d) float32 arrays
    jackknife_rows : sequence of (rows of x_p, rows of x_q)
        Rows to keep when leaving out each group of texts; empty if no spread over texts is needed.
    tokens : callable
        Returns token ids of both sides, for estimators that read texts.
    ratios : callable, optional
        Returns probability ratios of the texts under two models, if known.
    units : pair of (n,) and (m,) arrays of int, optional
        Prompts of the texts of both sides by common numbers; None if each text stands alone.
    """

    x_p: Features
    x_q: Features
    jackknife_rows: Sequence[tuple[Rows, Rows]]
    score: ScoreConfig
    tokens: Callable[[], tuple[Tokens, Tokens]]
    device: str = "cpu"
    progress: Progress = silent
    ratios: Callable[[], LogRatios] | None = None
    units: tuple[Rows, Rows] | None = None

    @cached_property
    def reduced(self) -> NDArray[np.float32]:
        """(n + m, c) coordinates of both sides in one space, as for published scores."""
        stacked = np.concatenate([self.x_p, self.x_q])
        score = self.score
        return reduce_features(stacked, explained_variance=score.explained_variance, unit_rows=score.unit_rows).array

    def clustered(self, seed: SeedSequence) -> Clustering:
        """k-means of both sides in the reduced space, cached by seed."""
        key = (seed.entropy, seed.spawn_key)
        if key not in self._clustered:
            self._clustered[key] = kmeans(self.reduced, self.k, restarts=self.score.restarts, seed=seed)
        return self._clustered[key]

    @cached_property
    def _clustered(self) -> dict[object, Clustering]:
        return {}

    @cached_property
    def frechet(self) -> float:
        """The Fréchet distance, which two estimators start from."""
        return frechet_cost(self.x_p, self.x_q)

    @cached_property
    def frechet_left_out(self) -> NDArray[np.float64]:
        """(groups,) Fréchet distances without each group of texts."""
        return np.array([frechet_cost(self.x_p[p], self.x_q[q]) for p, q in self.jackknife_rows])

    @cached_property
    def coordinates(self) -> dict[Hashable, Coordinates]:
        """Cache of principal coordinates, for ``estimators.ratios.coordinates_kept``."""
        return {}

    @property
    def k(self) -> int:
        """Number of clusters if it is free."""
        return self.score.k or default_k(len(self.x_p), len(self.x_q))


class Fit(ABC):
    """One estimator fitted to two sides.

    Attributes
    ----------
    notes : tuple of str
        How it was computed.
    caveats : tuple of str
        Why its value is to be read with care.
    z : float or None
        Its standard score against halves of the human side, if any.
    """

    notes: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    z: float | None = None

    @abstractmethod
    def value(self, method: Method) -> float:
        """The method's value on all texts; may be infinite."""

    @abstractmethod
    def left_out(self, method: Method) -> NDArray[np.float64] | None:
        """(groups,) values without each group of texts; None if unavailable."""


class Binned(Fit):
    """Texts in bins.

    Parameters
    ----------
    labels_p, labels_q : (n,) and (m,) arrays of int
    sides : Sides
        Whose texts these are: their groups and prompts, and the seed of a correction's resamples.
    """

    def __init__(
        self,
        labels_p: NDArray[np.int32],
        labels_q: NDArray[np.int32],
        k: int,
        sides: Sides,
    ) -> None:
        self.labels, self.k = (labels_p, labels_q), k
        if min(map(len, self.labels)) < k:
            self.notes = (f"{k:,} bins: fewer points than bins on a side, so even equal sides look far apart",)
        self._jackknife_rows, self._units = sides.jackknife_rows, sides.units
        self._seed = stream(sides.score.seed, "correction")

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(k,) number of texts per bin, the human side first."""
        p, q = (np.bincount(labels, minlength=self.k).astype(np.int64) for labels in self.labels)
        return p, q

    def jackknife_counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(groups, k) counts without each group of texts."""
        p, q = (
            np.array(
                [np.bincount(labels[rows[side]], minlength=self.k) for rows in self._jackknife_rows], dtype=np.int64
            )
            for side, labels in enumerate(self.labels)
        )
        return p, q

    def value(self, method: Method) -> float:
        if method.correction != "none":
            return method.corrected_value(self._corrected)
        return float(method.value(*(probabilities(side, method.smoothing) for side in self.counts())))

    def left_out(self, method: Method) -> NDArray[np.float64] | None:
        if not self._jackknife_rows:
            return None
        if method.correction != "none":
            return np.array([method.corrected_value(found) for found in self._corrected_without_groups])
        return np.asarray(method.value(*(probabilities(side, method.smoothing) for side in self.jackknife_counts())))

    @cached_property
    def _corrected(self) -> Corrected:
        p, q = self.labels
        return self._bias_reduced(np.arange(p.size), np.arange(q.size))

    @cached_property
    def _corrected_without_groups(self) -> list[Corrected]:
        return [self._bias_reduced(*rows) for rows in self._jackknife_rows]

    def _bias_reduced(self, rows_p: Rows, rows_q: Rows) -> Corrected:
        """Of these rows; units are drawn as wholes, and by the same seed for all fits."""
        p, q = self.labels[0][rows_p], self.labels[1][rows_q]
        units = self._units
        drawn = each_alone(p.size, q.size) if units is None else units_of(units[0][rows_p], units[1][rows_q])
        return bias_reduced(p, q, self.k, drawn, seed=self._seed)


# Random halves of the human side for the z-score of the MMD.
MMD_SPLITS = 100

# Maximum number of clusters for a jackknife of the linear frontier. Each of its 50 costs takes 2 ms for 200 centers and
# grows about as k squared.
SPREAD_LIMIT = 200

# Estimators that share the same k-means clusters.
CLUSTERED = ("quantised-transport", "transport-linear", "transport-barycentric")

Compute = Callable[[Features, Features], float]
LeftOut = Callable[[Features, Features, Sequence[tuple[Rows, Rows]]], NDArray[np.float64]]

# p (k,), q (k,), centers (k, d) -> frontier.
FrontierOf = Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], Frontier]


class Distance(Fit):
    """A distance between the texts themselves, recomputed without each group.

    Parameters
    ----------
    compute : callable
        Features of both sides -> value.
    left_out : callable, optional
        Features of both sides and the rows to keep -> values, if faster than repeated calls of ``compute``.
    """

    def __init__(self, sides: Sides, compute: Compute, left_out: LeftOut | None = None) -> None:
        self._value = compute(sides.x_p, sides.x_q)
        self._sides, self._compute, self._left_out = sides, compute, left_out

    @cached_property
    def _jackknife_values(self) -> NDArray[np.float64]:
        x_p, x_q, pairs = self._sides.x_p, self._sides.x_q, self._sides.jackknife_rows
        if self._left_out is not None:
            return self._left_out(x_p, x_q, pairs)
        return np.array([self._compute(x_p[p], x_q[q]) for p, q in pairs])

    def value(self, method: Method) -> float:  # noqa: ARG002 (such a method has no parts)
        return self._value

    def left_out(self, method: Method) -> NDArray[np.float64] | None:  # noqa: ARG002
        return self._jackknife_values if self._sides.jackknife_rows else None


class Discrepancy(Distance):
    """The MMD with its standard score."""

    def __init__(self, sides: Sides, seed: SeedSequence) -> None:
        found = mmd(sides.x_p, sides.x_q, splits=MMD_SPLITS, seed=seed)
        super().__init__(sides, lambda *_: found.value, partial(mmd_left_out, seed=seed))
        self.notes, self.z = found.notes, found.z


class Frechet(Fit):
    """The Fréchet distance."""

    def __init__(self, sides: Sides) -> None:
        self._sides, self._value = sides, sides.frechet

    def value(self, method: Method) -> float:  # noqa: ARG002
        return self._value

    def left_out(self, method: Method) -> NDArray[np.float64] | None:  # noqa: ARG002
        return self._sides.frechet_left_out if self._sides.jackknife_rows else None


class WithoutBias(Fit):
    """The Fréchet distance between the sources; what is taken off for bias stays while texts are left out."""

    def __init__(self, sides: Sides, seed: SeedSequence) -> None:
        self._has_groups = bool(sides.jackknife_rows)
        known = (sides.frechet, sides.frechet_left_out) if self._has_groups else None
        self._found = frechet_limit(sides.x_p, sides.x_q, seed=seed, parts=sides.jackknife_rows, known=known)
        n, d = min(len(sides.x_p), len(sides.x_q)), sides.x_p.shape[1]
        if self._found.bends:
            self.caveats = (
                f"with {n:,} on a side, the Fréchet distance does not fall as 1/n yet; this is likely still too large",
            )
        elif n <= d:
            self.caveats = (
                f"with {n:,} on a side and {d:,} features, the Fréchet distance may not fall as 1/n yet; this may "
                "still be too large",
            )

    def value(self, method: Method) -> float:  # noqa: ARG002
        return self._found.value

    def left_out(self, method: Method) -> NDArray[np.float64] | None:  # noqa: ARG002
        found = self._found
        return found.left_out - found.at_n + found.value if self._has_groups else None


class Transport(Fit):
    """Transport between k-means centers, which stay fixed while texts are left out."""

    def __init__(self, sides: Sides, seed: SeedSequence) -> None:
        self._bins, self._centres = _clusters(sides, seed)

    def value(self, method: Method) -> float:  # noqa: ARG002
        p, q = map(probabilities, self._bins.counts())
        return quantised_cost(p, q, self._centres)

    def left_out(self, method: Method) -> NDArray[np.float64] | None:  # noqa: ARG002
        found = [quantised_cost(p, q, self._centres) for p, q in _jackknife_histograms(self._bins)]
        return np.array(found) if found else None


class Interpolated(Fit):
    """A frontier of transport costs between fixed clusters, with its area under any scale."""

    def __init__(self, sides: Sides, seed: SeedSequence, frontier: FrontierOf, *, refit: bool, note: str) -> None:
        self._bins, self._centres = _clusters(sides, seed)
        self._frontier, self._refit = frontier, refit
        p, q = map(probabilities, self._bins.counts())
        self._all = frontier(p, q, self._centres)
        too_many = "" if refit else f"; no jackknife: more than {SPREAD_LIMIT} clusters"
        self.notes = (f"{note} between the centers of {len(self._centres):,} clusters of unit features{too_many}",)

    @cached_property
    def _refitted(self) -> list[Frontier]:
        return [self._frontier(p, q, self._centres) for p, q in _jackknife_histograms(self._bins)]

    def value(self, method: Method) -> float:
        return method.area(self._all)

    def left_out(self, method: Method) -> NDArray[np.float64] | None:
        if not self._refit:
            return None
        found = [method.area(frontier) for frontier in self._refitted]
        return np.array(found) if found else None


def interpolated(name: str, sides: Sides, seed: SeedSequence) -> Fit:
    """Fit ``transport-linear`` or ``transport-barycentric``."""
    if name == "transport-linear":
        note = "exact costs to mixtures"
        return Interpolated(sides, seed, linear_frontier, refit=sides.k <= SPREAD_LIMIT, note=note)
    note = "exact costs to barycenters anywhere in the feature space"
    return Interpolated(sides, seed, barycentric_frontier, refit=True, note=note)


def _clusters(sides: Sides, seed: SeedSequence) -> tuple[Binned, NDArray[np.float64]]:
    found, n = sides.clustered(seed), len(sides.x_p)
    return Binned(found.labels[:n], found.labels[n:], sides.k, sides), found.centers


def _jackknife_histograms(bins: Binned) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    return [(probabilities(p), probabilities(q)) for p, q in zip(*bins.jackknife_counts(), strict=True)]


@dataclass(frozen=True)
class Models:
    """Causal models of the human and the candidates' distributions: catalog name, hub id, folder or GGUF file."""

    human: str
    candidate: str

    def described(self) -> dict[str, dict[str, str]]:
        """Names and digests of the weights, for a table's settings."""
        names = {"human": self.human, "candidate": self.candidate}
        return {side: {"name": name, "digest": identify(name).digest} for side, name in names.items()}


class Likelihoods:
    """Log-likelihoods of whole texts under both models, computed on first use.

    Parameters
    ----------
    texts : mapping of str to Collection
        By source, including the human side.
    """

    def __init__(
        self, models: Models, texts: Mapping[str, Collection], *, device: str = "cpu", progress: Progress = silent
    ) -> None:
        self.models, self._texts, self._device, self._progress = models, texts, device, progress

    @cached_property
    def _likelihoods(self) -> list[dict[str, NDArray[np.float64]]]:
        return [self._under(name) for name in (self.models.human, self.models.candidate)]

    def _under(self, model: str) -> dict[str, NDArray[np.float64]]:
        """Log-likelihoods of all sources under one model; only one model is in memory at a time."""
        context = MeasureContext(model, device=self._device)
        return {
            name: log_likelihoods(context, model, collection, self._progress)
            for name, collection in self._texts.items()
        }

    def ratios(self, candidate: str) -> LogRatios:
        """log p / q at the human texts and at the candidate's; raises InputError as :func:`log_likelihoods` does."""
        p, q = self._likelihoods
        found = direct_ratios(p[HUMAN], q[HUMAN], p[candidate], q[candidate])
        at_p, at_q = (float(np.median(side)) for side in (found.at_p, found.at_q))
        notes = (
            f"whole texts under {self.models.human} and {self.models.candidate}, whatever the candidate's decoder",
            f"median log ratio {at_p:.3g} nats at human texts, {at_q:.3g} at those of {candidate}",
        )
        return replace(found, notes=(*found.notes, *notes))


def log_likelihoods(
    context: MeasureContext, model: str, texts: Collection, progress: Progress = silent
) -> NDArray[np.float64]:
    """(n,) log-likelihood of each whole text under the model, in nats.

    A ratio is only meaningful if both models score the same text, so no token may be missing.

    Raises
    ------
    InputError
        A text exceeds the model's context, or has no prompt under a model without a start token.
    """
    tokenizer = load_tokenizer(model)
    if tokenizer.bos_token_id is None and tokenizer.eos_token_id is None and not all(texts.prompts or ("",)):
        raise InputError(
            f"The model {model} has no token to put before a text without a prompt",
            allowed="texts with prompts, or a model with a beginning-of-text or end-of-text token",
        )
    losses = context.likelihoods(texts, progress)
    count = int(losses.cut.sum())
    if count:
        raise InputError(
            f"{count:,} of {len(texts.texts):,} texts of {texts.name!r} "
            f"{verb(count, 'is', 'are')} longer than {model} can read",
            allowed="texts that both models read to their end",
            todo="Use a model that reads more tokens, or cut the texts and compare them again",
        )
    return np.asarray(-np.bincount(losses.owner, weights=losses.values[:, 0], minlength=len(texts.texts)), np.float64)


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
