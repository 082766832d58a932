"""Files of texts on the command line: which file an option names, its fields, and what is told of reading it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mauve_core.__main__ import build_parser, main
from mauve_core.base.errors import InputError
from mauve_core.cli.input_files import for_source, named
from mauve_core.texts.text_files import TextFile, look_at


def write_rows(path: Path, **columns: str) -> Path:
    """A file of 40 rows, whose columns are sentences that begin as named."""
    rows = [{name: f"{words} number {row}, told at length." for name, words in columns.items()} for row in range(40)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("value", "name", "file"),
    [
        ("nucleus:p=0.95=a.jsonl", "nucleus:p=0.95", "a.jsonl"),
        ("m=b=c.jsonl", "m", "b=c.jsonl"),
        ("m:k=2=out/*.jsonl", "m:k=2", "out/*.jsonl"),
        ("m:k=2=hf:owner/name", "m:k=2", "hf:owner/name"),
        ("m:k=2=-", "m:k=2", "-"),
        ("m:k=2=s3://bucket/x.parquet", "m:k=2", "s3://bucket/x.parquet"),
        ("m=nowhere.jsonl", "m", "nowhere.jsonl"),
    ],
)
def test_the_file_of_an_option_is_the_part_that_is_there(folder: Path, value: str, name: str, file: str) -> None:
    (folder / "out").mkdir()
    for each in ("a.jsonl", "b=c.jsonl", "out/d.jsonl"):
        (folder / each).touch()
    assert named([value], "--model") == {name: file}


def test_an_option_that_names_several_files_or_none_is_refused(folder: Path) -> None:
    for each in ("c.jsonl", "b=c.jsonl"):
        (folder / each).touch()
    with pytest.raises(InputError, match=r"several files: 'b=c\.jsonl' named 'm', or 'c\.jsonl' named 'm=b'\."):
        named(["m=b=c.jsonl"], "--features")
    with pytest.raises(InputError, match=r"neither '0\.95=x\.jsonl' nor 'x\.jsonl'\. Received: m:p=0\.95=x\.jsonl"):
        named(["m:p=0.95=x.jsonl"], "--model")


def test_the_field_of_a_source_whose_name_has_an_equals_sign() -> None:
    sources = ["human", "m", "m:p=0.9"]
    assert for_source(["m:p=0.9=body", "answer"], "m:p=0.9", sources) == ["body"]
    assert for_source(["m:p=0.9=body", "answer"], "m", sources) == ["answer"]


def test_explain_takes_a_field_per_side_and_tells_what_reading_guessed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_rows(folder / "wide.jsonl", prompt="Ask me", first="The old town", second="Rain")
    given = ["explain", "--reference", "h=wide.jsonl", "--model", "m=wide.jsonl"]
    fields = ["--text-field", "h=first", "--text-field", "m=second"]
    assert main([*given, *fields, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["findings"]
    assert any(note.startswith("h: ") and "prompt" in note for note in found["notes"])
    assert main([*given, *fields]) == 0
    assert set(found["notes"]) <= set(capsys.readouterr().err.splitlines())
    assert main([*given, "--text-field", "m=third"]) == 2
    assert "no field named 'third'" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["explain"], ["measure"], ["attributes"]])
def test_fields_are_refused_where_a_stored_run_is_read(
    folder: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "some-run", "--prompt-field", "x"]) == 2
    assert "--prompt-field is of files" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "--human", "a", "--model", "m=b"],
        ["study", "--human", "a", "--model", "m", "--decoder", "greedy"],
        ["runs", "again", "x"],
        ["shard-merge", "--work", "w"],
    ],
)
def test_a_run_is_named_by_name_or_its_alias(arguments: list[str]) -> None:
    for option in ("--name", "--out"):
        assert build_parser(load=False).parse_args([*arguments, option, "called"]).name == "called"


def test_one_file_may_be_read_in_two_ways(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,text\n1,"One text."\n2,"Another text."\n')
    read_with, without = TextFile(str(path)), TextFile(str(path), quoting="none")
    tables = look_at([read_with, without])
    assert read_with.read("a", tables).texts[0] == "One text."
    assert without.read("b", tables).texts[0] == '"One text."'
