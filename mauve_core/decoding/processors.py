"""Our own logits processors: a check, a seeded draw, and sampling toward a perplexity. The rest are transformers'."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mauve_core.base.errors import InputError

if TYPE_CHECKING:
    import torch

# Bits of the random number of one draw.
DRAW_BITS = 60

# Draws of a row whose random numbers are made at a time, unless the caller says how many there will be.
DRAWN_AHEAD = 128


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

    One random number a token finds its place in the cumulative distribution of the softmax. Probabilities become whole
    numbers of 2^-59, whose sums do not depend on the order of addition: equal probabilities and streams give the same
    token on every device, one of probability 0 is never drawn, and what is cut off shifts no probability by more than
    2^-59 times the size of the vocabulary (1e-13 for 50,000 tokens). Row i's numbers depend on ``keys[i]`` alone.

    Adding Gumbel noise to the logits would draw from the same distribution, with a random number for each token of the
    vocabulary, which a device could not make alike or would have to receive at every step.

    Parameters
    ----------
    keys : sequence of int
        One random stream per row.
    steps : int
        Random numbers of a row that are made, and sent to the device, at a time; they do not depend on it.
    """

    def __init__(self, keys: Sequence[int], steps: int = DRAWN_AHEAD) -> None:
        self._streams = [np.random.Philox(key=key) for key in keys]
        self._steps = steps
        self._ahead: Iterator[torch.Tensor] = iter(())

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # noqa: ARG002
        """Return scores in which only each row's drawn token is possible."""
        return only(self.draw(scores), scores)

    def draw(self, scores: torch.Tensor) -> torch.Tensor:
        """Return the drawn tokens (rows,) of logits (rows, V), on their device."""
        numbers = next(self._ahead, None)
        if numbers is None:
            self._ahead = iter(self._more().to(scores.device))
            numbers = next(self._ahead)
        return token_at(numbers, scores)

    def _more(self) -> torch.Tensor:
        """(steps, rows) random integers of ``DRAW_BITS`` bits."""
        import torch

        raw = np.stack([stream.random_raw(self._steps) for stream in self._streams], axis=1)
        return torch.from_numpy((raw >> np.uint64(64 - DRAW_BITS)).astype(np.int64))


def token_at(numbers: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """The tokens (rows,) at the share ``numbers`` / 2^60 of the cumulative softmax of ``scores`` (rows, V).

    All sums and products are of 64-bit integers, and exact.
    """
    import torch

    weights = scores.float().softmax(dim=-1).mul_(2.0 ** (DRAW_BITS - 1)).long()
    cumulative = weights.cumsum(dim=-1)
    place = _share(numbers, cumulative[:, -1])  # below the last sum, so that the token found has a weight
    found = torch.searchsorted(cumulative, place[:, None], right=True)[:, 0]
    return found.clamp_max_(scores.shape[-1] - 1)  # logits that are no numbers have no sums; FiniteLogits names them


def _share(numbers: torch.Tensor, totals: torch.Tensor) -> torch.Tensor:
    """Floor of numbers * totals / 2^60, both below 2^60, from products of their halves."""
    half = DRAW_BITS // 2
    low = (1 << half) - 1
    upper, lower = numbers >> half, numbers & low
    high, rest = totals >> half, totals & low
    return upper * high + ((upper * rest + lower * high + (lower * rest >> half)) >> half)


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
