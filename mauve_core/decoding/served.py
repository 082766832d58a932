"""Continuations from a model behind an OpenAI-compatible server: one request for each text, kept as it comes.

A prompt is sent to ``/completions``, which continues it as it stands; for a name that begins with ``openai-chat:``, to
``/chat/completions`` as the message of a user. A decoder becomes the protocol's temperature and top_p; one that these
cannot express is refused. Servers may add truncation of their own (llama.cpp and Ollama cut at the 40 most probable
tokens unless told otherwise), which only ``sampling_fields`` switches off; the manifest says whether that was done.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from mauve_core.base.config import ServerName, parse_server_name
from mauve_core.base.errors import InputError
from mauve_core.base.files import write_atomically
from mauve_core.base.json_codec import Within, check_fields
from mauve_core.base.progress import Progress, silent
from mauve_core.decoding.decoders import Decoder, stream_key
from mauve_core.decoding.files import as_json, is_written, manifest_of, parts_of, write_manifest, write_rows
from mauve_core.decoding.prompts import GenerationSettings, Prompts
from mauve_core.encoders.catalogue import ModelIdentity, identify
from mauve_core.encoders.servers import Server, read_completion
from mauve_core.texts.generations import generation_id

# Seeds are sent as numbers up to this one, which every server takes.
LARGEST_SEED = 2**31 - 1

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
    jobs = [_job(name, identity, prompts, decoder, settings, options, out) for decoder in decoders]
    missing = [request for job in jobs for request in job.missing()]
    if missing:
        tell(_estimate(missing, sum(len(job.requests) for job in jobs), settings))
    options.require_allowed(len(missing), "Use fewer prompts, decoders or repeats, or allow more")
    written = {job.decoder.spec: _write(name, job, prompts, settings, options, progress) for job in jobs}
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


def _job(
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
            body = _body(name, prompt, fields, settings.max_new_tokens)
            if decoder.is_random:
                body["seed"] = stream_key(settings.seed, decoder, prompt_id, generation) & LARGEST_SEED
            requests.append(_Request(own, body, folder / f"{hashlib.sha256(own.encode()).hexdigest()[:24]}.json"))
    return _Job(decoder, path, key, tuple(requests))


def _body(name: ServerName, prompt: str, fields: Mapping[str, float], max_tokens: int) -> dict[str, Any]:
    asked = {"messages": [{"role": "user", "content": prompt}]} if name.chat else {"prompt": prompt}
    return {"model": name.model, **asked, "max_tokens": max_tokens, **fields}


def _estimate(missing: Sequence[_Request], total: int, settings: GenerationSettings) -> str:
    characters = sum(len(json.dumps(each.body.get("prompt") or each.body["messages"])) for each in missing)
    return (
        f"Requests: {len(missing):,} ({total - len(missing):,} of {total:,} texts are kept from before), about "
        f"{characters // CHARACTERS_A_TOKEN:,} tokens of prompts and at most "
        f"{len(missing) * settings.max_new_tokens:,} tokens of texts"
    )


def _write(
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
