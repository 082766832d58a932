"""Statements about texts: what some have and others have not, and how to say that a candidate has more of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.formatting import as_percent
from mauve_core.base.json_codec import Count, Share, Within
from mauve_core.texts.kinds import property_named


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


@dataclass(frozen=True)
class Means:
    """What the tested items of the candidate, and of the reference, have of a property on average.

    Attributes
    ----------
    of : str
        The property by name, as in ``mauve_core.texts.kinds.property_named``.
    model, human : float
        In the property's unit.
    """

    of: str
    model: float
    human: float

    @property
    def in_words(self) -> str:
        """Such as ``on average brightness 12% against 31%``."""
        return f"on average {property_named(self.of).means(self.model, self.human)}"


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
    values : (n,) float64 array or None
        Of the property ``kind``, if it is about one; nan where an item lacks it.
    """

    kind: str
    more: str
    less: str
    condition: str
    has: NDArray[np.bool_]
    otherwise: str = ""
    is_amount: bool = False
    agreement: Agreement | None = None
    values: NDArray[np.float64] | None = None

    def means(self, own: NDArray[np.bool_], other: NDArray[np.bool_]) -> Means | None:
        """Means over the chosen items of the candidate and of the reference, (n,) each; None if there are none."""
        if self.values is None:
            return None
        known = ~np.isnan(self.values)
        sides = self.values[own & known], self.values[other & known]
        return Means(self.kind, *(float(each.mean()) for each in sides)) if all(each.size for each in sides) else None
