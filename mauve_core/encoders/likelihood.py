"""Token-level log-likelihoods of given text under a causal model, and other statistics of its distributions.

A text is read after its prompt, whose tokens give context and are not scored. Without a prompt, the text follows the
model's beginning-of-text token (or end-of-text token, as in GPT-2's training). A model without either leaves the first
token unscored.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.arguments import text_list
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.batching import TokenIds, pad, plan_batches
from mauve_core.encoders.models import LoadedModel
from mauve_core.encoders.tokenizing import read_texts, refuse_unknown_tokens

if TYPE_CHECKING:
    import torch

# Stage name for progress; counts tokens.
STAGE = "Reading texts with the model"

# Padded tokens per batch; each has a float for every word of the vocabulary.
BATCH_TOKENS = 2048

# Logits (t, V) float32 and the next tokens (t,) -> anything with t rows.
Reduce = Callable[["torch.Tensor", "torch.Tensor"], "torch.Tensor"]


@dataclass(frozen=True)
class _Row:
    """One text as model input: ``ids``, of which the last ``scored`` are scored."""

    ids: TokenIds
    scored: int


def negative_log_likelihoods(
    loaded: LoadedModel,
    texts: Sequence[str],
    prompts: Sequence[str] | None = None,
    *,
    max_tokens: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    progress: Progress = silent,
) -> list[NDArray[np.float64]]:
    """Return -log Q(token | preceding tokens), in nats, for each token of each text.

    The exponential of the mean over all tokens is the texts' perplexity under the model. Parameters and errors are
    those of :func:`over_positions`.

    Returns
    -------
    list of (t_i,) float64 arrays
    """
    import torch

    def losses(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(logits, targets, reduction="none")

    return over_positions(
        loaded, texts, prompts, losses, max_tokens=max_tokens, batch_tokens=batch_tokens, progress=progress
    )


def over_positions(
    loaded: LoadedModel,
    texts: Sequence[str],
    prompts: Sequence[str] | None,
    reduce: Reduce,
    *,
    max_tokens: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    progress: Progress = silent,
) -> list[NDArray[np.float64]]:
    """Apply ``reduce`` to the model's distributions at the positions of each text's tokens.

    Parameters
    ----------
    loaded : LoadedModel
        A causal model with its head.
    texts, prompts : sequences of n str
        ``prompts`` None reads the texts alone.
    reduce : callable
        Logits (t, V) float32 and targets (t,) int64 -> (t, ...), where t counts the text's tokens.
    max_tokens : int, optional
        Prompt and text together are cut to this many tokens; None means the model's positions.

    Returns
    -------
    list of (t_i, ...) float64 arrays
        In the order of the texts.

    Raises
    ------
    InputError
        A text has no token to score: it is empty, or its prompt fills the positions.
    """
    import torch

    texts, prompts = _listed(texts, prompts)
    limit = loaded.max_positions if max_tokens is None else min(max_tokens, loaded.max_positions)
    rows = [_row(loaded.tokenizer, text, "" if prompts is None else prompts[i], limit) for i, text in enumerate(texts)]
    empty = [str(i) for i, row in enumerate(rows) if row.scored < 1]
    if empty:
        raise InputError(
            f"There are no tokens to score in text {', '.join(empty[:5])} (counted from 0)",
            allowed=f"texts that begin within {limit} tokens of their prompt's start",
            todo="Leave these texts out, or shorten their prompts",
        )
    refuse_unknown_tokens((row.ids for row in rows), loaded.known_tokens)
    lengths = np.array([len(row.ids) for row in rows], dtype=np.int32)
    results: dict[int, NDArray[np.float64]] = {}
    done = 0
    with torch.inference_mode():
        for batch in plan_batches(lengths, batch_tokens):
            progress(STAGE, done, int(lengths.sum()))
            logits = _logits(loaded, [rows[i].ids for i in batch])
            for row, i in enumerate(batch):
                end, scored = rows[i].ids.size, rows[i].scored
                targets = torch.as_tensor(rows[i].ids[-scored:], dtype=torch.long, device=logits.device)
                values = reduce(logits[row, end - scored - 1 : end - 1].float(), targets)
                results[int(i)] = values.double().cpu().numpy()
            done += int(lengths[batch].sum())
    progress(STAGE, done, int(lengths.sum()))
    return [results[i] for i in range(len(rows))]


def cut_texts(
    loaded: LoadedModel, texts: Sequence[str], prompts: Sequence[str] | None = None, *, max_tokens: int | None = None
) -> NDArray[np.bool_]:
    """Return (n,) whether :func:`over_positions` cuts off the end of each text."""
    texts, prompts = _listed(texts, prompts)
    limit = loaded.max_positions if max_tokens is None else min(max_tokens, loaded.max_positions)
    befores = [""] * len(texts) if prompts is None else prompts
    pairs = zip(texts, befores, strict=True)
    sizes = (_row(loaded.tokenizer, text, before, sys.maxsize).ids.size for text, before in pairs)
    return np.fromiter((size > limit for size in sizes), dtype=np.bool_, count=len(texts))


def _listed(texts: Sequence[str], prompts: Sequence[str] | None) -> tuple[list[str], list[str] | None]:
    """Return both as lists, for access by position."""
    return text_list(texts, "The texts"), None if prompts is None else text_list(prompts, "The prompts")


def _row(tokenizer: Any, text: str, prompt: str, limit: int) -> _Row:
    """Tokenize prompt and text together; the text's tokens are those that extend past the prompt's end."""
    encoded = read_texts(tokenizer, prompt + text, return_offsets_mapping=True)
    ids = encoded["input_ids"]
    own = sum(end > len(prompt) for _, end in encoded["offset_mapping"])
    if own == len(ids):
        start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        ids, own = (ids, own - 1) if start is None else ([start, *ids], own)
    cut = ids[:limit]
    return _Row(np.asarray(cut, dtype=np.int32), own - (len(ids) - len(cut)))


def _logits(loaded: LoadedModel, rows: Sequence[TokenIds]) -> torch.Tensor:
    """Return logits (rows, longest, V) of a right-padded batch; in a causal model, no real position sees padding."""
    import torch

    ids, mask = (torch.as_tensor(array, device=loaded.device) for array in pad(rows, loaded.tokenizer.pad_token_id))
    logits: torch.Tensor = loaded.model(input_ids=ids, attention_mask=mask).logits
    return logits
