"""Discriminator accuracy: how well a classifier on frozen features separates a candidate's texts from human ones."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.formatting import significant
from mauve_core.base.progress import Progress, silent
from mauve_core.experiments.text_measures.base import Measure, NotDefinedError, Rows, Terms
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext
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
        "How often logistic regression on frozen features tells unseen texts of the candidate from human ones."
    )
    larger = "texts that are easier to tell from human ones"
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
