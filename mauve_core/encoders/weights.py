"""Weights of known models by function: GPT-2, Llama, BERT and RoBERTa as one list of layers.

Every array is a view of the loaded model's own; nothing is copied. A model is known if its type is, if
:mod:`mauve_core.encoders.packed` supports its settings, and if each of its weights has a place, so that a variant's
extra layer cannot be missed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

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
