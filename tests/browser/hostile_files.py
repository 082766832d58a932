"""Files that try to exhaust the machine."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

# By name, and what is said of each.
REFUSED = {
    "nul.jsonl": "NUL byte",
    "ten-megabytes.jsonl": "too long",
    "fields.csv": "different fields",
    "fields.jsonl": "different fields",
    "bomb.txt.gz": "too long",
    "bomb.jsonl.gz": "too many rows",
    "bomb.parquet": "unpacks to more than",
}


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
