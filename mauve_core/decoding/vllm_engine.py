"""Continuations by vLLM, where it is installed: the decoders that its sampler has, for many prompts at a time.

vLLM gets the token ids and the ends of texts that transformers would get, weights in the same precision, and nothing of
the model's own settings for generation; the token ids that it returns become texts here. Each text has a seed of its
own, from the seed, its prompt's id and its generation. What vLLM draws with it can still differ between batches,
versions and devices, because rounding does, so files of one engine never count as those of the other.

vLLM plans its own batches and memory. Prompts are handed to it in parts, each of which is kept when it is finished.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from mauve_core.base.config import Precision
from mauve_core.base.errors import InputError, ModelUnavailableError, library_errors, words_of
from mauve_core.base.extras import require
from mauve_core.base.progress import Progress
from mauve_core.decoding.decoders import Decoder, stream_key
from mauve_core.decoding.files import (
    finished_texts,
    is_written,
    keep_part,
    manifest_of,
    parts_of,
    write_manifest,
    write_texts,
)
from mauve_core.decoding.prompts import GenerationSettings, Prompts
from mauve_core.encoders.loading import check_vocabulary
from mauve_core.encoders.models import LoadedModel, OpenModel, TextEnds, ends_of, language_model, open_model
from mauve_core.encoders.tokenizing import read_texts, refuse_unknown_tokens
from mauve_core.texts.generations import generation_id

# How tokens are drawn, for the manifest.
DRAW = "vllm"

# Precision of the weights, as in the other engine.
DTYPE: Precision = "float32"

# Texts that are asked for at a time, unless the settings name a number of rows.
PART = 1000

DEVICE = "cuda:0"

# vLLM keeps seeds as signed 64-bit integers, and takes -1 for none.
LARGEST_SEED = 2**63 - 1

# vLLM keeps k in 32 bits; beyond the vocabulary, every k is the same.
LARGEST_K = 2**31 - 1

# vLLM raises smaller temperatures to the first of these without an error, and refuses larger ones than the second.
TEMPERATURES = (0.01, 2.0)

# Sampling parameters with which vLLM draws from the model's own distribution.
NEUTRAL = {
    "temperature": 1.0,
    "top_k": 0,
    "top_p": 1.0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}

# What vLLM is told unless the user says otherwise: standard output is for results, and nothing is sent to anyone.
ENVIRONMENT = {
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_NO_USAGE_STATS": "1",
}

DECODERS_OF_VLLM = "greedy, ancestral, temperature, top-k, nucleus"

NOTE = (
    "vLLM wrote the texts: with the same seed and settings, they can differ between batches, versions of vLLM and "
    "devices, because rounding does"
)


def generate_with_vllm(
    model: str | LoadedModel,
    prompts: Prompts,
    decoders: Sequence[Decoder],
    out: Path,
    settings: GenerationSettings,
    revision: str | None,
    device: str,
    progress: Progress,
) -> dict[str, Path]:
    """Write the files of :func:`mauve_core.decoding.generate_files` with vLLM's texts.

    Raises
    ------
    InputError
        vLLM or a CUDA device is missing; vLLM lacks a decoder, or cannot be given the model, the device or the
        settings; or a prompt has no tokens, unknown ones or too many.
    ModelUnavailableError
        The model is unknown or damaged, or vLLM fails.
    StorageError
        The disk refuses; finished parts stay.
    """
    sampling = {decoder.spec: sampling_of(decoder) for decoder in decoders}
    if settings.batch_tokens is not None:
        raise InputError("vLLM plans the tokens of its batches itself", todo="Leave batch_tokens out")
    _require_vllm(device)
    opened = _plain_model(model, revision, progress)
    rows = _token_ids(opened, prompts, settings)
    paths = {decoder.spec: out / f"{decoder.slug}.jsonl" for decoder in decoders}
    with closing(_Writer(opened, settings, max(map(len, rows)) + settings.max_new_tokens)) as writer:
        for decoder in decoders:
            _write_file(writer, prompts, rows, decoder, paths[decoder.spec], progress)
    notes = (*writer.ends.notes, NOTE)
    manifest = manifest_of(opened.identity, prompts, decoders, settings, device=DEVICE, notes=notes)
    manifest["versions"]["vllm"] = version("vllm")
    write_manifest(out, manifest | {"engine": "vllm", "draw": DRAW, "dtype": DTYPE, "sampling": sampling})
    return paths


def sampling_of(decoder: Decoder) -> dict[str, float]:
    """Return the fields of vLLM's SamplingParams that stand for the decoder.

    Raises
    ------
    InputError
        vLLM has no such decoder, or not with this temperature.
    """
    name, values = decoder.kind.name, decoder.values
    low, high = TEMPERATURES
    if name == "greedy":
        return NEUTRAL | {"temperature": 0.0}
    if name == "ancestral":
        return dict(NEUTRAL)
    if name == "temperature" and low <= values["t"] <= high:
        return NEUTRAL | {"temperature": values["t"]}
    if name == "top-k":
        return NEUTRAL | {"top_k": min(int(values["k"]), LARGEST_K)}
    if name == "nucleus":
        return NEUTRAL | {"top_p": values["p"]}
    allowed = f"t from {low:g} to {high:g}" if name == "temperature" else DECODERS_OF_VLLM
    raise InputError(
        f"vLLM cannot write with the decoder {name}",
        allowed=allowed,
        received=decoder.spec,
        todo="Choose another decoder, or the engine transformers",
    )


def _require_vllm(device: str) -> None:
    """Raise InputError unless vLLM is installed and there is a CUDA device, which it chooses itself."""
    if device not in ("auto", "cuda", DEVICE):
        raise InputError(
            "vLLM runs on the first CUDA device that it sees",
            allowed=f"auto, cuda or {DEVICE}",
            received=device,
            todo="Leave the device out, and choose it with the environment variable CUDA_VISIBLE_DEVICES",
        )
    require("vllm", other="or use the engine transformers")
    import torch

    if not torch.cuda.device_count():  # unlike is_available(), this leaves CUDA to the process that vLLM forks
        raise InputError("vLLM needs a CUDA device, and this machine has none", todo="Use the engine transformers")


def _plain_model(model: str | LoadedModel, revision: str | None, progress: Progress) -> OpenModel:
    """Return the files of a model that vLLM can load from its folder, whose vocabulary fits."""
    allowed = "a causal model: catalog name, hub id, local folder or GGUF file"
    if isinstance(model, LoadedModel):
        raise InputError("vLLM loads a model by its name, not one in memory", allowed=allowed)
    if language_model(model, revision).adapter is not None:
        raise InputError(
            "vLLM gets no adapters from here",
            allowed=allowed,
            received=model,
            todo="Save the merged model (merge_and_unload and save_pretrained of PEFT), or use the engine transformers",
        )
    opened = open_model(model, revision, DTYPE, DEVICE, progress=progress)
    check_vocabulary(_known_tokens(opened), opened.tokenizer, model)
    return opened


def _known_tokens(opened: OpenModel) -> int:
    return int(opened.config.get_text_config().vocab_size)


def _token_ids(opened: OpenModel, prompts: Prompts, settings: GenerationSettings) -> list[list[int]]:
    """Return each prompt's token ids as the other engine has them; InputError if the model cannot continue one."""
    rows: list[list[int]] = read_texts(opened.tokenizer, list(prompts.texts))["input_ids"]
    settings.require_room([len(row) for row in rows], opened.max_positions)
    refuse_unknown_tokens(map(np.asarray, rows), _known_tokens(opened))
    return rows


class _Writer:
    """A model in vLLM, loaded when the first text is asked for.

    ``most_tokens`` is the length of the longest prompt with its continuation: a model may take many more, for which
    vLLM would have to find memory.
    """

    def __init__(self, opened: OpenModel, settings: GenerationSettings, most_tokens: int) -> None:
        self.opened, self.ends, self.settings = opened, ends_of(opened), settings
        self._most_tokens = most_tokens
        self._engine: Any = None

    def write(self, rows: Sequence[Sequence[int]], decoder: Decoder, keys: Sequence[int]) -> list[str]:
        """Continue token ids, each with its own stream; return the texts without the prompts."""
        if self._engine is None:
            self._engine = self._load()
        with _naming(f"vLLM failed with the model {self.opened.identity.name}"):
            outputs = self._engine.generate(
                [{"prompt_token_ids": list(row)} for row in rows],
                [self._parameters(decoder, key) for key in keys],
                use_tqdm=False,
            )
            written = [list(output.outputs[0].token_ids) for output in outputs]
        texts: list[str] = self.opened.tokenizer.batch_decode(written, skip_special_tokens=True)
        return texts

    def close(self) -> None:
        """End vLLM's processes, which keep the device's memory as long as this one lives."""
        if self._engine is not None:
            self._engine.llm_engine.engine_core.shutdown()

    def _load(self) -> Any:
        for name, value in ENVIRONMENT.items():  # vLLM reads it when it is imported
            os.environ.setdefault(name, value)
        with _naming(f"vLLM cannot load the model {self.opened.identity.name}"):
            from vllm import LLM

            return LLM(
                model=str(self.opened.folder),
                dtype=DTYPE,
                seed=0,
                max_model_len=self._most_tokens,
                generation_config="vllm",
                trust_remote_code=False,
            )

    def _parameters(self, decoder: Decoder, key: int) -> Any:
        from vllm import SamplingParams

        return SamplingParams(
            **sampling_of(decoder),
            seed=key & LARGEST_SEED if decoder.is_random else None,
            max_tokens=self.settings.max_new_tokens,
            min_tokens=self.settings.min_new_tokens,
            ignore_eos=True,  # which is the tokenizer's: the ends below are all there are
            stop_token_ids=list(self.ends.ids),
            detokenize=False,
        )


@contextmanager
def _naming(wrong: str) -> Iterator[None]:
    """Around calls of vLLM, whose errors become ours."""
    todo = "See vLLM's own messages above this one, or use the engine transformers"
    with library_errors(lambda error: ModelUnavailableError(f"{wrong}: {words_of(error)}", todo=todo)):
        yield


def _write_file(
    writer: _Writer,
    prompts: Prompts,
    rows: Sequence[Sequence[int]],
    decoder: Decoder,
    path: Path,
    progress: Progress,
) -> None:
    """Write ``path`` part by part; reuse finished parts and files with equal settings."""
    settings, stage = writer.settings, f"writing {decoder.spec}"
    key = _settings_key(writer.opened, writer.ends, prompts, decoder, settings)
    wanted = [(index, each) for each in range(settings.generations(decoder)) for index in range(len(rows))]
    if is_written(path, key):
        progress(stage, len(wanted), len(wanted))
        return
    parts = parts_of(path, key)
    texts = finished_texts(parts)
    waiting = [(i, generation) for i, generation in wanted if generation_id(prompts.ids[i], generation) not in texts]
    size = settings.batch_rows or PART
    for start in range(0, len(waiting), size):
        progress(stage, len(texts), len(wanted))
        asked = waiting[start : start + size]
        keys = [stream_key(settings.seed, decoder, prompts.ids[i], generation) for i, generation in asked]
        written = writer.write([rows[i] for i, _ in asked], decoder, keys)
        ids = [generation_id(prompts.ids[i], generation) for i, generation in asked]
        part = dict(zip(ids, written, strict=True))
        keep_part(parts, part)
        texts |= part
    progress(stage, len(texts), len(wanted))
    write_texts(path, key, prompts, decoder, settings, texts)


def _settings_key(
    opened: OpenModel, ends: TextEnds, prompts: Prompts, decoder: Decoder, settings: GenerationSettings
) -> str:
    """Digest of everything that the texts depend on, vLLM's version included."""
    parts: tuple[object, ...] = (
        "vllm",
        version("vllm"),
        DTYPE,
        opened.identity.digest,
        ends.ids,
        prompts.digest,
        decoder.spec,
        settings.max_new_tokens,
        settings.min_new_tokens,
        settings.seed,
        settings.repeats,
    )
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
