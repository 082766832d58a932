"""Pool one vector per token into one vector per text.

Causal models: the last real token, which has seen the whole text. Masked models: the first token, which is BERT's [CLS]
and RoBERTa's <s>. Any model: the mean over the real tokens, special ones included. ICLR 2023, appendix D, uses all
three. The files of a sentence-transformers model name the pooling of its training
(:mod:`mauve_core.encoders.sentence_modules`). Further kinds are the maximum of each number, the sum over the square
root of the length, and a mean in which the token at position i counts i times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from mauve_core.base.config import Pooling
from mauve_core.base.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

ResolvedPooling = Literal["last", "first", "mean"]
TokenPooling = Literal["last", "first", "mean", "max", "mean-sqrt-len", "weighted-mean"]


def resolve_pooling(pooling: Pooling, default: ResolvedPooling) -> ResolvedPooling:
    """Return the pooling; "auto" is the model's own default (``LoadedModel.default_pooling``)."""
    return default if pooling == "auto" else pooling


def pool(hidden: Tensor, mask: Tensor, pooling: TokenPooling) -> Tensor:
    """Return one vector per text.

    Parameters
    ----------
    hidden : (rows, longest, d) floating tensor
    mask : (rows, longest) integer tensor
        1 at real tokens, at least one per row; padding may be on either side.
    pooling : {"last", "first", "mean", "max", "mean-sqrt-len", "weighted-mean"}

    Returns
    -------
    (rows, d) float32 tensor
        Sums and means are taken in float32 whatever the precision of ``hidden``.

    Raises
    ------
    InputError
        ``pooling`` is none of these.
    """
    import torch

    if pooling in ("mean", "mean-sqrt-len", "weighted-mean"):
        weights = mask.to(torch.float32)
        weights = weights * weights.cumsum(dim=1) if pooling == "weighted-mean" else weights
        total = torch.einsum("btd,bt->bd", hidden.to(torch.float32), weights)
        by = weights.sum(dim=1, keepdim=True)
        return total / (by.sqrt() if pooling == "mean-sqrt-len" else by)
    if pooling == "max":
        real = hidden.to(torch.float32).masked_fill(mask[:, :, None] == 0, float("-inf"))
        return real.amax(dim=1)
    if pooling == "last":
        positions = torch.arange(mask.shape[1], device=mask.device)
        column = (positions * mask).argmax(dim=1)
    elif pooling == "first":
        column = mask.argmax(dim=1)
    else:
        allowed = "last, first, mean, max, mean-sqrt-len, weighted-mean"
        raise InputError("Unknown pooling", allowed=allowed, received=repr(pooling))
    rows = torch.arange(mask.shape[0], device=mask.device)
    return hidden[rows, column].to(torch.float32)


def pool_jointly(hidden: Tensor, mask: Tensor, poolings: Sequence[TokenPooling]) -> Tensor:
    """Return (rows, len(poolings) * d) vectors of each kind, side by side; as :func:`pool`."""
    import torch

    return torch.cat([pool(hidden, mask, pooling) for pooling in poolings], dim=1)
