"""Read-only: only the runs that are shown exist, nothing can be changed, and every callback asks."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from mauve_app import cache, uploads
from mauve_app.components import jobs, messages
from mauve_app.server import access
from mauve_app.views import judge_rating
from mauve_core.base import sharing
from mauve_core.base.errors import InputError, RefusedError
from mauve_core.jobs import queue
from mauve_core.runs import Run
from mauve_core.runs.ratings import RatingStore

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
VIEWS = (
    "compare",
    "decoders",
    "methods",
    "clusters",
    "gap",
    "probes",
    "map",
    "texts",
    "judge",
    "published",
    "new_run",
    "findings",
)
# Functions and methods that change what is stored, by the name that they are called on (``store``: any store).
CHANGING = {
    "queue": {"start", "cancel", "resume", "remove", "take_back"},
    "store": {
        "append",
        "skip",
        "undo",
        "add_missing",
        "save",
        "attach",
        "delete",
        "describe",
        "tag",
        "restore",
        "purge",
        "import_",
    },
}


@pytest.fixture
def read_only(run_home: Path, stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(sharing.READ_ONLY, stored_run.id)
    return stored_run.id


def test_all_may_be_changed_by_default(run_home: Path) -> None:
    access.require_change()
    assert access.shown_runs() is None
    access.require_shown("whatever")


def test_only_shown_runs_exist(read_only: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [summary.id for summary in cache.run_summaries()] == [read_only]
    assert cache.load_run(read_only).id == read_only
    monkeypatch.setenv(sharing.READ_ONLY, "another")
    assert cache.run_summaries() == []
    with pytest.raises(InputError, match="No run has the id") as caught:
        cache.load_run(read_only)
    assert "another" in str(caught.value)


def test_nothing_gets_past_the_guard(read_only: str, own_home: Path, stored_run: Run) -> None:
    with pytest.raises(RefusedError, match="Read-only"):
        access.require_change()
    with pytest.raises(RefusedError):
        uploads.keep("human.txt", b"a\nb\n")
    assert not (own_home / queue.UPLOADS).exists()


@pytest.mark.parametrize("view", VIEWS)
def test_no_page_offers_a_change(view: str, read_only: str, open_page: Callable[..., AppTest]) -> None:
    app = open_page(f"views/{view}.py", run=read_only, section="generate", rater="someone", tab="rate")
    assert not app.exception
    offered = {button.label for button in app.button} & {
        "Start", "Compute", "Probe", "Measure", "Compute in full", "Add to this run", "Start rating", "Cancel",
        "Start again", "Dismiss",
    }  # fmt: skip
    assert offered == set()
    assert not app.get("file_uploader")
    assert any("Read-only" in caption.value for caption in app.sidebar.caption)


def test_a_rating_is_refused(read_only: str, stored_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, object] = {}
    monkeypatch.setattr(judge_rating.st, "session_state", state)
    before = RatingStore(stored_run.ratings_path).counts()
    judge_rating._settle(read_only, "someone", 0, None)
    outcome = state["judge_outcome"]
    assert isinstance(outcome, judge_rating.Outcome)
    assert "Read-only" in outcome.error
    assert RatingStore(stored_run.ratings_path).counts() == before


def test_a_job_is_refused(read_only: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(jobs.st, "error", lambda text, **_: said.append(text))
    monkeypatch.setattr(jobs.st, "toast", lambda text, **_: said.append(text))
    monkeypatch.setattr(queue, "start", lambda *_: pytest.fail("a job was started"))
    jobs.start_job(lambda: pytest.fail("a task was described"))
    messages.change(lambda _: pytest.fail("a job was changed"), "id")
    assert len(said) == 2


def calls(function: ast.AST) -> set[str]:
    """What a function calls or hands on, as it is written: ``jobs.start``; ``store.`` for a method of any store."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            on_store = "store" in owner.lower() and "session" not in owner
            found.add(f"{'store' if on_store else owner}.{node.attr}")
    return found


def unguarded(source: str) -> list[str]:
    """Functions that change something and do not ask; nor does whoever calls them, or what they hand the change to."""
    changing = {f"{owner}.{name}" for owner, names in CHANGING.items() for name in names}
    tree = ast.parse(source)
    functions = {node.name: calls(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    asked = {name for name, made in functions.items() if "access.require_change" in made}
    asked |= {"change"} if "from mauve_app.components.messages import change" in source else set()
    helped = {
        call.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name in asked
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    }
    handing = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and asked & {name.id for name in ast.walk(call) if isinstance(name, ast.Name)}
    }
    return [name for name, made in functions.items() if made & changing and name not in asked | helped | handing]


def test_every_callback_that_changes_something_asks_first() -> None:
    found = {
        str(path.relative_to(ROOT)): unguarded(path.read_text())
        for path in (ROOT / "app").rglob("*.py")
        if unguarded(path.read_text())
    }
    assert found == {}


def test_the_walk_notices_a_callback_that_does_not() -> None:
    assert unguarded("def go():\n    queue.start('x', {})\n") == ["go"]
    assert unguarded("def go():\n    RunStore().delete('x')\n") == ["go"]
    assert unguarded("def go():\n    access.require_change()\n    RunStore().delete('x')\n") == []
    assert unguarded("def go():\n    change(RunStore().purge)\n") == ["go"]
    helper = "from mauve_app.components.messages import change\n"
    assert unguarded(f"{helper}def go():\n    change(RunStore().purge)\n") == []
