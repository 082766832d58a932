"""Generate continuations of prompts: batched, left-padded, seeded, resumable.

A run writes one JSONL file per decoder and a manifest with its settings. Each finished batch is kept as a part, so a
killed run resumes where it stopped, also with batches of another size; a part is reused only if prompts, model and
settings match. With ``repeats`` there are that many continuations of each prompt, its generations, whose spread is the
plus-minus of the papers' tables (NeurIPS 2021, appendix; JMLR 2023, section 6). A text depends on its prompt's id, its
generation and the seed.

On a CUDA device, decoders with a distribution of the next token write with one step of fixed shape; all others, and all
on the CPU, with transformers' ``generate``. A step of a small model is hundreds of kernels that take less time to run
than to launch. A CUDA graph launches them at once, but always at the same addresses: keys and values lie in a cache of
fixed size, and token, position and mask in buffers that are overwritten before each step. What follows the logits is
queued one by one, and whether all texts have ended is asked every ``LOOK_EVERY`` steps. Prompts are padded on the left
to a multiple of ``WIDTH_STEP``, so that few shapes occur; mask and positions keep a text independent of it.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from mauve_core.base.config import names_server
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.clusters.devices import free_bytes
from mauve_core.decoding.decoders import (
    Decoder,
    FiniteLogits,
    SeededDraw,
    Writing,
    cache_argument,
    parse_decoder,
    stream_key,
)
from mauve_core.decoding.engines import generate_with_vllm
from mauve_core.decoding.files import (
    GenerationSettings,
    Prompts,
    finished_texts,
    is_written,
    keep_part,
    manifest_of,
    parts_of,
    require_distinct_ids,
    write_manifest,
    write_texts,
)
from mauve_core.encoders.models import LoadedModel, load_model
from mauve_core.encoders.tokenizing import read_texts, refuse_unknown_tokens
from mauve_core.texts.generations import generation_id

if TYPE_CHECKING:
    import torch

    from mauve_core.decoding.engines import ServerOptions


DEFAULT_BATCH_ROWS = 128
# Most rows and padded tokens (prompt and continuation) of one batch; each beam or candidate is a row.
#
# With a fixed step on a CUDA device, the free memory decides instead.
DEFAULT_BATCH_TOKENS = 128 * 256

# How tokens are drawn (:class:`mauve_core.decoding.decoders.SeededDraw`), for the manifest and as a part of what the
# texts depend on. Manifests without it are of texts that were drawn by adding Gumbel noise to the logits: from the same
# distributions, but with other random numbers.
DRAW = "inverse"

# What runs a model of this machine; transformers includes :mod:`mauve_core.decoding.generate`.
Engine = Literal["transformers", "vllm"]


def generate_files(
    model: str | LoadedModel,
    prompts: Prompts,
    decoders: Sequence[str],
    out: Path,
    *,
    settings: GenerationSettings | None = None,
    revision: str | None = None,
    device: str = "auto",
    engine: Engine = "transformers",
    progress: Progress = silent,
    server: ServerOptions | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Path]:
    """Write one JSONL file per decoder into ``out``, and ``manifest.json``.

    Parameters
    ----------
    model : str or LoadedModel
        A causal model: catalog name, hub id, local folder or GGUF file; or one in memory, with its head. Or a model
        behind a server, ``openai:URL#model`` or ``openai-chat:URL#model`` (:mod:`mauve_core.decoding.engines`).
    prompts : Prompts
    decoders : sequence of str
        Specifications for :func:`mauve_core.decoding.decoders.parse_decoder`; repeated ones are an error.
    out : Path
        Complete files with the same settings are kept.
    settings : GenerationSettings, optional
    engine : {"transformers", "vllm"}
        What runs a model of this machine. vLLM has some of the decoders and draws its own texts
        (:mod:`mauve_core.decoding.engines`).
    server : ServerOptions, optional
        How a server is asked; no effect on models of this machine.
    tell : callable
        Receives a sentence on the requests that a server will get, before the first one.

    Returns
    -------
    dict of str to Path
        File of each decoder. Its rows have id, prompt, text, decoder, parameters and seed, and with ``repeats`` above 1
        also generation, from 0. The id is the prompt's, and from generation 1 on that of :func:`generation_id`.

    Raises
    ------
    InputError
        A decoder or the model is unknown, prompts are too long for the model, or two texts would have the same id.
    StorageError
        The disk refuses; finished batches stay.
    """
    settings = settings or GenerationSettings()
    require_distinct_ids(prompts, settings.repeats)
    parsed = [parse_decoder(spec) for spec in decoders]
    if not parsed or len({decoder.slug for decoder in parsed}) != len(parsed):
        raise InputError(
            "The decoders cannot be used", allowed="one or more, without repeats", received=", ".join(decoders)
        )
    if engine not in get_args(Engine):
        raise InputError("There is no such engine", allowed=" or ".join(get_args(Engine)), received=str(engine)[:40])
    if isinstance(model, str) and names_server(model):
        from mauve_core.decoding.engines import generate_served

        if revision is not None:
            raise InputError("A model behind a server has no revision", received=revision, todo="Leave it out")
        if engine != "transformers":
            raise InputError("A model behind a server has no engine here", received=engine, todo="Leave it out")
        return generate_served(model, prompts, parsed, out, settings, server, progress, tell)
    if engine == "vllm":
        return generate_with_vllm(model, prompts, parsed, out, settings, revision, device, progress)
    if isinstance(model, LoadedModel):
        loaded = model
    else:
        loaded = load_model(model, revision, device=device, with_head=True, progress=progress)
    manifest = manifest_of(loaded.identity, prompts, parsed, settings, device=loaded.device, notes=loaded.writing_notes)
    manifest["draw"] = DRAW
    shapes = fixed_shapes_of(loaded)
    paths = {}
    for decoder in parsed:
        paths[decoder.spec] = out / f"{decoder.slug}.jsonl"
        own = shapes if decoder.has_distribution else None
        _generate_file(loaded, prompts, decoder, settings, paths[decoder.spec], progress, own)
    write_manifest(out, manifest)
    return paths


def fixed_shapes_of(loaded: LoadedModel) -> FixedShapes | None:
    """Return the fixed step of a model on a CUDA device; None on other devices or if the model cannot have one."""
    import torch

    on_cuda = torch.device(loaded.device).type == "cuda"
    return FixedShapes(loaded) if on_cuda and has_fixed_step(loaded) else None


def continue_prompts(
    loaded: LoadedModel,
    prompts: Prompts,
    decoder: Decoder,
    settings: GenerationSettings,
    generation: int = 0,
    shapes: FixedShapes | None = None,
) -> list[str]:
    """Continue one batch of prompts; return the continuations without the prompts.

    ``generation`` chooses the random streams. With ``shapes``, of this model, its fixed step writes; the decoder must
    have a distribution of the next token.

    Raises
    ------
    InputError
        A prompt has no token, prompt and continuation exceed the model's positions, or its logits are not finite.
    """
    import torch

    tokenizer = loaded.tokenizer
    batch = read_texts(tokenizer, list(prompts.texts), padding=True, padding_side="left", return_tensors="pt")
    batch = batch.to(loaded.device)
    width = batch["input_ids"].shape[1]
    settings.require_room(batch["attention_mask"].sum(dim=1).tolist(), loaded.max_positions)
    refuse_unknown_tokens(batch["input_ids"].numpy(force=True), loaded.known_tokens)
    keys = [stream_key(settings.seed, decoder, prompt_id, generation) for prompt_id in prompts.ids]
    finite = FiniteLogits(loaded.identity.name)
    with torch.inference_mode():
        if shapes is None:
            output = _generated(loaded, batch, decoder, settings, keys, finite)[:, width:]
        else:
            lengths = {"max_new_tokens": settings.max_new_tokens, "min_new_tokens": settings.min_new_tokens}
            choose = _chooser(decoder, keys, settings.max_new_tokens)
            output = shapes.write(batch["input_ids"], batch["attention_mask"], choose, finite, **lengths)
    finite.check()
    texts: list[str] = tokenizer.batch_decode(output, skip_special_tokens=True)
    return texts


def _generated(
    loaded: LoadedModel,
    batch: Any,
    decoder: Decoder,
    settings: GenerationSettings,
    keys: Sequence[int],
    finite: FiniteLogits,
) -> torch.Tensor:
    """Prompts and continuations (rows, tokens) of transformers' ``generate``."""
    from transformers import GenerationConfig, LogitsProcessorList

    config = GenerationConfig(
        max_new_tokens=settings.max_new_tokens,
        min_new_tokens=settings.min_new_tokens or None,
        do_sample=False,
        eos_token_id=loaded.model.generation_config.eos_token_id,
        pad_token_id=loaded.tokenizer.pad_token_id,
        **decoder.kind.options(decoder.values),
    )
    writing = Writing(keys, settings.max_new_tokens, loaded.tokenizer.all_special_ids)
    custom = decoder.kind.custom
    output: torch.Tensor = loaded.model.generate(
        **{name: batch[name] for name in ("input_ids", "attention_mask")},
        generation_config=config,
        logits_processor=LogitsProcessorList([finite, *decoder.processors(writing)]),
        **({} if custom is None else {"custom_generate": custom(decoder.values)}),
    )
    return output


def _chooser(decoder: Decoder, keys: Sequence[int], steps: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the function from logits (rows, V) to the decoder's tokens (rows,), one step a call."""
    warpers, draw = decoder.warpers(), SeededDraw(keys, steps)

    def choose(scores: torch.Tensor) -> torch.Tensor:
        for warp in warpers:
            scores = warp(None, scores)
        return draw.draw(scores) if decoder.kind.draws else scores.argmax(dim=-1)

    return choose


def _generate_file(
    loaded: LoadedModel,
    prompts: Prompts,
    decoder: Decoder,
    settings: GenerationSettings,
    path: Path,
    progress: Progress,
    shapes: FixedShapes | None,
) -> None:
    """Write ``path`` batch by batch through parts; reuse finished parts and files with equal settings."""
    key = _settings_key(loaded, prompts, decoder, settings)
    generations = range(settings.generations(decoder))
    total = len(generations) * len(prompts.ids)
    if is_written(path, key):
        progress(f"writing {decoder.spec}", total, total)
        return
    parts = parts_of(path, key)
    texts = finished_texts(parts)
    lengths = [len(ids) for ids in read_texts(loaded.tokenizer, list(prompts.texts))["input_ids"]]
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    for generation in generations:
        waiting = [i for i in order if generation_id(prompts.ids[i], generation) not in texts]
        while waiting:
            progress(f"writing {decoder.spec}", len(texts), total)
            rows = _rows(settings, lengths[waiting[0]], max(lengths), decoder, shapes)
            batch = prompts.chosen(waiting[:rows])
            written = _continued(loaded, batch, decoder, settings, generation, shapes)
            if written is None:
                continue
            ids = [generation_id(prompt_id, generation) for prompt_id in batch.ids]
            part = dict(zip(ids, written, strict=True))
            keep_part(parts, part)
            texts |= part
            waiting = waiting[rows:]
    progress(f"writing {decoder.spec}", len(texts), total)
    write_texts(path, key, prompts, decoder, settings, texts)


def _rows(settings: GenerationSettings, length: int, longest: int, decoder: Decoder, shapes: FixedShapes | None) -> int:
    """Return how many prompts of at most ``length`` tokens make a batch.

    A decoder that follows several branches of a prompt uses one row for each.
    """
    most = settings.batch_rows or DEFAULT_BATCH_ROWS
    tokens = settings.batch_tokens or DEFAULT_BATCH_TOKENS
    if shapes is not None:
        fitting = shapes.most_rows(longest, settings.max_new_tokens)
        most = min(settings.batch_rows or fitting, fitting)
        tokens = settings.batch_tokens or most * (longest + settings.max_new_tokens)
    return max(1, min(most, tokens // (length + settings.max_new_tokens)) // decoder.kind.width(decoder.values))


def _continued(
    loaded: LoadedModel,
    batch: Prompts,
    decoder: Decoder,
    settings: GenerationSettings,
    generation: int,
    shapes: FixedShapes | None,
) -> list[str] | None:
    """Return the continuations, or None if they exceeded the memory of a device and fewer rows are to be tried."""
    import torch

    if shapes is None or len(batch.ids) == 1:
        return continue_prompts(loaded, batch, decoder, settings, generation, shapes)
    with suppress(torch.OutOfMemoryError):
        return continue_prompts(loaded, batch, decoder, settings, generation, shapes)
    shapes.halve(len(batch.ids))  # after the error is gone, which refers to the memory
    return None


def _settings_key(loaded: LoadedModel, prompts: Prompts, decoder: Decoder, settings: GenerationSettings) -> str:
    """Digest of everything that the texts depend on."""
    parts = (
        loaded.identity.digest,
        prompts.digest,
        decoder.spec,
        settings.max_new_tokens,
        settings.min_new_tokens,
        settings.seed,
        settings.repeats,
        DRAW,
        loaded.model.generation_config.eos_token_id,
    )
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


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
