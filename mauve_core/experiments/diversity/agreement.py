"""Whether two candidates say the same: their answers to one prompt against two answers of one of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.json_codec import Count, Share
from mauve_core.experiments.diversity.answers import Answers
from mauve_core.experiments.diversity.measures import CosineDistance, distance_by_group
from mauve_core.stats.diversity import Gap, distances_within
from mauve_core.texts.pairing import LEAST_PROMPTS

RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Agreement:
    """Two candidates' answers to the same prompts; distances are cosine distances.

    Attributes
    ----------
    first, second : str
        The candidates.
    prompts : int
        Prompts that both answer.
    distance : float
        Mean distance of an answer of one to an answer of the other, to one prompt.
    own_of : str
        The candidate whose own answers to one prompt differ more; the only one that has several, if one has not.
    own : float
        Mean distance of two answers of that candidate, to one prompt.
    others : float
        The same of answers of the two to different prompts.
    apart : float
        ``distance`` - ``own``: 0 if answers of the two are as close as two answers of that candidate.
    low, high : float
        95% interval of ``apart``, from resampled prompts.
    one_mode, own_one_mode : float or None
        Shares of the pairs behind ``distance`` and ``own`` that are of one mode; None if modes are not separate.
    """

    first: str
    second: str
    prompts: Count
    distance: CosineDistance
    own_of: str
    own: CosineDistance
    others: CosineDistance
    apart: float
    low: float
    high: float
    one_mode: Share | None
    own_one_mode: Share | None


def agreement_of(
    names: tuple[str, str],
    answers: tuple[Answers, Answers],
    x: tuple[NDArray[np.float64], NDArray[np.float64]],
    gap: Gap | None,
    seed: SeedSequence,
) -> Agreement | None:
    """Compare two candidates; None if neither has several answers, or they share fewer than ``LEAST_PROMPTS`` prompts.

    Parameters
    ----------
    names : pair of str
    answers : pair of Answers
    x : pair of (g, m, d) arrays
        Unit rows of each one's answers.
    gap : Gap or None
        What separates modes.
    seed : SeedSequence
        Of the resampled prompts.
    """
    shared, *places = np.intersect1d(answers[0].prompts, answers[1].prompts, return_indices=True)
    several = [index for index in (0, 1) if x[index].shape[1] > 1]
    if len(shared) < LEAST_PROMPTS or not several:
        return None
    first, second = (own[place] for own, place in zip(x, places, strict=True))
    one, other = first.mean(axis=1), second.mean(axis=1)
    same = np.einsum("gd,gd->g", one, other)
    own = np.stack([distance_by_group(each) for each in (first, second)])
    varied = max(several, key=lambda index: float(own[index].mean()))
    apart = 1 - same - own[varied]
    g = len(shared)
    weights = np.random.default_rng(seed).multinomial(g, np.full(g, 1 / g), size=RESAMPLES) / g
    tails = (1 - CONFIDENCE) / 2
    low, high = np.quantile(weights @ apart, [tails, 1 - tails])
    others = 1 - (one.sum(axis=0) @ other.sum(axis=0) - same.sum()) / (g * (g - 1))
    return Agreement(
        *names,
        prompts=g,
        distance=_clipped(1 - same.mean()),
        own_of=names[varied],
        own=_clipped(own[varied].mean()),
        others=_clipped(others),
        apart=float(apart.mean()),
        low=float(low),
        high=float(high),
        one_mode=None if gap is None else _one_mode(first, second, gap),
        own_one_mode=None if gap is None else _own_one_mode((first, second)[varied], gap),
    )


def _clipped(distance: float) -> float:
    """A cosine distance without the rounding that takes it out of its range."""
    return float(np.clip(distance, 0, 2))


def _one_mode(first: NDArray[np.float64], second: NDArray[np.float64], gap: Gap) -> float:
    """Share of the pairs of one answer of each, to one prompt, no farther apart than the threshold."""
    products = first @ second.transpose(0, 2, 1)
    return float((np.sqrt(np.clip(2 - 2 * products, 0, None)) <= gap.threshold).mean())


def _own_one_mode(x: NDArray[np.float64], gap: Gap) -> float:
    g, m, _ = x.shape
    near = int((distances_within(x) <= gap.threshold).sum()) - g * m
    return float(near / (g * m * (m - 1)))
