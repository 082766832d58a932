"""What the program does with each kind of input; each function takes a sample's path."""

from __future__ import annotations

import io
import json
import os
import re
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
from starlette.applications import Starlette
from starlette.middleware import Middleware

from mauve_app.components import live_updates
from mauve_app.selection import MAX_CORNERS, clicked_value, polygon_of_event, rows_of_event
from mauve_app.server import access, middleware, run_files, sign_in
from mauve_app.url.parameters import parse, to_query
from mauve_app.views.judge_rating import read_message
from mauve_core.__main__ import main
from mauve_core.analyses.attached_results import check_documents
from mauve_core.analyses.task_registry import read_task
from mauve_core.base import sharing
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.encoders import encode
from mauve_core.encoders.external_features import features_of
from mauve_core.jobs import queue
from mauve_core.reporting.html_report import html_report
from mauve_core.runs import RunStore
from mauve_core.runs.folder import COMPARISON
from mauve_core.scoring.compare import compare
from mauve_core.texts import corpus_from_texts
from tests.app.asgi import asked
from tests.files_on_disk import FAST
from tests.fuzz.changes import COMMAND
from tests.fuzz.samples import ROWS, texts


def scored(path: Path) -> object:
    """A comparison with the array as one side's features."""
    human, model = (corpus_from_texts(texts(), name=name) for name in (HUMAN, "model"))
    array = features_of("model", model, path)
    sides = {HUMAN: np.random.default_rng(1).normal(size=(ROWS, array.shape[1])), "model": array}
    return compare(human, {"model": model}, CompareConfig(encoder=None, score=FAST, projection=False), features=sides)


def encoded(path: Path) -> None:
    """Features of two texts by the model; they are finite."""
    os.environ[HOME_VARIABLE] = str(path.parent / "home")
    array = encode(["Some text.", "Another one, and longer."], EncoderConfig(str(path)), device="cpu").array
    assert np.isfinite(array).all(), "features that are not finite"


def imported(path: Path) -> object:
    """A report of the run in the archive, imported into a home of its own; nothing is written elsewhere."""
    home = path.parent / "target"
    os.environ[HOME_VARIABLE] = str(home)
    store, before = RunStore(home / "runs"), _names(path.parent)
    try:
        return html_report(store.load(store.import_(path, check=check_documents).id))
    finally:
        outside = [name for name in _names(path.parent) - before if not name.startswith("target")]
        assert not outside, f"files outside the home: {outside}"


def _names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def opened(home: Path) -> object:
    """The library, which names the run whatever its state, and a report of the run."""
    os.environ[HOME_VARIABLE] = str(home)
    store = RunStore(home / "runs")
    found = [summary.id for summary in store.list()] + list(store.damaged())
    is_run = (home / "runs" / "synthetic" / COMPARISON).exists()  # a folder without it is none
    assert found == (["synthetic"] if is_run else []), f"the library lists {found}"
    store.disk_use()
    store.tags()
    return html_report(store.load("synthetic"))


def restored(home: Path) -> object:
    """What the bin offers, put back; what it does not, removed for good."""
    os.environ[HOME_VARIABLE] = str(home)
    store = RunStore(home / "runs")
    store.list()
    store.disk_use()
    for entry in store.deleted():
        store.restore(entry.token)
    store.purge()
    return store.list()


def listed_jobs(home: Path) -> None:
    """All jobs with their logs, then removed."""
    os.environ[HOME_VARIABLE] = str(home)
    for job in queue.list():
        queue.log_tail(job.id)
        queue.remove(job.id)


def task(path: Path) -> object:
    """The task, as a worker reads it."""
    try:
        values = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None  # what a worker says to this is the queue's matter
    return read_task("comparison", values)


def address(path: Path) -> None:
    """The state that an address describes, and back."""
    query = {name: values[-1] for name, values in parse_qs(path.read_bytes().decode("latin-1")).items()}
    state = parse(query)
    assert parse(to_query(state)) == state, "the state changes on its way through the address"


def answers(path: Path) -> None:
    """What a browser says that the rater did."""
    value = parsed(path)
    found = read_message(value)
    assert found is None or found.turn == value["turn"]


def selected(path: Path) -> None:
    """What a browser says was selected in a chart or a table."""
    value = parsed(path)
    corners = polygon_of_event(value) or []
    assert np.isfinite(np.array(corners)).all()
    assert len(corners) <= MAX_CORNERS
    assert all(type(clicked_value(value, column)) in (int, type(None)) for column in range(3))
    assert all(row >= 0 for row in rows_of_event(value))


def parsed(path: Path) -> Any:
    """The JSON in a file; None where there is none, which the server of the pages sees to."""
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None


# How lines begin that are no error: warnings, the default encoder, and progress.
_BESIDE = re.compile(r"mauve-lens: warning: |Encoder: |[A-Z][^:]*: [\d,]+ of [\d,]+")


def command(home: Path) -> None:
    """A command with hostile options: its exit code, and one line to say why it failed."""
    os.environ[HOME_VARIABLE] = str(home)
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.chdir(home)
    said = io.StringIO()
    with redirect_stderr(said), redirect_stdout(io.StringIO()):
        code = main(json.loads((home / COMMAND).read_bytes()))
    lines = [line for line in said.getvalue().splitlines() if not _BESIDE.match(line)]
    assert "mauve-lens: Unexpected" not in said.getvalue(), said.getvalue()
    if code:
        assert code in (1, 2), code
        assert len(lines) == 1, lines
        raise InputError(lines[0])


def by_command(home: Path) -> None:
    """The library and a report of the run by the command line: each done, or one line."""
    report = ["report", "synthetic", "--out", str(home.parent / "report.html")]
    for words in (["runs"], ["runs", "show", "synthetic"], report):
        (home / COMMAND).write_text(json.dumps(words))
        with suppress(InputError):
            command(home)


def requests(path: Path) -> None:
    """Requests to the server's own routes, behind what stands before them: answers that are no failures."""
    sent = json.loads(path.read_bytes())
    os.environ[HOME_VARIABLE] = str(path.parent / "home")
    if sent["password"]:
        os.environ[sharing.PASSWORD_HASH] = sent["password"]
    access.sign_in.cache_clear()  # read once a process, and another test may have done so
    parts = (sign_in, run_files, live_updates)
    server = Starlette(
        routes=[route for part in parts for route in part.routes()],
        middleware=[Middleware(middleware.Headers), Middleware(middleware.Gate)],
    )
    for each in sent["requests"]:
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in each["headers"]]
        query, body = each["query"].encode("latin-1"), [piece.encode("latin-1") for piece in each["body"]]
        answer = asked(server, each["path"], method=each["method"], query=query, headers=headers, body=body)
        assert 200 <= answer.status < 500, f"{answer.status} to {each}"
        stranger = sent["password"] and each["path"].startswith(("/news", "/progress", "/export"))
        assert not (stranger and answer.status == 200), f"{answer.status} to a stranger's {each}"
