"""Files as tools write them are read from the right field, or refused with a word on how to choose."""

from __future__ import annotations

from pathlib import Path

import pytest

from mauve_core.base.errors import InputError
from mauve_core.corpus import read_corpus
from mauve_core.corpus.looks import ID, look_like_ids
from mauve_core.corpus.reading import read_table
from tests.layouts import LAYOUTS, MESSAGE, Layout, N, prompt, text

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


@pytest.mark.parametrize(
    ("field", "parts"),
    [
        ("response.body.choices.0.message.contents", (f"Did you mean {PATH!r}?",)),
        ("response.body.choices.99999999999999999999.message", ("no field named",)),
        ("response", ("does not hold text", f"such as {PATH!r}")),
    ],
)
def test_paths_that_lead_to_no_text(field: str, parts: tuple[str, ...], tmp_path: Path) -> None:
    path = LAYOUTS["OpenAI batch"].write(tmp_path)
    with pytest.raises(InputError) as caught:
        read_corpus(path, text_field=field)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        "req-1",
        "550e8400-e29b-41d4-a716-446655440000",
        "-20",
        "https://example.org/a?b=c",
        "data/out/0001.txt",
        "jo@example.org",
        "2024-01-31 12:00:00+00:00",
        "gpt-4o",
        "x" * 301,
    ],
)  # fmt: skip
def test_what_looks_like_an_id(value: str) -> None:
    assert look_like_ids([value])


@pytest.mark.parametrize(
    "value",
    [
        "Hello",
        "他在2024年去了北京。",
        "In 2024 we won",
        "He/she went home. Then/now they left",
        "1 + 1 is 2",
    ],
)  # fmt: skip
def test_what_does_not_look_like_an_id(value: str) -> None:
    assert not look_like_ids([value])


@pytest.mark.parametrize("start", ["1", "1,", "a/", "1 1,1 "])
def test_no_value_takes_the_pattern_of_ids_long(start: str) -> None:
    assert ID.fullmatch((start * 300)[:298] + " x") is None, "two alternatives for one character would take for ever"


# The command line


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("c.assistant.0.value", "Hello."),
        ("c.gpt.-1.value", "It is a walk.\nA slow one."),
        ("c.answered.-1.value", "What is this?"),
        ("c.tool.-1.value", None),
    ],
)
def test_speakers_are_steps_and_parts_are_joined(path: str, told: str | None, tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:"}}
    parts = [{"type": "text", "text": "It is a walk."}, picture, {"type": "text", "text": "A slow one."}]
    turns = [("system", "Be kind."), ("human", "Hi."), ("gpt", "Hello."), ("human", "What is this?"), ("gpt", parts)]
    row = {"c": [{"from": who, "value": said} for who, said in (*turns, ("human", "Bye."))]}
    assert read_table(Layout(lambda i: row).write(tmp_path)).find(path) == (None if told is None else [told] * N)
