"""The form for name, tags and notes, while others change the same run: by another tab, or on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from mauve_core.runs import RunStore, RunSummary
from tests.handmade import make_comparison, make_corpora

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/runs.py"
CHANGED = "Changed elsewhere since you opened this form"


@pytest.fixture
def store(own_home: Path) -> RunStore:
    store = RunStore()
    store.save("one", make_comparison(), make_corpora())
    store.describe("one", tags=["kept", "old"], notes="first line")
    return store


@pytest.fixture
def form(open_page: OpenPage, store: RunStore) -> AppTest:
    """The page with the run's form open."""
    app = open_page(VIEW)
    app.button(key="edit_one").click().run()
    return app


@pytest.mark.parametrize(
    ("notes", "shown"),
    [
        ("first line", "first line"),
        ("one\n\ntwo *three*", r"one two \*three\*"),
        ("word " * 100, "word " * 31 + "…"),
        ("", None),
    ],
)
def test_the_sidebar_of_every_page_shows_the_run_s_notes(
    notes: str, shown: str | None, open_page: OpenPage, store: RunStore
) -> None:
    store.describe("one", notes=notes)
    facts, *rest = (caption.value for caption in open_page(VIEW, run="one").sidebar.caption)
    assert "texts per side" in facts
    assert rest[:1] == ([] if shown is None else [shown])


def stored(store: RunStore) -> RunSummary:
    (found,) = [line for line in store.list() if line.id == "one"]
    return found


def save(app: AppTest) -> None:
    app.button(key="save_one").click().run()
    assert not app.exception


def is_open(app: AppTest) -> bool:
    return bool(app.text_area)


def notices(app: AppTest) -> int:
    return sum(CHANGED in element.value for element in app.markdown)


def test_only_what_the_reader_changed_is_written(form: AppTest, store: RunStore) -> None:
    store.describe("one", name="Theirs", tags=["kept", "b"])
    form.text_area(key="notes_one").set_value("mine")
    form.multiselect(key="tags_one").set_value(["old", "kept", "a"])
    save(form)
    assert not is_open(form)
    assert (stored(store).name, stored(store).tags, stored(store).notes) == ("Theirs", ("a", "b", "kept"), "mine")


def test_a_text_that_both_changed_is_shown_and_mine_is_saved_when_i_say_so(form: AppTest, store: RunStore) -> None:
    store.describe("one", name="Theirs", notes="their *notes* <b>")
    form.text_input(key="name_one").set_value("Mine")
    form.text_area(key="notes_one").set_value("my notes")
    save(form)
    assert (stored(store).name, stored(store).notes) == ("Theirs", "their *notes* <b>")
    assert notices(form) == 2
    assert {"Theirs", "their *notes* <b>"} <= {element.value for element in form.text}
    assert (form.text_input(key="name_one").value, form.text_area(key="notes_one").value) == ("Mine", "my notes")
    assert form.button(key="save_one").label == "Save mine"
    form.run()  # news of something else
    assert form.text_area(key="notes_one").value == "my notes"
    save(form)
    assert (stored(store).name, stored(store).notes) == ("Mine", "my notes")
    assert not is_open(form)


def test_the_form_of_a_run_that_was_deleted_meanwhile_keeps_what_was_typed(form: AppTest, store: RunStore) -> None:
    store.delete("one")
    form.text_area(key="notes_one").set_value("a long story")
    save(form)
    assert "**one** has been deleted in the meantime" in form.warning[0].value
    assert "No run has the id" in form.error[0].value.replace("\\", "")
    assert form.text_area(key="notes_one").value == "a long story"
    form.button(key="edit_restore_one").click().run()
    save(form)
    assert (stored(store).notes, stored(store).tags) == ("a long story", ("kept", "old"))
    assert not is_open(form)
