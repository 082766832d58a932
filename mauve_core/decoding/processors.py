"""Our own logits processors: a check, a seeded draw, and sampling toward a perplexity. The rest are transformers'."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mauve_core.base.errors import InputError

if TYPE_CHECKING:
    import torch


class FiniteLogits:
    """A logits processor that changes nothing and finds logits that are no numbers; put it before all others.

    The largest logit so far stays on the device, so that a step waits for no transfer; only the first one does.

    Parameters
    ----------
    name : str
        The model, for the error.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._largest: torch.Tensor | None = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        import torch

        largest = scores.amax()  # NaN if any is; a processor of transformers before this one may have set -inf
        if self._largest is None:
            self._largest = largest
            self.check()
        self._largest = torch.maximum(self._largest, largest)
        return scores

    def check(self) -> None:
        """Raise an InputError that names the model if a logit so far was NaN or infinite."""
        if self._largest is not None and not float(self._largest) < math.inf:
            raise InputError(
                f"The weights of the model {self._name} give no finite logits",
                todo="Copy, download or save (save_pretrained) the model again",
            )


class SeededDraw:
    """A logits processor that draws each row's next token with that row's own random stream.

    It adds standard Gumbel noise to the log-probabilities and keeps the largest, an exact draw from the softmax
    (Gumbel 1954). In the returned rows only the drawn token is finite. Row i's noise depends on ``keys[i]`` alone.
    """

    def __init__(self, keys: Sequence[int]) -> None:
        self._streams = [np.random.Generator(np.random.Philox(key=key)) for key in keys]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        import torch

        shape = (len(self._streams), scores.shape[-1])
        waits = np.empty(shape, dtype=np.float32)
        for row, stream in zip(waits, self._streams, strict=True):
            stream.standard_exponential(dtype=np.float32, out=row)
        gumbel = -torch.log(torch.from_numpy(waits).clamp_min_(torch.finfo(torch.float32).tiny))
        chosen = (scores.float() + gumbel.to(scores.device)).argmax(dim=-1)
        return only(chosen, scores)


class PerplexityChase:
    """A logits processor that writes gibberish of a given perplexity (JMLR 2023, section 6.2 (f)).

    It draws the first tokens uniformly from the vocabulary. Each later token brings the perplexity of the text so far,
    under the writing model, closest to the target.

    Parameters
    ----------
    keys : sequence of int
        One random stream per row, as for :class:`SeededDraw`.
    perplexity : float > 1
    uniform_tokens : int
        Number of tokens drawn uniformly.
    never : sequence of int
        Tokens that are never written (special tokens; a text runs to its full length).
    """

    def __init__(self, keys: Sequence[int], perplexity: float, uniform_tokens: int, never: Sequence[int]) -> None:
        self._streams = [np.random.Generator(np.random.Philox(key=key)) for key in keys]
        self._target = math.log(perplexity)
        self._uniform_tokens = uniform_tokens
        self._never = list(never)
        self._written = 0
        self._spent = np.zeros(len(keys))

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        import torch

        losses = -torch.log_softmax(scores.float(), dim=-1)
        possible = torch.isfinite(losses)
        possible[:, self._never] = False
        spent = torch.as_tensor(self._spent, dtype=torch.float64, device=scores.device)[:, None]
        if self._written < self._uniform_tokens:
            draws = torch.tensor([stream.random() for stream in self._streams], device=scores.device)
            index = (draws * possible.sum(dim=1)).long() + 1
            chosen = (possible.cumsum(dim=1) >= index[:, None]).int().argmax(dim=1)
        else:
            distance = ((spent + losses) / (self._written + 1) - self._target).abs()
            chosen = distance.masked_fill(~possible, torch.inf).argmin(dim=1)
        self._spent += losses.gather(1, chosen[:, None])[:, 0].double().cpu().numpy()
        self._written += 1
        return only(chosen, scores)


def only(chosen: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Scores in which only each row's chosen token is possible."""
    import torch

    return torch.full_like(scores, -torch.inf).scatter_(-1, chosen[:, None], 0.0)
