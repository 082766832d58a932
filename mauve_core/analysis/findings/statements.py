"""Statements about texts: what some have and others have not, and how to say that a candidate has more of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Statement:
    """Something that each text has or has not.

    Attributes
    ----------
    kind : str
        What it is about: "loop", "length", "phrase" ...
    more, less : str
        What a writer does whose texts have it more often, and less often: ``writes longer texts``.
    condition : str
        What such texts do, after a number of them: ``have more than 85 words``; may quote texts.
    has : (n,) bool array
        The human texts first, then the candidate's.
    otherwise : str
        What the other texts do, if they are the ones to count for a writer who does less: ``have at most 85 words``.
    is_amount : bool
        Whether it is only about how much a text has; of the findings about the same texts, others are clearer.
    """

    kind: str
    more: str
    less: str
    condition: str
    has: NDArray[np.bool_]
    otherwise: str = ""
    is_amount: bool = False
