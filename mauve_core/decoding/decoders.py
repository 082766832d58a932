"""Decoding algorithms by name: what each does to the logits before a token is taken.

A decoder is written ``name`` or ``name:parameter=value``, as in ``nucleus:p=0.95``; :func:`parse_decoder` reads that.
Truncation is transformers' own; the draw itself is :class:`SeededDraw`, so that a text depends on its prompt and the
seed and not on the batch it was written in.

Sources: nucleus sampling, Holtzman et al. 2020; top-k sampling, Fan et al. 2018; as compared in JMLR 2023, section 6.2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mauve_core.errors import InputError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Parameter:
    """A decoder's number: its default, its type, and the values it may take."""

    name: str
    default: float
    kind: type[int] | type[float]
    allowed: str
    check: Callable[[float], bool]


@dataclass(frozen=True)
class DecoderKind:
    """An algorithm: whether it draws at random, its parameter, and the logits processor that truncates."""

    name: str
    draws: bool
    parameter: Parameter | None
    truncate: Callable[[float], Any] | None


@dataclass(frozen=True)
class Decoder:
    """A decoder with its parameter set, as ``nucleus:p=0.95``."""

    kind: DecoderKind
    value: float | None

    @property
    def spec(self) -> str:
        """The text that :func:`parse_decoder` reads back."""
        parameter = self.kind.parameter
        return self.kind.name if parameter is None else f"{self.kind.name}:{parameter.name}={self.value:g}"

    @property
    def slug(self) -> str:
        """A file name: ``nucleus-0.95``."""
        return self.kind.name if self.value is None else f"{self.kind.name}-{self.value:g}"

    def processors(self, keys: Sequence[int]) -> list[Any]:
        """Logits processors for a batch whose rows draw from the given keys, in the order of their application."""
        chain = []
        if self.kind.truncate is not None and self.value is not None:
            chain.append(self.kind.truncate(self.value))
        if self.kind.draws:
            chain.append(SeededDraw(keys))
        return chain


class SeededDraw:
    """A logits processor that draws each row's next token with that row's own random stream.

    It adds standard Gumbel noise to the log-probabilities and keeps the largest, which is an exact draw from the
    softmax (Gumbel 1954), and hands over a row in which only the drawn token is finite. Row i's noise comes from a
    counter-based generator keyed by ``keys[i]`` alone.
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
        chosen = (scores.float() + gumbel.to(scores.device)).argmax(dim=-1, keepdim=True)
        return torch.full_like(scores, -torch.inf).scatter_(-1, chosen, 0.0)


def stream_key(seed: int, decoder: Decoder, prompt_id: str) -> int:
    """The 128-bit key of one text's random stream, from the seed, the decoder and the prompt's id."""
    words = f"{seed}\x1f{decoder.spec}\x1f{prompt_id}".encode()
    return int.from_bytes(hashlib.sha256(words).digest()[:16], "little")


def parse_decoder(spec: str) -> Decoder:
    """Read ``name`` or ``name:parameter=value``.

    Raises
    ------
    InputError
        Unknown name or parameter, or a value outside its range.
    """
    name, _, setting = spec.partition(":")
    kind = DECODERS.get(name)
    if kind is None:
        raise InputError(f"No decoder named {name!r}", allowed=_all_specs(), received=spec)
    if kind.parameter is None:
        if setting:
            raise InputError(f"The decoder {name} takes no parameter", received=spec)
        return Decoder(kind, None)
    parameter = kind.parameter
    if not setting:
        return Decoder(kind, parameter.default)
    key, _, text = setting.partition("=")
    try:
        value = parameter.kind(text)
    except ValueError:
        value = parameter.kind(0)
        key = ""
    if key != parameter.name or not parameter.check(value):
        raise InputError(
            f"The decoder {name} cannot be set so",
            allowed=f"{name}:{parameter.name}={parameter.allowed}",
            received=spec,
        )
    return Decoder(kind, value)


def _nucleus(p: float) -> Any:
    from transformers import TopPLogitsWarper

    return TopPLogitsWarper(top_p=p)


def _top_k(k: float) -> Any:
    from transformers import TopKLogitsWarper

    return TopKLogitsWarper(top_k=int(k))


def _all_specs() -> str:
    return ", ".join(
        kind.name if kind.parameter is None else f"{kind.name}:{kind.parameter.name}={kind.parameter.allowed}"
        for kind in DECODERS.values()
    )


DECODERS: dict[str, DecoderKind] = {
    kind.name: kind
    for kind in (
        DecoderKind("greedy", draws=False, parameter=None, truncate=None),
        DecoderKind("ancestral", draws=True, parameter=None, truncate=None),
        DecoderKind(
            "nucleus",
            draws=True,
            parameter=Parameter("p", 0.95, float, "a share in (0, 1]", lambda p: 0 < p <= 1),
            truncate=_nucleus,
        ),
        DecoderKind(
            "top-k",
            draws=True,
            parameter=Parameter("k", 50, int, "a whole number of at least 1", lambda k: k >= 1),
            truncate=_top_k,
        ),
    )
}
"""Every decoder by its name."""
