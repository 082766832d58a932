"""The Runs page: runs found, described, made again, held against each other, moved, deleted and brought back."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from mauve_core.analyses.comparability import differences, one_leaderboard
from mauve_core.analyses.comparison_task import RecompareTask
from mauve_core.base import sharing
from mauve_core.base.config import CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.formatting import UNBROKEN, file_size
from mauve_core.jobs import queue
from mauve_core.runs import Run, RunStore
from mauve_core.runs.index import IndexWarning
from mauve_core.scoring.tables import standings
from tests.app.pages import url_of
from tests.handmade import make_comparison, make_corpora, make_features

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/runs.py"
AWKWARD = "grün & <b>"


@pytest.fixture
def store(own_home: Path) -> RunStore:
    """Three handmade runs: ``one`` and ``two`` are comparable, ``finer`` has another scaling constant."""
    store = RunStore()
    for name in ("one", "two", "finer"):
        save(store, name, scale=3.0 if name == "finer" else 5.0)
    return store


def save(store: RunStore, name: str, *, scale: float = 5.0) -> Run:
    comparison = make_comparison()
    config = dataclasses.replace(comparison.config, score=ScoreConfig(seeds=2, scale=scale))
    return store.save(name, dataclasses.replace(comparison, config=config), make_corpora())


def cards(app: AppTest) -> list[str]:
    """Ids of the runs that are listed."""
    return [str(button.key).removeprefix("edit_") for button in app.button if str(button.key).startswith("edit_")]


def said(app: AppTest) -> str:
    parts = [*app.markdown, *app.caption, *app.info, *app.warning, *app.success, *app.error, *app.text]
    return "\n".join(str(part.value) for part in parts).replace("\\", "").replace(UNBROKEN, " ")


# Finding


def test_without_runs_the_page_says_what_they_are(open_page: OpenPage, own_home: Path) -> None:
    app = open_page(VIEW)
    assert not app.exception
    assert "kept here as a **run**" in said(app)
    assert cards(app) == []
    for shelf, words in (("pair", "With two runs"), ("bin", "The bin is empty")):
        assert words in said(open_page(VIEW, shelf=shelf))


def test_every_run_has_a_card_with_its_facts(open_page: OpenPage, store: RunStore) -> None:
    store.describe("two", name="Second *try*", tags=["draft"], notes="kept <i>for later</i>")
    app = open_page(VIEW)
    assert not app.exception
    assert set(cards(app)) == {"one", "two", "finer"}
    text = said(app)
    assert "7 reference texts · features given" in text
    assert f"{AWKWARD}, b" in text
    assert ":gray-badge[draft]" in text
    assert "kept <i>for later</i>" in [element.value for element in app.text]
    assert "3 runs. Total size:" in text


def test_search_and_tags_filter_and_stand_in_the_url(open_page: OpenPage, store: RunStore) -> None:
    store.describe("two", name="Second try", tags=["draft", "gpt"])
    store.describe("one", tags=["draft"])
    app = open_page(VIEW)
    app.text_input(key="url_query").set_value("  SECOND   try ").run()
    assert cards(app) == ["two"]
    assert url_of(app)["query"] == "SECOND try"
    assert "1 of 3 runs" in said(app)
    app.text_input(key="url_query").set_value("").run()
    app.multiselect(key="url_tags").set_value(["draft"]).run()
    assert set(cards(app)) == {"one", "two"}
    assert url_of(app)["tags"] == "draft"
    assert "query" not in url_of(app)
    again = open_page(VIEW, query="second", tags="draft,gpt")
    assert cards(again) == ["two"]
    assert again.multiselect(key="url_tags").value == ["draft", "gpt"]
    nothing = open_page(VIEW, query="second", tags="gone")
    assert cards(nothing) == []
    assert "No run has all of these" in said(nothing)


def test_a_damaged_index_is_made_anew_and_the_page_is_whole(open_page: OpenPage, store: RunStore) -> None:
    (store.root / "index.sqlite").write_bytes(b"garbage" * 1000)
    for path in store.root.glob("index.sqlite-*"):
        path.unlink()
    with pytest.warns(IndexWarning, match="rebuilding it"):
        app = open_page(VIEW)
    assert not app.exception
    assert "cannot be used" not in said(app)
    assert len(store.list()) == 3


def test_without_an_index_runs_are_listed_and_the_page_says_why(open_page: OpenPage, store: RunStore) -> None:
    for path in store.root.glob("index.sqlite*"):
        path.unlink()
    (store.root / "index.sqlite").mkdir()
    (store.root / "two" / "comparison.json").write_text("{")
    with pytest.warns(IndexWarning, match="cannot be used"):
        app = open_page(VIEW)
    assert not app.exception
    assert "index.sqlite cannot be used" in said(app)
    assert "Run two cannot be read" in said(app)
    assert [b for b in app.button if b.key == "delete_one"]


def test_a_damaged_entry_of_the_bin_is_shown_as_such(open_page: OpenPage, store: RunStore) -> None:
    for name in ("one", "two"):
        store.delete(name)
    two, one = store.deleted()
    (store.root / ".bin" / one.token / "deleted.json").write_text("{")
    app = open_page(VIEW, shelf="bin")
    assert not app.exception
    assert "deleted.json is damaged" in said(app)
    for token in (two.token, one.token):
        next(b for b in app.button if b.key == f"restore_{token}").click().run()
    assert {line.id for line in store.list()} == {"one", "two", "finer"}


# Describing


def test_name_tags_and_notes_are_changed_in_the_card(open_page: OpenPage, store: RunStore) -> None:
    store.describe("one", tags=["draft", "gpt"])
    app = open_page(VIEW)
    app.button(key="edit_one").click().run()
    app.text_input(key="name_one").set_value("My best run")
    app.multiselect(key="tags_one").set_value(["gpt"])
    app.text_area(key="notes_one").set_value("with care")
    app.button(key="save_one").click().run()
    assert not app.exception
    (found,) = [summary for summary in store.list() if summary.id == "one"]
    assert (found.name, found.tags, found.notes) == ("My best run", ("gpt",), "with care")
    assert [box.key for box in app.text_area] == []
    assert "My best run" in app.selectbox(key="url_run").options[-1] + str(app.selectbox(key="url_run").options)


# Deleting


def test_a_deleted_run_can_be_brought_back_from_everywhere_on_the_page(open_page: OpenPage, store: RunStore) -> None:
    app = open_page(VIEW, run="two", left="two", right="one")
    app.button(key="delete_two").click().run()
    assert not app.exception
    assert set(cards(app)) == {"one", "finer"}
    assert {key for key, value in url_of(app).items() if value == "two"} == set()
    assert url_of(app)["right"] == "one"
    app.segmented_control(key="url_runs_section").set_value("bin").run()
    assert "**two** is in the bin" in said(app)
    (token,) = [item.token for item in store.deleted()]
    assert [button.key for button in app.button if str(button.key).startswith("restore_")] == [f"restore_{token}"]
    app.button(key="runs_undo_button").click().run()
    assert {summary.id for summary in store.list()} == {"one", "two", "finer"}
    assert "is in the bin" not in said(app)
    assert "The bin is empty" in said(app)


def test_the_bin_restores_and_is_emptied(open_page: OpenPage, store: RunStore) -> None:
    for run_id in ("one", "two"):
        store.delete(run_id)
    app = open_page(VIEW, shelf="bin")
    token = next(item.token for item in store.deleted() if item.summary.id == "one")
    app.button(key=f"restore_{token}").click().run()
    assert {summary.id for summary in store.list()} == {"one", "finer"}
    app.button(key="bin_empty").click().run()
    assert not app.exception
    assert store.deleted() == []
    assert "The bin is empty" in said(app)


def test_disk_use_adds_up(open_page: OpenPage, store: RunStore) -> None:
    store.delete("two")
    table = dict(
        zip(*(open_page(VIEW, shelf="bin").table[0].value[column] for column in ("What", "Size")), strict=True)
    )
    use = store.disk_use()
    assert {name: table[name] for name in ("one", "finer")} == {n: file_size(use.runs[n]) for n in ("one", "finer")}
    assert table["Bin"] == file_size(use.bin)
    assert table["Total"] == file_size(use.total)  # no features are kept here
    assert table["Cached features"] == file_size(0)


# Two runs


def test_comparable_runs_share_a_leaderboard(open_page: OpenPage, store: RunStore) -> None:
    app = open_page(VIEW, shelf="pair", left="one", right="two")
    assert not app.exception
    assert "Nothing: both runs were made with the same settings" in said(app)
    shown = [str(cell).strip("*").replace("\\", "").replace(UNBROKEN, " ") for cell in app.table[0].value["Candidate"]]
    left, right = store.load("one").comparison, store.load("two").comparison
    board = one_leaderboard(left, right, ("A", "B"))
    assert sorted(shown[:-1]) == sorted(candidate.name for candidate in board.candidates)
    assert shown[-1] == "human vs. human"
    assert f"The same texts in both runs: {AWKWARD}, b" in said(app)
    letters = {standing.candidate.name: standing.letters for standing in standings(board)}
    assert dict(zip(shown[:-1], app.table[0].value["Letters"], strict=False)) == letters
    assert all(letters.values())
    about = (
        "95% bootstrap interval over texts at this n and k. Candidates that share a letter have overlapping intervals."
    )
    assert about in said(app)


def test_runs_of_other_settings_are_not_ranked_and_the_settings_named(open_page: OpenPage, store: RunStore) -> None:
    app = open_page(VIEW, shelf="pair", left="one")
    assert "Choose two runs" in said(app)
    app.selectbox(key="url_right").set_value("finer").run()
    assert url_of(app)["right"] == "finer"
    assert "the runs differ in: Scaling constant c" in app.warning[0].value.replace("\\", "")
    (table,) = app.table
    (found,) = differences(store.load("one").comparison, store.load("finer").comparison)
    row = {name: str(cell).replace("*", "").replace("\\", "") for name, cell in table.value.iloc[0].items()}
    assert row == {"Setting": found.setting, "A": "5", "B": "3", "Decides the score": f"yes, {found.reason}"}
    app.selectbox(key="url_right").set_value("one").run()
    assert "the same run" in said(app)


# Made again


@pytest.mark.usefixtures("run_home")
def test_duplicate_starts_what_the_form_says(
    open_page: OpenPage, stored_run: Run, started: list[tuple[str, Any]]
) -> None:
    app = open_page(VIEW)
    app.button(key="again_synthetic").click().run()
    app.multiselect(key="again_kept_synthetic").set_value(["close", "collapsed"])
    app.number_input(key="again_k_synthetic").set_value(5)
    app.number_input(key="again_seeds_synthetic").set_value(3).run()
    assert app.text_input(key="again_name_synthetic").placeholder == "synthetic, k 5, seeds 3"
    app.button(key="again_start_synthetic").click().run()
    assert not app.exception
    ((kind, task),) = started
    assert kind == "again"
    assert (task.name, task.run, task.left_out) == ("synthetic, k 5, seeds 3", "synthetic", ("shifted",))
    before = stored_run.comparison.config
    assert (task.config.score.k, task.config.score.seeds, task.config.score.restarts) == (5, 3, before.score.restarts)
    assert task.config.encoder is None
    app.button(key="again_close_synthetic").click().run()
    assert [box.key for box in app.number_input] == []


def encoded_run(store: RunStore) -> Run:
    """A run whose features an encoder made, under settings that are not the usual ones."""
    comparison = make_comparison()
    encoder = EncoderConfig("minilm", pooling="mean", layer=-2, max_tokens=64, dtype="bfloat16")
    score = ScoreConfig(seeds=2, explained_variance=0.8, restarts=3, confidence=0.999, scale=0.05)
    config = CompareConfig(encoder, score)
    return store.save("encoded", dataclasses.replace(comparison, config=config), make_corpora(), make_features())


def form_of_encoded(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> tuple[AppTest, list[RecompareTask]]:
    """The form of Duplicate, and what it starts."""
    started: list[RecompareTask] = []
    monkeypatch.setattr(queue, "start", lambda task, *_: started.append(task))
    app = open_page(VIEW)
    app.button(key="again_encoded").click().run()
    assert not app.exception
    return app, started


def test_a_seed_beyond_what_browsers_count_stays(
    open_page: OpenPage, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = make_comparison()
    score = dataclasses.replace(comparison.config.score, seed=2**60)
    config = dataclasses.replace(comparison.config, score=score)
    store.save("encoded", dataclasses.replace(comparison, config=config), make_corpora(), make_features())
    app, started = form_of_encoded(open_page, monkeypatch)
    seed = app.text_input(key="again_seed_encoded_kept")
    assert (seed.value, seed.disabled) == (str(2**60), True)
    app.button(key="again_start_encoded").click().run()
    assert started[0].config.score.seed == 2**60


def test_duplicate_begins_with_every_setting_of_the_run(
    open_page: OpenPage, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = encoded_run(store)
    app, started = form_of_encoded(open_page, monkeypatch)
    assert "texts are encoded again" not in said(app)
    app.button(key="again_start_encoded").click().run()
    assert started[0].config == run.comparison.config
    assert started[0].name == "encoded, again"


# Read-only


def test_where_nothing_may_be_changed_a_page_that_is_still_open_changes_nothing(
    open_page: OpenPage, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.delete("finer")
    edited, deleting, emptying = open_page(VIEW), open_page(VIEW), open_page(VIEW, shelf="bin")
    edited.button(key="edit_one").click().run()
    edited.text_input(key="name_one").set_value("other")
    monkeypatch.setenv(sharing.READ_ONLY, "one")
    edited.button(key="save_one").click().run()
    deleting.button(key="delete_two").click().run()
    emptying.button(key="bin_empty").click().run()
    assert {summary.name for summary in store.list()} == {"one", "two"}
    assert [item.summary.id for item in store.deleted()] == ["finer"]


# Files


def test_an_exported_run_comes_back_by_the_uploader(
    open_page: OpenPage, store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, Any]] = []
    monkeypatch.setattr(queue, "start", lambda task, *_: started.append((task.kind, task.to_json())))
    data = store.export("two", tmp_path).read_bytes()
    shutil.rmtree(store.root)
    app = open_page(VIEW)
    assert cards(app) == []
    (box,) = app.file_uploader
    box.upload("two.mauve-run.zip", data)
    app.run()
    assert not app.exception
    assert cards(app) == ["two"]
    assert "Imported **two**" in said(app)
    assert RunStore().load("two").comparison.candidates[1].scores == make_comparison().candidates[1].scores
    assert started == [("prepare", {"run": "two"})]
    app.button(key="import_dismiss").click().run()
    assert "Imported" not in said(app)


def test_a_file_that_is_no_run_is_refused_by_its_own_name(open_page: OpenPage, store: RunStore) -> None:
    app = open_page(VIEW)
    (box,) = app.file_uploader
    box.upload("holiday.zip", b"PK no run at all")
    app.run()
    assert not app.exception
    assert "holiday.zip" in said(app)
    assert len(cards(app)) == 3
