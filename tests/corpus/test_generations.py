"""Files with a field ``generation``: how ids and pairing follow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.texts import Corpus, corpus_from_texts, limits, read_corpus
from mauve_core.texts.pairing import shared_prompts

# The second generation comes first in the file, and 9 is before 10 although "10" is before "9".
PLACES = [(g, i) for g in (10, 9) for i in range(3)]


def file_of(folder: Path, rows: list[dict[str, Any]], name: str = "model.jsonl") -> Path:
    path = folder / name
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def row(generation: object, index: int, **more: object) -> dict[str, Any]:
    return {"text": f"A text, {index} of {generation}.", "generation": generation, **more}


def test_generations_are_read_and_their_ids_differ(tmp_path: Path) -> None:
    corpus = read_corpus(file_of(tmp_path, [row(g, i, id=f"p{i}") for g, i in PLACES]))
    assert corpus.fields is not None
    assert corpus.fields.generation == corpus.generation == "generation"
    assert corpus.generations == ("10",) * 3 + ("9",) * 3
    assert corpus.generation_codes.tolist() == [1, 1, 1, 0, 0, 0]
    assert corpus.ids == ("p0#10", "p1#10", "p2#10", "p0", "p1", "p2")
    assert corpus.metadata["generation"].tolist() == [10] * 3 + [9] * 3
    assert any("2 generations were read from the field 'generation'" in note for note in corpus.notes)
    assert corpus.take([0, 3]).generation_codes.tolist() == [1, 0]
    assert corpus.take([3, 4]).generations == ()
    assert corpus.take([3, 4]).generation_codes.tolist() == [0, 0]


def test_ids_that_already_differ_stay(tmp_path: Path) -> None:
    corpus = read_corpus(file_of(tmp_path, [row(g, i, id=f"p{i} of {g}") for g, i in PLACES]))
    assert corpus.ids == tuple(f"p{i} of {g}" for g, i in PLACES)


def test_without_ids_texts_are_numbered_within_their_generation(tmp_path: Path) -> None:
    rows = [row(g, i) for g, i in PLACES]
    rows[1]["text"] = " "  # left out, but it keeps its number
    corpus = read_corpus(file_of(tmp_path, rows))
    assert corpus.ids == ("1#10", "3#10", "1", "2", "3")
    human = corpus_from_texts(["one", "two", "three"], name="human")
    found = shared_prompts({"human": human, "model": corpus})
    assert found is not None
    assert found.by == "ids"
    assert (found.codes["human"].tolist(), found.codes["model"].tolist()) == ([0, 1, 2], [3, 4, 3, 5, 4])


def test_labels_name_generations_and_csv_cells_are_numbers(tmp_path: Path) -> None:
    labels = read_corpus(file_of(tmp_path, [row(name, i) for name in "ba" for i in range(3)]))
    assert labels.generation_codes.tolist() == [1, 1, 1, 0, 0, 0]
    cells = "text,generation\n" + "".join(f"A text {i} of {g},{g}\n" for g, i in PLACES)
    path = tmp_path / "model.csv"
    path.write_text(cells, encoding="utf-8")
    assert read_corpus(path).generation_codes.tolist() == [1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("generations", "note"),
    [
        ([0] * 6, None),
        ([0, 0, 0, 1, 1, None], "does not tell generations apart"),
        ([0, 0, 0, 1, 1, 0.5], "does not tell generations apart"),
        ([True, False] * 3, "does not tell generations apart"),
    ],
)
def test_other_values_are_metadata(generations: list[object], note: str | None, tmp_path: Path) -> None:
    corpus = read_corpus(file_of(tmp_path, [row(g, i) for i, g in enumerate(generations)]))
    assert (corpus.generation, corpus.generations) == (None, ())
    assert "generation" in corpus.metadata
    assert any(note in each for each in corpus.notes) if note else not corpus.notes[1:]


def test_long_texts_named_generation_are_the_texts(tmp_path: Path) -> None:
    rows = [{"id": f"p{i}", "generation": f"It was a long text number {i}."} for i in range(6)]
    corpus = read_corpus(file_of(tmp_path, rows))
    assert corpus.fields is not None
    assert (corpus.fields.text, corpus.generation) == ("generation", None)


def test_chosen_metadata_without_the_field_is_said(tmp_path: Path) -> None:
    corpus = read_corpus(file_of(tmp_path, [row(g, i, topic="x") for g, i in PLACES]), metadata_fields=["topic"])
    assert corpus.generations == ()
    assert any("all texts count as one generation" in note for note in corpus.notes)


def test_parquet_keeps_the_generations(tmp_path: Path) -> None:
    corpus = read_corpus(file_of(tmp_path, [row(g, i) for g, i in PLACES]))
    corpus.to_parquet(tmp_path / "texts.parquet")
    found = Corpus.from_parquet(tmp_path / "texts.parquet")
    assert (found.generation, found.generations, found.fields) == (corpus.generation, corpus.generations, corpus.fields)


def test_generations_of_one_corpus_share_prompts_that_no_other_has() -> None:
    def made(name: str, prompts: list[str], generations: list[int]) -> Corpus:
        return corpus_from_texts(
            [f"{name} {i}" for i in range(len(prompts))],
            name=name,
            ids=[f"{name}{i}" for i in range(len(prompts))],
            prompts=prompts,
            metadata={"generation": generations},
            generation_field="generation",
        )

    model = made("model", ["a", "b", "b", "a"], [0, 0, 1, 1])
    found = shared_prompts({"human": made("human", ["c", "d"], [0, 0]), "model": model})
    assert found is not None
    np.testing.assert_array_equal(found.codes["model"], [2, 3, 3, 2])
    assert shared_prompts({"human": made("human", ["c", "d"], [0, 0]), "model": made("m", ["a", "a"], [0, 0])}) is None
    with pytest.raises(InputError, match="no metadata field 'generation'"):
        corpus_from_texts(["a"], name="model", generation_field="generation")


def wide(folder: Path, lengths: tuple[int, ...], **more: Any) -> Path:
    """A row for each length, with as many answers."""
    answers = [[f"Answer {place} to question {i}." for place in range(n)] for i, n in enumerate(lengths)]
    return file_of(folder, [{"id": f"p{i}", "outputs": own, **more} for i, own in enumerate(answers)])


def test_a_list_of_texts_in_a_row_is_several_generations(tmp_path: Path) -> None:
    corpus = read_corpus(wide(tmp_path, (3, 3, 0, 1, 5), topic="x"))
    assert corpus.ids == ("p0", "p0#1", "p0#2", "p1", "p1#1", "p1#2", "p3", "p4", "p4#1", "p4#2")
    assert corpus.texts[1] == "Answer 1 to question 0."
    assert corpus.generation_codes.tolist() == [0, 1, 2, 0, 1, 2, 0, 0, 1, 2]
    assert list(corpus.metadata.columns) == ["topic", "generation"]
    notes = " ".join(corpus.notes)
    assert "3 generations were read from the lists 'outputs.*', one text of each." in notes
    assert "1 of 5 rows hold fewer texts, so some generations lack their prompts." in notes
    assert "2 texts were left out because half of the rows hold no more than 3." in notes
    assert "1 left out (without the field 'outputs.*'): line 3 (id p2)." in notes


@pytest.mark.parametrize(
    ("answers", "path"),
    [
        (lambda own: {"choices": [{"message": {"content": text}} for text in own]}, "choices.*.message.content"),
        (lambda own: {"prompt": "Say it.", "outputs": [{"text": text} for text in own]}, "outputs.*.text"),
        (lambda own: {"doc_id": 1, "resps": [own]}, "resps.0.*"),
        (lambda own: {"choices": [{"turns": [text, "And so on."]} for text in own]}, "choices.*.turns.0"),
        (lambda own: {"generation": own}, "generation.*"),
    ],
)
def test_tools_keep_several_answers_in_lists(answers: Any, path: str, tmp_path: Path) -> None:
    rows = [answers([f"Answer {place} to question {i}." for place in range(2)]) for i in range(3)]
    corpus = read_corpus(file_of(tmp_path, rows))
    assert corpus.fields is not None
    assert (corpus.fields.text, corpus.ids) == (path, ("1", "1#1", "2", "2#1", "3", "3#1"))
    assert corpus.texts[:2] == ("Answer 0 to question 0.", "Answer 1 to question 0.")


def test_one_generation_is_read_alone(tmp_path: Path) -> None:
    path = wide(tmp_path, (2, 2, 1))
    assert read_corpus(path, generation="1").ids == ("p0", "p1")
    assert read_corpus(path, text_field="outputs.0").ids == ("p0", "p1", "p2")
    assert read_corpus(path, text_field="outputs").ids == ("p0", "p0#1", "p1", "p1#1", "p2")
    listed = file_of(tmp_path, [row(g, i) for g, i in PLACES], "listed.jsonl")
    corpus = read_corpus(listed, generation="10")
    assert (corpus.ids, corpus.generation) == (("1", "2", "3"), None)
    assert corpus.texts == tuple(f"A text, {i} of 10." for i in range(3))
    single = file_of(tmp_path, [{"text": "One text of one."}], "single.jsonl")
    assert read_corpus(single, generation="0").ids == ("1",)
    for file, allowed in ((path, "'0', '1'"), (listed, "'9', '10'"), (single, "'0'")):
        for wrong in ("2", "-1", "9" * 5000):
            with pytest.raises(InputError, match=rf"has no generation.*Allowed: {allowed}"):
                read_corpus(file, generation=wrong)


def test_the_first_answer_has_the_prompt_of_all(tmp_path: Path) -> None:
    rows = [{"arguments": [[f"Question {i}?", {}]], "resps": [[f"Yes, {i}.", f"No, {i}."]]} for i in range(3)]
    corpus = read_corpus(file_of(tmp_path, rows), text_field="resps.0.0")
    assert (corpus.texts[0], corpus.prompts) == ("Yes, 0.", ("Question 0?", "Question 1?", "Question 2?"))


def test_lists_and_a_field_of_generations_are_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path, [{"generation": g, "outputs": ["One text.", "Two texts."]} for g in (0, 1)])
    with pytest.raises(InputError, match=r"such as 'outputs\.0'"):
        read_corpus(path)


def test_as_many_rows_as_a_file_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.ROWS_VARIABLE, "5")
    with pytest.raises(InputError, match="too many rows"):
        read_corpus(wide(tmp_path, (2, 2, 2)))
