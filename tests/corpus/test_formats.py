"""Rows written in every format come back the same, and whatever is wrong is named with its file and line."""

from __future__ import annotations

import csv
import datetime
import decimal
import gzip
import io
import json
import os
import string
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.texts import limits
from mauve_core.texts.reading import SUFFIXES, read_table, title_of
from mauve_core.texts.tables import FIELD_LIMIT, Table

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
FILE_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r\ufeff"), max_size=30)
SCALAR = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | ANY_TEXT
PACKED = st.booleans()
WHOLE = st.integers(-(2**63), 2**63 - 1)
FLOAT = st.floats(allow_nan=False)
STEM = st.text(string.ascii_letters + "é ", min_size=1, max_size=8)
# Examples write files and the first one imports libraries: a deadline would measure the disk.
examples = settings(deadline=None, max_examples=40)


@contextmanager
def file_of(data: bytes, name: str, packed: bool = False) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / (f"{name}.gz" if packed else name)
        path.write_bytes(gzip.compress(data, 1) if packed else data)
        yield path


def table_of(data: bytes, name: str, packed: bool = False) -> Table:
    with file_of(data, name, packed) as path:
        return read_table(path)


def refusal_of(data: bytes, name: str, packed: bool = False) -> str:
    """The message of the InputError, which must name the file."""
    with file_of(data, name, packed) as path, pytest.raises(InputError) as caught:
        read_table(path)
    assert path.name in str(caught.value)
    return str(caught.value)


def cells_of(rows: list[list[str]], delimiter: str, ending: str) -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, lineterminator=ending, quoting=csv.QUOTE_ALL).writerows(rows)
    return stream.getvalue().encode()


def parquet_of(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


# What is written comes back


@examples
@given(
    rows=st.lists(st.dictionaries(ANY_TEXT, SCALAR, max_size=4), min_size=1, max_size=6),
    ascii_only=st.booleans(),
    ending=st.sampled_from(["\n", "\r\n"]),
    suffix=st.sampled_from([".jsonl", ".ndjson", ".json", ".JSONL"]),
    packed=PACKED,
)
def test_jsonl_comes_back(rows: list[dict[str, Any]], ascii_only: bool, ending: str, suffix: str, packed: bool) -> None:
    assume(suffix != ".json" or rows != [{}])  # a document that is an empty object holds no records
    data = ending.join(json.dumps(row, ensure_ascii=ascii_only) for row in rows).encode()
    table = table_of(data, f"rows{suffix}", packed)
    assert table.rows == list(enumerate(rows, start=1))
    assert table.columns == tuple(dict.fromkeys(field for row in rows for field in row))


@examples
@given(
    rows=st.lists(st.tuples(FILE_TEXT, FILE_TEXT, FILE_TEXT), min_size=1, max_size=6),
    form=st.sampled_from([("csv", ","), ("tsv", "\t")]),
    ending=st.sampled_from(["\n", "\r\n"]),
    packed=PACKED,
)
def test_csv_and_tsv_come_back(
    rows: list[tuple[str, str, str]], form: tuple[str, str], ending: str, packed: bool
) -> None:
    header = ["text", "a,b\tc", 'say "x"']
    table = table_of(cells_of([header, *map(list, rows)], form[1], ending), f"rows.{form[0]}", packed)
    assert table.columns == tuple(header)
    assert [tuple(row.values()) for _, row in table.rows] == rows
    assert not table.typed


@examples
@given(rows=st.lists(FILE_TEXT, min_size=1, max_size=6))
def test_csv_rows_are_named_by_the_line_they_begin_on(rows: list[str]) -> None:
    table = table_of(cells_of([["text"], *[[cell] for cell in rows]], ",", "\n"), "rows.csv")
    begins, expected = 2, []
    for cell in rows:
        expected.append(begins)
        begins += 1 + cell.count("\n")
    assert [number for number, _ in table.rows] == expected


@examples
@given(
    values=st.lists(st.tuples(ANY_TEXT | st.none(), WHOLE, FLOAT, st.booleans() | st.none()), min_size=1, max_size=6),
    packed=PACKED,
)
def test_parquet_comes_back(values: list[tuple[Any, ...]], packed: bool) -> None:
    names = ["text", "whole", "float", "truth"]
    types = [pa.large_string(), pa.int64(), pa.float64(), pa.bool_()]
    columns = [pa.array(column, kind) for column, kind in zip(zip(*values, strict=True), types, strict=True)]
    table = table_of(parquet_of(pa.table(columns, names)), "rows.parquet", packed)
    assert table.rows == [(i, dict(zip(names, row, strict=True))) for i, row in enumerate(values, start=1)]


@examples
@given(lines=st.lists(LINE, min_size=1, max_size=8), ending=st.sampled_from(["\n", "\r\n"]), packed=PACKED)
def test_plain_text_comes_back_a_text_a_line(lines: list[str], ending: str, packed: bool) -> None:
    data = "".join(line + ending for line in lines).encode()
    assert table_of(data, "lines.txt", packed).rows == [(i, {"text": t}) for i, t in enumerate(lines, start=1)]


@examples
@given(texts=st.dictionaries(STEM, st.tuples(FILE_TEXT, PACKED), min_size=1, max_size=5))
def test_folder_comes_back_sorted_by_name(texts: dict[str, tuple[str, bool]]) -> None:
    # Names that differ only in case would be one file on some disks.
    texts = {f"{location} {name}": entry for location, (name, entry) in enumerate(texts.items())}
    expected = {}
    with tempfile.TemporaryDirectory() as name:
        for stem, (text, packed) in texts.items():
            file = Path(name) / "sub" / (f"{stem}.txt.gz" if packed else f"{stem}.txt")
            file.parent.mkdir(exist_ok=True)
            data = f"{text}\n".encode()
            file.write_bytes(gzip.compress(data, 1) if packed else data)
            expected[f"sub/{file.name}"] = text.lstrip("\ufeff").removesuffix("\r")
        table = read_table(name)
    assert {row["file"]: row["text"] for _, row in table.rows} == expected
    assert [row["file"] for _, row in table.rows] == sorted(expected)
    assert [number for number, _ in table.rows] == list(range(1, len(expected) + 1))


@pytest.mark.parametrize("separator", ["\u2028", "\r"])
def test_only_a_line_feed_ends_a_line(separator: str) -> None:
    text = f"one{separator}two"
    assert [row["text"] for _, row in table_of(f"{text}\nthree".encode(), "t.txt").rows] == [text, "three"]


@pytest.mark.parametrize(
    ("name", "content"), [("a.jsonl", '{"text": "café"}\n'), ("a.csv", "text\ncafé\n"), ("a.txt", "café\n")]
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_byte_order_mark_is_fine(name: str, content: str, packed: bool) -> None:
    table = table_of(content.encode("utf-8-sig"), name, packed)
    assert [row for _, row in table.rows] == [{"text": "café"}]


def test_blank_lines_are_passed_over_and_counted() -> None:
    table = table_of(b'{"text": "a"}\n\n  \n{"text": "b"}\n', "a.jsonl")
    assert [number for number, _ in table.rows] == [1, 4]
    assert table.notes == ("2 blank lines between rows were skipped.",)
    table = table_of(b"text,id\na,1\n\nb,2\n", "a.csv")
    assert [number for number, _ in table.rows] == [2, 4]
    assert table.notes == ("1 blank line between rows was skipped.",)


def test_a_blank_line_in_a_csv_of_one_column_is_an_empty_text() -> None:
    assert [row["text"] for _, row in table_of(b"text\na\n\nb\n", "a.csv").rows] == ["a", "", "b"]


def test_nameless_csv_column_is_called_by_its_place() -> None:
    table = table_of(b",text\n0,a\n", "a.csv")
    assert table.columns == ("column 1", "text")
    assert "column 1" in table.notes[0]


def test_long_cells_are_read_whole() -> None:
    cell = "x" * 500_000  # the csv module's own limit is 131,072
    assert table_of(f"text\n{cell}\n".encode(), "a.csv").rows[0][1]["text"] == cell


def test_parquet_dates_and_decimals_become_text_and_categories_plain() -> None:
    columns = {
        "day": pa.array([datetime.date(2024, 2, 29)]),
        "moment": pa.array([datetime.datetime(2024, 2, 29, 12, 30)], pa.timestamp("ns")),
        "price": pa.array([decimal.Decimal("1.50")]),
        "kind": pa.array(["a"]).dictionary_encode(),
        "parts": pa.array([[1, 2]]),
    }
    row = table_of(parquet_of(pa.table(columns)), "a.parquet").rows[0][1]
    assert row == {"day": "2024-02-29", "moment": "2024-02-29T12:30:00", "price": "1.50", "kind": "a", "parts": [1, 2]}


def test_parquet_of_many_batches_keeps_its_rows() -> None:
    table = table_of(parquet_of(pa.table({"n": list(range(5000))})), "a.parquet")
    assert table.rows == [(i + 1, {"n": i}) for i in range(5000)]
    assert table.location(4999) == "row 5000"


def test_folder_passes_over_other_and_hidden_files_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\r\ntwo\r\n", newline="")
    (tmp_path / ".b.txt").write_bytes(b"\xff")
    (tmp_path / "c.md").write_text("no")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "d.txt").write_text("no")
    table = read_table(tmp_path)
    assert table.rows == [(1, {"file": "a.txt", "text": "one\r\ntwo"})]
    assert table.notes[0].startswith("3 other files")
    assert table.location(0) == "file a.txt"


def test_folder_file_whose_name_is_not_utf8(tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt")).write_text("x")
    except OSError:
        pytest.skip("this disk takes no such name")
    name = read_table(tmp_path).rows[0][1]["file"]
    assert name == "caf\\udce9.txt"
    name.encode()


# What is wrong is named


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv", "a.txt"])
@pytest.mark.parametrize("packed", [False, True])
def test_latin1_is_refused_with_line_byte_and_a_way_out(name: str, packed: bool) -> None:
    good = {"a.jsonl": b'{"text": "ok"}\n'}.get(name, b"text\n")
    message = refusal_of(good * 6 + b"abc \xe9t\xe9\n", name, packed)
    assert "Line 7 of" in message
    assert "byte 5 is 0xe9" in message
    assert "iconv -f CP1252 -t UTF-8" in message


def test_the_byte_counts_a_byte_order_mark() -> None:
    data = b"\xef\xbb\xbfab\xe9\n"
    assert f"byte {data.index(0xE9) + 1} is 0xe9" in refusal_of(data, "a.txt")


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (gzip.compress(b"a text\n", mtime=0), "gzip"),
        (b"PK\x03\x04\x14\0\0\0", "ZIP"),
        (b"(\xb5/\xfd \x01", "Zstandard"),
    ],
)
def test_a_packed_file_under_another_name_is_called_what_it_is(data: bytes, form: str) -> None:
    assert f"It looks like a {form}" in refusal_of(data, "a.txt")


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le"])
def test_utf16_is_refused_with_a_way_out(coding: str) -> None:
    assert "iconv -f UTF-16" in refusal_of("text\nabc\n".encode(coding), "a.txt")


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.txt", b"a\nb\0c\n"), ("a.csv", b"text\nb\0c\n"), ("a.tsv", b"text\nb\0c\n"), ("a.jsonl", b'{"t":1}\nb\0c\n')],
)
def test_nul_bytes_are_refused(name: str, data: bytes) -> None:
    message = refusal_of(data, name)
    assert "Line 2 of" in message
    assert "NUL byte (byte 2)" in message


JSONL_FAULTS = [
    ('{"text": "abc"', "not valid JSON"),
    ('{"text": }', "at character 10"),
    ("[1, 2]", "Received: list. Split the array into lines"),
    ('"text"', "Received: str"),
    ("null", "not a JSON object"),
    ('{"a": 1, "a": 2}', "'a' occurs twice"),
    ('{"text": "\\ud83d"}', "half of a surrogate pair"),
    ('{"\\uDE00": "x"}', "half of a surrogate pair"),
    ("[" * 100_000, "cannot be used"),
    ('{"n": 1' + "0" * 5000 + "}", "cannot be used"),
]


@pytest.mark.parametrize(("line", "fragment"), JSONL_FAULTS, ids=[fragment for _, fragment in JSONL_FAULTS])
@pytest.mark.parametrize("packed", [False, True])
def test_broken_jsonl_names_the_line(line: str, fragment: str, packed: bool) -> None:
    message = refusal_of(('{"text": "fine"}\n' * 6 + line + '\n{"text": "fine"}\n').encode(), "a.jsonl", packed)
    assert "Line 7 of" in message
    assert fragment in message


def test_a_whole_surrogate_pair_is_fine() -> None:
    assert table_of(b'{"text": "\\ud83d\\ude00"}', "a.jsonl").rows[0][1]["text"] == "\U0001f600"


@pytest.mark.parametrize(
    ("data", "fragments"),
    [
        (b'text,id\n"a\nb",1\nc,2,3\n', ("Line 4 of", "3 cells but the header has 2")),
        (b"text,id\na,1\nb\n", ("Line 3 of", "1 cell but the header has 2")),
        (b'text,id\na,1\n"b,2\nc\n', ("begins on line 3", "unexpected end of data")),
        (b'text,id\n"a"b,1,2\n', ("begins on line 2", "doubled", "--quoting none")),
        (b"text,id\ra,1\rb,2", ("begins on line 1",)),
        (b"text,text\na,b\n", ("repeats column names: text",)),
        (b"id;text\n1;a\n", ("looks like a different delimiter", "';'")),
        (b"text,id\n", ("holds no rows", "only a header")),
        (b"the first text here\nthe second text here\n", ("only column", "looks like a text", "Add a header")),
        (b"\n\n", ("holds no rows",)),
    ],
)
def test_broken_csv_names_the_line(data: bytes, fragments: tuple[str, ...]) -> None:
    message = refusal_of(data, "a.csv")
    for fragment in fragments:
        assert fragment in message


def test_too_many_fields_are_refused() -> None:
    wide = json.dumps(dict.fromkeys(map(str, range(FIELD_LIMIT)), 1)).encode()
    assert len(table_of(wide, "a.jsonl").columns) == FIELD_LIMIT
    assert f"more than {FIELD_LIMIT} different fields" in refusal_of(wide + b'\n{"other": 1}', "a.jsonl")
    header = ",".join(map(str, range(FIELD_LIMIT + 1)))
    assert f"more than {FIELD_LIMIT} different fields" in refusal_of(f"{header}\n".encode(), "a.csv")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_empty_files_are_refused(suffix: str) -> None:
    assert "is empty" in refusal_of(b"", f"a{suffix}")


def test_gzip_of_nothing_holds_no_rows() -> None:
    assert "holds no rows" in refusal_of(b"", "a.jsonl", packed=True)


def test_missing_file_and_unknown_suffix(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.jsonl does not exist"):
        read_table(tmp_path / "nothing.jsonl")
    with pytest.raises(InputError, match="no such file or folder"):
        read_table(tmp_path / "nothing")
    for name in ("a.docx", "a.gz", "a", ".gz", "a.jsonl.zip"):
        (tmp_path / name).write_text("x")
        with pytest.raises(InputError, match=r"\.jsonl, \.ndjson, \.json, \.csv, \.tsv, \.parquet, \.txt"):
            read_table(tmp_path / name)


def test_folder_names_the_file_and_line_that_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("fine")
    (tmp_path / "b.txt").write_bytes(b"fine\nfine\n\xe9\n")
    with pytest.raises(InputError, match=r"Line 3 of .*b\.txt is not UTF-8"):
        read_table(tmp_path)


def test_something_that_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(InputError, match="is not a file"):
        read_table(tmp_path / "pipe.txt")


def test_refusals_of_the_operating_system_are_input_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"Cannot read .*a\.txt: Permission denied"):
        read_table(path)


def bomb_of_lines() -> bytes:
    return b'{"text": "a"}\n' * 1000


def bomb_without_lines() -> bytes:
    return b"a" * 14_000


def bomb_of_parquet() -> bytes:
    return parquet_of(pa.table({"text": ["a" * 1000] * 50}))


@pytest.mark.parametrize(
    ("name", "data", "packed"),
    [
        ("a.jsonl", bomb_of_lines, True),
        ("a.csv", bomb_without_lines, True),
        ("a.txt", bomb_without_lines, True),
        ("a.parquet", bomb_of_parquet, True),
        ("a.parquet", bomb_of_parquet, False),
    ],
)
def test_unpacking_stops_at_the_limit(
    name: str, data: Callable[[], bytes], packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = data()
    monkeypatch.setattr(limits, "unpacked_bytes", lambda: 13_000)
    assert len(gzip.compress(content) if packed else content) < 13_000
    assert "unpacks to more than 13,000 bytes" in refusal_of(content, name, packed)


def test_unpacking_in_a_folder_stops_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"a" * 101))
    monkeypatch.setattr(limits, "unpacked_bytes", lambda: 101)
    assert len(read_table(tmp_path).rows[0][1]["text"]) == 101
    monkeypatch.setattr(limits, "unpacked_bytes", lambda: 100)
    with pytest.raises(InputError, match="unpacks to more than 100 bytes"):
        read_table(tmp_path)


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.parquet"])
def test_a_plain_file_that_is_too_large_is_not_opened(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 20 GB, as far as the disk knows, and none of them written."""
    with (tmp_path / name).open("wb") as stream:
        stream.truncate(20 << 30)
    monkeypatch.setattr(Path, "open", None)
    with pytest.raises(InputError, match=rf"{name} holds .* more than 2,147,483,648 bytes.*MAUVE_LENS_MAX_UNPACKED_MB"):
        read_table(tmp_path / name)


def test_what_is_no_parquet_file() -> None:
    whole = parquet_of(pa.table({"text": ["abc"] * 100}))
    for data in (b"PAR1", b"text", whole[:-20], whole[:4] + b"\xff" * 40 + whole[44:]):
        assert "is not a Parquet file, or is damaged" in refusal_of(data, "a.parquet")
    assert "holds no rows" in refusal_of(parquet_of(pa.table({"text": pa.array([], pa.string())})), "a.parquet")
    twice = pa.table([pa.array(["a"]), pa.array(["b"])], ["text", "text"])
    assert "two columns with the same name" in refusal_of(parquet_of(twice), "a.parquet")


def test_parquet_text_that_is_not_utf8() -> None:
    raw = pa.array([b"fine", b"\xe9"], pa.binary()).view(pa.string())
    assert "not UTF-8" in refusal_of(parquet_of(pa.table({"text": raw})), "a.parquet")


@pytest.mark.parametrize(
    ("name", "title"),
    [("human.jsonl", "human"), ("a.b.csv.gz", "a.b"), ("x.TXT", "x"), ("folder", "folder"), ("v1.2", "v1.2")],
)
def test_title(name: str, title: str) -> None:
    assert title_of(Path("some") / name) == title
