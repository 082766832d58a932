"""Continuations by other engines: a model behind an OpenAI-compatible server, and vLLM where it is installed.

**Server**: one request for each text, kept as it comes. A prompt is sent to ``/completions``, which continues it as it
stands; for a name that begins with ``openai-chat:``, to ``/chat/completions`` as the message of a user. A decoder
becomes the protocol's temperature and top_p; one that these cannot express is refused. Servers may add truncation of
their own (llama.cpp and Ollama cut at the 40 most probable tokens unless told otherwise), which only
``sampling_fields`` switches off; the manifest says whether that was done.

**vLLM** gets the token ids and the ends of texts that transformers would get, weights in the same precision, and
nothing of the model's own settings for generation; the token ids that it returns become texts here. Each text has a
seed of its own. What vLLM draws with it can still differ between batches, versions and devices, because rounding does,
so files of one engine never count as those of the other. Prompts are handed over in parts, each of which is kept when
it is finished.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from mauve_core.base.config import Precision, ServerName, parse_server_name
from mauve_core.base.errors import InputError, ModelUnavailableError, library_errors, words_of
from mauve_core.base.extras import require
from mauve_core.base.files import write_atomically
from mauve_core.base.json_codec import Within, check_fields
from mauve_core.base.progress import Progress, silent
from mauve_core.decoding.decoders import Decoder, stream_key
from mauve_core.decoding.files import (
    GenerationSettings,
    Prompts,
    as_json,
    finished_texts,
    is_written,
    keep_part,
    manifest_of,
    parts_of,
    write_manifest,
    write_rows,
    write_texts,
)
from mauve_core.encoders.catalogue import ModelIdentity, identify
from mauve_core.encoders.loading import check_vocabulary
from mauve_core.encoders.models import LoadedModel, OpenModel, TextEnds, ends_of, language_model, open_model
from mauve_core.encoders.servers import Server, read_completion
from mauve_core.encoders.tokenizing import read_texts, refuse_unknown_tokens
from mauve_core.texts.generations import generation_id

# Seeds are sent as numbers up to this one, which every server takes.
LARGEST_SEED_OF_SERVERS = 2**31 - 1

# Of English, about; for the estimate alone.
CHARACTERS_A_TOKEN = 4

DECODERS_OF_SERVERS = "greedy, ancestral, temperature, nucleus; top-k with --sampling-fields"


@dataclass(frozen=True)
class ServerOptions:
    """How a server is asked for texts.

    Attributes
    ----------
    max_parallel : int
        Most requests on their way at a time.
    max_requests : int or None
        Nothing is asked if more requests than this are needed.
    sampling_fields : bool
        Whether top_k, min_p and repetition_penalty are sent too, which vLLM and llama.cpp take and OpenAI refuses.
    """

    max_parallel: Annotated[int, Within(1, 256)] = 4
    max_requests: Annotated[int, Within(1)] | None = None
    sampling_fields: bool = False

    def __post_init__(self) -> None:
        check_fields(self, "setting")

    def require_allowed(self, needed: int, todo: str) -> None:
        """Raise InputError if more requests are needed than allowed."""
        if self.max_requests is not None and needed > self.max_requests:
            raise InputError(
                "More requests are needed than --max-requests allows, so that none was sent",
                allowed=f"{self.max_requests:,}",
                received=f"{needed:,}",
                todo=todo,
            )


@dataclass(frozen=True)
class _Request:
    """One text to ask for; ``part`` is the file that keeps the answer."""

    own_id: str
    body: Mapping[str, Any]
    part: Path


@dataclass(frozen=True)
class _Job:
    """One decoder's file."""

    decoder: Decoder
    path: Path
    key: str
    requests: tuple[_Request, ...]

    def missing(self) -> list[_Request]:
        return [] if is_written(self.path, self.key) else [each for each in self.requests if not each.part.exists()]


def generate_served(
    model: str,
    prompts: Prompts,
    decoders: Sequence[Decoder],
    out: Path,
    settings: GenerationSettings,
    options: ServerOptions | None = None,
    progress: Progress = silent,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Path]:
    """Write the files of :func:`mauve_core.decoding.generate_files` with a server's texts.

    Rows also have finish_reason: one of ``completions.FINISH_REASONS``, "other" or None. ``tell`` receives how many
    requests and tokens are needed, before the first one is sent.

    Raises
    ------
    InputError
        The protocol cannot express a decoder or ``min_new_tokens``, a prompt is empty, or more requests are needed than
        allowed.
    ModelUnavailableError
        The server cannot be reached, refuses, or its answer cannot be used; what it answered before is kept.
    StorageError
        The disk refuses.
    """
    name, options = parse_server_name(model), options or ServerOptions()
    require_expressible(decoders, settings, options)
    _require_prompts(prompts)
    identity = identify(model)
    jobs = [_job_of(name, identity, prompts, decoder, settings, options, out) for decoder in decoders]
    missing = [request for job in jobs for request in job.missing()]
    if missing:
        tell(_estimate(missing, sum(len(job.requests) for job in jobs), settings))
    options.require_allowed(len(missing), "Use fewer prompts, decoders or repeats, or allow more")
    written = {job.decoder.spec: _write_served(name, job, prompts, settings, options, progress) for job in jobs}
    manifest = _manifest(name, identity, prompts, jobs, settings, options, written)
    write_manifest(out, manifest)
    return {job.decoder.spec: job.path for job in jobs}


def parameters_of(decoder: Decoder, options: ServerOptions) -> dict[str, float]:
    """Return the fields of a request that stand for the decoder.

    Raises
    ------
    InputError
        The protocol cannot express it.
    """
    name, values = decoder.kind.name, decoder.values
    fields: dict[str, float]
    if name == "greedy":
        fields = {"temperature": 0.0}
    elif name in ("ancestral", "nucleus", "temperature") or (name == "top-k" and options.sampling_fields):
        fields = {"temperature": values.get("t", 1.0), "top_p": values.get("p", 1.0)}
    else:
        raise InputError(
            f"A server cannot be asked for the decoder {name}",
            allowed=DECODERS_OF_SERVERS,
            received=decoder.spec,
            todo="Choose another decoder, or run the model on this machine",
        )
    if options.sampling_fields:
        fields |= {"top_k": values.get("k", -1), "min_p": 0.0, "repetition_penalty": 1.0}
    return fields


def require_expressible(decoders: Sequence[Decoder], settings: GenerationSettings, options: ServerOptions) -> None:
    """Raise InputError unless the protocol can express every decoder and setting."""
    if settings.min_new_tokens:
        raise InputError(
            "A server cannot be asked for texts of at least so many tokens",
            allowed="min_new_tokens 0",
            received=str(settings.min_new_tokens),
        )
    for decoder in decoders:
        parameters_of(decoder, options)


def notes_on_file(model: str, decoder: Decoder, path: Path, options: ServerOptions | None = None) -> tuple[str, ...]:
    """Return what a reader of one decoder's texts must know; ``path`` is its file of :func:`generate_served`."""
    answers = json.loads(_log_of(path).read_text(encoding="utf-8"))
    return tuple(_notes(parse_server_name(model), [decoder], options or ServerOptions(), answers))


def _require_prompts(prompts: Prompts) -> None:
    empty = [own for own, text in zip(prompts.ids, prompts.texts, strict=True) if not text.strip()]
    if empty:
        raise InputError("A prompt is empty", received=", ".join(empty[:3]), todo="Remove empty prompts")


def _job_of(
    name: ServerName,
    identity: ModelIdentity,
    prompts: Prompts,
    decoder: Decoder,
    settings: GenerationSettings,
    options: ServerOptions,
    out: Path,
) -> _Job:
    fields = parameters_of(decoder, options)
    parts: tuple[object, ...] = (
        identity.digest,
        "chat" if name.chat else "completions",
        prompts.digest,
        decoder.spec,
        fields,
        settings.max_new_tokens,
        settings.seed,
        settings.repeats,
    )
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    path = out / f"{decoder.slug}.jsonl"
    folder = parts_of(path, key)
    requests = []
    for generation in range(settings.generations(decoder)):
        for prompt_id, prompt in zip(prompts.ids, prompts.texts, strict=True):
            own = generation_id(prompt_id, generation)
            body = _request_body(name, prompt, fields, settings.max_new_tokens)
            if decoder.is_random:
                body["seed"] = stream_key(settings.seed, decoder, prompt_id, generation) & LARGEST_SEED_OF_SERVERS
            requests.append(_Request(own, body, folder / f"{hashlib.sha256(own.encode()).hexdigest()[:24]}.json"))
    return _Job(decoder, path, key, tuple(requests))


def _request_body(name: ServerName, prompt: str, fields: Mapping[str, float], max_tokens: int) -> dict[str, Any]:
    asked = {"messages": [{"role": "user", "content": prompt}]} if name.chat else {"prompt": prompt}
    return {"model": name.model, **asked, "max_tokens": max_tokens, **fields}


def _estimate(missing: Sequence[_Request], total: int, settings: GenerationSettings) -> str:
    characters = sum(len(json.dumps(each.body.get("prompt") or each.body["messages"])) for each in missing)
    return (
        f"Requests: {len(missing):,} ({total - len(missing):,} of {total:,} texts are kept from before), about "
        f"{characters // CHARACTERS_A_TOKEN:,} tokens of prompts and at most "
        f"{len(missing) * settings.max_new_tokens:,} tokens of texts"
    )


def _write_served(
    name: ServerName,
    job: _Job,
    prompts: Prompts,
    settings: GenerationSettings,
    options: ServerOptions,
    progress: Progress,
) -> list[dict[str, Any]]:
    """Write the decoder's file, asking for what is missing; return what was answered, without the texts."""
    stage, total, log = f"writing {job.decoder.spec}", len(job.requests), _log_of(job.path)
    if is_written(job.path, job.key):
        progress(stage, total, total)
        kept: list[dict[str, Any]] = json.loads(log.read_text(encoding="utf-8"))
        return kept
    missing = job.missing()
    left = len(missing)

    def keep(index: int, answer: Any) -> None:
        nonlocal left
        found = as_json(read_completion(answer, chat=name.chat))
        write_atomically(missing[index].part, lambda stream: stream.write(found))
        left -= 1

    if missing:
        Server(name.url).ask(
            "chat/completions" if name.chat else "completions",
            (request.body for request in missing),
            keep,
            parallel=options.max_parallel,
            waiting=lambda: progress(stage, total - left, total),
        )
    progress(stage, total, total)
    answers = {each.own_id: json.loads(each.part.read_text(encoding="utf-8")) for each in job.requests}
    own = {key: {part: answer[part] for part in ("text", "finish_reason")} for key, answer in answers.items()}
    rest = [{part: value for part, value in answer.items() if part != "text"} for answer in answers.values()]
    write_atomically(log, lambda stream: stream.write(as_json(rest)))
    write_rows(job.path, job.key, prompts, job.decoder, settings, own)
    shutil.rmtree(job.requests[0].part.parent, ignore_errors=True)
    return rest


def _log_of(path: Path) -> Path:
    """Return where what was answered beside the texts of a decoder's file is kept."""
    return path.with_suffix(".answers.json")


def _manifest(
    name: ServerName,
    identity: ModelIdentity,
    prompts: Prompts,
    jobs: Sequence[_Job],
    settings: GenerationSettings,
    options: ServerOptions,
    written: Mapping[str, Sequence[Mapping[str, Any]]],
) -> dict[str, Any]:
    decoders = [job.decoder for job in jobs]
    notes = _notes(name, decoders, options, [each for answers in written.values() for each in answers])
    made = manifest_of(identity, prompts, decoders, settings, device="server", notes=tuple(notes))
    usage = {
        spec: {part: _sum([each[part] for each in answers]) for part in ("prompt_tokens", "completion_tokens")}
        for spec, answers in written.items()
    }
    reasons = {spec: Counter(str(each["finish_reason"]) for each in answers) for spec, answers in written.items()}
    return {
        **made,
        "server": {
            "url": name.url,
            "model": name.model,
            "route": "chat/completions" if name.chat else "completions",
            "parameters": {decoder.spec: parameters_of(decoder, options) for decoder in decoders},
        },
        "usage": usage,
        "finish_reasons": reasons,
    }


def _sum(counts: Sequence[int | None]) -> int | None:
    """The sum of the server's counts; None if it left one out."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _notes(
    name: ServerName, decoders: Sequence[Decoder], options: ServerOptions, answers: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    yield (
        f"Texts are those of the model {name.model} at {name.url}; which weights that server has under this name "
        "cannot be checked"
    )
    if any(decoder.is_random for decoder in decoders):
        yield "A seed was sent with each request; a server may ignore it, and then the same texts cannot be made again"
    if not options.sampling_fields:
        yield (
            "Truncation and penalties that the server adds by itself stayed on: some servers keep only the 40 most "
            "probable tokens unless told otherwise (--sampling-fields)"
        )
    if name.chat:
        yield "Prompts were sent as messages of a user, so that the texts are answers and need not continue them"
    filtered = sum(each["finish_reason"] == "content_filter" for each in answers)
    if filtered:
        yield f"The server's content filter cut {filtered:,} of {len(answers):,} texts"


# How tokens are drawn, for the manifest.
DRAW = "vllm"

# Precision of the weights, as in the other engine.
DTYPE: Precision = "float32"

# Texts that are asked for at a time, unless the settings name a number of rows.
PART = 1000

DEVICE = "cuda:0"

# vLLM keeps seeds as signed 64-bit integers, and takes -1 for none.
LARGEST_SEED_OF_VLLM = 2**63 - 1

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
            seed=key & LARGEST_SEED_OF_VLLM if decoder.is_random else None,
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
