"""Random changes of bytes and of JSON, each drawn from a generator that a seed sets."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

Change = Callable[[bytes, random.Random], bytes]

# Bytes that stand for the least and the greatest of the binary numbers.
EDGES = (b"\x00", b"\xff", b"\x7f", b"\x80", b"\x00\x00\x00\x80", b"\xff" * 4, b"\xff" * 8, b"\x00" * 8)

# What text formats are sensitive to.
WORDS = (
    b"NaN", b"Infinity", b"-1", b"0", b"1e999", b"9" * 400, b"null", b"true", b"[]", b"{}", b'""', b'"', b"'", b"\\",
    b"\\u0000", b"\\ud800", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\n", b"\r\n", b"\t", b",", b":",
    b"[" * 3000, b'{"a":' * 3000, b"\xe2\x80\xa8", b"../", b"/dev/zero", b"%s", b"=1+1", b"<script>",
)  # fmt: skip

# What a JSON value is exchanged for.
LEAVES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, 1e308, -0.0, 0.5, float("nan"), float("inf"), "", "a", "\x00",
    "\ud800", "../x", "/etc/passwd", "NaN", "a" * 5000, [], {}, [[]], [None], {"": None}, [1] * 2000,
)  # fmt: skip


def in_bytes(data: bytes, rng: random.Random) -> bytes:
    """One to four changes: bits, edge values, words, blocks cut out, doubled or moved, or an early end."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        rng.choice((_flip, _edge, _word, _cut, _double, _move, _end))(changed, rng)
    return bytes(changed)


def in_json(data: bytes, rng: random.Random) -> bytes:
    """One to three leaves, keys or subtrees of a JSON document exchanged, dropped, doubled or renamed."""
    document = json.loads(data)
    for _ in range(rng.randint(1, 3)):
        document = _changed(document, rng)
    return json.dumps(document).encode("utf-8", "surrogatepass")


def in_json_lines(data: bytes, rng: random.Random) -> bytes:
    """``in_json`` of one to three lines."""
    lines = data.splitlines()
    for _ in range(rng.randint(1, 3)):
        index = rng.randrange(len(lines))
        lines[index] = in_json(lines[index], rng) if lines[index].startswith((b"{", b"[")) else lines[index]
    return b"\n".join(lines) + b"\n"


def in_header(length: int) -> Change:
    """``in_bytes`` of the first bytes alone, where a binary format says what follows."""
    return lambda data, rng: in_bytes(data[:length], rng) + data[length:]


def one_of(*changes: Change) -> Change:
    """One of several, at random."""
    return lambda data, rng: rng.choice(changes)(data, rng)


def _changed(document: Any, rng: random.Random) -> Any:
    """The document with one value exchanged, dropped, doubled or renamed."""
    document = copy.deepcopy(document)
    containers: list[Any] = []
    open_ = [document]
    while open_:
        value = open_.pop()
        if isinstance(value, dict | list) and value:
            containers.append(value)
            open_.extend(value.values() if isinstance(value, dict) else value)
    if not containers or rng.random() < 0.02:
        return rng.choice(LEAVES)
    container = rng.choice(containers)
    key: Any = rng.choice(list(container) if isinstance(container, dict) else range(len(container)))
    what = rng.random()
    if what < 0.15:
        del container[key]
    elif what < 0.25 and isinstance(container, dict):
        container[rng.choice(("", "x", "\ud800", "__class__", f"{key} "))] = container.pop(key)
    elif what < 0.3 and isinstance(container, list):
        container.insert(key, copy.deepcopy(container[key]))
    elif what < 0.4:
        container[key] = copy.deepcopy(rng.choice(containers))
    else:
        container[key] = copy.deepcopy(rng.choice(LEAVES))
    return document


def _flip(data: bytearray, rng: random.Random) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _edge(data: bytearray, rng: random.Random) -> None:
    at, edge = rng.randint(0, len(data)), rng.choice(EDGES)
    data[at : at + len(edge)] = edge


def _word(data: bytearray, rng: random.Random) -> None:
    at, word = rng.randint(0, len(data)), rng.choice(WORDS)
    data[at : at + rng.choice((0, len(word)))] = word


def _span(data: bytearray, rng: random.Random) -> slice:
    at = rng.randint(0, len(data))
    return slice(at, at + rng.choice((1, 2, 8, 64, len(data))))


def _cut(data: bytearray, rng: random.Random) -> None:
    del data[_span(data, rng)]


def _double(data: bytearray, rng: random.Random) -> None:
    span = _span(data, rng)
    data[span] = data[span] * 2


def _move(data: bytearray, rng: random.Random) -> None:
    block = data[_span(data, rng)]
    at = rng.randint(0, len(data))
    data[at : at + len(block)] = block


def _end(data: bytearray, rng: random.Random) -> None:
    del data[rng.randint(0, len(data)) :]
