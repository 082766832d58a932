"""A candidate's answers: equally many to each prompt, and groups of as many to different prompts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

from mauve_core.texts.pairing import LEAST_PROMPTS

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answers:
    """Equally many answers to each of some prompts.

    Attributes
    ----------
    prompts : (g,) int64 array
        Numbers of the prompts, increasing.
    rows : (g, m) int64 array
        The answers, as positions among the candidate's texts.
    of, repeated : int
        All prompts that the candidate answers, and those of them with several answers.
    """

    prompts: Rows
    rows: Rows
    of: int
    repeated: int

    @property
    def several(self) -> bool:
        """Whether there are several answers to enough prompts."""
        return self.rows.shape[1] > 1 and len(self.rows) >= LEAST_PROMPTS


def dealt(prompts: int, answers: int) -> Rows | None:
    """Divide g times m answers into g groups of m answers to different prompts; None if there are fewer prompts.

    Returns
    -------
    (g, m) int64 array or None
        Answers by number; the j-th to prompt i has the number i m + j. The j-th of a group i answers prompt i + j.
    """
    if prompts < answers:
        return None
    columns = np.arange(answers)
    return (np.arange(prompts)[:, None] + columns) % prompts * answers + columns


def answers_of(prompts: NDArray[np.integer], seed: SeedSequence) -> Answers:
    """Take equally many answers to each prompt of a candidate.

    Their number is the median over the prompts that have several answers (the lower one), or 1 if there are fewer than
    ``LEAST_PROMPTS`` of these. Prompts with fewer answers are left out; of more, some are drawn at random.

    Parameters
    ----------
    prompts : (n,) int array
        The prompt of each text.
    seed : SeedSequence
    """
    codes, sizes = np.unique(prompts, return_counts=True)
    several = np.sort(sizes[sizes > 1])
    m = int(several[(several.size - 1) // 2]) if several.size >= LEAST_PROMPTS else 1
    order = np.lexsort((np.random.default_rng(seed).random(len(prompts)), prompts))
    starts = np.cumsum(sizes) - sizes
    rows = order[starts[sizes >= m][:, None] + np.arange(m)]
    return Answers(codes[sizes >= m].astype(np.int64), rows.astype(np.int64), codes.size, several.size)
