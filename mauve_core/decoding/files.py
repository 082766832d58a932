"""Files of generated texts: a decoder's rows with the key of what they depend on, finished parts, and the manifest.

A file is complete if the key beside it is that of its settings. Until then, parts hold the finished texts by id in a
folder named by the key, so that nothing is written twice, whatever the batches.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mauve_core.base.errors import InputError
from mauve_core.base.files import write_atomically
from mauve_core.decoding.decoders import Decoder, parse_decoder
from mauve_core.decoding.prompts import GenerationSettings, Prompts
from mauve_core.encoders.catalogue import ModelIdentity, package_version
from mauve_core.texts.entries import repeated_of
from mauve_core.texts.generations import GENERATION, generation_id

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
