"""Several files as one table, and standard input."""

from __future__ import annotations

import glob
import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mauve_core.__main__ import main
from mauve_core.base.errors import InputError
from mauve_core.cli.input_files import file_of, files_of
from mauve_core.texts import read_corpus, read_table
from mauve_core.texts.reading import absolute, matches
from mauve_core.texts.text_files import TextFile
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
    assert corpus.notes[0] == "3 files were read: part-0.jsonl, part-1.jsonl, part-2.jsonl."
    assert corpus.name == "part-*"


@pytest.mark.parametrize(("pattern", "count"), [("part-[01].jsonl", 16), ("../**/part-*.jsonl", N)])
def test_kinds_of_patterns(shards: Path, pattern: str, count: int) -> None:
    assert len(read_table(shards / pattern).rows) == count


def test_a_file_with_just_that_name_is_no_pattern(shards: Path) -> None:
    shard(shards / "part-[0].jsonl", range(3))
    assert len(read_table(shards / "part-[0].jsonl").rows) == 3


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


def test_a_file_with_other_columns_is_named(shards: Path) -> None:
    (shards / "part-1.jsonl").write_text('{"id": "x", "output": "Named otherwise."}\n')
    shard(shards / "part-2.jsonl", range(16, N), seed=3)  # one more is no other name
    expected = "part-1.jsonl lacks 1 column of the other files, 'text' and has 'output'."
    assert read_table(shards / "part-*.jsonl").notes[1:] == (expected,)
    assert expected in read_corpus(shards / "part-*.jsonl", text_field="text").notes
    for name, header in (("a", "id,text"), ("b", "key,answer"), ("c", "id")):
        (shards / f"{name}.csv").write_text(f"{header}\n{','.join('1' * (header.count(',') + 1))}\n")
    assert read_table(shards / "[ab].csv").notes[1:] == (
        "b.csv lacks 2 columns of the first file, 'id', 'text' and has 'answer', 'key'.",
    )
    assert read_table(shards / "[ac].csv").notes[1:] == ("c.csv lacks 1 column of the first file, 'text'.",)


def test_texts_without_ids_are_numbered_through(tmp_path: Path) -> None:
    for part in range(2):
        (tmp_path / f"{part}.txt").write_text("".join(text(i) + "\n" for i in range(12 * part, 12 * part + 12)))
    assert read_corpus(tmp_path / "*.txt").ids == tuple(str(i + 1) for i in range(N))


def test_repeated_ids_give_way_to_numbers(tmp_path: Path) -> None:
    shard(tmp_path / "a.jsonl", range(12))
    shard(tmp_path / "b.jsonl", range(12))
    corpus = read_corpus(tmp_path / "*.jsonl")
    assert corpus.ids == tuple(str(i + 1) for i in range(24))
    assert any(note.startswith("Line numbers are used as ids") for note in corpus.notes)


def test_what_no_pattern_may_do(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="No file matches"):
        read_table(shards / "part-*.csv")
    with pytest.raises(InputError, match=r"different formats.*notes\.txt and part-0\.jsonl"):
        read_table(shards / "*")
    monkeypatch.setenv("MAUVE_LENS_MAX_ROWS", "20")
    with pytest.raises(InputError, match="too many rows"):
        read_table(shards / "part-*.jsonl")
    monkeypatch.setattr("mauve_core.texts.reading.MOST_FILES", 2)
    with pytest.raises(InputError, match="Too many files match"):
        read_table(shards / "part-*.jsonl")
    monkeypatch.setattr("mauve_core.texts.reading.MOST_SEEN", 50)
    (shards / "deep" / "er").mkdir(parents=True)
    for number in range(60):
        (shards / "deep" / "er" / f"{number}.csv").touch()
    for pattern in ("**/**/none.jsonl", "*/*/none*"):
        with pytest.raises(InputError, match=r"leads through too many files\. Allowed: at most 50 names"):
            read_table(shards / pattern)


@pytest.mark.parametrize("pattern", ["**/*.txt", "**", "a/**/*", "**/b/*", "**/**/b/*.txt", "*/*", ".*/*", "[ab]/?/*"])
def test_a_pattern_means_what_it_means_to_the_library(pattern: str, tmp_path: Path) -> None:
    for name in ("x.txt", "a/x.txt", "a/b/y.txt", "a/b/c/.z.txt", "b/a/x.csv", ".h/x.txt", "a/.h/b/x.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    peer = map(Path, glob.glob(f"{tmp_path}/{pattern}", recursive=True))  # noqa: PTH207 (another Path.glob means)
    assert sorted(matches(tmp_path / pattern)) == sorted({path for path in peer if path.is_file()}) != []


def test_a_link_to_where_it_is_leads_to_no_file_twice(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.txt").touch()
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert list(matches(tmp_path / "**" / "*.txt")) == [tmp_path / "a" / "x.txt"]


def test_sources_in_several_files(shards: Path) -> None:
    for part, source in enumerate(("human", "greedy", "human")):
        shard(shards / f"part-{part}.jsonl", range(8 * part, 8 * part + 8), generator=source)
    corpus = TextFile(str(shards / "part-*.jsonl"), by="generator", source="human").read("human")
    assert corpus.texts == tuple(text(i) for i in (*range(8), *range(16, N)))


@pytest.mark.parametrize("names", [("reference_text", "gpt_text"), ("refA", "generated"), ("gold", "vicuna")])
def test_a_file_with_texts_of_both_sides(names: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "both.jsonl"
    rows = [{"prompt": f"Prompt {i}.", names[0]: f"{text(i)} By hand.", names[1]: text(i)} for i in range(N)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = TextFile(str(path))
    read = {reference: file.read("m", reference=reference) for reference in (True, False)}
    assert read[True].texts == tuple(row[names[0]] for row in rows)
    assert read[False].texts == tuple(map(text, range(N)))
    assert f"{names[0]!r}, guessed as the only one with a name of reference texts." in read[True].notes[0]
    with pytest.raises(InputError, match="Several fields"):
        file.read("m")


def test_names_independent_of_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    assert absolute("out/*.jsonl") == str(tmp_path / "out/*.jsonl")
    assert absolute("hf:data:train") == f"hf:{tmp_path / 'data'}:train"
    assert absolute("hf:user/name#config:train[:10]:text") == "hf:user/name#config:train[:10]:text"


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
        (b"One text.\nAnother.\n", ".txt"),
        (b"id,generator,text\n1,m,Hello there.\n", ".csv"),
        (b'"id"\t"text"\r\n1\tHello.\r\n', ".tsv"),
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


def test_standard_input_without_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", _Input(b" \n"))
    with pytest.raises(InputError, match="is empty"):
        file_of("-")
    with pytest.raises(InputError, match=r"only one side\. Received: - for human, m"):
        files_of({"human": "-", "a": "a.jsonl", "m": "-"})
    monkeypatch.setattr(sys, "stdin", _Input(gzip.compress(b"One text.")))
    with pytest.raises(InputError, match=r"is compressed. Received: a gzip file .* gunzip"):
        file_of("-")
    monkeypatch.setattr(sys, "stdin", _Input(b"x" * (2 << 20)))
    monkeypatch.setenv("MAUVE_LENS_MAX_UNPACKED_MB", "1")
    with pytest.raises(InputError, match="Standard input is too long"):
        file_of("-")


class _Endless(io.RawIOBase):
    """What ``yes`` writes."""

    taken = 0

    def read(self, size: int = -1) -> bytes:
        self.taken += size
        return b"y\n" * (size // 2)


def test_standard_input_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = _Input(b"")
    endless.buffer = stream = _Endless()  # type: ignore[assignment]
    monkeypatch.setattr(sys, "stdin", endless)
    monkeypatch.setenv("MAUVE_LENS_MAX_ROWS", "1000")
    monkeypatch.setenv("MAUVE_LENS_MAX_UNPACKED_MB", "64")
    with pytest.raises(InputError, match=r"too long\. Allowed: at most 67,108,864 bytes and 10,000 lines"):
        file_of("-")
    assert stream.taken < 4 << 20


@pytest.mark.parametrize("count", [2, 3])
def test_a_pattern_that_the_shell_expanded(count: int, shards: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [str(shards / f"part-{part}.jsonl") for part in range(count)]
    assert main(["compare", "--model", "m=m.jsonl", "--human", *names]) == 2
    assert "quote their pattern: --human 'out/*.jsonl'" in capsys.readouterr().err
