"""One table with many sources gives the corpora that separate files give."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mauve_core.base.errors import InputError
from mauve_core.texts import Corpus, read_corpus, read_table
from mauve_core.texts.building import MOST_SOURCES, reference_among, sources_of, split_by
from mauve_core.texts.pairing import shared_prompts
from mauve_core.texts.tables import Table


def lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def table(folder: Path, *rows: Mapping[str, Any]) -> Table:
    return read_table(lines(folder / "all.jsonl", rows))


def rows_of(with_ids: bool, blank: int = 3) -> list[dict[str, Any]]:
    """Sources in turn, so that line numbers of the whole differ from those of the parts; one text is blank."""
    return [
        {"g": g, "text": "" if (g, i) == ("a", blank) else f"text {i} by {g}", **({"id": i} if with_ids else {})}
        for i in range(6)
        for g in ("webtext", "a", "b")
    ]


@pytest.mark.parametrize("with_ids", [True, False])
def test_parts_have_the_digests_and_pairing_of_separate_files(tmp_path: Path, with_ids: bool) -> None:
    rows = rows_of(with_ids)
    parts = split_by(table(tmp_path, *rows), "g")
    alone = {
        g: read_corpus(lines(tmp_path / f"{g}.jsonl", (row for row in rows if row["g"] == g)), name=g) for g in parts
    }
    assert list(parts) == ["webtext", "a", "b"]
    assert {g: part.digest for g, part in parts.items()} == {g: corpus.digest for g, corpus in alone.items()}
    found, expected = shared_prompts(parts), shared_prompts(alone)
    if not with_ids:
        assert found is expected is None  # numbers of lines pair nothing
        return
    assert found is not None
    assert expected is not None
    assert {g: own.tolist() for g, own in found.codes.items()} == {g: own.tolist() for g, own in expected.codes.items()}
    assert found.shared("webtext", "a") == 5


@pytest.mark.parametrize(("generation", "ids"), [(None, ("1", "1#1", "2", "2#1")), ("1", ("1", "2"))])
def test_lists_of_texts_are_numbered_within_their_source(generation: str | None, ids: Any, tmp_path: Path) -> None:
    rows = [{"g": g, "outputs": [f"{g} says {i}.", f"{g} says {i} again."]} for i in range(2) for g in "ab"]
    parts = split_by(table(tmp_path, *rows), "g", generation=generation)
    assert (parts["a"].ids, parts["b"].ids) == (ids, ids)
    assert parts["b"].texts[-1] == "b says 1 again."


def test_values_may_be_numbers_or_missing(tmp_path: Path) -> None:
    path = tmp_path / "all.parquet"
    pq.write_table(pa.table({"t": [0.5, 1.0, None, 1.0], "text": ["one x", "two x", "three x", "four x"]}), path)
    parts = split_by(read_table(path), "t")
    assert {name: part.texts for name, part in parts.items()} == {"0.5": ("one x",), "1": ("two x", "four x")}
    assert parts["1"].ids == ("1", "2")
    assert "1 row without a value of 't' was left out." in parts["1"].notes


def test_a_dotted_path_names_sources(tmp_path: Path) -> None:
    parts = split_by(table(tmp_path, *({"m": {"name": n}, "text": f"by {n}"} for n in "ab")), "m.name")
    assert {name: part.texts for name, part in parts.items()} == {"a": ("by a",), "b": ("by b",)}


def test_bad_columns_are_refused(tmp_path: Path) -> None:
    whole = table(tmp_path, *({"g": i, "e": "", "l": [i], "text": f"t {i}"} for i in range(MOST_SOURCES + 1)))
    for column, wrong in (("x", "'text'"), ("g", "not one of ids"), ("e", "empty in every row"), ("l", "list")):
        with pytest.raises(InputError, match=wrong):
            sources_of(whole, column)


def test_a_source_without_text_is_named(tmp_path: Path) -> None:
    whole = table(tmp_path, {"g": "a", "text": "one text"}, {"g": "empty", "text": " "}, {"g": "empty"})
    with pytest.raises(InputError, match="'empty' in the field 'g' have no text"):
        split_by(whole, "g")


def test_the_reference_is_guessed_only_if_one_value_looks_human(tmp_path: Path) -> None:
    def sources(*names: str) -> Any:
        return sources_of(table(tmp_path, *({"g": name, "text": "t"} for name in names)), "g")

    assert reference_among(sources("a", "WebText")) == "WebText"
    assert reference_among(sources("human", "gold"), "gold") == "gold"
    for names, given in ((("human", "gold"), None), (("a", "b", "b"), None), (("a", "human"), "c")):
        with pytest.raises(InputError, match=rf"'{names[0]}' \(1\), '{names[1]}' \("):
            reference_among(sources(*names), given)


@pytest.mark.parametrize(
    ("rows", "source"),
    [
        ([{"generator": "davinci"}, {"generator": "davinci"}], "davinci"),
        ([{"model": {"name": "gpt2"}, "model_id": "gpt2"}] * 2, "gpt2"),
        ([{"generator": "davinci"}, {"generator": None}], ""),
        ([{"model": "a"}, {"model": "b"}], ""),
        ([{"generator": "Human, crowd"}] * 2, ""),
        ([{"source": "wikipedia"}] * 2, ""),
    ],
)
def test_a_file_names_the_model_that_wrote_all_its_texts(
    rows: list[dict[str, Any]], source: str, tmp_path: Path
) -> None:
    texts = [{"text": f"Text {i}.", **row} for i, row in enumerate(rows)]
    read = read_corpus(lines(tmp_path / "a.jsonl", texts))
    read.to_parquet(tmp_path / "a.parquet")
    assert read.source == Corpus.from_parquet(tmp_path / "a.parquet").source == source


def test_a_part_is_of_its_source_and_reference_texts_of_people(tmp_path: Path) -> None:
    rows = [{"g": g, "text": f"Text by {g}."} for g in ("webtext", "gold-2", "davinci")]
    parts = split_by(table(tmp_path, *rows), "g")
    assert [part.source for part in parts.values()] == ["", "", "davinci"]
    both = {"model": "gpt2", "reference": "A reference.", "output": "An output."}
    path = lines(tmp_path / "both.jsonl", [both] * 2)
    assert [read_corpus(path, text_field=field).source for field in ("reference", "output")] == ["", "gpt2"]


def test_a_source_without_the_chosen_ids_is_numbered() -> None:
    rows = [{"id": f"t{i}", "text": f"One text {i}.", "g": "a"} for i in range(3)]
    rows += [{"text": f"Other text {i}.", "g": "b"} for i in range(2)]
    table = Table(list(enumerate(rows, start=1)), ("id", "text", "g"), Path("all.jsonl"), "jsonl")
    parts = split_by(table, "g", text_field="text", id_field="id")
    assert (parts["a"].ids, parts["b"].ids) == (("t0", "t1", "t2"), ("1", "2"))
    assert "They lack the field 'id' and are numbered instead." in parts["b"].notes
    with pytest.raises(InputError, match="no field named 'key'"):
        split_by(table, "g", text_field="text", id_field="key")
