"""Texts as people have them in Python become the corpus that a file of the same rows would give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mauve_core.base.errors import InputError
from mauve_core.texts import read_corpus
from mauve_core.texts.building import as_corpus

ROWS = [
    {"id": "a", "prompt": "Once", "completion": "upon a time there was", "length": 5, "score": 0.5},
    {"id": "b", "prompt": "Then", "completion": "came another one", "length": 3, "score": float("nan")},
    {"id": "c", "prompt": "So", "completion": None, "length": 0, "score": 1.0},
]


class DataSet:
    """What a ``datasets.Dataset`` offers of itself: names of columns, and a column as a list by its name."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns
        self.column_names = list(columns)

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]


def columns() -> dict[str, list[Any]]:
    return {name: [row[name] for row in ROWS] for name in ROWS[0]}


TABLES = {
    "data frame": lambda: pd.DataFrame(ROWS, index=[9, 2, 5]),
    "pyarrow": lambda: pa.table(columns()),
    "data set": lambda: DataSet(columns()),
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_is_read_as_a_file_of_its_rows(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    lines = [json.dumps({**row, "score": None if row["score"] != row["score"] else row["score"]}) for row in ROWS]
    file.write_text("\n".join(lines), encoding="utf-8")
    wanted, found = read_corpus(file), as_corpus(TABLES[kind](), "side")
    assert (found.texts, found.ids, found.prompts) == (wanted.texts, wanted.ids, wanted.prompts)
    assert found.texts == ("upon a time there was", "came another one")
    pd.testing.assert_frame_equal(found.metadata, wanted.metadata)
    assert (found.name, found.origin) == ("side", "memory")
    assert found.exclusions[0].count == wanted.exclusions[0].count == 1
    assert any("guessed" in note for note in found.notes)
    assert found.digest == wanted.digest


def test_a_path_is_read_and_a_list_or_a_column_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("one\ntwo\n", encoding="utf-8")
    for given in (file, str(file), ["one", "two"], pd.Series(["one", "two"], index=[1, 0]), iter(["one", "two"])):
        assert as_corpus(given, "side").texts == ("one", "two")
    assert as_corpus(np.array(["one", "two"]), "side").texts == ("one", "two")
    corpus = read_corpus(file)
    assert as_corpus(corpus, "side") is corpus


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (3, "The side 'm' cannot be used.*Received: int"),
        (None, "Received: None"),
        ({"a": ["b"]}, "Received: dict"),
        (b"bytes", "Received: bytes"),
        (pd.DataFrame({"a": ["x y"], 3: ["z"]}), "cannot be told apart by name.*Received: 3"),
        (pd.DataFrame([["x", "y"]], columns=["a", "a"]), "cannot be told apart by name"),
        (pd.DataFrame({"text": []}), "no rows"),
        (pd.DataFrame({"n": [1, 2]}), "the table of 'm'"),
        (["a", 3], "int at text 2"),
    ],
)
def test_what_is_no_side_is_refused(given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        as_corpus(given, "m")


def test_a_dictionary_of_data_sets_asks_for_one() -> None:
    class Splits(dict[str, DataSet]):
        @property
        def column_names(self) -> dict[str, list[str]]:
            return {name: each.column_names for name, each in self.items()}

    with pytest.raises(InputError, match=r"dictionary of data sets.*Received: train.*data\['train'\]"):
        as_corpus(Splits(train=DataSet(columns())), "m")
