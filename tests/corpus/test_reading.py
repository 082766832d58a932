"""Several files as one table, and standard input."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mauve_core.base.errors import InputError
from mauve_core.cli.standard_input import file_of
from mauve_core.corpus import read_corpus, read_table
from tests.layouts import N, text


def shard(path: Path, places: range, **more: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps({"id": f"t{i}", "text": text(i), **more}) + "\n" for i in places))


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """A folder with three files of eight texts, and another one."""
    for part in range(3):
        shard(tmp_path / "out" / f"part-{part}.jsonl", range(8 * part, 8 * part + 8))
    (tmp_path / "out" / "notes.txt").write_text("Not meant.\n")
    return tmp_path / "out"


def test_files_of_a_pattern_are_one_side(shards: Path) -> None:
    corpus = read_corpus(shards / "part-*.jsonl")
    assert corpus.texts == tuple(map(text, range(N)))
    assert corpus.ids == tuple(f"t{i}" for i in range(N))
    assert corpus.notes[0] == "Texts are those of 3 files: part-0.jsonl, part-1.jsonl, part-2.jsonl."
    assert corpus.name == "part-*"


@pytest.mark.parametrize(("pattern", "count"), [("part-[01].jsonl", 16), ("../**/part-*.jsonl", N)])
def test_kinds_of_patterns(shards: Path, pattern: str, count: int) -> None:
    assert len(read_table(shards / pattern).rows) == count


def test_errors_name_the_line_of_the_file(shards: Path) -> None:
    with (shards / "part-1.jsonl").open("a") as stream:
        stream.write('\n\n{"id": "x", "text": 5}\n')
    with pytest.raises(InputError, match=r"int at line 11 of part-1\.jsonl"):
        read_corpus(shards / "part-*.jsonl", text_field="text")
    table = read_table(shards / "part-*.jsonl")
    assert table.location(0) == "line 1 of part-0.jsonl"
    assert table.location(7) == "line 8 of part-0.jsonl"
    assert table.location(8) == "line 1 of part-1.jsonl"
    assert table.location(17) == "line 1 of part-2.jsonl"
    assert "part-1.jsonl: 2 blank lines between rows were skipped." in table.notes


def test_what_no_pattern_may_do(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="No file matches"):
        read_table(shards / "part-*.csv")
    with pytest.raises(InputError, match=r"different formats.*notes\.txt and part-0\.jsonl"):
        read_table(shards / "*")
    monkeypatch.setenv("MAUVE_LENS_MAX_ROWS", "20")
    with pytest.raises(InputError, match="too many rows"):
        read_table(shards / "part-*.jsonl")
    monkeypatch.setattr("mauve_core.corpus.reading.MOST_FILES", 2)
    with pytest.raises(InputError, match="Too many files match"):
        read_table(shards / "part-*.jsonl")


class _Input:
    """Standard input of a pipe: bytes below, and no terminal."""

    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)

    def isatty(self) -> bool:
        return False


@pytest.mark.parametrize(
    ("data", "suffix"),
    [
        (b'{"text": "a b"}\n', ".jsonl"),
        (b'\n [{"text": "a b"}]', ".json"),
        (b"id,generator,text\n1,m,Hello there.\n", ".csv"),
        (b"However, he said, it rained.\nYes, and no.\n", ".txt"),
    ],
)
def test_standard_input_is_kept_as_a_file(
    data: bytes, suffix: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", _Input(data))
    path = Path(file_of("-"))
    assert path.read_bytes() == data
    assert path.suffix == suffix
    assert f"read as {suffix}" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", _Input(data))
    assert file_of("-", quiet=True) == str(path)
    assert capsys.readouterr().err == ""
    assert file_of("a.jsonl") == "a.jsonl"
