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
import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mauve_core.base.errors import InputError
from mauve_core.base.files import write_atomically
from mauve_core.base.json_codec import check_fields
from mauve_core.base.progress import Progress, silent
from mauve_core.base.server_names import names_server
from mauve_core.base.text_lists import text_list
from mauve_core.base.validation import Later, Within
from mauve_core.corpus import corpus_from_table
from mauve_core.corpus.entries import repeated_of
from mauve_core.corpus.fields import guess_prompt
from mauve_core.corpus.generations import GENERATION, generation_id
from mauve_core.corpus.reading import read_table
from mauve_core.decoding.decoders import Decoder, Writing, parse_decoder, stream_key
from mauve_core.decoding.fixed_shapes import FixedShapes, has_fixed_step
from mauve_core.decoding.processors import FiniteLogits, SeededDraw
from mauve_core.encoders.catalogue import ModelIdentity, package_version
from mauve_core.encoders.models import LoadedModel, load_model
from mauve_core.encoders.tokenizing import read_texts, refuse_unknown_tokens

if TYPE_CHECKING:
    import torch

    from mauve_core.decoding.served import ServerOptions

DEFAULT_BATCH_ROWS = 128
DEFAULT_BATCH_TOKENS = 128 * 256
"""Most rows and padded tokens (prompt and continuation) of one batch; each beam or candidate is a row.

With a fixed step on a CUDA device, the free memory decides instead.
"""

DRAW = "inverse"
"""How tokens are drawn (:class:`mauve_core.decoding.processors.SeededDraw`), for the manifest and as a part of what
the texts depend on. Manifests without it are of texts that were drawn by adding Gumbel noise to the logits: from the
same distributions, but with other random numbers."""

MAX_REPEATS = 1000

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class GenerationSettings:
    """Lengths of the texts, the seed, the number of generations, and the size of a batch.

    Attributes
    ----------
    max_new_tokens, min_new_tokens : int
        A text ends at the model's end-of-text token, but not before ``min_new_tokens``.
    seed : int
    batch_rows, batch_tokens : int, optional
        Bounds of a batch, by default those of the device; they change the speed, not the texts.
    repeats : int
        Generations: continuations of each prompt. A decoder that draws nothing writes one.
    """

    max_new_tokens: Annotated[int, Within(1, 1_000_000)] = 256
    min_new_tokens: Annotated[int, Within(0, 1_000_000)] = 0
    seed: Annotated[int, Within(0, 2**63 - 1)] = 0
    batch_rows: Annotated[int, Within(1, 1_000_000)] | None = None
    batch_tokens: Annotated[int, Within(1, 2**31)] | None = None
    repeats: Annotated[int, Within(1, MAX_REPEATS), Later()] = 1

    def __post_init__(self) -> None:
        check_fields(self, "setting")
        if self.min_new_tokens > self.max_new_tokens:
            allowed, received = f"0 to {self.max_new_tokens}", str(self.min_new_tokens)
            raise InputError("The setting min_new_tokens cannot be used", allowed=allowed, received=received)

    def generations(self, decoder: Decoder) -> int:
        """Generations that the decoder writes: one if it draws nothing, because all of them would be the same."""
        return self.repeats if decoder.is_random else 1


@dataclass(frozen=True)
class Prompts:
    """Prompts and their ids, which the continuations keep."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]

    def __post_init__(self) -> None:
        for part in ("ids", "texts"):
            object.__setattr__(self, part, tuple(text_list(getattr(self, part), f"The {part} of the prompts")))
        if not self.texts or len(self.ids) != len(self.texts) or len(set(self.ids)) != len(self.ids):
            raise InputError(
                "The prompts cannot be used",
                allowed="at least one prompt, each with its own id",
                received=f"{len(self.texts)} prompts with {len(set(self.ids))} different ids",
            )

    def chosen(self, indices: Sequence[int]) -> Prompts:
        """Return the prompts at these places."""
        return Prompts(tuple(self.ids[i] for i in indices), tuple(self.texts[i] for i in indices))

    @property
    def digest(self) -> str:
        """SHA-256 of ids and texts."""
        return hashlib.sha256(json.dumps([self.ids, self.texts]).encode()).hexdigest()


def read_prompts(path: Path, prompt_field: str | None = None) -> Prompts:
    """Prompts of a corpus file: the given field, else a field that looks like a prompt, else the text itself."""
    table = read_table(path)
    corpus = corpus_from_table(table, text_field=prompt_field or table.text_field or guess_prompt(table))
    return Prompts(corpus.ids, corpus.texts)


def generate_files(
    model: str | LoadedModel,
    prompts: Prompts,
    decoders: Sequence[str],
    out: Path,
    *,
    settings: GenerationSettings | None = None,
    revision: str | None = None,
    device: str = "auto",
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
    _require_distinct_ids(prompts, settings.repeats)
    parsed = [parse_decoder(spec) for spec in decoders]
    if not parsed or len({decoder.slug for decoder in parsed}) != len(parsed):
        raise InputError(
            "The decoders cannot be used", allowed="one or more, without repeats", received=", ".join(decoders)
        )
    if isinstance(model, str) and names_server(model):
        from mauve_core.decoding.served import generate_served

        if revision is not None:
            raise InputError("A model behind a server has no revision", received=revision, todo="Leave it out")
        return generate_served(model, prompts, parsed, out, settings, server, progress, tell)
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
    write_atomically(out / MANIFEST, lambda stream: stream.write(as_json(manifest, indent=2)))
    return paths


def written_once(decoders: Sequence[str]) -> str:
    """Say which decoders write one generation although several were asked for, and why; empty without any."""
    names = [spec for spec in decoders if not parse_decoder(spec).is_random]
    if not names:
        return ""
    return f"Written once, because nothing is drawn at random and all generations would be the same: {', '.join(names)}"


def notes_of(out: Path) -> tuple[str, ...]:
    """Return the notes in the manifest that :func:`generate_files` wrote into ``out``."""
    return tuple(json.loads((out / MANIFEST).read_text(encoding="utf-8"))["notes"])


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
    if int(batch["attention_mask"].sum(dim=1).min()) == 0:
        raise InputError("A prompt has no tokens", todo="Remove empty prompts")
    refuse_unknown_tokens(batch["input_ids"].numpy(force=True), loaded)
    if width + settings.max_new_tokens > loaded.max_positions:
        raise InputError(
            "The prompt and continuation are too long for the model",
            allowed=f"{loaded.max_positions} tokens",
            received=f"{width} + {settings.max_new_tokens} tokens",
        )
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
    parts = path.parent / f".{path.stem}-{key[:16]}"
    texts = _finished(parts)
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
            name = hashlib.sha256(json.dumps(ids).encode()).hexdigest()[:24]
            write_atomically(parts / f"{name}.json", lambda stream, part=part: stream.write(as_json(part)))  # type: ignore[misc]
            texts |= part
            waiting = waiting[rows:]
    progress(f"writing {decoder.spec}", len(texts), total)
    write_rows(path, key, prompts, decoder, settings, {own: {"text": text} for own, text in texts.items()})
    shutil.rmtree(parts, ignore_errors=True)


def _finished(parts: Path) -> dict[str, str]:
    """Return the texts of the parts by id, whatever batches they were written in."""
    found: dict[str, str] = {}
    for part in sorted(parts.glob("*.json")):
        texts = json.loads(part.read_text(encoding="utf-8"))
        if isinstance(texts, dict):  # a list, without ids, is of a version that wrote batches of one size
            found |= texts
    return found


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


def is_written(path: Path, key: str) -> bool:
    """Return whether the file of that key is complete."""
    stamp = path.with_suffix(".key")
    return path.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == key


def write_rows(
    path: Path,
    key: str,
    prompts: Prompts,
    decoder: Decoder,
    settings: GenerationSettings,
    texts: Mapping[str, Mapping[str, Any]],
) -> None:
    """Write a decoder's file and mark it as complete; ``texts`` holds text and further fields of each row, by id."""
    provenance = {"decoder": decoder.spec, "parameters": dict(decoder.values), "seed": settings.seed}
    rows = []
    for generation in range(settings.generations(decoder)):
        numbered = {GENERATION: generation} if settings.repeats > 1 else {}
        for prompt_id, prompt in zip(prompts.ids, prompts.texts, strict=True):
            own = generation_id(prompt_id, generation)
            rows.append(as_json({"id": own, "prompt": prompt, **texts[own], **provenance, **numbered}))
    write_atomically(path, lambda stream: stream.write(b"\n".join(rows) + b"\n"))
    write_atomically(path.with_suffix(".key"), lambda stream: stream.write(key.encode()))


def _require_distinct_ids(prompts: Prompts, repeats: int) -> None:
    ids = [generation_id(prompt_id, generation) for generation in range(repeats) for prompt_id in prompts.ids]
    if len(set(ids)) < len(ids):
        raise InputError(
            "The ids of the prompts cannot tell generations apart",
            allowed=f"no id that is another one with an ending such as {generation_id('', 1)}",
            received=", ".join(repeated_of(ids)[:3]),
            todo="Give the prompts other ids",
        )


def _settings_key(loaded: LoadedModel, prompts: Prompts, decoder: Decoder, settings: GenerationSettings) -> str:
    """Digest of everything that the texts depend on."""
    parts: tuple[object, ...] = (
        loaded.identity.digest,
        prompts.digest,
        decoder.spec,
        settings.max_new_tokens,
        settings.min_new_tokens,
        settings.seed,
    )
    if decoder.kind.draws:
        parts += ("draw", DRAW)
    if settings.repeats > 1:  # without repeats, files that were written before there were any are kept
        parts += (settings.repeats,)
    ends = loaded.model.generation_config.eos_token_id
    if loaded.writing_notes or ends not in (None, [getattr(loaded.model.config, "eos_token_id", None)]):
        parts += ("ends", ends)  # of other models, files that were written before ends were read are kept
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def manifest_of(
    identity: ModelIdentity,
    prompts: Prompts,
    decoders: Sequence[Decoder],
    settings: GenerationSettings,
    *,
    device: str,
    notes: Sequence[str],
) -> dict[str, Any]:
    """Return the record of how the files were made."""
    specs = [decoder.spec for decoder in decoders]
    return {
        "model": {
            "name": identity.name,
            "kind": identity.kind,
            "revision": identity.revision,
            "digest": identity.digest,
            "package_version": package_version(identity.name),
        },
        "decoders": {decoder.spec: f"{decoder.slug}.jsonl" for decoder in decoders},
        "settings": {
            "max_new_tokens": settings.max_new_tokens,
            "min_new_tokens": settings.min_new_tokens,
            "seed": settings.seed,
            "repeats": settings.repeats,
        },
        "generations": {decoder.spec: settings.generations(decoder) for decoder in decoders},
        "notes": [*notes, *filter(None, [written_once(specs) if settings.repeats > 1 else ""])],
        "prompts": {"n": len(prompts.ids), "digest": prompts.digest},
        "device": device,
        "versions": {"python": platform.python_version()} | {p: version(p) for p in ("torch", "transformers", "numpy")},
    }


def as_json(value: object, indent: int | None = None) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=indent).encode()
