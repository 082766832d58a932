"""What is volatile in an item, and in what two items differ."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

# Fields of JSON whose values are times, sizes of files that hold times, what is installed, or random: only that they
# are there is compared.
VOLATILE_FIELDS = frozenset({"bytes", "created", "deferred_file_id", "seconds", "started", "token", "versions"})

# Patterns in texts, and what stands for what they match.
VOLATILE = (
    (re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?UTC|Z|[+-]\d\d:?\d\d)?)?"), "<date>"),
    (re.compile(r"(\$\$(?:ID|WIDGET_ID|ELEMENT)-)[0-9a-f]{32,64}"), r"\1<digest>"),  # Streamlit's, of all arguments
    (re.compile(r"\d{8}T\d{12}-[0-9a-f]{8}"), "<token>"),  # of a deleted run
    (re.compile(r"comparisons/[0-9a-f]{16}"), "comparisons/<digest>"),  # of when shards were written, too
    (re.compile(r"About [\d.]+ \w+ \(last time [\d.]+ \w+"), "About <time> (last time <time>"),  # of a job
    (re.compile(r'("seconds": )(\{[^}]*\}|[\d.]+)'), r"\1<seconds>"),
    (re.compile(r"(>seconds[.\w]*</bdi></th><td><bdi>)[\d.]+"), r"\1<seconds>"),
)

# Characters of a value that are printed.
WIDTH = 100


def neutral(value: Any, folders: Mapping[str, str]) -> Any:
    """The value without what is volatile, and with names in place of the ``folders`` in which it was made."""
    if isinstance(value, Mapping):
        return {
            neutral(str(key), folders): "<volatile>" if key in VOLATILE_FIELDS else neutral(each, folders)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [neutral(each, folders) for each in value]
    if isinstance(value, str):
        for folder, name in folders.items():
            value = value.replace(folder, name)
        for pattern, instead in VOLATILE:
            value = pattern.sub(instead, value)
    return value


def folder_differences(before: Path, after: Path) -> dict[str, list[str]]:
    """Differences by item; an item that only one of the folders has is one."""
    found = {}
    files = {
        path.relative_to(side).as_posix() for side in (before, after) for path in side.rglob("*") if path.is_file()
    }
    for name in sorted(files):
        if not (before / name).exists() or not (after / name).exists():
            found[name] = ["new" if (after / name).exists() else "gone"]
        elif (before / name).read_bytes() != (after / name).read_bytes():
            one, other = ((side / name).read_text(encoding="utf-8") for side in (before, after))
            parsed = (json.loads(one), json.loads(other)) if name.endswith(".json") else (one, other)
            found[name] = list(differences(*parsed)) or ["the order of fields"]
    return found


def differences(before: Any, after: Any, where: str = "") -> Iterator[str]:
    """Where two JSON values differ, and how. Numbers are equal if their bits are."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            place = f"{where}.{key}" if where else str(key)
            if key not in after or key not in before:
                yield f"{place}: {'new' if key in after else 'gone'}"
            else:
                yield from differences(before[key], after[key], place)
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{where}: {len(before)} entries -> {len(after)}"
        for place, pair in enumerate(zip(before, after, strict=False)):
            yield from differences(*pair, f"{where}[{place}]")
    elif isinstance(before, str) and isinstance(after, str):
        yield from _in_texts(before, after, where)
    elif repr(before) != repr(after):
        yield f"{where}: {_short(before)} -> {_short(after)}"


def _in_texts(before: str, after: str, where: str) -> Iterator[str]:
    """The lines that differ, where both texts have as many; else the first one."""
    one, other = before.split("\n"), after.split("\n")
    pairs = [(place, *pair) for place, pair in enumerate(zip(one, other, strict=False), 1) if pair[0] != pair[1]]
    if len(one) != len(other):
        yield f"{where}: {len(one)} lines -> {len(other)}"
        pairs = pairs[:1]
    for place, old, new in pairs:
        begin = next((i for i, both in enumerate(zip(old, new, strict=False)) if both[0] != both[1]), 0)
        begin = max(0, begin - 20)
        line = f" line {place}" if len(one) > 1 else ""
        yield f"{where}{line}: {_short(old[begin:])} -> {_short(new[begin:])}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}…"
