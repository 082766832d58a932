"""Limits of what is read: a file beyond one is refused while it is read, with our error, and without filling memory."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mauve_core.corpus import limits
from mauve_core.corpus.formats import read_table
from mauve_core.errors import InputError

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
def test_folders_too(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text("abc")
    assert "too many rows" in refusal(tmp_path)


def test_a_limit_must_be_a_number(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for wrong in ("0", "-1", "many", "1e6", "٣"):
        monkeypatch.setenv(limits.ROWS_VARIABLE, wrong)
        assert limits.ROWS_VARIABLE in refusal(write(tmp_path / "a.txt", ["a"]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "first", "line", "said"),
    [
        ("a.txt.gz", b"", b"0", "too long"),
        ("a.jsonl.gz", b"", b"0", "too long"),
        ("a.csv.gz", b'text\n"', b"aaaaaaa\n", "too many rows"),
        ("a.jsonl.gz", b"", b'{"text": "' + b"a" * 100_000 + b'"}\n', "unpacks to more"),
        ("a.txt.gz", b"", b"a\n", "too many rows"),
        ("a.jsonl.gz", b"", b"\n", "too many rows"),
        ("a.parquet.gz", b"", b"0", "unpacks to more"),
    ],
)
def test_a_bomb_of_a_gigabyte_is_refused_while_it_is_read(
    name: str, first: bytes, line: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gzip members may follow each other (RFC 1952, section 2.2), so one of 16 MB is written 64 times."""
    monkeypatch.setenv(limits.ROWS_VARIABLE, "20000")
    member = gzip.compress(line * (16 * MB // len(line)))
    path = tmp_path / name
    path.write_bytes(gzip.compress(first) + member * 64)
    assert path.stat().st_size < 4 * MB
    tracemalloc.start()
    assert said in refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 900 * MB, f"{peak / MB:.0f} MB for a file of {path.stat().st_size / MB:.0f}"


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
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
