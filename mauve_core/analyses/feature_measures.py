"""Text measures of features: discriminator, Fréchet distance, Vendi score, precision, recall, density, coverage."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.analyses.measure_inputs import Collection, MeasureContext
from mauve_core.analyses.measure_terms import HalvesTerms, Measure, Need, NotDefinedError, PlainMeasure, Rows, Terms
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import significant
from mauve_core.base.progress import Progress, silent
from mauve_core.clusters.neighbours import Choices, coverage_over_k, density_over_k, occupancy_over_k
from mauve_core.estimators.transport import frechet_cost
from mauve_core.stats.diversity import vendi_score
from mauve_core.stats.units import draw_slots

TEST_SHARE = 0.25
FOLDS = 5
# Inverse penalty strengths for cross-validation: scikit-learn's default grid.
PENALTIES = tuple(float(c) for c in np.logspace(-4, 4, 10))

ITERATIONS = 2000
PERMUTATIONS = 999
# Minimum number of texts per side, so that every fold holds both sides.
LEAST = 2 * FOLDS


class Discriminator(Measure):
    """Accuracy of logistic regression on standardized features, on a held-out quarter of the texts.

    5-fold cross-validation on the other three quarters chooses the penalty. On both sides, texts of one unit (a prompt)
    are all in the test set or in one fold. The classifier is trained once, and the spread covers only the test
    texts: retraining without each group flips near-chance answers at random, so a jackknife over retrained
    classifiers gives two to three times the true standard deviation. The note has the p-value of the classifier
    two-sample test (Lopez-Paz and Oquab, ICLR 2017), from exchanged labels of the held-out units.
    """

    name = "discriminator"
    title = "Discriminator accuracy"
    group = "closeness"
    description = (
        "How often logistic regression on frozen features tells unseen {items} of the candidate from {reference} ones."
    )
    larger = "{items} that are easier to tell from {reference} ones"
    source = "JMLR 2023, section 6.3"
    relational = True
    needs = frozenset({"features"})
    bounds = (0.0, 1.0)

    def terms(
        self,
        texts: Collection,
        human: Collection,
        context: MeasureContext,
        progress: Progress = silent,  # noqa: ARG002
    ) -> _DiscriminatorTerms:
        if min(len(texts), len(human)) < LEAST:
            raise NotDefinedError(f"fewer than {LEAST} texts on a side")
        units = np.unique([*human.ids, *texts.ids], return_inverse=True)[1]
        return _DiscriminatorTerms(texts, human, units, context.rng("discriminator"))

    def settings(self, context: MeasureContext) -> dict[str, Any]:  # noqa: ARG002
        return {"test": TEST_SHARE, "folds": FOLDS, "penalties": list(PENALTIES), "permutations": PERMUTATIONS}


class _DiscriminatorTerms(Terms):
    """Every array starts with the human side; label 1 is the candidate."""

    def __init__(self, texts: Collection, human: Collection, units: NDArray[np.intp], rng: np.random.Generator) -> None:
        if texts.features is None or human.features is None:
            raise InputError("The discriminator needs the features of both sides")
        x = np.concatenate([human.features, texts.features]).astype(np.float64)
        y = np.repeat([0, 1], [len(human), len(texts)])
        of_sides = [own.tolist() for own in np.split(units, [len(human)])]
        part = split_by_id(of_sides, [TEST_SHARE, *[(1 - TEST_SHARE) / FOLDS] * FOLDS], rng)
        if any(len(np.unique(y[part == index])) < 2 for index in range(1 + FOLDS)):
            raise NotDefinedError(f"too few texts for a test set and {FOLDS} folds that contain both sides")
        tested = np.flatnonzero(part == 0)
        answers, stuck = _answers(x, y, part)
        self._right = np.full(len(y), np.nan)  # NaN: not tested on
        self._right[tested] = answers == y[tested]
        self._humans = len(human)
        chance = max(np.mean(y[tested]), 1 - np.mean(y[tested]))
        self.note = f"tested on {len(tested):,}, chance is {chance:.3g}"
        self.p_value = exchange_p_value(answers, y[tested], units[tested], rng)
        if self.p_value is not None:
            self.note += (
                f"; test of better than chance: p = {significant(self.p_value)} ({PERMUTATIONS:,} exchanges of labels)"
            )
        if stuck:
            self.note += f"; a fit stopped after {ITERATIONS:,} iterations"

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:
        humans, candidates = np.split(self._right, [self._humans])
        hits = [humans if human_rows is None else humans[human_rows], candidates if rows is None else candidates[rows]]
        right = np.concatenate(hits)
        right = right[~np.isnan(right)]
        if not len(right):
            raise NotDefinedError("no text is left to test on")
        return float(right.mean())


def exchange_p_value(
    answers: NDArray[np.int64], y: NDArray[np.int64], units: NDArray[np.intp], rng: np.random.Generator
) -> float | None:
    """p-value of an accuracy above chance: how often answers are right at least as often for exchanged labels.

    Units are exchanged as in :func:`mauve_core.stats.units.draw_slots`.

    Parameters
    ----------
    answers, y, units : (n,) array of int
        Predicted side, true side (0 or 1) and unit of each held-out text.

    Returns
    -------
    float in (0, 1], or None
        None if no label can change.
    """
    labels = draw_slots(y.astype(np.int32), units, 1, PERMUTATIONS, rng)
    if (labels == y).all():
        return None
    right = (np.concatenate([y[np.newaxis], labels]) == answers).sum(axis=1)
    return float((right >= right[0]).mean())


def split_by_id(
    sides: Sequence[Sequence[Hashable]], shares: Sequence[float], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Assign texts to parts such that an id is in one part only and each side has the given shares.

    Ids present on the same sides are shuffled and assigned together, so each side splits as evenly as counts permit.

    Parameters
    ----------
    sides : sequence of sequences
        Ids of each side.
    shares : sequence of float
        One per part; they sum to 1.

    Returns
    -------
    (total,) int64 array
        Part of each text, the sides concatenated.
    """
    members = [set(side) for side in sides]
    strata: dict[tuple[bool, ...], list[Hashable]] = {}
    for identifier in dict.fromkeys(identifier for side in sides for identifier in side):
        strata.setdefault(tuple(identifier in side for side in members), []).append(identifier)
    part_of: dict[Hashable, int] = {}
    ends = np.cumsum(shares)
    for ids in strata.values():
        indices = (rng.permutation(len(ids)) + 0.5) / len(ids)
        parts = np.minimum(np.searchsorted(ends, indices), len(shares) - 1)
        part_of.update(zip(ids, parts.tolist(), strict=True))
    return np.array([part_of[identifier] for side in sides for identifier in side], dtype=np.int64)


def _answers(x: NDArray[np.float64], y: NDArray[np.int64], part: NDArray[np.int64]) -> tuple[NDArray[np.int64], bool]:
    """The side that each text of part 0 is taken for (other parts: folds), and whether any fit failed to converge."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegressionCV

    test, train = part == 0, part > 0
    fold_of = part[train]
    model = LogisticRegressionCV(
        Cs=PENALTIES,
        cv=[(np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(1, FOLDS + 1)],
        scoring="accuracy",
        l1_ratios=(0.0,),
        max_iter=ITERATIONS,
        use_legacy_attributes=False,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(_standardised(x[train], x[train]), y[train])
    stuck = any(issubclass(item.category, ConvergenceWarning) for item in caught)
    answers: NDArray[np.int64] = model.predict(_standardised(x[test], x[train]))
    return answers, stuck


def _standardised(x: NDArray[np.float64], of: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standardize ``x`` by the mean and standard deviations of ``of``; a constant feature becomes 0."""
    spread = of.std(axis=0)
    scaled: NDArray[np.float64] = (x - of.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return scaled


class Frechet(Measure):
    """Squared distance of the means, plus the least transport cost between the centered Gaussians.

    It has no T(P): between halves of the human texts it is larger than between most candidates and all of them, because
    it falls with the number of texts.
    """

    name = "frechet"
    title = "Fréchet distance"
    group = "closeness"
    description = "How far apart the means and covariances of the two sides' features are."
    larger = "{items} that lie farther from {reference} ones"
    source = "Heusel et al. 2017; JMLR 2023, sections 7.2 and 7.4.2"
    relational = True
    needs: ClassVar[frozenset[Need]] = frozenset({"features"})
    depends_on_n = True

    def terms(
        self,
        texts: Collection,
        human: Collection,
        context: MeasureContext,  # noqa: ARG002
        progress: Progress = silent,  # noqa: ARG002
    ) -> Terms:
        if min(len(texts), len(human)) < 2:
            raise NotDefinedError("a covariance needs two texts on each side")
        return _FrechetTerms(texts, human)

    def human_terms(self, human: Collection, context: MeasureContext, progress: Progress = silent) -> Terms | None:  # noqa: ARG002
        return None


class _FrechetTerms(Terms):
    def __init__(self, texts: Collection, human: Collection) -> None:
        if texts.features is None or human.features is None:
            raise InputError("The Fréchet distance needs the features of both sides")
        self._x_q, self._x_p = np.asarray(texts.features), np.asarray(human.features)

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:
        x_q = self._x_q if rows is None else self._x_q[rows]
        x_p = self._x_p if human_rows is None else self._x_p[human_rows]
        return frechet_cost(x_p, x_q)


# Default number of neighbors k.
NEIGHBOURS = 5

Statistic = Callable[[ArrayLike, ArrayLike, Sequence[int], Choices], NDArray[np.float64]]


class ManifoldMeasure(Measure):
    """A statistic of one side's texts in the manifold of the other side, exact, k = 5."""

    source: ClassVar[str] = "Kynkäänniemi et al. 2019; JMLR 2023, section 7.6"
    relational = True
    needs: ClassVar[frozenset[Need]] = frozenset({"features"})
    bounds = (0.0, 1.0)
    depends_on_n = True
    # Whether to look for human texts in the candidate's manifold, not the reverse.
    of_human: ClassVar[bool]

    def statistic(self, x: ArrayLike, manifold: ArrayLike, ks: Sequence[int], choices: Choices) -> NDArray[np.float64]:
        """(len(ks), len(choices)) values; see :mod:`mauve_core.clusters.neighbours`."""
        return coverage_over_k(x, manifold, ks, choices)

    def terms(
        self,
        texts: Collection,
        human: Collection,
        context: MeasureContext,  # noqa: ARG002
        progress: Progress = silent,  # noqa: ARG002
    ) -> Terms:
        if texts.features is None or human.features is None:
            raise InputError(f"{self.title} needs the features of both sides")
        sides = (human.features, texts.features) if self.of_human else (texts.features, human.features)
        return _ManifoldTerms(sides, swapped=self.of_human, statistic=self.statistic)

    def over_k(self, terms: Terms, ks: Sequence[int]) -> list[Terms]:
        """The same T at each number of neighbors; the distances are computed once for all of them.

        Parameters
        ----------
        terms : Terms
            From :meth:`terms` or :meth:`halves`.
        ks : sequence of int
            Each at least 1. T is undefined at those with too few texts.
        """
        if isinstance(terms, HalvesTerms):
            return [terms.of(inner) for inner in self.over_k(terms.inner, ks)]
        if not isinstance(terms, _ManifoldTerms):
            raise TypeError("terms of another measure")
        return terms.over_k(ks)

    def settings(self, context: MeasureContext) -> dict[str, Any]:  # noqa: ARG002
        return {"neighbours": NEIGHBOURS}


class _ManifoldTerms(Terms):
    """Leaving out a text removes its ball; the other balls stay, as :func:`coverage_over_k` explains."""

    def __init__(
        self,
        sides: tuple[NDArray[np.floating], NDArray[np.floating]],
        *,
        swapped: bool,
        statistic: Statistic,
        k: int = NEIGHBOURS,
    ) -> None:
        self._sides, self._swapped, self._statistic, self._k = sides, swapped, statistic, k

    def over_k(self, ks: Sequence[int]) -> list[Terms]:
        """The same at each number of neighbors; all of them share their distances."""
        shared = _OverK(self._statistic, [k for k in ks if k < len(self._sides[1])])
        return [_ManifoldTerms(self._sides, swapped=self._swapped, statistic=shared.values, k=k) for k in ks]

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:
        return float(self.values([(rows, human_rows)])[0])

    def values(self, row_pairs: Sequence[tuple[Rows, Rows]]) -> NDArray[np.float64]:
        points, centres = self._sides
        chosen = []
        for rows, human_rows in row_pairs:
            own, others = (human_rows, rows) if self._swapped else (rows, human_rows)
            chosen.append((_mask(own, len(points)), _mask(others, len(centres))))
        if len(centres) <= self._k or not all(own.any() and others.any() for own, others in chosen):
            raise NotDefinedError(f"a manifold needs more than {self._k} texts")
        return np.asarray(self._statistic(points, centres, (self._k,), chosen)[0])


class _OverK:
    """A statistic at all numbers of neighbors, computed for all of them when the first is asked for a selection."""

    def __init__(self, statistic: Statistic, ks: Sequence[int]) -> None:
        self._statistic, self._ks = statistic, sorted(set(ks))
        self._found: dict[bytes, NDArray[np.float64]] = {}

    def values(self, x: ArrayLike, manifold: ArrayLike, ks: Sequence[int], choices: Choices) -> NDArray[np.float64]:
        """(len(ks), len(choices)) values at some of its numbers of neighbors; always of the same two samples."""
        key = b"".join(np.concatenate(choice).tobytes() for choice in choices)
        if key not in self._found:
            self._found[key] = self._statistic(x, manifold, self._ks, choices)
        return np.asarray(self._found[key][[self._ks.index(k) for k in ks]])


def _mask(rows: Rows, n: int) -> NDArray[np.bool_]:
    mask = np.full(n, rows is None, dtype=np.bool_)
    if rows is not None:
        mask[rows] = True
    return mask


class Precision(ManifoldMeasure):
    """Share of the candidate's features within the manifold of the human side's."""

    name = "precision"
    title = "Precision"
    group = "closeness"
    description = (
        "The share of the candidate's {items} whose features lie within the manifold of the {reference_items}. Read it "
        "with recall: gibberish can score as high as the {reference_items}, or higher."
    )
    larger = "more {items} that look {reference}"
    of_human = False


class Recall(ManifoldMeasure):
    """Share of the human side's features within the manifold of the candidate's."""

    name = "recall"
    title = "Recall"
    group = "closeness"
    description = "The share of {reference_items} whose features lie within the manifold of the candidate's."
    larger = "a candidate that covers more of the {reference_items}"
    of_human = True


class Density(ManifoldMeasure):
    """Number of human texts whose neighborhood holds a text of the candidate, divided by k, averaged over texts."""

    name = "density"
    title = "Density"
    group = "closeness"
    description = (
        "The number of {reference_items} whose 5 nearest {reference_items} are no nearer than {one} of the candidate, "
        "divided by 5 and averaged over the candidate's {items}. About 1 for {references}; larger for {items} that "
        "crowd where {reference_items} are dense. A single far-off {reference} {item} cannot raise it much, as it can "
        "raise precision."
    )
    larger = "{items} that crowd where {reference_items} are dense"
    source = "Naeem et al. 2020, equation 4"
    bounds = (0.0, float("inf"))
    of_human = False

    def statistic(self, x: ArrayLike, manifold: ArrayLike, ks: Sequence[int], choices: Choices) -> NDArray[np.float64]:
        return density_over_k(x, manifold, ks, choices)


class Coverage(ManifoldMeasure):
    """Share of human texts whose neighborhood holds a text of the candidate; neighborhoods are those of people."""

    name = "coverage"
    title = "Coverage"
    group = "closeness"
    description = (
        "The share of {reference_items} with {one} of the candidate nearer than, or as near as, their 5th nearest "
        "{reference} {item}. Unlike recall, it rests on the {reference_items}' neighborhoods, which a candidate's "
        "outliers cannot widen."
    )
    larger = "a candidate that covers more of the {reference_items}"
    source = "Naeem et al. 2020, equation 5"
    of_human = False

    def statistic(self, x: ArrayLike, manifold: ArrayLike, ks: Sequence[int], choices: Choices) -> NDArray[np.float64]:
        return occupancy_over_k(x, manifold, ks, choices)


class Vendi(PlainMeasure):
    """Exponential of the entropy of the eigenvalues of the texts' cosine similarities, divided by n."""

    name = "vendi"
    title = "Vendi score"
    group = "diversity"
    description = (
        "The effective number of different {items}, from the cosine similarities of their features: 1 if all are "
        "equal, n if every two are orthogonal. It looks at one side alone and ignores quality. Where two candidates "
        "answer different {group}s, the test of their difference finds one about twice too often."
    )
    larger = "more diverse {items}"
    source = "Friedman and Dieng 2023, definition 3.1"
    needs: ClassVar[frozenset[Need]] = frozenset({"features"})
    bounds = (1.0, float("inf"))
    depends_on_n = True

    def terms_of(self, texts: Collection, context: MeasureContext, progress: Progress = silent) -> Terms:  # noqa: ARG002
        if texts.features is None:
            raise InputError(f"{self.title} needs the features of the texts")
        if not np.any(texts.features, axis=1).all():
            raise NotDefinedError("the features of a text are all 0, so it has no direction")
        return _VendiTerms(texts.features)


class _VendiTerms(Terms):
    def __init__(self, features: NDArray[np.floating]) -> None:
        self._features = features

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:  # noqa: ARG002
        return vendi_score(self._features if rows is None else self._features[rows])
