"""Statements about texts: what some have and others have not, and how to say that a candidate has more of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.formatting import as_percent
from mauve_core.base.validation import Count, Share, Within


@dataclass(frozen=True)
class Agreement:
    """How far a judge who was asked twice about the same texts agrees with itself.

    Attributes
    ----------
    share : float
        Share of equal answers, in [0, 1].
    kappa : float or None
        Cohen's: 1 for the same answers, 0 for as many as by chance; None if it gave one answer alone.
    texts : int
        Texts that it was asked about twice.
    """

    share: Share
    kappa: Annotated[float, Within(-1, 1)] | None
    texts: Count

    @property
    def in_words(self) -> str:
        """Such as ``asked twice, the model answers alike for 92% of texts, kappa 0.81``."""
        beyond = "" if self.kappa is None else f", kappa {self.kappa:.2f}"
        return f"asked twice, the model answers alike for {as_percent(self.share)} of texts{beyond}"


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
    agreement : Agreement or None
        The judge's, if one said which texts have it.
    """

    kind: str
    more: str
    less: str
    condition: str
    has: NDArray[np.bool_]
    otherwise: str = ""
    is_amount: bool = False
    agreement: Agreement | None = None
