"""From one vector a token to one vector a text.

Causal models: the last real token has seen the whole text (NeurIPS 2021, section 4). Masked models: the first token,
which is BERT's [CLS] and RoBERTa's <s> (JMLR 2023, section 4.1). Mean over the real tokens, special ones included: any
model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mauve_core.config import Pooling
from mauve_core.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

ResolvedPooling = Literal["last", "first", "mean"]


def resolve_pooling(pooling: Pooling, default: ResolvedPooling) -> ResolvedPooling:
    """The pooling asked for; "auto" is the model's own default (``LoadedModel.default_pooling``)."""
    return default if pooling == "auto" else pooling


def pool(hidden: Tensor, mask: Tensor, pooling: ResolvedPooling) -> Tensor:
    """One vector for each text.

    Parameters
    ----------
    hidden : (rows, longest, d) floating tensor
    mask : (rows, longest) integer tensor
        1 at real tokens, at least one a row; padding may lie on either side.
    pooling : {"last", "first", "mean"}

    Returns
    -------
    (rows, d) float32 tensor
        The mean is taken in float32 whatever the precision of ``hidden``.

    Raises
    ------
    InputError
        ``pooling`` is none of the three.
    """
    import torch

    if pooling == "mean":
        weights = mask.to(torch.float32)
        total = torch.einsum("btd,bt->bd", hidden.to(torch.float32), weights)
        return total / weights.sum(dim=1, keepdim=True)
    if pooling == "last":
        positions = torch.arange(mask.shape[1], device=mask.device)
        column = (positions * mask).argmax(dim=1)
    elif pooling == "first":
        column = mask.argmax(dim=1)
    else:
        raise InputError("Unknown pooling", allowed="last, first, mean", received=repr(pooling))
    rows = torch.arange(mask.shape[0], device=mask.device)
    return hidden[rows, column].to(torch.float32)
