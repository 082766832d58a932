"""Changes of whole samples in place: of a file's bytes, of one file of a folder, of a weights file, of an archive."""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import random
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from mauve_core.__main__ import build_parser
from mauve_core.runs.archive import MANIFEST
from tests.fuzz.mutate import Change, in_bytes, in_json

# Changes the sample at a path, and says what it changed.
ChangeSample = Callable[[Path, random.Random], str]

OTHER_NAMES = ("../escaped", "/escaped", "a/" * 200, "con", "x\x00y", "comparison.JSON")

COMMAND = "command.json"
OPENED = "pages"
# Pages that show a run.
VIEWS = ("compare", "decoders", "clusters", "gap", "map", "texts", "probes", "judge", "methods", "runs")
VIEWS_A_CASE = 3
SOUND = {
    "human": "none.jsonl",
    "file": "none.jsonl",
    "prompts": "none.jsonl",
    "out": "out",
    "over": "k",
    "what": "synthetic",
}
# Commands that stay until they are stopped, prepare a study, ask a person, or are a job's own.
STAYING = ("app", "demo", "password", "work")

# What no option of a command expects; no path outside of the case's folder, because commands write.
HOSTILE = (
    "nan", "inf", "-inf", "-1", "0", "-0", "1e999", "9" * 400, "", " ", "\n", "a\nb", "\r", "\t", "\x00",
    "\x1b[2J", "\ufffd", "ün\u0456\u202e", "\ud800", "-", "--", "../x", ".",
    "%s", "{}", "[]", "a=b", "=", "a=", "=b", ",", "1,2,nan", "1-", "x" * 5000, "0.5", "true", "null", "NaN",
    "<script>", "kmeans:", ":", "a:b=c", "typos@nan", "1e400",
)  # fmt: skip

PATHS = (
    "/",
    "/sign-in",
    "/sign-in/provider",
    "/sign-out",
    "/auth/logout",
    "/news",
    "/progress/",
    "/export/",
    "/compare",
    "/x",
)
HEADERS = (
    "host", "origin", "cookie", "accept", "content-type", "content-length", "sec-fetch-site", "sec-fetch-mode",
    "x-forwarded-proto", "x-forwarded-for", "range", "if-none-match", "referer", "transfer-encoding",
)  # fmt: skip
HOSTILE_WORDS = (
    "http://[", "[::1", "null", "text/html", "same-origin", "cross-site", "https", "mauve_lens_session=x",
    "mauve_lens_next=%ff//[", "_streamlit_user=eyJ9.aaaaaa.bbbbbb", "bytes=0-", "-1", "9" * 400, "\xff\xfe",
    "%00", "%ff", "..%2f..%2fetc/passwd", "../../", "<script>alert(1)</script>", "' OR 1=1 --", "\r\nX: y",
    "\x00", "a" * 9000, "a=1&" * 99, "synthetic", "//evil.example", "\\",
)  # fmt: skip


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
        some = rng.choice(sorted({path.parent for path, pattern in files.items() if pattern}))  # few files or many
        path = rng.choice([path for path, pattern in files.items() if pattern and path.parent == some])
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


def and_views(change: ChangeSample) -> ChangeSample:
    """Change a home, and draw the pages that are opened on it."""

    def changed(home: Path, rng: random.Random) -> str:
        what, views = change(home, rng), rng.sample(VIEWS, VIEWS_A_CASE)
        (home / OPENED).write_text(json.dumps(views))
        return f"{what}; {', '.join(views)}"

    return changed


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


def command(home: Path, rng: random.Random) -> str:
    """A command with what it needs, which is sound, and one or two options with hostile values."""
    words, parser = rng.choice(_commands())
    for action in parser._actions:
        required = action.required and action.nargs not in ("*", "?")
        if not required or isinstance(action, argparse._SubParsersAction):
            continue
        value = SOUND.get(action.dest, "synthetic") if rng.random() < 0.8 else rng.choice(HOSTILE)
        words = [*words, *action.option_strings[-1:], *[value] * (action.nargs if isinstance(action.nargs, int) else 1)]
    options = [action for action in parser._actions if action.option_strings and action.nargs != 0]
    for action in rng.sample(options, min(len(options), rng.randint(1, 2))):
        words = [*words, action.option_strings[-1], rng.choice(HOSTILE)]
    (home / COMMAND).write_text(json.dumps(words))
    return " ".join(words)[:200]


@cache
def _commands() -> list[tuple[list[str], argparse.ArgumentParser]]:
    """Every command that ends by itself, with its parser."""

    def below(parser: argparse.ArgumentParser, words: list[str]) -> Iterator[tuple[list[str], argparse.ArgumentParser]]:
        groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        if not groups or words:
            yield words, parser
        for group in groups:
            for name, inner in group.choices.items():
                yield from below(inner, [*words, name])

    return [(words, parser) for words, parser in below(build_parser(), []) if words and words[0] not in STAYING]


def requests(path: Path, rng: random.Random) -> str:
    """Other requests: any method, path, query, headers and body; a server with a password, or one without."""
    sent = json.loads(path.read_bytes())
    sent["password"] = rng.choice(("", sent["password"]))
    sent["requests"] = [_request(rng) for _ in sent["requests"]]
    path.write_text(json.dumps(sent))
    return f"{len(sent['requests'])} requests"


def _request(rng: random.Random) -> dict[str, Any]:
    names = [rng.choice(HEADERS) for _ in range(rng.randint(0, 5))]
    return {
        "method": rng.choice(("GET", "GET", "POST", "HEAD", "PUT", "OPTIONS", "DELETE", "x")),
        "path": rng.choice(PATHS) + rng.choice(("", "", *HOSTILE_WORDS)),
        "query": rng.choice(("", "next=//[", "provider=x", "run=", *HOSTILE_WORDS)),
        "headers": [["host", "127.0.0.1:8501"], *([name, rng.choice(HOSTILE_WORDS)] for name in names)],
        "body": [rng.choice(("password=x", *HOSTILE_WORDS)) for _ in range(rng.randint(0, 3))],
    }
