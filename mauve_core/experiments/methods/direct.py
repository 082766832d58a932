"""Probability ratios under two language models, one for each side (JMLR 2023, section 7.3.3).

The human distribution is unknown, so a causal model stands for it too. Both models score every text of both sides,
after its prompt if it has one; results are cached on disk. The candidate's model is used without its decoder's
changes to the probabilities.

MAUVE has the constant c = 1/2, as in figure 10, so it lies between pi / 4 = 0.785 for sides that share nothing and 1;
``estimators.ratios.SCALES`` has the derivation. The published 25 weights make it 0.784. Scores take the mean
over the texts of both sides, not over a side's own as the paper does. For sides that share nothing the two agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import verb
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.catalogue import identify
from mauve_core.encoders.models import load_tokenizer
from mauve_core.estimators.ratios import LogRatios, direct_ratios
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext


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
