"""A JSON document gives the same corpus as its records, one per line, and what is wrong is named with its place."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.texts import limits, read_corpus
from mauve_core.texts.json_documents import READ, Reader
from mauve_core.texts.reading import read_table
from tests.layouts import N, chat, chat_completion, prompt, text

ROWS = [{"id": i, "prompt": prompt(i), "text": text(i), "score": i / 7, "tags": ["a", {"b": None}]} for i in range(N)]
FRAME = pd.DataFrame([{"id": i, "prompt": prompt(i), "text": text(i)} for i in range(N)])

DOCUMENTS: dict[str, Callable[[], str]] = {
    "an array": lambda: json.dumps(ROWS),
    "an indented array": lambda: json.dumps(ROWS, indent=2, ensure_ascii=False),
    "a list below a key": lambda: json.dumps({"version": "1.0", "meta": {"n": N}, "data": ROWS, "empty": []}),
    "an indented list below a key": lambda: json.dumps({"data": ROWS}, indent=1),
    "columns": lambda: json.dumps({name: [row[name] for row in ROWS] for name in ("id", "prompt", "text")}),
    "pandas, by record": lambda: FRAME.to_json(orient="records"),
    "pandas, by column": lambda: FRAME.to_json(),
    "pandas, by column, of some rows": lambda: pd.concat([FRAME, FRAME])[:N].to_json(),
    "pandas, split": lambda: FRAME.to_json(orient="split"),
    "pandas, as a table": lambda: FRAME.to_json(orient="table"),
    "pandas, by row": lambda: FRAME.to_json(orient="index"),
    "pandas, as lines": lambda: FRAME.to_json(orient="records", lines=True),
    "a record for each name": lambda: json.dumps({f"q{i}": row for i, row in enumerate(ROWS)}),
}


def digest_of_lines(folder: Path) -> str:
    path = folder / "lines.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return read_corpus(path).digest


def refusal_of(content: str | bytes, folder: Path) -> str:
    path = folder / "a.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_form_gives_the_corpus_of_the_lines(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(DOCUMENTS[name](), encoding="utf-8")
    corpus = read_corpus(path)
    assert corpus.digest == digest_of_lines(tmp_path)
    assert "Ids were read from the field 'id', guessed by its name." in corpus.notes


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.ndjson"])
@pytest.mark.parametrize(
    "content",
    [
        lambda: "".join(json.dumps(row, indent=2) + "\n" for row in ROWS),
        lambda: "".join(map(json.dumps, ROWS)),
        lambda: json.dumps(ROWS[0]) + "\n\n" + "\n".join(json.dumps(row, indent=1) for row in ROWS[1:]),
        lambda: json.dumps({"instances": ROWS}, indent=2),
        lambda: json.dumps(ROWS, indent=2),
    ],
    ids=["indented", "on one line", "indented after a line", "an indented document", "an indented array"],
)
def test_objects_need_no_line_of_their_own(content: Callable[[], str], name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content())
    corpus = read_corpus(path, id_field="")
    assert corpus.texts == tuple(map(text, range(N)))
    assert corpus.ids == tuple(map(str, range(1, N + 1)))


INDENTED = '{\n "a": 1\n}\n'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"a": 1\n{"a": 2}\n', "Line 1 of {} is not valid JSON, nor is it with the lines after it: Expecting ','"),
        ('{"a": "x\n' + '{"a": 2}\n' * 9, "Line 1 of {} is not valid JSON: Invalid control character at character 9"),
        (INDENTED * 2 + '{\n "a": }\n' + INDENTED, "Line 7 of {} is not valid JSON, nor is it with the lines after it"),
        (INDENTED * 2 + '{\n "a": 1', "Expecting ',' delimiter at its end"),
        (INDENTED + "[\n1]", "Record 2 of {} is not a JSON object"),
        ('{"a": 1},\n{"a": 2}', "Line 1 of {} is not valid JSON: Extra data"),
    ],
    ids=lambda part: repr(part)[:30],
)
def test_a_damaged_line_is_named_although_objects_may_go_on(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert said.format(path) in str(caught.value)


def test_limits_hold_for_objects_over_several_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(INDENTED * 11)
    monkeypatch.setenv(limits.ROWS_VARIABLE, "10")
    with pytest.raises(InputError, match="too many rows"):
        read_table(path)
    path.write_text('{\n "a": [\n' + "1,\n" * 40_000)
    monkeypatch.setenv(limits.ROWS_VARIABLE, "100000")
    monkeypatch.setenv(limits.CHARACTERS_VARIABLE, "1000")
    monkeypatch.setenv(limits.CELLS_VARIABLE, "100")
    with pytest.raises(InputError, match="too many values"):
        read_table(path)
    path.write_text(INDENTED + '{\n "a": [\n' + "1,\n" * 40_000)
    with pytest.raises(InputError, match="too long"):
        read_table(path)


def test_texts_alone_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([text(i) for i in range(N)]))
    corpus = read_corpus(path)
    assert corpus.texts == tuple(map(text, range(N)))
    assert corpus.ids == tuple(map(str, range(1, N + 1)))
    assert read_table(path).location(3) == "record 4"


@pytest.mark.parametrize("content", [chat(1), {"completion": text(1)}, {"choices": [chat_completion(1)["choices"][0]]}])
def test_an_object_that_is_one_record(content: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for indent in (None, 2):
        path.write_text(json.dumps(content, indent=indent))
        assert read_corpus(path).texts == (text(1),)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "holds no records"),
        ("{}", "holds no records"),
        ('[{"a": 1}', "is not valid JSON: Expecting ',' at its end"),
        ('[\n{"a": 1},\n{"a": }]', "Expecting value on line 3, character 7"),
        ('{\n "a": 1,\n b: 2}', "Expecting property name enclosed in double quotes on line 3, character 2"),
        ('[{"a": 1} {"a": 2}]', "Expecting ',' on line 1, character 11"),
        ('[{"a": 1}]\n[{"a": 2}]', "goes on after its array"),
        ('[{"a": 1}, [2]]', "Element 2 of the array"),
        ('["a", {"a": 1}, 3]', "Element 3 of the array"),
        ('[{"a": 1}, "b"]', "Element 2 of the array"),
        ('[{"a": 1, "a": 2}]', "the name 'a' occurs twice"),
        ('{"a": [{"b": 1}], "a": [{"b": 1}]}', "the name 'a' occurs twice"),
        ('{"a": [{"b": 1}], "c": [{"b": 1}]}', "several lists of records: 'a', 'c'"),
        ('{"a": ["x", "y"], "b": ["z"]}', "columns are not equally long. Allowed"),
        ('{"columns": ["a"], "index": [0], "data": [[1, 2]]}', "rows that do not fit its columns"),
        ('[{"a": "\\ud800"}]', "half of a surrogate pair"),
        ("[" * 100_000, "nested too deeply"),
        ('[{"a": ' + "9" * 10_000 + "}]", "cannot be used"),
        ("hello", "Line 1 of"),
        ('{"a": 1}\n{"a": 2', "Line 2 of"),
        ('{"a": 1', "Line 1 of"),
        (b'[{"a": "caf\xe9"}]', "Line 1 of"),
        (b'[\n{"a": "' + b"x" * 3_000_000 + b"\xe9\"}]", "is not UTF-8: byte 3000008 is 0xe9"),
        (b'[{"a": "\0"}]', "holds a NUL byte (byte 9)"),
        ('[{"a": 1}]'.encode("utf-16"), "convert it"),
        (b'[{"a": "\xc3', "is not UTF-8"),
    ],
    ids=lambda part: repr(part)[:40],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(content: str | bytes, said: str, tmp_path: Path) -> None:
    assert said in refusal_of(content, tmp_path)


def test_limits_hold_while_a_document_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.CHARACTERS_VARIABLE, "1000")
    assert "too long" in refusal_of(json.dumps([{"text": "a" * 1001}]), tmp_path)
    assert "A value of" in refusal_of('[{"text": "' + "a" * (READ + 1_000_000), tmp_path), "and is not read to its end"
    monkeypatch.setenv(limits.CELLS_VARIABLE, "100")
    for content in ([{"a": []}] * 101, [{"a": [[]] * 200}], {"a": [1] * 101}, {"a": {"b": [[]] * 101}, "c": [{}]}):
        assert "too many values" in refusal_of(json.dumps(content), tmp_path)
    monkeypatch.setenv(limits.ROWS_VARIABLE, "10")
    for many in ([{}] * 11, {"a": list(range(11))}, {"data": [{}] * 11}):
        assert "too many rows" in refusal_of(json.dumps(many), tmp_path)
    wide = json.dumps([{f"k{i}": 1} for i in range(10)] + [{}])
    monkeypatch.setattr("mauve_core.texts.tables.FIELD_LIMIT", 9)
    assert "different fields" in refusal_of(wide, tmp_path)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=9,
)


@settings(deadline=None)
@given(
    values=st.lists(VALUES, max_size=5),
    indent=st.sampled_from([None, 0, 2]),
    size=st.integers(1, 40),
    plain=st.booleans(),
)
def test_a_document_cut_anywhere_is_read_as_the_library_reads_it(
    values: list[Any], indent: int | None, size: int, plain: bool
) -> None:
    """The standard library, which holds the whole document, is the twin."""
    document = json.dumps(values, indent=indent, ensure_ascii=plain)
    if any("\\ud" in json.dumps(value) for value in values):
        document = json.dumps(values, indent=indent)
    parts = [document[i : i + size] for i in range(0, len(document), size)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mauve_core.texts.json_documents.READ", 1)
        reader = Reader(iter(parts), Path("a.json"))
        assert list(reader.elements()) == json.loads(document)
        assert reader.peek() == ""


@settings(deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40))
def test_characters_cut_where_a_part_ends_are_whole(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("mauve_core.texts.streams.CHUNK", 3)
        path = Path(folder) / "a.json"
        path.write_text(json.dumps([{"a": text}], ensure_ascii=False), encoding="utf-8")
        assert read_table(path).rows == [(1, {"a": text})]
