"""Parquet files made to fill the memory are refused before it is taken; whatever is honest comes back as it was."""

from __future__ import annotations

import io
import json
import random
import string
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mauve_core.base.errors import InputError
from mauve_core.corpus import limits, parquet
from mauve_core.corpus.parquet import ParquetTable
from mauve_core.corpus.parquet_pages import ChunkLocation, measure_chunk
from mauve_core.corpus.reading import read_table


def repeated(length: int, times: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array([0] * times, pa.int32()), pa.array(["x" * length]))


def listed(values: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


BOMBS = {
    "a repeated text": {"text": repeated(10_000_000, 1024)},
    "in a list": {"text": listed(repeated(10_000_000, 1024))},
    "in structs": {"text": listed(pa.StructArray.from_arrays([repeated(10_000_000, 1024)], ["content"]))},
    "beside a text": {"text": pa.array(["a"] * 1024), "note": repeated(10_000_000, 1024)},
}


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_table(path)
    return str(caught.value)


def write(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, **{"compression": "zstd", **options})
    return path


@pytest.mark.slow
@pytest.mark.parametrize("what", BOMBS)
def test_a_kilobyte_that_says_ten_gigabytes(what: str, tmp_path: Path) -> None:
    """In a process of its own, which may have 3 GB of addresses; libraries take half of them.

    Its memory is asked of the system by its own name: what ``getrusage`` says begins with the parent's.
    """
    path = write(tmp_path / "bomb.parquet", BOMBS[what])
    assert path.stat().st_size < 3000
    lines = [
        "import resource, sys",
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))",
        "from mauve_core.corpus.reading import read_table",
        "from mauve_core.base.errors import InputError",
        "try:",
        "    read_table(sys.argv[1])",
        "except InputError as error:",
        "    (peak,) = [line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM:')]",
        "    print(error, int(peak) // 1024)",
    ]
    result = subprocess.run(
        [sys.executable, "-c", "\n".join(lines), str(path)], capture_output=True, text=True, check=False
    )
    assert "unpacks to more than 268,435,456 bytes" in result.stdout, result.stderr[-500:]
    assert limits.UNPACKED_VARIABLE in result.stdout
    assert int(result.stdout.split()[-1]) < 400, "MB in all, libraries included"


def test_a_prefix_that_is_repeated_is_decoded_a_few_rows_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["x" * 5000 + str(place) for place in range(100)]
    plain = {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}
    path = write(tmp_path / "prefix.parquet", {"text": texts}, **plain)
    assert [row["text"] for _, row in read_table(path).rows] == texts
    monkeypatch.setattr(parquet, "BATCH_BYTES", 20_000)
    with path.open("rb") as stream:
        sizes = [batch.num_rows for batch in ParquetTable(stream, path).batches()]
    assert (max(sizes), sum(sizes)) == (3, 100)
    monkeypatch.setattr(limits, "unpacked_bytes", lambda: 20_000)
    assert "unpacks to more than 20,000 bytes" in refusal(path)


def test_rows_and_cells_are_counted_before_they_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.parquet", {"text": ["a"] * 10, "n": list(range(10))})
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", None)
    with monkeypatch.context() as patch:
        patch.setenv(limits.ROWS_VARIABLE, "9")
        assert "too many rows" in refusal(path)
    monkeypatch.setenv(limits.CELLS_VARIABLE, "19")
    assert "too many values" in refusal(path)


def test_a_long_footer_is_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.parquet", {f"c{place}": ["a"] for place in range(900)})
    assert len(read_table(path).columns) == 900
    monkeypatch.setattr(parquet, "FOOTER_SHARE", 1 << 13)
    monkeypatch.setattr(pq.ParquetFile, "__init__", None)
    assert "footer" in refusal(path)


TEXTS = random.Random(0)


def some_text(length: int) -> str:
    return "".join(TEXTS.choices(string.ascii_letters, k=length))


HONEST = {
    "many groups": {"row_group_size": 70},
    "no dictionary": {"use_dictionary": False},
    "second version": {"data_page_version": "2.0"},
    "brotli": {"compression": "brotli"},
}


@pytest.mark.parametrize("how", HONEST)
def test_honest_files_come_back_however_they_are_written(how: str, tmp_path: Path) -> None:
    rows = [
        {
            "text": some_text(100) if place % 3 else "again",
            "l": [some_text(30) for _ in range(place % 4)],
            "s": [{"role": "user", "content": some_text(20)}, {"role": None, "content": "x"}],
            "n": None if place % 7 == 0 else place,
        }
        for place in range(500)
    ]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, **HONEST[how])
    assert [row for _, row in read_table(path).rows] == rows


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (b"\x15\x00\x15\x00", "incomplete"),
        (b"\x15\x00\x15\x01\x15\x00\x00", "invalid one"),
        (b"\x15\x00\x15\x02\x15\x02\x00", "lacks a required structure"),
        (b"\x15\x00\x15" + b"\xff" * 20, "too long"),
        (b"\x1c" * 20, "nested too deeply"),
    ],
)
def test_headers_that_are_none(header: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        measure_chunk(io.BytesIO(b"PAR1" + header), ChunkLocation(4 if header else 3, 100, 1), 10)


@pytest.mark.slow
def test_every_flipped_byte_is_read_or_refused(tmp_path: Path) -> None:
    """Also where pyarrow's own reading of the footer ends the process."""
    path = write(tmp_path / "a.parquet", {"text": ["some text", "another"] * 5, "l": [["a", "b"]] * 10})
    whole, lot = path.read_bytes(), random.Random(1)
    for _ in range(150):
        data = bytearray(whole)
        data[lot.randrange(len(data))] ^= 1 << lot.randrange(8)
        path.write_bytes(data)
        with suppress(InputError):
            json.dumps([row for _, row in read_table(path).rows], default=str)
