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
from mauve_core.texts import limits, parquet
from mauve_core.texts.parquet import ChunkLocation, ParquetTable, decoded_bytes, measure_chunk, read_metadata, values_of
from mauve_core.texts.reading import read_table


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
        "from mauve_core.texts.reading import read_table",
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


def test_a_page_that_unpacks_to_much_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "page.parquet", {"text": ["x" * 400_000]}, use_dictionary=False, write_statistics=False)
    monkeypatch.setattr(limits, "unpacked_bytes", lambda: 300_000)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", None)
    assert path.stat().st_size < 2000
    assert "unpacks to more than 300,000 bytes" in refusal(path)


def test_a_row_of_many_missing_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of one repeated level takes a few bytes, whatever its length."""
    path = write(tmp_path / "nulls.parquet", {"text": ["a"], "l": listed(pa.nulls(100_000, pa.int8()))})
    monkeypatch.setenv(limits.CELLS_VARIABLE, "100000")
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", None)
    assert "too many values" in refusal(path)


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


def test_columns_inside_of_columns_are_counted(tmp_path: Path) -> None:
    inner = pa.array([{f"c{place}": 1 for place in range(1001)}])
    assert "different fields" in refusal(write(tmp_path / "a.parquet", {"text": ["a"], "s": inner}))


def test_the_schema_of_arrow_is_left_aside(tmp_path: Path) -> None:
    """It may say anything; here it is no schema."""
    path = write(tmp_path / "a.parquet", {"n": [7]})
    schema = pq.read_metadata(path).metadata[b"ARROW:schema"]
    path.write_bytes(path.read_bytes().replace(schema, b"A" * len(schema)))
    assert read_table(path).rows == [(1, {"n": 7})]
    with path.open("rb") as stream:
        assert set(read_metadata(stream, path).metadata) == {b"ARROW_schema"}


TEXTS = random.Random(0)


def some_text(length: int) -> str:
    return "".join(TEXTS.choices(string.ascii_letters, k=length))


HONEST = {
    "many groups": {"row_group_size": 70},
    "small pages": {"dictionary_pagesize_limit": 2000, "data_page_size": 1000},
    "no dictionary": {"use_dictionary": False},
    "lengths apart": {
        "use_dictionary": False,
        "column_encoding": {"text": "DELTA_LENGTH_BYTE_ARRAY", "l.list.element": "DELTA_BYTE_ARRAY"},
    },
    "second version": {"data_page_version": "2.0"},
    "snappy": {"compression": "snappy"},
    "brotli": {"compression": "brotli"},
    "uncompressed": {"compression": "none"},
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


def test_decoded_bytes_count_each_value_as_often_as_it_occurs() -> None:
    texts = repeated(1000, 50)
    for array in (texts, listed(texts), pa.StructArray.from_arrays([texts], ["a"])):
        assert 50_000 <= decoded_bytes(array) < 51_000
        assert decoded_bytes(array.slice(0, 0)) < 1000
    assert values_of(texts) == ["x" * 1000] * 50
    missing = pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int32()), pa.array(["x"]))
    assert decoded_bytes(missing) < 100


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (b"", "incomplete"),
        (b"\x15\x00\x15\x00", "incomplete"),
        (b"\x15\x00\x00", "lacks a number"),
        (b"\x15\x00\x15\x01\x15\x00\x00", "invalid one"),
        (b"\x15\x00\x05\x02\x00", "field twice"),
        (b"\x16\x00\x00", "lacks a number"),
        (b"\x15\x00\x15\x02\x15\x02\x00", "lacks a required structure"),
        (b"\x15\x00\x15" + b"\xff" * 20, "too long"),
        (b"\x1c" * 20, "nested too deeply"),
        (b"\x1d\x00", "holds an invalid type of value"),
    ],
)
def test_headers_that_are_none(header: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        measure_chunk(io.BytesIO(b"PAR1" + header), ChunkLocation(4 if header else 3, 100, 1), 10)


def test_pages_of_one_file_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(
        tmp_path / "a.parquet", {"text": [some_text(50) for _ in range(500)]}, data_page_size=100, write_batch_size=10
    )
    monkeypatch.setattr(parquet, "MOST_PAGES", 3)
    assert "too many pages" in refusal(path)


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


TWO = ["A text about a river.", "Another about a town."]


FAR = 2**62


@pytest.mark.parametrize(
    "times",
    [
        pa.array([6_585_442, -9_585_442], pa.date32()),
        pa.array([10**15, -(10**15)], pa.date64()),
        pa.array([FAR, -FAR], pa.timestamp("us")),
        pa.array([2**60, -(2**60)], pa.timestamp("ms", tz="Europe/Berlin")),
    ],
    ids=str,
)
def test_times_beyond_those_of_python_are_read_as_text(times: pa.Array, tmp_path: Path) -> None:
    table = read_table(write(tmp_path / "a.parquet", {"text": pa.array(TWO), "when": times}))
    found = table.values("when")
    assert table.values("text") == TWO
    assert len(set(found)) == 2
    assert all(isinstance(value, str) for value in found)


def test_such_times_within_lists_are_refused(tmp_path: Path) -> None:
    nested = pa.array([[6_585_442], []], pa.list_(pa.date32()))
    message = refusal(write(tmp_path / "a.parquet", {"text": pa.array(TWO), "when": nested}))
    assert "out of range" in message
    assert "date32" in message


def test_a_map_is_read(tmp_path: Path) -> None:
    maps = pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int64()))
    table = read_table(write(tmp_path / "a.parquet", {"text": pa.array(TWO), "more": maps}))
    assert table.values("text") == TWO
    assert decoded_bytes(maps) >= 2 * (1 + 8)
