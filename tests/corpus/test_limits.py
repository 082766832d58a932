"""Limits of what is read: a file beyond one is refused while it is read, with our error, and without filling memory."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mauve_core.base import json_codec
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.encoders.model_files import read_json
from mauve_core.jobs import state
from mauve_core.texts import limits
from mauve_core.texts.reading import read_table
from mauve_core.texts.streams import lines_of
from mauve_core.texts.tables import CONTAINER

MB = 1024**2


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_table(path)
    return str(caught.value)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.ROWS_VARIABLE, "3")
    monkeypatch.setenv(limits.CHARACTERS_VARIABLE, "5")


FILES = {
    "a.jsonl": lambda texts: "".join(json.dumps({"text": text}) + "\n" for text in texts).encode(),
    "a.csv": lambda texts: ("text,n\n" + "".join(f'"{text}",1\n' for text in texts)).encode(),
    "a.tsv": lambda texts: ("text\tn\n" + "".join(f"{text}\t1\n" for text in texts)).encode(),
    "a.txt": lambda texts: "".join(f"{text}\n" for text in texts).encode(),
}


def write(path: Path, texts: list[str]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"text": texts}), path)
    else:
        path.write_bytes(FILES[path.name](texts))
    return path


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", [*FILES, "a.parquet"])
def test_rows_and_characters_up_to_the_limit(name: str, tmp_path: Path) -> None:
    assert len(read_table(write(tmp_path / name, ["äbcde"] * 3)).rows) == 3
    assert "too many rows" in refusal(write(tmp_path / name, ["abcde"] * 4))
    said = refusal(write(tmp_path / name, ["abcde", "abcdef"]))
    assert "Row 2" in said
    assert limits.CHARACTERS_VARIABLE in said


@pytest.mark.usefixtures("small")
def test_a_cell_that_does_not_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text\n"' + "\n" * 7 + '"\n')
    assert "The row that begins on line 2" in refusal(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text('text\n"' + "\n" * 5 + '"\n')
    assert read_table(tmp_path / "a.csv").rows[0][1] == {"text": "\n" * 5}


@pytest.mark.usefixtures("small")
def test_folders_too(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text("abc")
    assert "too many rows" in refusal(tmp_path)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.txt"])
def test_blank_lines_without_end_are_too_many_rows(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, ["abc"])
    path.write_bytes(path.read_bytes() + b"\n" * (3 * limits.LINES_A_ROW))
    assert "too many rows" in refusal(path)


def test_a_limit_must_be_a_number(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for wrong in ("0", "-1", "many", "1e6", "٣"):
        monkeypatch.setenv(limits.ROWS_VARIABLE, wrong)
        assert limits.ROWS_VARIABLE in refusal(write(tmp_path / "a.txt", ["a"]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("a.txt.gz", b"0", "too long"),
        ("a.txt.gz", b"a\n", "too many rows"),
        ("a.parquet.gz", b"0", "unpacks to more"),
    ],
)
def test_a_bomb_of_a_gigabyte_is_refused_while_it_is_read(
    name: str, line: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gzip members may follow each other (RFC 1952, section 2.2), so one of 16 MB is written 64 times."""
    monkeypatch.setenv(limits.ROWS_VARIABLE, "20000")
    member = gzip.compress(line * (16 * MB // len(line)))
    path = tmp_path / name
    path.write_bytes(member * 64)
    assert path.stat().st_size < 4 * MB
    tracemalloc.start()
    assert said in refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 900 * MB, f"{peak / MB:.0f} MB for a file of {path.stat().st_size / MB:.0f}"


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_hundred_thousand_fields(suffix: str, tmp_path: Path) -> None:
    """Refused at once; the names were once compared each with each, which took minutes."""
    names = [f"f{number}" for number in range(100_000)]
    path = tmp_path / f"a.{suffix}"
    if suffix == "jsonl":
        path.write_text(json.dumps(dict.fromkeys(names, "x")) + "\n")
    else:
        path.write_text({"csv": ",", "tsv": "\t"}[suffix].join([*names, names[-1]]) + "\n")
    assert "different fields" in refusal(path)
    path.write_text("{" + ", ".join(f'"{name}": 1' for name in [*names, names[-1]]) + "}\n")
    if suffix == "jsonl":
        assert "occurs twice" in refusal(path)


def test_a_folder_is_bounded_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two texts of 20 GB, as far as the disk knows; nothing is read, nor opened."""
    for name in ("a.txt", "b.txt.gz"):
        with (tmp_path / name).open("wb") as stream:
            stream.truncate(20 << 30)
    monkeypatch.setattr(Path, "open", None)
    assert limits.UNPACKED_VARIABLE in refusal(tmp_path)


@pytest.mark.usefixtures("small")
def test_a_text_of_a_folder_is_read_no_further_than_a_text_may_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("\ufeff\ufeff" + "\U0001f600" * 5 + "\r\n", newline="")
    assert read_table(tmp_path).rows[0][1]["text"] == "\U0001f600" * 5
    with (tmp_path / "b.txt").open("wb") as stream:
        stream.truncate(1 << 30)
    monkeypatch.setattr(Path, "read_bytes", None)
    assert "too long" in refusal(tmp_path)
    (tmp_path / "b.txt").unlink()
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"a" * 1000))
    assert "too long" in refusal(tmp_path)


def test_all_texts_of_a_folder_count_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt.gz").write_bytes(gzip.compress(b"a" * 1000))
    monkeypatch.setattr(limits, "unpacked_bytes", lambda: 3000)
    assert len(read_table(tmp_path).rows) == 3
    monkeypatch.setattr(limits, "unpacked_bytes", lambda: 2999)
    assert "unpacks to more than 2,999 bytes" in refusal(tmp_path)


def test_pipes_devices_and_loops_in_a_folder_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    (tmp_path / "itself.txt").symlink_to("itself.txt")
    (tmp_path / "folder").symlink_to(tmp_path)
    (tmp_path / "link.txt").symlink_to("a.txt")
    table = read_table(tmp_path)
    assert [row["file"] for _, row in table.rows] == ["a.txt", "link.txt"]
    assert table.notes == ("3 other files in the folder were skipped (not .txt, or hidden).",)


@pytest.mark.parametrize("to", ["../secret.txt", "/etc/hostname"])
def test_a_link_out_of_a_folder_of_texts_is_refused(to: str, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("a")
    (tmp_path / "secret.txt").write_text("s")
    (folder / "b.txt").symlink_to(to)
    assert "b.txt is a link to a file outside its folder" in refusal(folder)


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_cell_that_never_ends(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.CHARACTERS_VARIABLE, "100")
    path = tmp_path / f"a.{suffix}"
    path.write_text('text\nx\n"' + "a\n" * 10_000)
    said = refusal(path)
    assert "begins on line 3" in said
    assert limits.CHARACTERS_VARIABLE in said
    path.write_text("text\nx\n" + '"a\nb"\n' * 10_000)
    assert len(read_table(path).rows) == 10_001


@pytest.mark.parametrize(
    ("name", "content", "a_row"),
    [
        ("a.jsonl", '{"text": "a", "l": [[], {"x": []}, 1]}\n', 2 + 4 * CONTAINER),
        ("a.csv", "a,,,,,\n", 6),
    ],
)
def test_values_are_counted_those_in_lists_too(
    name: str, content: str, a_row: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_text("text,a,b,c,d,e\n" * (name == "a.csv") + content * 20)
    monkeypatch.setenv(limits.CELLS_VARIABLE, str(20 * a_row))
    assert len(read_table(tmp_path / name).rows) == 20
    monkeypatch.setenv(limits.CELLS_VARIABLE, str(20 * a_row - 1))
    assert limits.CELLS_VARIABLE in refusal(tmp_path / name)


@pytest.mark.parametrize("name", [*FILES])
def test_two_byte_order_marks(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, ["abc"])
    path.write_bytes(b"\xef\xbb\xbf\xef\xbb\xbf" + path.read_bytes())
    assert read_table(path).rows[0][1]["text"] == "abc"


def test_lines_are_counted_as_they_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.ROWS_VARIABLE, "3")
    (tmp_path / "a.smi.gz").write_bytes(gzip.compress(b"C\n" * 4 + b"\xff\n"))
    with pytest.raises(InputError, match="too many rows"):
        lines_of(tmp_path / "a.smi.gz")


DOORS: dict[str, Callable[[Path], object]] = {
    "a.jsonl": read_table,
    "a.json": read_table,
    "model.json": read_json,
    "state.json": state.read_json,
}


@pytest.mark.parametrize("name", DOORS)
def test_values_are_counted_before_they_take_memory(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_codec, "MOST_VALUES", 200_000)
    path = tmp_path / name
    row = '{"text": "a", "of": [' + "[]," * 1_000_000 + "[]]}"
    path.write_text(f"[{row}]" if name == "a.json" else row)
    tracemalloc.start()
    try:
        with pytest.raises(MauveLensError, match=r"it holds more than 200,000 values|too many values"):
            DOORS[name](path)
        assert tracemalloc.get_traced_memory()[1] < 32 * MB, "a million lists take 80 MB"
    finally:
        tracemalloc.stop()
