"""Corpora that try to run, to break out of the page, to reach the network or to exhaust the machine."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.payloads import PAYLOADS
from tests.synthetic import make_comparison_inputs

LONG = 900_000
"""Characters of one text, under the limit."""


def _of(*keys: str) -> tuple[str, ...]:
    return tuple(PAYLOADS[key] for key in keys)


TEXTS: dict[str, tuple[str, ...]] = {
    "html": _of("image", "style", "base", "frame", "form", "svg", "entities"),
    "script": _of("script", "script-end", "link", "braces"),
    "markdown": _of("markdown-link", "markdown-image", "autolink", "block", "directive", "colour", "replaced", "latex"),
    "formulas": (*_of("formula", "command"), "-2+3", "@SUM(1)", "\t=1", "＝1+1"),
    "long": ("x" * LONG, "short"),
    "bidi": (
        "\u202e\u2066\u2067evil\u202d",
        "\u202bright\u202c\u200f\u061c",
        "a\u0300" * 500,
        "\u2028\u2029\u0085\ufeff",
    ),
    "emoji": (
        "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466" * 40,
        "\U0001f3f4\U000e0067\U000e0062\U000e007f \u200d\u200d\ufe0f\u20e3",
        "\ufdfd" * 200 + "\U0001f1e6" * 51,
    ),
}
"""Beginnings of the texts of each corpus that can be read."""

REFUSED = {
    "nul.jsonl": "NUL byte",
    "ten-megabytes.jsonl": "too long",
    "fields.csv": "different fields",
    "fields.jsonl": "different fields",
    "bomb.txt.gz": "too long",
    "bomb.jsonl.gz": "too many rows",
    "bomb.parquet": "unpacks to more than",
}
"""Files that cannot, and what is said of each."""


def write_readable(folder: Path, n: int) -> dict[str, Path]:
    """A file of n texts for each of ``TEXTS``, and ``human`` with all beginnings in turn."""
    human, candidates, _ = make_comparison_inputs(n)
    usual = [*human.texts], [text for corpus in candidates.values() for text in corpus.texts]
    every = tuple(start for name, starts in TEXTS.items() if name != "long" for start in starts)
    paths = {}
    for place, (name, starts) in enumerate({"human": every, **TEXTS}.items()):
        texts = usual[0] if name == "human" else usual[1][place * 5 : place * 5 + n]
        rows = [
            {"id": f"={i}", "text": f"{starts[i % len(starts)] if i < 12 else starts[-1]} {text}", "topic": starts[-1]}
            for i, text in enumerate(texts)
        ]
        paths[name] = _write(folder, name, rows)
    return paths


def write_refused(folder: Path) -> dict[str, Path]:
    """The files of ``REFUSED``."""
    fields = [f"f{number}" for number in range(100_000)]
    lines = b'{"text": ""}\n' * 80_000
    contents = {
        "nul.jsonl": b'{"text": "a"}\n{"text": "\0"}\n',
        "ten-megabytes.jsonl": json.dumps({"text": "y" * 10_000_000}).encode() + b"\n",
        "fields.csv": (",".join(fields) + "\n").encode(),
        "fields.jsonl": json.dumps(dict.fromkeys(fields, "x")).encode() + b"\n",
        "bomb.txt.gz": gzip.compress(b"0" * 2**24) * 64,
        "bomb.jsonl.gz": gzip.compress(lines) * 1024,
        "bomb.parquet": _parquet_bomb(),
    }
    assert contents.keys() == REFUSED.keys()
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    return {name: folder / name for name in contents}


def _parquet_bomb() -> bytes:
    """About a kilobyte that says the same ten million characters 1,024 times."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 1024, pa.int32()), pa.array(["x" * 10_000_000]))
    stream = io.BytesIO()
    pq.write_table(pa.table({"text": texts}), stream, compression="zstd")
    return stream.getvalue()


def _write(folder: Path, name: str, rows: list[dict[str, str]]) -> Path:
    if name != "formulas":
        path = folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    path = folder / "formulas.csv"
    path.write_text(stream.getvalue(), newline="")
    return path
