"""The form for name, tags and notes, while others change the same run: by another tab, or on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.views.runs.run_cards import SHOWN
from mauve_core.__main__ import DONE, main
from mauve_core.store import RunStore, RunSummary
from tests.handmade import make_comparison, make_corpora

OpenPage = Callable[..., AppTest]
VIEW = "views/runs/runs.py"
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


def test_the_command_line_is_not_overwritten_either(form: AppTest, store: RunStore) -> None:
    assert main(["runs", "note", "one", "by the command line"]) == DONE
    assert main(["runs", "tag", "one", "cli"]) == DONE
    form.text_input(key="name_one").set_value("Mine")
    save(form)
    assert (stored(store).name, stored(store).notes) == ("Mine", "by the command line")
    assert stored(store).tags == ("cli", "kept", "old")


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


def test_theirs_is_taken_part_by_part(form: AppTest, store: RunStore) -> None:
    store.describe("one", name="Theirs", notes="their notes")
    form.text_input(key="name_one").set_value("Mine")
    form.text_area(key="notes_one").set_value("my notes")
    save(form)
    form.button(key="theirs_notes_one").click().run()
    assert notices(form) == 1
    assert (form.text_input(key="name_one").value, form.text_area(key="notes_one").value) == ("Mine", "their notes")
    assert form.button(key="save_one").label == "Save mine"
    form.button(key="theirs_name_one").click().run()
    assert notices(form) == 0
    assert form.button(key="save_one").label == "Save"
    form.text_area(key="notes_one").set_value("their notes, and mine")
    save(form)
    assert (stored(store).name, stored(store).notes) == ("Theirs", "their notes, and mine")


def test_what_changes_again_after_it_was_shown_is_shown_again(form: AppTest, store: RunStore) -> None:
    form.text_area(key="notes_one").set_value("mine")
    for theirs in ("theirs", "theirs again", ""):
        store.describe("one", notes=theirs)
        save(form)
        assert stored(store).notes == theirs
        assert notices(form) == 1
        assert ("now: none." in "".join(element.value for element in form.markdown)) == (theirs == "")
    save(form)
    assert stored(store).notes == "mine"


def test_a_second_opening_begins_with_what_stands_there(form: AppTest, store: RunStore) -> None:
    store.describe("one", notes="theirs")
    form.text_area(key="notes_one").set_value("mine")
    save(form)
    form.button(key="cancel_one").click().run()
    assert not is_open(form)
    form.button(key="edit_one").click().run()
    assert (form.text_area(key="notes_one").value, notices(form)) == ("theirs", 0)
    save(form)
    assert stored(store).notes == "theirs"


def test_the_form_stays_where_others_move_the_run_out_of_sight(form: AppTest, store: RunStore) -> None:
    form.text_input(key="url_query").set_value("first").run()
    store.describe("one", notes="theirs")
    form.run()
    assert is_open(form), "the search finds it no more"
    form.text_input(key="url_query").set_value("").run()
    for number in range(SHOWN + 1):
        store.save(f"new {number}", make_comparison(), make_corpora())
    form.run()
    assert is_open(form), "there are newer ones"
    form.button(key="cancel_one").click().run()
    assert "edit_one" not in [button.key for button in form.button]


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


def test_deleting_a_run_closes_its_form(form: AppTest, store: RunStore) -> None:
    form.button(key="delete_one").click().run()
    assert not form.exception
    assert not is_open(form)
    assert form.warning.len == 0
