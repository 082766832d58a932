"""Texts of shards: fields, exclusions, ids and digests."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mauve_core.base.errors import InputError
from mauve_core.shards.texts import ROWS_AT_A_TIME, Named, Tally, Texts, groups_of, texts_of
from mauve_core.texts import read_corpus

ROWS: list[dict[str, Any]] = [
    {"id": "a", "prompt": "Once", "text": "upon a time there was a king"},
    {"id": "b", "prompt": "It", "text": "   "},
    {"id": "c", "prompt": None, "text": "was a dark and stormy night"},
    {"id": "d", "prompt": "In", "text": None},
    {"id": "e", "prompt": "In", "text": "the beginning was the word"},
]


def written(path: Path, rows: list[dict[str, Any]]) -> str:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        lines = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
        path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)
    return str(path)


def read(shard: str, named: Named | None = None) -> tuple[Texts, Tally]:
    tally = Tally()
    parts = list(texts_of(shard, named or Named(), tally))
    prompts = None if parts[0].prompts is None else tuple(prompt for part in parts for prompt in part.prompts or ())
    texts = Texts(
        tuple(text for part in parts for text in part.texts), prompts, tuple(i for part in parts for i in part.ids)
    )
    return texts, tally


@pytest.mark.parametrize("name", ["shard.jsonl", "shard.parquet", "shard.jsonl.gz"])
def test_a_shard_holds_what_a_file_of_it_would(tmp_path: Path, name: str) -> None:
    shard = written(tmp_path / name, ROWS)
    texts, tally = read(shard)
    corpus = read_corpus(shard)
    assert (texts.texts, texts.ids, texts.prompts) == (corpus.texts, corpus.ids, corpus.prompts)
    assert tally.left_out == {exclusion.reason: exclusion.count for exclusion in corpus.exclusions}
    assert sum(tally.left_out.values()) == 2


def test_all_formats_have_one_digest(tmp_path: Path) -> None:
    digests = {
        read(written(tmp_path / name, ROWS))[1].digest.hexdigest() for name in ("a.jsonl", "b.parquet", "c.jsonl.gz")
    }
    assert len(digests) == 1
    changed = [dict(ROWS[0], text="upon a time there was a queen"), *ROWS[1:]]
    assert read(written(tmp_path / "d.jsonl", changed))[1].digest.hexdigest() not in digests


def test_memory_holds_a_few_rows_at_a_time(tmp_path: Path) -> None:
    rows = [{"text": f"text number {number} of many"} for number in range(2 * ROWS_AT_A_TIME + 10)]
    for name in ("many.jsonl", "many.parquet"):
        parts = list(texts_of(written(tmp_path / name, rows), Named(), Tally()))
        assert [len(part.texts) for part in parts] == [ROWS_AT_A_TIME, ROWS_AT_A_TIME, 10]


def test_without_ids_the_text_gives_one(tmp_path: Path) -> None:
    rows = [{"text": row["text"]} for row in ROWS if row["text"] and row["text"].strip()]
    one, other = (
        read(written(tmp_path / name, part))[0] for name, part in (("a.jsonl", rows), ("b.jsonl", rows[::-1]))
    )
    assert one.ids == other.ids[::-1]
    assert len(set(one.ids)) == 3
    np.testing.assert_array_equal(groups_of(None, one.ids), groups_of(None, other.ids)[::-1])


def test_texts_of_one_prompt_are_one_group(tmp_path: Path) -> None:
    rows = [{"prompt": f"Prompt {number % 2}.", "text": f"This is answer {number}."} for number in range(4)]
    texts = read(written(tmp_path / "a.jsonl", rows))[0]
    groups = groups_of(texts.prompts, texts.ids)
    assert groups[0] == groups[2] != groups[1] == groups[3]


@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_blank_prompt_groups_no_texts(blank: str) -> None:
    groups = groups_of([blank, "Prompt.", blank, blank], ["a", "b", "c", "a"])
    assert len(set(groups.tolist())) == 3
    assert groups[0] == groups[3] == groups_of(None, ["a"])[0]


def test_fields_that_are_named(tmp_path: Path) -> None:
    rows = [{"a": "the first of these", "b": "the second of these", "n": 7 + number} for number in range(3)]
    shard = written(tmp_path / "a.jsonl", rows)
    texts, tally = read(shard, Named(text="b", prompt="a", id="n"))
    assert (texts.texts[0], texts.prompts, texts.ids) == (
        "the second of these",
        ("the first of these",) * 3,
        ("7", "8", "9"),
    )
    assert tally.fields is not None
    assert tally.fields.text == "b"
    with pytest.raises(InputError, match="no field named 'z'"):
        read(shard, Named(text="z"))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "a", "text": "some words here"}, {"id": None, "text": "other words here"}], "no usable id at line 2"),
        ([{"text": "some words here"}, {"text": 7}], "does not hold text"),
    ],
)
def test_rows_that_cannot_be_used(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(written(tmp_path / "a.jsonl", rows), Named(text="text"))


def test_several_generations_are_not_scored_as_one(tmp_path: Path) -> None:
    rows = [
        {"prompt": f"Prompt {number}.", "text": f"Answer {number} of {turn} in words.", "generation": turn}
        for turn in range(2)
        for number in range(3)
    ]
    with pytest.raises(InputError, match="has several generations, by 'text' and 'generation'"):
        read(written(tmp_path / "a.jsonl", rows))


def test_damaged_shards_are_named(tmp_path: Path) -> None:
    for name, content in (
        ("a.jsonl", b'{"text": "x y z"}\n{"text"'),
        ("b.parquet", b"PAR1nothing"),
        ("c.jsonl.gz", b"\x1f\x8bxx"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=name):
            read(str(tmp_path / name))
