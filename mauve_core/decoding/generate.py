"""Generate continuations of prompts: batched, left-padded, seeded, resumable.

A run writes one JSONL file per decoder and a manifest with its settings. Each finished batch is kept as a part, so a
killed run resumes where it stopped, also with batches of another size; a part is reused only if prompts, model and
settings match. On a CUDA device, decoders with a distribution of the next token write with
:mod:`mauve_core.decoding.fixed_shapes`; all others, and all on the CPU, with transformers' ``generate``.

With ``repeats`` there are that many continuations of each prompt, its generations. The spread of a score over
generations is the plus-minus of the papers' tables (NeurIPS 2021, appendix; JMLR 2023, section 6). A text depends on
its prompt's id, its generation and the seed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from mauve_core.base.config import names_server
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.decoding.decoders import Decoder, Writing, parse_decoder, stream_key
from mauve_core.decoding.files import (
    finished_texts,
    is_written,
    keep_part,
    manifest_of,
    parts_of,
    require_distinct_ids,
    write_manifest,
    write_texts,
)
from mauve_core.decoding.fixed_shapes import FixedShapes, has_fixed_step
from mauve_core.decoding.processors import FiniteLogits, SeededDraw
from mauve_core.decoding.prompts import GenerationSettings, Prompts
from mauve_core.decoding.vllm_engine import generate_with_vllm
from mauve_core.encoders.models import LoadedModel, load_model
from mauve_core.encoders.tokenizing import read_texts, refuse_unknown_tokens
from mauve_core.texts.generations import generation_id

if TYPE_CHECKING:
    import torch

    from mauve_core.decoding.served import ServerOptions

DEFAULT_BATCH_ROWS = 128
# Most rows and padded tokens (prompt and continuation) of one batch; each beam or candidate is a row.
#
# With a fixed step on a CUDA device, the free memory decides instead.
DEFAULT_BATCH_TOKENS = 128 * 256

# How tokens are drawn (:class:`mauve_core.decoding.processors.SeededDraw`), for the manifest and as a part of what the
# texts depend on. Manifests without it are of texts that were drawn by adding Gumbel noise to the logits: from the same
# distributions, but with other random numbers.
DRAW = "inverse"

# What runs a model of this machine; transformers includes :mod:`mauve_core.decoding.fixed_shapes`.
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
        behind a server, ``openai:URL#model`` or ``openai-chat:URL#model`` (:mod:`mauve_core.decoding.served`).
    prompts : Prompts
    decoders : sequence of str
        Specifications for :func:`mauve_core.decoding.decoders.parse_decoder`; repeated ones are an error.
    out : Path
        Complete files with the same settings are kept.
    settings : GenerationSettings, optional
    engine : {"transformers", "vllm"}
        What runs a model of this machine. vLLM has some of the decoders and draws its own texts
        (:mod:`mauve_core.decoding.vllm_engine`).
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
        from mauve_core.decoding.served import generate_served

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
