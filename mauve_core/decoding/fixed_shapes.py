"""Decoding on a CUDA device: one step of fixed shape, recorded once as a CUDA graph and replayed for every token.

A step of a small model is hundreds of kernels that each take less time to run than to launch from Python. A CUDA graph
launches them at once, but always at the same addresses: keys and values lie in a cache of fixed size, and token,
position and mask in buffers that are overwritten before each step. What follows the logits (truncation, draw, end of
text) is queued one by one, and nothing waits for it: whether all texts have ended is asked every ``LOOK_EVERY`` steps.

Prompts are padded on the left to a multiple of ``WIDTH_STEP``, so that few shapes occur. The mask hides the padding,
and positions count from the prompt's first token, so that a text does not depend on it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mauve_core.decoding.contrastive import cache_argument
from mauve_core.numerics.device.memory import free_bytes

if TYPE_CHECKING:
    import torch

    from mauve_core.decoding.processors import FiniteLogits
    from mauve_core.encoders.models import LoadedModel

# Prompts are padded to a multiple of this many tokens.
WIDTH_STEP = 32

# Steps between two looks of the host at the device.
LOOK_EVERY = 16

# Steps before one is recorded: kernels are chosen and workspaces allocated in the first ones.
WARM_UPS = 3

# Maximum rows of a batch, whatever the memory.
MOST_ROWS = 4096

# Share of the free memory that a batch is planned to take.
MEMORY_SHARE = 0.8

# Memory of a step for each token of the vocabulary and row: logits, sorted and summed in 64 bits, with indices.
BYTES_PER_LOGIT = 64

# Logits (rows, V) -> tokens (rows,).
Choose = Callable[["torch.Tensor"], "torch.Tensor"]


def has_fixed_step(loaded: LoadedModel) -> bool:
    """Whether a step of the model can be recorded, as far as its class and configuration say.

    Its class must say that it compiles without breaks, all its layers must keep every key and value, and it must take
    positions and a finished mask.
    """
    from transformers import StaticCache
    from transformers.cache_utils import StaticLayer

    model = loaded.model
    config = model.config.get_text_config()
    parameters = inspect.signature(model.forward).parameters
    plain = (
        getattr(model, "_can_compile_fullgraph", False)
        and not model.config.is_encoder_decoder
        and getattr(model, "hf_quantizer", None) is None
        and config._attn_implementation == "sdpa"
        and {"position_ids", "attention_mask", cache_argument(model)} <= parameters.keys()
        and not getattr(config, "alibi", False)  # computed from a mask of prompts, which a finished one is not
        and set(getattr(config, "layer_types", None) or ["full_attention"]) == {"full_attention"}
        and not any(_depends_on_lengths(module) for module in model.modules())
    )
    if not plain:
        return False
    layers = StaticCache(model.config, 1).layers
    told = "cache_position" in parameters
    return all(type(layer) is StaticLayer and (told or _counts_on_device(layer)) for layer in layers)


def _counts_on_device(layer: Any) -> bool:
    """Whether a layer of a cache keeps its length in a tensor: a graph would repeat a length that Python keeps."""
    import torch

    return isinstance(getattr(layer, "cumulative_length", None), torch.Tensor)


def _depends_on_lengths(module: Any) -> bool:
    """Whether it is a rotary embedding whose frequencies depend on the longest text of the batch."""
    return any(kind in str(getattr(module, "rope_type", "")) for kind in ("dynamic", "longrope"))


class FixedShapes:
    """Writes batches with a model's fixed step; keeps the buffers and the graph of the last shape.

    Parameters
    ----------
    loaded : LoadedModel
        One for which :func:`has_fixed_step` is true.
    """

    def __init__(self, loaded: LoadedModel) -> None:
        self._loaded = loaded
        self._step: _Step | None = None
        self._most: int | None = None

    def most_rows(self, width: int, max_new_tokens: int) -> int:
        """Rows of a batch: as many as fit into the free memory on the first call, less after :meth:`halve`.

        ``width`` is the number of tokens of the longest prompt of all; later calls ask for no more.
        """
        if self._most is None:
            self._most = rows_that_fit(self._loaded, _padded(_padded(width) + max_new_tokens))
        return self._most

    def halve(self, rows: int) -> None:
        """Free the buffers after a batch of ``rows`` exceeded the memory, and take half as many from now on."""
        self._step, self._most = None, max(1, rows // 2)

    def write(
        self,
        ids: torch.Tensor,
        attention: torch.Tensor,
        choose: Choose,
        finite: FiniteLogits,
        *,
        max_new_tokens: int,
        min_new_tokens: int,
    ) -> torch.Tensor:
        """Continue left-padded prompts (rows, width); return (rows, at most max_new_tokens) tokens, padded at the end.

        ``finite`` sees the logits of each step, and is asked whenever the host looks.
        """
        import torch

        padding = int(self._loaded.tokenizer.pad_token_id)
        extra = _padded(ids.shape[1]) - ids.shape[1]
        ids, attention = (
            torch.nn.functional.pad(part, (extra, 0), value=v) for part, v in ((ids, padding), (attention, 0))
        )
        rows, width = ids.shape
        step = self._step_for(rows, _padded(width + max_new_tokens))
        ends = _ends_of(self._loaded, ids.device)
        written = torch.full((rows, max_new_tokens), padding, dtype=torch.long, device=ids.device)
        going = torch.ones(rows, dtype=torch.bool, device=ids.device)
        logits = step.start(ids, attention)
        for index in range(max_new_tokens):
            scores = logits.float()
            if index < min_new_tokens:
                scores = scores.index_fill(1, ends, -torch.inf)
            token = torch.where(going, choose(finite(ids, scores)), padding)
            written[:, index] = token
            going = going & ~torch.isin(token, ends)
            if index + 1 == max_new_tokens or (index % LOOK_EVERY == LOOK_EVERY - 1 and not self._look(going, finite)):
                break
            logits = step.next(token)
        return written

    @staticmethod
    def _look(going: torch.Tensor, finite: FiniteLogits) -> bool:
        finite.check()
        return bool(going.any())

    def _step_for(self, rows: int, positions: int) -> _Step:
        if self._step is None or self._step.shape != (rows, positions):
            self._step = None  # its memory is free before the next one is allocated
            self._step = _Step(self._loaded, rows, positions)
        return self._step


class _Step:
    """One step of a model for ``rows`` texts of at most ``positions`` tokens, with its buffers."""

    def __init__(self, loaded: LoadedModel, rows: int, positions: int) -> None:
        import torch
        from transformers import StaticCache

        self.shape = (rows, positions)
        self._model, device = loaded.model, loaded.model.device
        self._parameters = inspect.signature(self._model.forward).parameters
        self._cache = StaticCache(self._model.config, positions)
        self._token = torch.zeros((rows, 1), dtype=torch.long, device=device)
        self._position = torch.zeros_like(self._token)
        self._slot = torch.zeros(1, dtype=torch.long, device=device)
        self._mask = torch.ones((rows, 1, 1, positions), dtype=torch.bool, device=device)
        self._graph: Any = None
        if torch.device(loaded.device).type == "cuda":
            with torch.cuda.device(device):
                self._record(device)

    def start(self, ids: torch.Tensor, attention: torch.Tensor) -> torch.Tensor:
        """Read the prompts; return the logits (rows, V) of their next tokens."""
        width = ids.shape[1]
        self._cache.reset()
        self._slot.fill_(width - 1)
        self._position.copy_(attention.sum(dim=1, keepdim=True) - 1)
        self._mask.fill_(False)
        self._mask[:, 0, 0, :width] = attention.bool()
        positions = (attention.cumsum(dim=1) - 1).clamp_min(0)
        slots = self._slot.new_zeros(width).add_(1).cumsum(dim=0) - 1
        return self._forward(ids, attention, positions, slots)

    def next(self, token: torch.Tensor) -> torch.Tensor:
        """Append a token (rows,) to each text; return the logits (rows, V) of the next ones, until the next call."""
        self._token.copy_(token[:, None])
        self._position.add_(1)
        self._slot.add_(1)
        self._mask.index_fill_(3, self._slot, True)
        if self._graph is None:
            return self._one()
        self._graph.replay()
        return self._logits

    def _record(self, device: torch.device) -> None:
        """Record a step as a graph, after steps on another stream, as torch requires."""
        import torch

        side: torch.cuda.Stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        current = torch.cuda.current_stream(device)
        side.wait_stream(current)
        with torch.cuda.stream(side):
            for _ in range(WARM_UPS):
                self._one()
        current.wait_stream(side)
        self._cache.reset()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
            self._logits = self._one()

    def _one(self) -> torch.Tensor:
        return self._forward(self._token, self._mask, self._position, self._slot)

    def _forward(
        self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, slots: torch.Tensor
    ) -> torch.Tensor:
        """Logits (rows, V) of the last token; ``slots`` are the places of the tokens in the cache."""
        named = {"cache_position": slots, "logits_to_keep": 1}  # before transformers 5, a model is told the places
        output = self._model(
            **{cache_argument(self._model): self._cache},
            **{name: value for name, value in named.items() if name in self._parameters},
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            use_cache=True,
            return_dict=True,
        )
        logits: torch.Tensor = output.logits[:, -1]
        return logits


def rows_that_fit(loaded: LoadedModel, positions: int) -> int:
    """Rows of ``positions`` tokens that are planned to fit into the free memory of the model's CUDA device."""
    import torch

    free = free_bytes(torch.device(loaded.device))
    return min(MOST_ROWS, max(1, int(MEMORY_SHARE * free) // bytes_of_row(loaded, positions)))


def bytes_of_row(loaded: LoadedModel, positions: int) -> int:
    """Memory of a text of ``positions`` tokens: keys and values, a layer's activations and mask, and logits."""
    config = loaded.model.config.get_text_config()
    size = int(loaded.model.dtype.itemsize)
    heads, layers = int(config.num_attention_heads), int(config.num_hidden_layers)
    kept = int(getattr(config, "num_key_value_heads", None) or heads)
    width = int(getattr(config, "head_dim", None) or config.hidden_size // heads)
    inner = int(getattr(config, "intermediate_size", None) or 4 * config.hidden_size)
    cache = 2 * layers * kept * width * positions * size
    activations = (4 * int(config.hidden_size) + 3 * inner + 4 * heads * width) * positions * size
    mask = (1 + size) * positions**2  # Boolean, and as it is added to the logits of attention
    return cache + activations + mask + BYTES_PER_LOGIT * int(config.vocab_size)


def _padded(width: int) -> int:
    return -(-width // WIDTH_STEP) * WIDTH_STEP


def _ends_of(loaded: LoadedModel, device: torch.device) -> torch.Tensor:
    """The tokens that end a text."""
    import torch

    ends = loaded.model.generation_config.eos_token_id
    listed = [] if ends is None else ends if isinstance(ends, list) else [ends]
    return torch.tensor(listed, dtype=torch.long, device=device)
