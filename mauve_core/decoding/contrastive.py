"""Contrastive search as a custom generation loop for transformers' ``generate``.

Each step tries the k most probable tokens and takes the one with the largest (1 - alpha) p(token) - alpha max_j
cos(h(token), h_j), where h are hidden states of the last layer and j runs over all earlier tokens, including the
prompt. Source: Su et al., *A Contrastive Framework for Neural Text Generation*, NeurIPS 2022, equation 5; compared
with MAUVE in Su and Collier 2023.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


class ContrastiveSearch:
    """Deterministic loop for ``generate(custom_generate=...)``.

    Parameters
    ----------
    alpha : float in [0, 1]
        Weight of the penalty; 0 is greedy decoding.
    k : int
        Tokens tried at each step.
    """

    def __init__(self, alpha: float, k: int) -> None:
        self._alpha, self._k = alpha, k

    def __call__(
        self,
        model: Any,
        input_ids: torch.Tensor,
        logits_processor: Any,
        stopping_criteria: Any,
        generation_config: Any,
        **model_kwargs: Any,
    ) -> torch.Tensor:
        """Continue a left-padded batch until every row has ended; return prompts and continuations, padded."""
        import torch
        from transformers import DynamicCache

        mask = model_kwargs.get("attention_mask")
        mask = torch.ones_like(input_ids) if mask is None else mask
        going = torch.ones(len(input_ids), dtype=torch.bool, device=input_ids.device)
        cache = DynamicCache()
        states, logits = _forward(model, input_ids, mask, cache)
        while True:
            scores = logits_processor(input_ids, logits.float())
            probabilities, tried = scores.softmax(dim=-1).topk(min(self._k, scores.shape[-1]), dim=-1)
            rows, k = tried.shape
            cache.batch_repeat_interleave(k)
            longer = torch.cat([mask, mask.new_ones(rows, 1)], dim=1)
            new, new_logits = _forward(model, tried.reshape(-1, 1), longer.repeat_interleave(k, dim=0), cache)
            likeness = torch.einsum("rkd,rtd->rkt", new.reshape(rows, k, -1), states)
            likeness = likeness.masked_fill(mask[:, None, :] == 0, -torch.inf).amax(dim=-1)
            choice = ((1 - self._alpha) * probabilities - self._alpha * likeness).argmax(dim=-1)
            chosen = torch.arange(rows, device=choice.device) * k + choice
            cache.batch_select_indices(chosen)
            logits, mask = new_logits[chosen], longer
            states = torch.cat([states, new[chosen]], dim=1)
            token = tried.gather(1, choice[:, None])[:, 0]
            padding = generation_config._pad_token_tensor
            token = torch.where(going, token, token if padding is None else padding)
            input_ids = torch.cat([input_ids, token[:, None]], dim=1)
            going &= ~stopping_criteria(input_ids, None)
            if not going.any():
                return input_ids


def _forward(model: Any, ids: torch.Tensor, mask: torch.Tensor, cache: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Unit-length hidden states (rows, t, d) of the new tokens, and logits (rows, V) of the last; the cache grows."""
    import torch

    positions = (mask.cumsum(dim=-1) - 1).clamp_min(0)[:, -ids.shape[1] :]
    output = model(
        **{cache_argument(model): cache},
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        use_cache=True,
        output_hidden_states=True,
        logits_to_keep=1,
        return_dict=True,
    )
    states = torch.nn.functional.normalize(output.hidden_states[-1].float(), dim=-1)
    return states, output.logits[:, -1]


def cache_argument(model: Any) -> str:
    """Return what the model calls its cache: ``cache`` from transformers 5.24 on, ``past_key_values`` before."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
