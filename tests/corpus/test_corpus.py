"""A corpus keeps texts, ids and metadata through reading, selecting and storing, and tells all it left out."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mauve_core.base import files
from mauve_core.base.errors import InputError, StorageError
from mauve_core.texts import Corpus, Fields, corpus_from_texts, guess_fields, read_corpus
from mauve_core.texts.metadata import parse_cells
from mauve_core.texts.reading import read_table

# Examples write files and the first one imports libraries: a deadline would measure the disk.
examples = settings(deadline=None, max_examples=40)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCALAR = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | TEXT
COLUMN_KINDS = (
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.floats(allow_nan=False) | st.integers(-(2**60), 2**60),
    TEXT,
    SCALAR,
)


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def values_in(column: pd.Series[Any]) -> list[Any]:
    return [None if value is pd.NA or (isinstance(value, float) and np.isnan(value)) else value for value in column]


# Fields


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"text": "a", "prompt": "b", "id": 1, "year": 2}, Fields("text", "prompt", "id", ("year",))),
        ({"uid": "x", "Prefix": "b", "Generated Text": "a"}, Fields("Generated Text", "Prefix", "uid")),
        ({"key": "x", "title": "short", "note": "a longer text"}, Fields("note", None, "key", ("title",))),
        ({"prompt": "a much longer text than the other", "reply": "a"}, Fields("reply", "prompt", None)),
        ({"prompt": "nothing else"}, Fields("prompt", None, None)),
        ({"text": 5, "output": "a"}, Fields("output", None, None, ("text",))),
        ({"a": "x" * 5000, "b": "two words"}, Fields("b", None, None, ("a",))),
    ],
)
def test_guess_by_name_and_contents(row: dict[str, Any], expected: Fields, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [row, row])
    assert guess_fields(read_table(path)) == expected


def test_one_long_value_does_not_make_a_text(tmp_path: Path) -> None:
    rows = [{"a": "five words in the title", "b": "x"}, *({"a": "x", "b": f"{i} letters long."} for i in range(4))]
    corpus = read_corpus(write_jsonl(tmp_path / "a.jsonl", rows))
    assert corpus.fields == Fields("b", None, None, ("a",))
    assert corpus.notes[0] == "Text was read from the field 'b', guessed as the only field that holds text."


def test_guess_in_csv_passes_over_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("long,word\n123456789012,ab\n223456789012,cd\n")
    assert guess_fields(read_table(tmp_path / "a.csv")).text == "word"


def test_nothing_to_guess_names_the_fields(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"a": 1, "b": [2]}])
    with pytest.raises(InputError, match=r"No field .* holds text.*'a', 'b'"):
        read_corpus(path)


def test_guesses_are_described_and_choices_are_not(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"id": 1, "prompt": "p ", "text": "a"}])
    guessed = " ".join(read_corpus(path).notes)
    assert re.findall(r"from the field ('\w+'), guessed", guessed) == ["'text'", "'prompt'", "'id'"]
    assert read_corpus(path, text_field="text", prompt_field="prompt", id_field="id").notes == ()
    bare = read_corpus(path, text_field="text", prompt_field="", id_field="", metadata_fields=())
    assert (bare.prompts, bare.ids, list(bare.metadata.columns), bare.notes) == (None, ("1",), [], ())


def test_chosen_fields_that_cannot_be_used(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"text": "a", "n": 1, "parts": [1]}, {"text": "b", "n": 2, "parts": {}}])
    with pytest.raises(InputError, match=r"no field named 'txt'.*'text', 'n', 'parts'.*Did you mean 'text'"):
        read_corpus(path, text_field="txt")
    with pytest.raises(InputError, match=r"no field named 'nn'"):
        read_corpus(path, metadata_fields=["nn"])
    with pytest.raises(InputError, match=r"'n' .* does not hold text.*int at line 1"):
        read_corpus(path, text_field="n")
    with pytest.raises(InputError, match=r"'parts' .* does not hold text.*list at line 1"):
        read_corpus(path, prompt_field="parts")
    with pytest.raises(InputError, match=r"'parts' .* holds lists or objects"):
        read_corpus(path, metadata_fields=["parts"])
    with pytest.raises(InputError, match="chosen for two roles"):
        read_corpus(path, text_field="text", id_field="text")
    with pytest.raises(InputError, match="a single string"):
        read_corpus(path, metadata_fields="n")
    assert any("not kept as metadata: parts" in note for note in read_corpus(path).notes)


# What is left out


def test_left_out_rows_are_counted_and_named(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": f"r{i}", "text": "fine"} for i in range(20)]
    for i in (1, 3, 4, 5, 6, 7, 8):
        rows[i]["text"] = ["", " \n\t", "\u2003"][i % 3]
    rows[10] = {"id": "r10"}
    rows[11]["text"] = None
    corpus = read_corpus(write_jsonl(tmp_path / "a.jsonl", rows))
    assert corpus.ids == tuple(f"r{i}" for i in range(20) if i not in (1, 3, 4, 5, 6, 7, 8, 10, 11))
    empty, missing = corpus.exclusions
    assert (empty.reason, empty.count) == ("empty or only whitespace", 7)
    assert empty.examples == tuple(f"line {i + 1} (id r{i})" for i in (1, 3, 4, 5, 6))
    assert (missing.reason, missing.count) == ("without the field 'text'", 2)
    assert missing.examples == ("line 11 (id r10)", "line 12 (id r11)")
    assert f"{missing}." in corpus.notes
    assert "10 of 11 texts repeat an earlier one exactly; they are kept." in corpus.notes


def test_a_file_of_empty_texts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n \n\n")
    with pytest.raises(
        InputError, match=r"holds no text.*3 left out \(empty or only whitespace\): line 1, line 2, line 3"
    ):
        read_corpus(tmp_path / "a.txt")


def test_plain_text_keeps_line_numbers_as_ids(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\nthree\n")
    corpus = read_corpus(tmp_path / "a.txt")
    assert (corpus.texts, corpus.ids, corpus.name) == (("one", "three"), ("1", "3"), "a")
    assert corpus.exclusions[0].examples == ("line 2",)


def test_folder_ids_are_file_names(tmp_path: Path) -> None:
    for name, text in {"b.txt": "two", "a.txt": "one", "c.txt": " "}.items():
        (tmp_path / name).write_text(text)
    corpus = read_corpus(tmp_path)
    assert dict(zip(corpus.ids, corpus.texts, strict=True)) == {"a.txt": "one", "b.txt": "two"}
    assert corpus.exclusions[0].examples == ("file c.txt",)
    assert corpus.notes == ("1 left out (empty or only whitespace): file c.txt.",)


def test_texts_are_kept_letter_for_letter(tmp_path: Path) -> None:
    texts = [" leading", "trailing \n", "e\u0301", "\u00e9", "\x00\x07", "\U0001f600"]
    corpus = read_corpus(write_jsonl(tmp_path / "a.jsonl", [{"text": text} for text in texts]))
    assert list(corpus.texts) == texts


# Ids


def test_repeated_or_missing_ids_of_a_chosen_field_are_refused(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"id": i, "text": "a"} for i in ("x", "y", "x", 7, "7", "z")])
    with pytest.raises(InputError, match=r"'id' of .* more than once \(x, 7\)"):
        read_corpus(path, id_field="id")
    path = write_jsonl(tmp_path / "a.jsonl", [{"id": i, "text": "a"} for i in ("x", None, True, " ", 1.5)])
    with pytest.raises(InputError, match=r"no usable id for 4 texts \(line 2, line 3, line 4, line 5\)"):
        read_corpus(path, id_field="id")


def test_repeated_ids_of_a_guessed_field_give_way_to_line_numbers(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"id": "x", "text": "a"}, {"id": "x", "text": "b"}])
    corpus = read_corpus(path)
    assert corpus.ids == ("1", "2")
    assert corpus.fields == Fields("text", None, None, ("id",))
    assert list(corpus.metadata["id"]) == ["x", "x"]
    assert any("Line numbers are used as ids" in note and "(x)" in note for note in corpus.notes)
    assert not any(note.startswith("Ids were read") for note in corpus.notes)


@pytest.mark.parametrize("blank", [{"id": ""}, {"id": None}, {}])
def test_a_blank_id_leaves_the_others(blank: dict[str, Any], tmp_path: Path) -> None:
    rows = [{"id": 2, "text": "one"}, {**blank, "text": "two"}, {"id": 4, "text": "three"}]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpus = read_corpus(path)
    assert corpus.ids == ("2", "line 2", "4")
    assert "Rows without an id are called by their place: line 2." in corpus.notes


def test_ids_of_rows_left_out_may_repeat(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"id": "x", "text": ""}, {"id": "x", "text": "b"}, {"text": ""}])
    assert read_corpus(path, id_field="id").ids == ("x",)


def test_whole_floats_are_ids(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"id": 1.0, "text": "a"}, {"id": 2, "text": "b"}])
    assert read_corpus(path, id_field="id").ids == ("1", "2")


# Prompts


def test_prompts_are_joined_as_they_are_and_missing_ones_counted(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"prompt": "He", "text": "llo"}, {"prompt": "Good", "text": " day"}, {"text": "alone"}
    ]  # fmt: skip
    corpus = read_corpus(write_jsonl(tmp_path / "a.jsonl", rows))
    assert corpus.encoder_inputs(True) == ["Hello", "Good day", "alone"]
    assert corpus.encoder_inputs(False) == ["llo", " day", "alone"]
    assert any(note.startswith("1 of 3 texts has no prompt") for note in corpus.notes)


def test_prompts_that_are_not_there() -> None:
    with pytest.raises(InputError, match="'a' has no prompts"):
        corpus_from_texts(["x"], name="a").encoder_inputs(True)


# Metadata


def test_metadata_keeps_types(tmp_path: Path) -> None:
    rows = [
        {"text": "a", "n": 1, "x": 0.5, "ok": True, "s": "007", "gap": 3, "half": True, "mixed": 1, "big": 2**70},
        {"text": "b", "n": 2, "x": 2, "ok": False, "s": "b", "mixed": "one", "big": 1},
    ]
    metadata = read_corpus(write_jsonl(tmp_path / "a.jsonl", rows)).metadata
    assert {name: str(kind) for name, kind in metadata.dtypes.items()} == {
        "n": "int64", "x": "float64", "ok": "bool", "s": "str", "gap": "Int64", "half": "boolean", "mixed": "object",
        "big": "object",
    }  # fmt: skip
    assert values_in(metadata["gap"]) == [3, None]
    assert list(metadata["mixed"]) == [1, "one"]
    assert list(metadata["big"]) == [2**70, 1]


@examples
@given(st.sampled_from(COLUMN_KINDS).flatmap(lambda kind: st.lists(kind | st.none(), min_size=1, max_size=6)))
def test_metadata_changes_no_value(values: list[Any]) -> None:
    corpus = corpus_from_texts(["a"] * len(values), name="m", metadata={"column": values})
    assert values_in(corpus.metadata["column"]) == values


def test_whole_numbers_too_large_for_a_float_stay_exact() -> None:
    corpus = corpus_from_texts(["a", "b"], name="m", metadata={"column": [0.5, 2**53 + 1]})
    assert list(corpus.metadata["column"]) == [0.5, 2**53 + 1]


def test_csv_cells_become_numbers_only_when_all_are(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "text,n,x,code,phone,mixed,long,gap,none\n1,1,.5,007,+491,1,1234567890123456789,,\n2,-20,1e-3,010,+492,a,1,4,\n"
    )
    corpus = read_corpus(tmp_path / "a.csv", text_field="text")
    assert corpus.texts == ("1", "2")
    assert {name: str(kind) for name, kind in corpus.metadata.dtypes.items()} == {
        "n": "int64", "x": "float64", "code": "str", "phone": "str", "mixed": "str", "long": "str", "gap": "Int64",
        "none": "object",
    }  # fmt: skip
    assert list(corpus.metadata["x"]) == [0.5, 0.001]
    assert values_in(corpus.metadata["gap"]) == [None, 4]


@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1) | st.none(), min_size=1))
def test_whole_numbers_survive_csv(values: list[int | None]) -> None:
    assert parse_cells(["" if value is None else str(value) for value in values]) == values


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_floats_survive_csv(values: list[float]) -> None:
    assert parse_cells([repr(value) for value in values]) == values


@settings(max_examples=25)
@given(st.lists(st.from_regex(r"\s*[+_]?[0-9_]+\s+|0[0-9]+|[a-z]+", fullmatch=True), min_size=1))
def test_cells_that_only_look_like_numbers_stay_text(cells: list[str]) -> None:
    assert parse_cells(cells) == cells


def test_long_numbers_in_a_float_column_stay_exact() -> None:
    assert parse_cells(["0.5", "12345678901234567"]) == ["0.5", "12345678901234567"]
    assert parse_cells(["0.5", "1e999"]) == ["0.5", "1e999"]
    assert parse_cells(["0.5", "-inf", "7"]) == [0.5, -np.inf, 7.0]


def test_texts_in_memory_are_treated_as_those_of_a_file() -> None:
    corpus = corpus_from_texts(
        ["a", "", "b", "a"],
        name="m",
        prompts=["p", "q", None, ""],
        metadata=pd.DataFrame(
            {"n": [1, 2, 3, 4], "d": pd.to_datetime(["2024-01-01", "2024-01-02", None, "2024-01-04"])}
        ),
    )
    assert (corpus.texts, corpus.ids, corpus.prompts) == (("a", "b", "a"), ("1", "3", "4"), ("p", "", ""))
    assert list(corpus.metadata["n"]) == [1, 3, 4]
    assert values_in(corpus.metadata["d"]) == ["2024-01-01T00:00:00", None, "2024-01-04T00:00:00"]
    assert corpus.exclusions[0].examples == ("text 2",)
    assert (corpus.origin, corpus.fields, len(corpus)) == ("memory", None, 3)
    assert "1 of 3 texts repeat" in " ".join(corpus.notes)


# Texts in memory


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        ({"texts": "one text"}, "a single text was given"),
        ({"texts": []}, "an empty list"),
        ({"texts": ["", " "]}, "2 left out"),
        ({"texts": ["a", 5]}, "int at text 2"),
        ({"texts": ["a", "\ud83d"]}, "surrogate pair at text 2, character 1"),
        ({"texts": ["a"], "ids": ["x", "y"]}, "1 texts and 2 ids"),
        ({"texts": ["a", "b"], "ids": ["x", "x"]}, "more than once (x)"),
        ({"texts": ["a", "b"], "ids": ["x", None]}, "no usable id for 1 text (text 2)"),
        ({"texts": ["a"], "ids": ["\ud83d"]}, "ids of Corpus 'm' holds half of a surrogate pair"),
        ({"texts": ["a"], "prompts": []}, "1 texts and 0 prompts"),
        ({"texts": ["a"], "prompts": [3]}, "prompts of Corpus 'm' does not hold text"),
        ({"texts": ["a"], "metadata": {"n": [1, 2]}}, "1 texts and 2 values of 'n'"),
        ({"texts": ["a"], "metadata": {"n": [[1]]}}, "'n' holds a value of type list"),
        ({"texts": ["a"], "metadata": {3: [1]}}, "name of a metadata field is not text"),
        ({"texts": ["a"], "metadata": {"n": ["\ud83d"]}}, "'n' holds half of a surrogate pair"),
    ],
)
def test_texts_in_memory_that_cannot_be_used(arguments: dict[str, Any], fragment: str) -> None:
    with pytest.raises(InputError) as caught:
        corpus_from_texts(**arguments, name="m")
    assert fragment in str(caught.value)


# The corpus itself


def small() -> Corpus:
    return corpus_from_texts(["a", "b", "c"], name="s", ids=["x", "y", "z"], metadata={"n": [1, 2, 3]})


def test_take_keeps_ids_with_their_texts() -> None:
    part = small().take(np.array([2, 0]))
    assert (part.texts, part.ids, list(part.metadata["n"]), list(part.metadata.index)) == (
        ("c", "a"), ("z", "x"), [3, 1], [0, 1],
    )  # fmt: skip
    assert len(small().take([])) == 0
    assert small().take(range(3)).digest == small().digest


@pytest.mark.parametrize("indices", [[3], [-1], [0.0, 1.0], [True, False, True], [[0]], 1, [0, 0]])
def test_take_refuses_what_selects_no_texts(indices: Any) -> None:
    with pytest.raises(InputError):
        small().take(indices)


def test_a_corpus_checks_itself() -> None:
    with pytest.raises(InputError, match="3 texts and 2 ids"):
        dataclasses.replace(small(), ids=("x", "y"))
    with pytest.raises(InputError, match="3 texts and 1 prompts"):
        dataclasses.replace(small(), prompts=("p",))
    with pytest.raises(InputError, match="3 texts and 2 metadata rows"):
        dataclasses.replace(small(), metadata=small().metadata.iloc[:2])
    with pytest.raises(InputError, match=r"more than once.*x"):
        dataclasses.replace(small(), ids=("x", "x", "z"))


def test_digest_is_what_its_description_says() -> None:
    parts = ["ids 1\n", "1\n", "x", "texts 1\n", "2\n", "é", "prompts none\n"]
    corpus = corpus_from_texts(["é"], name="d", ids=["x"])
    assert corpus.digest == hashlib.sha256("".join(parts).encode()).hexdigest()


@given(left=st.lists(TEXT, max_size=3), right=st.lists(TEXT, max_size=3))
def test_digests_are_equal_only_for_equal_texts(left: list[str], right: list[str]) -> None:
    def digest(texts: list[str]) -> str:
        ids = tuple(map(str, range(len(texts))))
        return Corpus("n", tuple(texts), ids, None, pd.DataFrame(index=range(len(texts)))).digest

    assert (digest(left) == digest(right)) == (left == right)


def test_digest_tells_ids_texts_and_prompts_apart() -> None:
    variants = [
        corpus_from_texts(["a", "b"], name="1"),
        corpus_from_texts(["ab", "b"], name="1"),
        corpus_from_texts(["a", "b"], name="1", ids=["2", "1"]),
        corpus_from_texts(["a", "b"], name="1", prompts=["", ""]),
        corpus_from_texts(["b", "a"], name="1"),
    ]
    assert len({corpus.digest for corpus in variants}) == len(variants)
    assert variants[0].digest == corpus_from_texts(["a", "b"], name="2", metadata={"n": [1, 2]}).digest


# On disk


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    n = draw(st.integers(1, 5))

    def column(entry: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(entry, min_size=n, max_size=n))

    names = draw(st.lists(TEXT, unique=True, max_size=4))
    metadata = {name: column(draw(st.sampled_from(COLUMN_KINDS)) | st.none()) for name in names}
    return corpus_from_texts(
        [text + "x" for text in column(TEXT)],
        name=draw(TEXT),
        ids=draw(st.lists(TEXT.map(lambda entry: f"{entry}i"), unique=True, min_size=n, max_size=n)),
        prompts=draw(st.none() | st.just([*column(TEXT)])),
        metadata=metadata,
    )


@pytest.mark.slow
@examples
@given(corpora())
def test_parquet_brings_back_the_same_corpus(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> None:
    path = tmp_path_factory.mktemp("corpus", numbered=True) / "c.parquet"
    corpus.to_parquet(path)
    assert_same(Corpus.from_parquet(path), corpus)


def assert_same(left: Corpus, right: Corpus) -> None:
    for field in dataclasses.fields(Corpus):
        if field.name not in ("metadata", "places"):  # where texts stand in their files is not kept
            assert getattr(left, field.name) == getattr(right, field.name)
    assert left.digest == right.digest
    pd.testing.assert_frame_equal(left.metadata, right.metadata, check_exact=True)
    for name in right.metadata.columns:
        assert list(map(type, left.metadata[name])) == list(map(type, right.metadata[name]))


def test_parquet_keeps_everything_of_a_corpus_from_a_file(tmp_path: Path) -> None:
    rows = [{"id": i, "prompt": "p ", "body": "t", "text": i, "year": 2000 + i, "tag": None} for i in range(3)]
    rows.append({"id": 9, "prompt": None, "body": "  ", "text": 1, "year": 1, "tag": "x"})
    corpus = read_corpus(write_jsonl(tmp_path / "a.jsonl", rows))
    corpus.to_parquet(tmp_path / "c.parquet")
    again = Corpus.from_parquet(tmp_path / "c.parquet")
    assert_same(again, corpus)
    assert again.exclusions
    assert again.fields == Fields("body", "prompt", "id", ("text", "year", "tag"))


def test_a_damaged_or_foreign_file_is_a_storage_error(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    with pytest.raises(StorageError):
        Corpus.from_parquet(path)
    small().to_parquet(path)
    whole = path.read_bytes()
    for data in (b"", b"text", whole[:-30], whole[:6] + b"\xff" * 60 + whole[66:]):
        path.write_bytes(data)
        with pytest.raises(StorageError, match=r"c\.parquet"):
            Corpus.from_parquet(path)
    pd.DataFrame({"id": ["1"], "text": ["a"]}).to_parquet(path)
    with pytest.raises(StorageError, match="not a stored corpus"):
        Corpus.from_parquet(path)


def test_changed_texts_are_noticed(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "c.parquet"
    small().to_parquet(path)
    table = pq.read_table(path)
    pq.write_table(table.set_column(1, "text", [["a", "b", "changed"]]), path)
    with pytest.raises(StorageError, match="no longer holds the texts"):
        Corpus.from_parquet(path)


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.parquet"
    small().to_parquet(path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        small().take([0]).to_parquet(path)
    assert Corpus.from_parquet(path).digest == small().digest
    assert [file.name for file in tmp_path.iterdir()] == ["c.parquet"]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "parquet", "txt"])
def test_every_format_gives_the_same_corpus(suffix: str, tmp_path: Path) -> None:
    texts = ["one, two", 'say "x"', "tab\there", "café \U0001f600", "last"]
    frame = pd.DataFrame({"text": texts})
    path = tmp_path / f"a.{suffix}"
    {
        "jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        "csv": lambda: frame.to_csv(path, index=False),
        "tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        "parquet": lambda: frame.to_parquet(path),
        "txt": lambda: path.write_text("\n".join(texts)),
    }[suffix]()
    corpus = read_corpus(path)
    assert list(corpus.texts) == texts
    shift = 2 if suffix in ("csv", "tsv") else 1  # the header is line 1
    assert corpus.ids == tuple(str(i + shift) for i in range(5))


def test_importing_loads_no_model_library() -> None:
    code = "import mauve_core.texts, sys; print(sorted({'torch', 'transformers', 'pandas'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="counts threads by /proc")
def test_reading_a_stored_corpus_leaves_no_threads_behind(tmp_path: Path) -> None:
    """Threads of Arrow that have read from a Python file may abort the process when it ends."""
    path = tmp_path / "corpus.parquet"
    corpus_from_texts([f"text {i}" for i in range(500)], name="texts").to_parquet(path)
    code = f"""
import os, pyarrow.parquet
from mauve_core.texts import Corpus
before = len(os.listdir("/proc/self/task"))
Corpus.from_parquet({str(path)!r})
print(len(os.listdir("/proc/self/task")) - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
