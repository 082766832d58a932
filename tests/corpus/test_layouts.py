"""Files as tools write them are read from the right field, or refused with a word on how to choose."""

from __future__ import annotations

import datetime
import decimal
import json
from pathlib import Path

import pytest

from mauve_core.base.errors import InputError
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.base.json_codec import from_json
from mauve_core.decoding import read_prompts
from mauve_core.texts import corpus_from_texts, read_corpus
from mauve_core.texts.entries import ID, look_like_ids
from mauve_core.texts.reading import read_table
from mauve_core.texts.text_files import TextFile
from tests.layouts import LAYOUTS, MESSAGE, Layout, N, chat_completion, other, prompt, text

READ = {name: layout for name, layout in LAYOUTS.items() if layout.text}
REFUSED = {name: layout for name, layout in LAYOUTS.items() if not layout.text}
PATH = f"response.body.{MESSAGE}"


@pytest.mark.parametrize("name", READ)
def test_the_field_of_the_text_is_found(name: str, tmp_path: Path) -> None:
    layout = READ[name]
    path = layout.write(tmp_path)
    corpus = read_corpus(path)
    fields = corpus.fields
    assert fields is not None
    assert (fields.text, fields.prompt) == (layout.text, layout.prompt)
    assert layout.id in (None, fields.id)
    rows = [i for i in range(N) if "failures" not in name or i % 8 != 7]
    told = [read_table(path).values(str(layout.text))[i] for i in rows] if "script" in name else list(map(text, rows))
    assert list(corpus.texts) == told
    assert corpus.prompts is None or list(corpus.prompts) == list(map(prompt, rows))
    notes = " ".join(corpus.notes)
    assert f"Text was read from the field {layout.text!r}, guessed " in notes
    assert layout.note in notes


@pytest.mark.parametrize("name", REFUSED)
def test_what_might_be_one_or_the_other_is_refused(name: str, tmp_path: Path) -> None:
    layout = REFUSED[name]
    path = layout.write(tmp_path)
    with pytest.raises(InputError) as caught:
        read_corpus(path)
    for part in (*layout.refused, str(path), "text_field"):
        assert part in str(caught.value)
    if layout.chosen:
        assert list(read_corpus(path, text_field=layout.chosen).texts) == list(map(text, range(N)))


def test_every_part_may_be_inside_of_others(tmp_path: Path) -> None:
    path = Layout(lambda i: {"body": chat_completion(i), "ask": {"of": [{"no": i, "words": prompt(i)}]}}).write(
        tmp_path
    )
    fields = ("body.choices.-1.message.content", "ask.of.0.words", "ask.of.0.no")
    more = ("body.model", "body.choices.0.index")
    named = dict(zip(("text_field", "prompt_field", "id_field"), fields, strict=True))
    corpus = read_corpus(path, **named, metadata_fields=more)
    assert corpus.texts == tuple(map(text, range(N)))
    assert corpus.prompts == tuple(map(prompt, range(N)))
    assert corpus.ids == tuple(map(str, range(N)))
    assert list(corpus.metadata.columns) == list(more)
    assert corpus.metadata["body.choices.0.index"].dtype == "int64"
    assert corpus.notes == ()
    stored = from_json(TextFile, {"path": str(path), **named, "metadata_fields": list(more)}).read("m")
    assert (stored.digest, stored.fields) == (corpus.digest, corpus.fields)


def test_values_inside_of_structs_are_as_plain_as_those_of_columns(tmp_path: Path) -> None:
    when, cost = datetime.datetime(2024, 3, 1, 12), decimal.Decimal("1.50")
    row = {"text": "one text", "when": when, "cost": cost, "meta": {"when": when, "cost": cost}}
    path = Layout(lambda i: row, suffix=".parquet").write(tmp_path)
    metadata = read_corpus(path, metadata_fields=["when", "meta.when", "cost", "meta.cost"]).metadata
    assert metadata.iloc[0].tolist() == ["2024-03-01T12:00:00"] * 2 + ["1.50"] * 2


def test_a_path_that_ends_early_leaves_its_row_out(tmp_path: Path) -> None:
    rows = [{"a": [{"b": "one text"}]}, {"a": []}, {"a": None}, {"a": "b"}, {}, {"a": {"0": {"b": "five texts"}}}]
    path = Layout(lambda i: rows[i % len(rows)]).write(tmp_path)
    corpus = read_corpus(path, text_field="a.0.b")
    assert set(corpus.texts) == {"one text", "five texts"}
    assert [(exclusion.reason, exclusion.count) for exclusion in corpus.exclusions] == [
        ("without the field 'a.0.b'", 16)
    ]


def test_a_column_whose_name_has_dots_comes_first(tmp_path: Path) -> None:
    row = {"a.b": {"c": "the column's own"}, "a": {"b": {"c": "the inner one"}}, "x.y": "with dots"}
    table = read_table(Layout(lambda i: row).write(tmp_path))
    assert table.values("x.y")[0] == "with dots"
    assert table.values("a.b.c")[0] == "the column's own"


@pytest.mark.parametrize(
    ("field", "parts"),
    [
        ("response.body.choices.0.message.contents", (f"Did you mean {PATH!r}?",)),
        ("response.body.choices.5.message.content", ("no field named", repr(PATH))),
        ("nothing.at.all", ("no field named", "'custom_id'", repr(PATH))),
        ("response.body.choices.99999999999999999999.message", ("no field named",)),
        ("response..body", ("no field named",)),
        ("response", ("does not hold text", f"such as {PATH!r}")),
        ("response.body.choices", ("list at line 1", f"such as {PATH!r}")),
        ("response.status_code", ("does not hold text", "int at line 1")),
    ],
)
def test_paths_that_lead_to_no_text(field: str, parts: tuple[str, ...], tmp_path: Path) -> None:
    path = LAYOUTS["OpenAI batch"].write(tmp_path)
    with pytest.raises(InputError) as caught:
        read_corpus(path, text_field=field)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.slow
def test_wide_and_deep_rows_are_listed_up_to_a_limit(tmp_path: Path) -> None:
    deep: object = "text at the end"
    for _ in range(50):
        deep = {"x": deep}
    wide = {f"n{i}": "some words" for i in range(10_000)}
    table = read_table(Layout(lambda i: {"deep": deep, "wide": wide, "list": [["a b"]] * 1000}).write(tmp_path))
    assert len(table.inner_fields) == 100
    assert table.values("deep" + ".x" * 50)[0] == "text at the end", "a path that is named is followed to its end"


@pytest.mark.parametrize(
    "value",
    [
        "req-1", "550e8400-e29b-41d4-a716-446655440000", "9e107d9d372bb6826bd81d3542a419d6", "A1", "-20", "1e-3",
        "https://example.org/a?b=c", "https://пример.рф/страница", "data/out/0001.txt", "My Documents/a file.txt",
        "C:\\Users\\Jo Doe\\x.txt", "jo@example.org", "2024-01-31", "2024-01-31T12:00:00Z",
        "2024-01-31 12:00:00+00:00", "Jan 5, 2024", "Mon, 05 Jan 2024 10:00:00 GMT", "gpt-4o",
        "meta-llama/Llama-2-7b-hf", "mistral-large", "x" * 301,
    ],
)  # fmt: skip
def test_what_looks_like_an_id(value: str) -> None:
    assert look_like_ids([value])


@pytest.mark.parametrize(
    "value",
    [
        "Hello", "a", "Yes.", "The cat sat.", "Hello, world!", "他在2024年去了北京。", "Don't", "In 2024 we won",
        "He/she went home. Then/now they left", "Я дома", "1 + 1 is 2", "May I come in?", "May 5 be with you",
    ],
)  # fmt: skip
def test_what_does_not_look_like_an_id(value: str) -> None:
    assert not look_like_ids([value])


@pytest.mark.parametrize("start", ["1", "1,", "a/", "1 1,1 "])
def test_no_value_takes_the_pattern_of_ids_long(start: str) -> None:
    assert ID.fullmatch((start * 300)[:298] + " x") is None, "two alternatives for one character would take for ever"


def test_a_corpus_of_ids_or_of_one_text_says_so(tmp_path: Path) -> None:
    batched = read_corpus(LAYOUTS["OpenAI batch"].write(tmp_path), text_field="custom_id")
    assert "Most texts look like ids, numbers or paths, such as 'request-0': was the right field read?" in batched.notes
    same = corpus_from_texts(["I am a language model."] * 6 + list("abcd"), name="m")
    assert "6 of 10 texts are identical, 'I am a language model.'" in same.notes[0]
    assert not any("right field" in note for note in corpus_from_texts(map(text, range(N)), name="m").notes)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for files, with one below it and a home of its own."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    (tmp_path / "m").mkdir()
    return tmp_path


def test_prompts_are_found_beside_texts_that_are_not(files: Path) -> None:
    path = Layout(lambda i: {"prompt": prompt(i), "prediction": text(i), "reference": other(i)}).write(files)
    assert read_prompts(path).texts == tuple(map(prompt, range(N)))
    assert read_prompts(LAYOUTS["lm-eval samples"].write(files)).texts == tuple(map(prompt, range(N)))
    assert read_prompts(LAYOUTS["chat"].write(files), "messages.1.content").texts == tuple(map(prompt, range(N)))


def test_a_conversation_without_an_assistant_is_left_out_and_counted(tmp_path: Path) -> None:
    def row(i: int) -> dict[str, object]:
        turns = [{"role": "user", "content": prompt(i)}, {"role": "assistant", "content": text(i)}]
        return {"messages": turns[: 1 if i < 3 else 2]}

    corpus = read_corpus(Layout(row).write(tmp_path))
    assert corpus.texts == tuple(map(text, range(3, N)))
    assert corpus.prompts == tuple(map(prompt, range(3, N)))
    (exclusion,) = corpus.exclusions
    assert (exclusion.reason, exclusion.count) == ("without the field 'messages.assistant.-1.content'", 3)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("c.-1.value", "Bye."),
        ("c.assistant.0.value", "Hello."),
        ("c.gpt.-1.value", "It is a walk.\nA slow one."),
        ("c.user.-1.value", "Bye."),
        ("c.human.0.value", "Hi."),
        ("c.answered.-1.value", "What is this?"),
        ("c.system.0.value", "Be kind."),
        ("c.tool.-1.value", None),
        ("c.gpt.2.value", None),
    ],
)
def test_speakers_are_steps_and_parts_are_joined(path: str, told: str | None, tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:"}}
    parts = [{"type": "text", "text": "It is a walk."}, picture, {"type": "text", "text": "A slow one."}]
    turns = [("system", "Be kind."), ("human", "Hi."), ("gpt", "Hello."), ("human", "What is this?"), ("gpt", parts)]
    row = {"c": [{"from": who, "value": said} for who, said in (*turns, ("human", "Bye."))]}
    assert read_table(Layout(lambda i: row).write(tmp_path)).find(path) == (None if told is None else [told] * N)


def test_a_bare_list_of_turns_is_a_conversation(tmp_path: Path) -> None:
    chats = [
        [
            {"role": "user", "content": prompt(i)},
            {"role": "assistant", "content": text(i)},
            {"role": "user", "content": ""},
        ]
        for i in range(N)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(turns) + "\n" for turns in chats))
    (tmp_path / "a.json").write_text(json.dumps(chats, indent=1))
    for name in ("a.jsonl", "a.json"):
        corpus = read_corpus(tmp_path / name)
        assert (corpus.texts, corpus.prompts) == (tuple(map(text, range(N))), tuple(map(prompt, range(N))))
        assert "the field 'messages.assistant.-1.content', guessed as the assistant's last" in " ".join(corpus.notes)
