"""Density ratios from a classifier between the sides (JMLR 2023, section 4.3, equations 28 and 29).

Logistic regression on frozen features is trained on one half of each side. On the other half, its probability eta that
a text is human gives the ratio m eta / (n (1 - eta)), with n and m the training texts of each side. Cross-validation
within the training half chooses the penalty by log loss, which rewards calibrated probabilities.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mauve_core.base.errors import InputError
from mauve_core.numerics import _checks
from mauve_core.numerics.ratios.log_ratios import LEAST_VARIANCE, NAMES, LogRatios

FOLDS = 5
# Inverse strengths of the quadratic penalty for cross-validation. In these units the paper's range, 1/n to 1e-3/n on
# the mean loss, is 1 to 1000; with fewer texts than features, stronger penalties work better.
PENALTIES = tuple(float(c) for c in np.logspace(-6, 3, 10))
ITERATIONS = 2000

_Array = NDArray[np.float64]


def classifier_ratios(
    x_p: ArrayLike,
    x_q: ArrayLike,
    *,
    penalties: Sequence[float] = PENALTIES,
    seed: int | np.random.SeedSequence,
) -> LogRatios:
    """log p / q at the texts of a random half of each side, from a classifier trained on the other halves.

    Features are centered and divided by one number, their overall standard deviation in the training half. The penalty
    then means the same for every encoder, and rotating the features changes nothing.

    Parameters
    ----------
    x_p, x_q : (n, d) and (m, d) array
        Features of the human side and of the candidate, ten rows or more each.
    penalties : sequence of float > 0
        Inverse strengths to choose from.
    seed : int or numpy.random.SeedSequence
        Decides the halves and folds; a given sequence is not changed.

    Returns
    -------
    LogRatios
        at_p of length n - n // 2 and at_q of length m - m // 2, in the texts' order; finite.

    Raises
    ------
    InputError
        Features are not usable or all equal, there are too few texts, or a penalty is not positive.
    """
    left, right = _checks.two_samples(x_p, x_q, least_p=2 * FOLDS, least_q=2 * FOLDS, names=NAMES)
    strengths = [_checks.positive("The inverse strength of the penalty", strength) for strength in penalties]
    if not strengths:
        raise InputError("No penalty to choose from was given", allowed="one or more")
    halves = [
        _halves(len(side), stream)
        for side, stream in zip((left, right), _checks.seed_sequence(seed).spawn(2), strict=True)
    ]
    learned = np.concatenate([side[half[0]] for side, half in zip((left, right), halves, strict=True)])
    centre = learned.mean(axis=0, dtype=np.float64)
    deviation = np.sqrt(np.mean((learned - centre) ** 2))
    if deviation**2 <= LEAST_VARIANCE * np.mean(centre**2):
        raise InputError("All features are equal, so there is nothing to learn", allowed="texts that differ")
    sizes = [len(half[0]) for half in halves]
    log_odds, notes = _fit((learned - centre) / deviation, sizes, strengths)
    prior = np.log(sizes[1] / sizes[0])
    at_p, at_q = (
        log_odds((side[half[1]] - centre) / deviation) + prior for side, half in zip((left, right), halves, strict=True)
    )
    return LogRatios(at_p, at_q, (f"learned from {sizes[0]} human and {sizes[1]} candidate texts", *notes))


def _halves(n: int, seed: np.random.SeedSequence) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Training rows, in random order, and test rows, in their own order."""
    order = np.random.default_rng(seed).permutation(n)
    return order[: n // 2], np.sort(order[n // 2 :])


def _fit(x: _Array, sizes: list[int], strengths: list[float]) -> tuple[Callable[[_Array], _Array], tuple[str, ...]]:
    """Fit to rows, humans first: a function that gives the log odds of being human, and notes on the fit."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegressionCV

    fold_of = np.concatenate([np.arange(size) % FOLDS for size in sizes])  # the rows are in random order
    model = LogisticRegressionCV(
        Cs=strengths,
        cv=[(np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(FOLDS)],
        scoring="neg_log_loss",
        l1_ratios=(0.0,),
        max_iter=ITERATIONS,
        use_legacy_attributes=False,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(x, np.repeat([1, 0], sizes))
    notes = [f"inverse penalty {float(model.C_):.4g} by {FOLDS}-fold log loss"]
    if any(issubclass(item.category, ConvergenceWarning) for item in caught):
        notes.append(f"a fit stopped after {ITERATIONS:,} iterations")
    return model.decision_function, tuple(notes)
