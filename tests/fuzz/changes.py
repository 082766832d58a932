"""Changes of whole samples in place: of a file's bytes, of one file of a folder, of a weights file, of an archive."""

from __future__ import annotations

import hashlib
import io
import json
import random
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from safetensors.torch import load_file, save_file

from mauve_core.store.archive import MANIFEST
from tests.fuzz.mutate import Change, in_bytes, in_json

ChangeSample = Callable[[Path, random.Random], str]
"""Changes the sample at a path, and says what it changed."""

OTHER_NAMES = ("../escaped", "/escaped", "a/" * 200, "con", "x\x00y", "comparison.JSON")


def the_file(change: Change) -> ChangeSample:
    """Change the sample, which is one file."""

    def changed(path: Path, rng: random.Random) -> str:
        path.write_bytes(change(path.read_bytes(), rng))
        return path.name

    return changed


def one_file(changes: Mapping[str, Change]) -> ChangeSample:
    """Change one file of a folder, as the first pattern says that its name matches; now and then remove it, empty it,
    or put a folder in its place.
    """

    def changed(folder: Path, rng: random.Random) -> str:
        files = {path: _pattern(path, changes) for path in sorted(folder.rglob("*")) if path.is_file()}
        path = rng.choice([path for path, pattern in files.items() if pattern])
        name, what = str(path.relative_to(folder)), rng.random()
        if what < 0.06:
            path.unlink()
            if what < 0.02:
                path.mkdir()
            elif what < 0.04:
                path.touch()
            return f"{name} removed, emptied or made a folder"
        path.write_bytes(changes[files[path]](path.read_bytes(), rng))
        return name

    return changed


def _pattern(path: Path, changes: Mapping[str, object]) -> str:
    return next((pattern for pattern in changes if path.match(pattern)), "")


def weights(folder: Path, rng: random.Random) -> str:
    """Change the header of a model's weights, or one of its tensors."""
    return rng.choice((_header, _tensor))(folder / "model.safetensors", rng)


def _header(path: Path, rng: random.Random) -> str:
    """Change the header, a JSON document, and let its length fit, or not."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = in_json(data[8 : 8 + size], rng)
    length = len(header) if rng.random() < 0.9 else rng.choice((0, 1, 2**31, 2**63))
    path.write_bytes(length.to_bytes(8, "little") + header + data[8 + size :])
    return "header"


def _tensor(path: Path, rng: random.Random) -> str:
    """Leave out a tensor, or give it another shape, another type or other numbers."""
    tensors = load_file(path)
    name = rng.choice(sorted(tensors))
    tensor = tensors.pop(name)
    others = {
        "missing": lambda: None,
        "transposed": lambda: tensor.flip(0).transpose(0, -1).contiguous(),
        "halved": lambda: tensor[: max(len(tensor) // 2, 1)].clone(),
        "whole numbers": tensor.long,
        "infinite": lambda: tensor * float("inf"),
        "huge": lambda: tensor * 1e30,
        "flat": lambda: tensor.reshape(-1).clone(),
    }
    what = rng.choice(sorted(others))
    if (other := others[what]()) is not None:
        tensors[name] = other
    save_file(tensors, path, metadata={"format": "pt"})
    return f"{name} {what}"


def archive(path: Path, rng: random.Random) -> str:
    """Change the archive's bytes, or one of its files; the manifest then fits, mostly."""
    if rng.random() < 0.3:
        return the_file(in_bytes)(path, rng)
    with zipfile.ZipFile(path) as opened:
        files = {info.filename: opened.read(info) for info in opened.infolist()}
    name = rng.choice(sorted(files))
    files[name] = (in_json if name.endswith(".json") else in_bytes)(files[name], rng)
    if rng.random() < 0.8 and name != MANIFEST:
        _seal(files)
    if rng.random() < 0.1:
        files[rng.choice(OTHER_NAMES)] = files.pop(name)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as written:
        for each, data in files.items():
            written.writestr(each, data)
    path.write_bytes(stream.getvalue())
    return name


def _seal(files: dict[str, bytes]) -> None:
    """Write the files' sizes and digests into the manifest."""
    manifest = json.loads(files[MANIFEST])
    for name in manifest["files"]:
        manifest["files"][name] = {"size": len(files[name]), "sha256": hashlib.sha256(files[name]).hexdigest()}
    files[MANIFEST] = json.dumps(manifest).encode()
