"""What is continued, and the files of the continuations: prompts with ids, settings, rows, finished parts, manifest.

A file is complete if its key is that of its settings. Until then, parts hold the finished texts by id in a folder named
by the key, so that nothing is written twice, whatever the batches.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from mauve_core.base.arguments import text_list
from mauve_core.base.errors import InputError
from mauve_core.base.files import write_atomically
from mauve_core.base.json_codec import Within, check_fields
from mauve_core.decoding.decoders import Decoder, parse_decoder
from mauve_core.encoders.catalogue import ModelIdentity, package_version
from mauve_core.texts import corpus_from_table
from mauve_core.texts.entries import repeated_of
from mauve_core.texts.fields import guess_prompt
from mauve_core.texts.generations import GENERATION, generation_id
from mauve_core.texts.reading import read_table

MAX_REPEATS = 1000


@dataclass(frozen=True)
class GenerationSettings:
    """Lengths of the texts, the seed, the number of generations, and the size of a batch.

    Attributes
    ----------
    max_new_tokens, min_new_tokens : int
        A text ends at the model's end-of-text token, but not before ``min_new_tokens``.
    seed : int
    batch_rows, batch_tokens : int, optional
        Bounds of a batch, by default those of the device; they change the speed, not the texts. vLLM gets
        ``batch_rows`` texts at a time and plans its batches itself.
    repeats : int
        Generations: continuations of each prompt. A decoder that draws nothing writes one.
    """

    max_new_tokens: Annotated[int, Within(1, 1_000_000)] = 256
    min_new_tokens: Annotated[int, Within(0, 1_000_000)] = 0
    seed: Annotated[int, Within(0, 2**63 - 1)] = 0
    batch_rows: Annotated[int, Within(1, 1_000_000)] | None = None
    batch_tokens: Annotated[int, Within(1, 2**31)] | None = None
    repeats: Annotated[int, Within(1, MAX_REPEATS)] = 1

    def __post_init__(self) -> None:
        check_fields(self, "setting")
        if self.min_new_tokens > self.max_new_tokens:
            allowed, received = f"0 to {self.max_new_tokens}", str(self.min_new_tokens)
            raise InputError("The setting min_new_tokens cannot be used", allowed=allowed, received=received)

    def require_room(self, lengths: Sequence[int], positions: int) -> None:
        """Raise InputError if a prompt, of so many tokens, is empty or with its continuation exceeds the positions."""
        if not min(lengths):
            raise InputError("A prompt has no tokens", todo="Remove empty prompts")
        if max(lengths) + self.max_new_tokens > positions:
            raise InputError(
                "The prompt and continuation are too long for the model",
                allowed=f"{positions} tokens",
                received=f"{max(lengths)} + {self.max_new_tokens} tokens",
            )

    def generations(self, decoder: Decoder) -> int:
        """Generations that the decoder writes: one if it draws nothing, because all of them would be the same."""
        return self.repeats if decoder.is_random else 1


@dataclass(frozen=True)
class Prompts:
    """Prompts and their ids, which the continuations keep; ``notes`` are those of reading them."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    notes: tuple[str, ...] = ()

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
    return Prompts(corpus.ids, corpus.texts, corpus.notes)


MANIFEST = "manifest.json"


def require_distinct_ids(prompts: Prompts, repeats: int) -> None:
    """Raise InputError if the ids of two texts would be the same."""
    ids = [generation_id(prompt_id, generation) for generation in range(repeats) for prompt_id in prompts.ids]
    if len(set(ids)) < len(ids):
        raise InputError(
            "The ids of the prompts cannot tell generations apart",
            allowed=f"no id that is another one with an ending such as {generation_id('', 1)}",
            received=", ".join(repeated_of(ids)[:3]),
            todo="Give the prompts other ids",
        )


def written_once(decoders: Sequence[str]) -> str:
    """Say which decoders write one generation although several were asked for, and why; empty without any."""
    names = [spec for spec in decoders if not parse_decoder(spec).is_random]
    if not names:
        return ""
    return f"Written once, because nothing is drawn at random and all generations would be the same: {', '.join(names)}"


def notes_of(out: Path) -> tuple[str, ...]:
    """Return the notes in the manifest that :func:`generate_files` wrote into ``out``."""
    return tuple(json.loads((out / MANIFEST).read_text(encoding="utf-8"))["notes"])


def write_manifest(out: Path, manifest: Mapping[str, Any]) -> None:
    write_atomically(out / MANIFEST, lambda stream: stream.write(as_json(manifest, indent=2)))


def parts_of(path: Path, key: str) -> Path:
    """Return the folder of the parts of the file ``path`` with that key."""
    return path.parent / f".{path.stem}-{key[:16]}"


def keep_part(parts: Path, texts: Mapping[str, str]) -> None:
    """Keep finished texts, by id, as a part."""
    name = hashlib.sha256(json.dumps([*texts]).encode()).hexdigest()[:24]
    write_atomically(parts / f"{name}.json", lambda stream: stream.write(as_json(texts)))


def finished_texts(parts: Path) -> dict[str, str]:
    """Return the texts of the parts by id, whatever batches they were written in."""
    found: dict[str, str] = {}
    for part in sorted(parts.glob("*.json")):
        found |= json.loads(part.read_text(encoding="utf-8"))
    return found


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


def write_texts(
    path: Path, key: str, prompts: Prompts, decoder: Decoder, settings: GenerationSettings, texts: Mapping[str, str]
) -> None:
    """Write a decoder's file from its texts by id, and remove its parts."""
    write_rows(path, key, prompts, decoder, settings, {own: {"text": text} for own, text in texts.items()})
    shutil.rmtree(parts_of(path, key), ignore_errors=True)


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
