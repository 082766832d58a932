"""Variety of one candidate's answers: among those to one prompt, and among as many to different prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.base.json_codec import Within
from mauve_core.estimators.token_sequences import Overlap
from mauve_core.experiments.diversity.answers import Answers, Rows, dealt
from mauve_core.experiments.text_measures.self_bleu import ORDER, sentence_scores, word_ids
from mauve_core.stats import _checks
from mauve_core.stats.diversity import (
    Gap,
    Mean,
    ModeCount,
    block_mean,
    count_modes,
    modes_met,
    modes_per_prompt,
    vendi_score,
)

# Prompts whose self-BLEU is computed, at most.
SELF_BLEU_PROMPTS = 500

# Draws of one answer to each prompt, at most.
DRAWS = 10


CosineDistance = Annotated[float, Within(0, 2)]


@dataclass(frozen=True)
class Contrast:
    """A measure of m answers, as a mean over groups of them with its 95% interval over prompts.

    Attributes
    ----------
    within : Mean
        Of answers to one prompt.
    between : Mean or None
        Of answers to m different prompts; None if there are fewer prompts.
    """

    within: Mean
    between: Mean | None


@dataclass(frozen=True)
class Diversity:
    """Variety of a candidate's answers.

    Attributes
    ----------
    prompts, of_prompts, answers : int
        Prompts that are measured, all that the candidate answers, and answers to each that are measured.
    modes : ModeCount or None
        None if modes are not separate in the features.
    different : ModeCount
        The same with answers of one mode only if their texts are equal; needs no features.
    distance : Contrast
        Mean cosine distance of two answers.
    vendi : Contrast
        Vendi score of the answers.
    clusters : Contrast or None
        Joint clusters that the answers reach; None without joint clusters.
    self_bleu : Contrast
        Self-BLEU of the answers, 0 to 1.
    vendi_over_prompts, vendi_low, vendi_high : float
        Vendi score of one answer to each prompt: mean, smallest and largest of at most ``DRAWS`` draws.
    """

    prompts: int
    of_prompts: int
    answers: int
    modes: ModeCount | None
    different: ModeCount
    distance: Contrast
    vendi: Contrast
    clusters: Contrast | None
    self_bleu: Contrast
    vendi_over_prompts: float
    vendi_low: float
    vendi_high: float


def diversity_of(
    answers: Answers,
    x: NDArray[np.float64],
    texts: Sequence[str],
    labels: NDArray[np.integer] | None,
    gap: Gap | None,
    seed: SeedSequence,
) -> Diversity:
    """Measure the variety of a candidate's answers.

    Parameters
    ----------
    answers : Answers
        Several to each prompt.
    x : (g, m, d) array
        Unit rows of ``answers.rows``.
    texts : sequence of str
        All n texts of the candidate.
    labels : (n,) int array or None
        Their joint clusters.
    gap : Gap or None
        What separates modes.
    seed : SeedSequence
        Of the intervals.
    """
    g, m = answers.rows.shape
    within, between = np.arange(g * m).reshape(g, m), dealt(g, m)
    flat, rows = x.reshape(g * m, -1), answers.rows.ravel()
    number = {text: index for index, text in enumerate(texts)}
    words = _Words([texts[row] for row in rows.tolist()])
    for_modes, *for_contrasts = _checks.seed_sequence(seed).spawn(5)

    def vendi(groups: Rows) -> NDArray[np.float64]:
        return np.array([vendi_score(flat[group]) for group in groups])

    def contrast(measure: Callable[[Rows], NDArray[np.generic]], seed: SeedSequence) -> Contrast:
        """A group of answers to different prompts shares prompts with its m - 1 neighbors on either side."""
        here = block_mean(measure(within), 1, seed)
        return Contrast(here, None if between is None else block_mean(measure(between), m, seed))

    over_prompts = vendi(within.T[:DRAWS])
    return Diversity(
        prompts=g,
        of_prompts=answers.of,
        answers=m,
        modes=modes_per_prompt(x, gap, for_modes),
        different=count_modes(np.array([number[texts[row]] for row in rows.tolist()]).reshape(g, m), for_modes),
        distance=contrast(lambda groups: distance_by_group(flat[groups]), for_contrasts[0]),
        vendi=contrast(vendi, for_contrasts[1]),
        clusters=None if labels is None else contrast(lambda groups: modes_met(labels[rows[groups]]), for_contrasts[2]),
        self_bleu=contrast(words.self_bleu, for_contrasts[3]),
        vendi_over_prompts=float(over_prompts.mean()),
        vendi_low=float(over_prompts.min()),
        vendi_high=float(over_prompts.max()),
    )


def distance_by_group(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """(g,) mean cosine distances of two of the m unit rows of each group; NaN for single rows."""
    m = x.shape[1]
    if m < 2:
        return np.full(len(x), np.nan)
    sums = x.sum(axis=1)
    similarity = (np.einsum("gd,gd->g", sums, sums) - m) / (m * (m - 1))
    found: NDArray[np.float64] = np.clip(1 - similarity, 0, 2)
    return found


class _Words:
    """Words of texts, for self-BLEU of groups of them."""

    def __init__(self, texts: Sequence[str]) -> None:
        words, self._lengths = word_ids(tuple(texts))
        self._words = np.split(words, np.cumsum(self._lengths)[:-1])

    def self_bleu(self, groups: Rows) -> NDArray[np.float64]:
        """Of each group of texts, the mean of each text against the others; of ``SELF_BLEU_PROMPTS`` groups at most."""
        found = []
        for group in groups[:SELF_BLEU_PROMPTS].tolist():
            overlap = Overlap(np.concatenate([self._words[text] for text in group]), self._lengths[group], ORDER)
            found.append(sentence_scores(overlap, np.arange(len(group))).mean())
        return np.array(found).clip(0, 1)  # sums of logarithms may round beyond 1
