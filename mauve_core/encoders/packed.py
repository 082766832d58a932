"""Forward pass of known models (GPT-2, Llama, BERT, RoBERTa) over packed texts, without padding.

A batch is one row of tokens: linear layers see only real tokens, and attention runs text by text. Nothing is computed
that no feature needs: no layer after the requested one, and in that layer, if one token stands for a text, only these
tokens' queries and feed-forward parts. GPT-2's activation is the same function in fewer passes over memory.

Weights are views of the loaded model's own; nothing is copied. A model is known if its type is, if its settings are
supported, and if each of its weights has a place, so that a variant's extra layer cannot be missed. transformers runs
the models that :func:`read_weights` does not know.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from mauve_core.encoders.batching import TokenIds
from mauve_core.encoders.devices import to_device as _to_device
from mauve_core.encoders.pooling import ResolvedPooling

if TYPE_CHECKING:
    import torch
    from torch import Tensor


# Rotary embeddings whose frequencies depend on the longest sequence of the batch.
LENGTH_DEPENDENT_POSITIONS = frozenset({"dynamic", "longrope"})

# transformers' names of the activations that are implemented here.
ACTIVATIONS = {
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
    "gelu": "gelu",
    "silu": "silu",
    "swish": "silu",
    "relu": "relu",
}

Norm = Callable[["Tensor"], "Tensor"]
Arrays = dict[str, "Tensor"]


@dataclass(frozen=True, eq=False)
class Linear:
    """x W + b, with ``weight`` W (in, out) and ``bias`` b (out,) or None."""

    weight: Tensor
    bias: Tensor | None

    def __call__(self, x: Tensor) -> Tensor:
        import torch

        return torch.mm(x, self.weight) if self.bias is None else torch.addmm(self.bias, x, self.weight)


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer; ``gate`` is the gate of Llama's feed-forward part, ``scale`` multiplies attention logits."""

    q: Linear
    k: Linear
    v: Linear
    o: Linear
    norm1: Norm
    norm2: Norm
    up: Linear
    down: Linear
    scale: float
    gate: Linear | None = None


@dataclass(frozen=True, eq=False)
class Weights:
    """A known model.

    Attributes
    ----------
    embed : callable
        Token ids (n,), positions (n,) from 0 and the texts' lengths -> (n, d).
    layers : sequence of Layer
    head_size : int
    activation : {"gelu-tanh", "gelu", "silu", "relu"}
    device : torch.device
    dtype : torch.dtype
    rotary : callable or None
        (n, d) and positions (n,) -> cosines and sines (n, head_size).
    final_norm : callable or None
        After the last layer only.
    post_norm : bool
        Norms follow the residual sums, as in BERT, instead of preceding the parts.
    causal : bool
    """

    embed: Callable[[Tensor, Tensor, Sequence[int]], Tensor]
    layers: Sequence[Layer]
    head_size: int
    activation: str
    device: torch.device
    dtype: torch.dtype
    rotary: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None
    final_norm: Norm | None = None
    post_norm: bool = False
    causal: bool = True


def read_weights(model: Any) -> Weights | None:
    """Return the weights of a transformers model without its head; None if the model is not known."""
    reader = _READERS.get(model.config.model_type)
    if reader is None or type(model).__name__ != _CLASSES[model.config.model_type]:
        return None
    arrays = dict(model.state_dict())
    found = reader(model, arrays)
    left = [name for name in arrays if not name.startswith("pooler.")]  # a pooler only reads the layers' output
    return None if left else found


def has_length_dependent_positions(config: Any) -> bool:
    """Return whether a token's rotary embedding depends on the other texts of its batch.

    The setting is ``rope_parameters`` from transformers 5 on and ``rope_scaling`` before.
    """
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    return rope.get("rope_type", rope.get("type")) in LENGTH_DEPENDENT_POSITIONS


def _gpt2(model: Any, arrays: Arrays) -> Weights | None:
    config = model.config
    if config.activation_function not in ACTIVATIONS or config.add_cross_attention:
        return None
    tokens, position_vectors = arrays.pop("wte.weight"), arrays.pop("wpe.weight")
    norm = partial(_layer_norm, arrays, config.layer_norm_epsilon)
    size, layers = config.hidden_size // config.num_attention_heads, []
    for index in range(config.num_hidden_layers):
        prefix = f"h.{index}."
        q, k, v = _thirds(arrays, prefix + "attn.c_attn")
        scale = (size**-0.5 if config.scale_attn_weights else 1.0) / (
            index + 1 if config.scale_attn_by_inverse_layer_idx else 1
        )
        o, up, down = (_transposed(arrays, prefix + name) for name in ("attn.c_proj", "mlp.c_fc", "mlp.c_proj"))
        layers.append(Layer(q, k, v, o, norm(prefix + "ln_1"), norm(prefix + "ln_2"), up, down, scale))
    return Weights(
        embed=lambda ids, positions, _: tokens[ids] + position_vectors[positions],
        layers=layers,
        head_size=size,
        activation=ACTIVATIONS[config.activation_function],
        device=tokens.device,
        dtype=tokens.dtype,
        final_norm=norm("ln_f"),
    )


def _llama(model: Any, arrays: Arrays) -> Weights | None:
    config = model.config
    if config.hidden_act not in ACTIVATIONS or has_length_dependent_positions(config):
        return None
    tokens = arrays.pop("embed_tokens.weight")
    norm = partial(_rms_norm, arrays, config.rms_norm_eps)
    size = config.head_dim or config.hidden_size // config.num_attention_heads
    layers = []
    for index in range(config.num_hidden_layers):
        prefix = f"layers.{index}."
        q, k, v, o = (_linear(arrays, f"{prefix}self_attn.{name}_proj") for name in "qkvo")
        gate, up, down = (_linear(arrays, f"{prefix}mlp.{name}_proj") for name in ("gate", "up", "down"))
        norms = norm(prefix + "input_layernorm"), norm(prefix + "post_attention_layernorm")
        layers.append(Layer(q, k, v, o, *norms, up, down, size**-0.5, gate))

    def rotary(hidden: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        cosines, sines = model.rotary_emb(hidden, positions[None])
        return cosines[0], sines[0]

    return Weights(
        embed=lambda ids, *_: tokens[ids],
        layers=layers,
        head_size=size,
        activation=ACTIVATIONS[config.hidden_act],
        device=tokens.device,
        dtype=tokens.dtype,
        rotary=rotary,
        final_norm=norm("norm"),
    )


def _bert(model: Any, arrays: Arrays) -> Weights | None:
    config = model.config
    absolute = getattr(config, "position_embedding_type", None) in (None, "absolute")
    if config.hidden_act not in ACTIVATIONS or config.is_decoder or config.add_cross_attention or not absolute:
        return None
    names = ("word_embeddings", "position_embeddings", "token_type_embeddings")
    tokens, position_vectors, types = (arrays.pop(f"embeddings.{name}.weight") for name in names)
    norm = partial(_layer_norm, arrays, config.layer_norm_eps)
    first, size, layers = norm("embeddings.LayerNorm"), config.hidden_size // config.num_attention_heads, []
    for index in range(config.num_hidden_layers):
        prefix = f"encoder.layer.{index}."
        q, k, v = (_linear(arrays, f"{prefix}attention.self.{name}") for name in ("query", "key", "value"))
        o, up, down = (
            _linear(arrays, prefix + n) for n in ("attention.output.dense", "intermediate.dense", "output.dense")
        )
        norms = norm(prefix + "attention.output.LayerNorm"), norm(prefix + "output.LayerNorm")
        layers.append(Layer(q, k, v, o, *norms, up, down, size**-0.5))
    padding = config.pad_token_id if config.model_type == "roberta" else None

    def embed(ids: Tensor, positions: Tensor, lengths: Sequence[int]) -> Tensor:
        if padding is not None:
            positions = _counted_from(padding, ids, lengths)
        return first(tokens[ids] + types[0] + position_vectors[positions])

    return Weights(
        embed=embed,
        layers=layers,
        head_size=size,
        activation=ACTIVATIONS[config.hidden_act],
        device=tokens.device,
        dtype=tokens.dtype,
        post_norm=True,
        causal=False,
    )


_READERS = {"gpt2": _gpt2, "llama": _llama, "bert": _bert, "roberta": _bert}
_CLASSES = {"gpt2": "GPT2Model", "llama": "LlamaModel", "bert": "BertModel", "roberta": "RobertaModel"}


def _counted_from(padding: int, ids: Tensor, lengths: Sequence[int]) -> Tensor:
    """Return RoBERTa's positions: real tokens count from the padding id; a literal padding token has none."""
    import torch

    counted = ids != padding
    numbers = [part.cumsum(0) * part for part in torch.split(counted, list(lengths))]
    return torch.cat(numbers) + padding


def _linear(arrays: Arrays, name: str) -> Linear:
    return Linear(arrays.pop(f"{name}.weight").t(), arrays.pop(f"{name}.bias", None))


def _transposed(arrays: Arrays, name: str) -> Linear:
    """GPT-2 stores its weights as (in, out)."""
    return Linear(arrays.pop(f"{name}.weight"), arrays.pop(f"{name}.bias", None))


def _thirds(arrays: Arrays, name: str) -> list[Linear]:
    """Return queries, keys and values, which GPT-2 stores side by side."""
    parts = zip(arrays.pop(f"{name}.weight").chunk(3, dim=1), arrays.pop(f"{name}.bias").chunk(3), strict=True)
    return [Linear(weight, bias) for weight, bias in parts]


def _layer_norm(arrays: Arrays, epsilon: float, name: str) -> Norm:
    from torch.nn.functional import layer_norm

    weight, bias = arrays.pop(f"{name}.weight"), arrays.pop(f"{name}.bias")
    return lambda x: layer_norm(x, weight.shape, weight, bias, epsilon)


def _rms_norm(arrays: Arrays, epsilon: float, name: str) -> Norm:
    from torch.nn.functional import rms_norm

    weight = arrays.pop(f"{name}.weight")
    return lambda x: rms_norm(x, weight.shape, weight, epsilon)


# 2 sqrt(2 / pi), the slope of GPT-2's activation.
SQRT_8_PI = 1.5957691216057308


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of the texts in a batch.

    Attributes
    ----------
    lengths, starts : tuple of int
        Tokens of each text, and its first row.
    positions : (n,) int64 tensor
        Position of each token in its text, from 0.
    device : torch.device
    """

    lengths: tuple[int, ...]
    starts: tuple[int, ...]
    positions: Tensor
    device: torch.device

    def rows_of(self, texts: Sequence[int], stops: Sequence[int]) -> tuple[Tensor, NDArray[np.bool_]]:
        """Return (rows, longest) rows of the first ``stops`` tokens of some texts, padded, and which are real."""
        offsets = np.arange(max(stops))
        real = offsets < np.asarray(stops)[:, None]
        rows = np.asarray(self.starts)[list(texts), None] + np.where(real, offsets, 0)
        return _to_device(rows, self.device), real


class PackedModel:
    """A known model, ready to encode batches of token ids.

    ``layer`` is the index of the hidden states, from 0 (embeddings) to the number of layers.
    """

    def __init__(self, weights: Weights, pooling: ResolvedPooling, layer: int) -> None:
        self._weights, self._pooling, self._layer = weights, pooling, layer
        self._attend = _attention_for(weights)

    def vectors(self, token_ids: Sequence[TokenIds], prefixes: Sequence[int] = ()) -> Tensor:
        """Return (rows, d) float32 pooled vectors on the model's device.

        With ``prefixes``, vectors of each text's prefixes of these lengths, side by side: (rows, len(prefixes) * d).
        """
        import torch

        w, layout = self._weights, _layout(token_ids, self._weights.device)
        stops = [[min(limit, length) for limit in prefixes or (length,)] for length in layout.lengths]
        texts = [text for text, row in enumerate(stops) for _ in row]
        flat = [stop for row in stops for stop in row]
        with torch.inference_mode():
            ids = _to_device(np.concatenate(token_ids).astype(np.int64), w.device)
            hidden = w.embed(ids, layout.positions, layout.lengths)
            rotation = None if w.rotary is None else w.rotary(hidden, layout.positions)
            wanted = _wanted(layout, texts, flat, self._pooling)
            for index, layer in enumerate(w.layers[: self._layer]):
                last = index == self._layer - 1 and wanted is not None
                block = self._post_norm if w.post_norm else self._pre_norm
                hidden = block(layer, hidden, layout, rotation, wanted if last else None)
            if wanted is not None and not self._layer:
                hidden = hidden[wanted.rows]
            if w.final_norm is not None and self._layer == len(w.layers):
                hidden = w.final_norm(hidden)
            hidden = hidden.to(torch.float32)
            if wanted is None:
                hidden = _means(hidden, layout, texts, flat)
            return hidden.reshape(len(token_ids), -1)

    def _pre_norm(
        self, layer: Layer, x: Tensor, layout: Layout, rotation: tuple[Tensor, Tensor] | None, wanted: _Wanted | None
    ) -> Tensor:
        attended = self._attention(layer, layer.norm1(x), layout, rotation, wanted)
        x = x if wanted is None else x[wanted.rows]
        x += attended
        x += self._feed_forward(layer, layer.norm2(x))
        return x

    def _post_norm(
        self, layer: Layer, x: Tensor, layout: Layout, rotation: tuple[Tensor, Tensor] | None, wanted: _Wanted | None
    ) -> Tensor:
        attended = self._attention(layer, x, layout, rotation, wanted)
        x = layer.norm1((x if wanted is None else x[wanted.rows]) + attended)
        return layer.norm2(x + self._feed_forward(layer, x))

    def _attention(
        self, layer: Layer, x: Tensor, layout: Layout, rotation: tuple[Tensor, Tensor] | None, wanted: _Wanted | None
    ) -> Tensor:
        """Return (n, d), or one row for each of ``wanted``."""
        size = self._weights.head_size
        asking = x if wanted is None else x[wanted.rows]
        parts = ((layer.q, asking), (layer.k, x), (layer.v, x))
        q, k, v = (linear(rows).view(len(rows), -1, size) for linear, rows in parts)
        if rotation is not None:
            q = _rotated(q, rotation if wanted is None else (rotation[0][wanted.rows], rotation[1][wanted.rows]))
            k = _rotated(k, rotation)
        if wanted is None:
            found = self._attend(q, k, v, layout, self._weights.causal, layer.scale)
        else:
            # One query per text; in a causal model it sees the tokens before it.
            seen = wanted.stops if self._weights.causal else [layout.lengths[text] for text in wanted.texts]
            found = _attend_to(q, k, v, layout, wanted.texts, seen, layer.scale)
        return layer.o(found.flatten(-2))

    def _feed_forward(self, layer: Layer, x: Tensor) -> Tensor:
        inner = layer.up(x) if layer.gate is None else layer.gate(x)
        inner = activate(inner, self._weights.activation)
        if layer.gate is not None:
            inner *= layer.up(x)
        return layer.down(inner)


@dataclass(frozen=True, eq=False)
class _Wanted:
    """Tokens whose states are the vectors: their text, their row, and the number of tokens up to them."""

    texts: Sequence[int]
    rows: Tensor
    stops: Sequence[int]


def activate(x: Tensor, name: str) -> Tensor:
    """Apply the activation, possibly overwriting ``x``; "gelu-tanh" is x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3))."""
    import torch
    from torch.nn import functional

    if name == "gelu-tanh" and x.device.type == "cpu" and x.dtype == torch.float32:
        inner = (x * x).mul_(0.044715 * SQRT_8_PI).add_(SQRT_8_PI)
        return x.mul_(inner.mul_(x).sigmoid_())
    if name == "gelu-tanh":
        return functional.gelu(x, approximate="tanh")
    others: dict[str, Callable[[Tensor], Tensor]] = {
        "gelu": functional.gelu,
        "silu": functional.silu,
        "relu": functional.relu,
    }
    return others[name](x)


def attend_by_text(q: Tensor, k: Tensor, v: Tensor, layout: Layout, causal: bool, scale: float) -> Tensor:
    """Compute (n, heads, size) attention within each text; adjacent texts of equal length go together."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    found, start = torch.empty_like(q), 0
    k, v = (_for_all_heads(part, q.shape[-2]) for part in (k, v))
    for length, group in groupby(layout.lengths):
        rows = slice(start, start + length * len(list(group)))
        one, two, three = (part[rows].view(-1, length, *part.shape[1:]).transpose(1, 2) for part in (q, k, v))
        heads = scaled_dot_product_attention(one, two, three, is_causal=causal, scale=scale)
        found[rows] = heads.transpose(1, 2).flatten(0, 1)
        start = rows.stop
    return found


def attend_padded(q: Tensor, k: Tensor, v: Tensor, layout: Layout, causal: bool, scale: float) -> Tensor:
    """The same with texts padded to the longest for attention only: few kernels, which suits a GPU."""
    from torch.nn.functional import scaled_dot_product_attention

    rows, real = layout.rows_of(range(len(layout.lengths)), layout.lengths)
    k, v = (_for_all_heads(part, q.shape[-2]) for part in (k, v))
    one, two, three = (part[rows].transpose(1, 2) for part in (q, k, v))
    # Padding is on the right: with a causal mask, no real token sees it.
    mask = None if causal or real.all() else _to_device(real, layout.device)[:, None, None, :]
    heads = scaled_dot_product_attention(one, two, three, attn_mask=mask, is_causal=causal, scale=scale)
    return heads.transpose(1, 2).flatten(0, 1)[_to_device(np.flatnonzero(real), layout.device)]


def attend_varlen(
    q: Tensor, k: Tensor, v: Tensor, layout: Layout, causal: bool, scale: float, *, known: Collection[str]
) -> Tensor:
    """The same with one kernel over texts of unequal length (CUDA, bfloat16 and float16).

    ``known`` names the kernel's parameters in this version of torch. A kernel without ``scale`` takes 1 / sqrt(size).
    """
    from torch.nn.attention.varlen import varlen_attn

    bounds = _to_device(np.array([*layout.starts, sum(layout.lengths)], dtype=np.int32), layout.device)
    longest = max(layout.lengths)
    window = (-1, 0) if causal else (-1, -1)
    options: dict[str, Any] = {"window_size": window} if "window_size" in known else {"is_causal": causal}
    if "scale" in known:
        options["scale"] = scale
    if "enable_gqa" in known:
        options["enable_gqa"] = k.shape[-2] != q.shape[-2]
    else:
        k, v = (_for_all_heads(part, q.shape[-2]) for part in (k, v))
    found = varlen_attn(q, k, v, bounds, bounds, longest, longest, **options)
    return cast("Tensor", found)  # a pair only if the log-sum-exps are requested


def _attention_for(weights: Weights) -> Callable[[Tensor, Tensor, Tensor, Layout, bool, float], Tensor]:
    """Choose text by text on a CPU; on CUDA one kernel if torch has it for this model and precision, else padded."""
    import torch

    if weights.device.type != "cuda":
        return attend_by_text
    half = weights.dtype in (torch.bfloat16, torch.float16)
    flash = torch.cuda.get_device_capability(weights.device) >= (8, 0)
    fits = weights.head_size % 8 == 0 and weights.head_size <= 256
    known = _kernel_parameters()
    usual = all(math.isclose(layer.scale, weights.head_size**-0.5) for layer in weights.layers)
    usable = not known.isdisjoint({"window_size", "is_causal"}) and ("scale" in known or usual)
    return partial(attend_varlen, known=known) if half and flash and fits and usable else attend_padded


def _kernel_parameters() -> frozenset[str]:
    """Parameters of torch's kernel, which differ by version; none before torch 2.10, which does not have it."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return frozenset()
    return frozenset(inspect.signature(varlen_attn).parameters)


def _attend_to(
    q: Tensor, k: Tensor, v: Tensor, layout: Layout, texts: Sequence[int], seen: Sequence[int], scale: float
) -> Tensor:
    """Compute (rows, heads, size) attention of one query each to the first ``seen`` tokens of its text."""
    from torch.nn.functional import scaled_dot_product_attention

    rows, real = layout.rows_of(texts, seen)
    keys, values = (_for_all_heads(part[rows], q.shape[-2]).transpose(1, 2) for part in (k, v))
    mask = None if real.all() else _to_device(real, layout.device)[:, None, None, :]
    return scaled_dot_product_attention(q[:, :, None], keys, values, attn_mask=mask, scale=scale).squeeze(2)


def _layout(token_ids: Sequence[TokenIds], device: torch.device) -> Layout:
    lengths = [len(row) for row in token_ids]
    starts = np.cumsum([0, *lengths[:-1]])
    positions = np.concatenate([np.arange(length) for length in lengths])
    return Layout(tuple(lengths), tuple(starts.tolist()), _to_device(positions, device), device)


def _wanted(layout: Layout, texts: Sequence[int], stops: Sequence[int], pooling: ResolvedPooling) -> _Wanted | None:
    """Return the tokens whose states are the vectors; None for the mean, which needs every token."""
    if pooling == "mean":
        return None
    stops = stops if pooling == "last" else [1] * len(stops)
    rows = np.asarray(layout.starts)[list(texts)] + np.asarray(stops) - 1
    return _Wanted(texts, _to_device(rows, layout.device), stops)


def _means(hidden: Tensor, layout: Layout, texts: Sequence[int], stops: Sequence[int]) -> Tensor:
    """Return (rows, d) means over the first ``stops`` tokens of each text."""
    import torch

    if list(stops) != list(layout.lengths):
        starts = np.asarray(layout.starts)[list(texts)]
        rows = np.concatenate([start + np.arange(stop) for start, stop in zip(starts, stops, strict=True)])
        hidden = hidden[_to_device(rows, layout.device)]
    counts = _to_device(np.asarray(stops, dtype=np.int64), layout.device)
    return torch.segment_reduce(hidden, "mean", lengths=counts, axis=0, unsafe=True)  # unsafe: no wait for the GPU


def _for_all_heads(x: Tensor, heads: int) -> Tensor:
    """Return (..., kv heads, size) keys or values, repeated if several heads share them."""
    return x if x.shape[-2] == heads else x.repeat_interleave(heads // x.shape[-2], dim=-2)


def _rotated(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    """Rotate (n, heads, size) by position; the first half of the numbers pairs with the second."""
    import torch

    cosines, sines = (part[:, None] for part in rotation)
    first, second = x.chunk(2, dim=-1)
    return (x * cosines).addcmul_(torch.cat((-second, first), dim=-1), sines)
