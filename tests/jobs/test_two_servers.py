"""Two servers and their workers on one home: what both ask for is done once, and the folders are the catalogue."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from mauve_core.base.files import HOME_VARIABLE
from mauve_core.jobs import estimates, queue, state, worker
from mauve_core.jobs.state import LOG, read_state
from mauve_core.runs import RunStore
from mauve_core.runs.index import INDEX
from mauve_core.runs.placing import BIN, PARTIAL
from tests.files_on_disk import make_task
from tests.handmade import make_comparison, make_corpora
from tests.job_folders import turn_taken

pytestmark = [pytest.mark.slow, pytest.mark.trial]

JOBS, ROUNDS = 5, 25
ROOT = Path(__file__).resolve().parents[2]
WORDS = ("first", "second")

SERVER = """
import dataclasses, json, sys, time
from mauve_core.base.errors import InputError
from mauve_core.jobs import queue, state
from mauve_core.runs import RunStore
from mauve_core.analyses.task_registry import read_task

me, jobs, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
task = read_task("comparison", json.loads(sys.argv[4]))
state.PATIENCE_S = 120.0
store = RunStore()
count = dict.fromkeys(("described", "removed", "deleted", "restored", "late"), 0)

def together(word):  # the other server says the same at this moment
    sys.stdout.write(word + "\\n"); sys.stdout.flush()
    sys.stdin.readline()

def tried(what, ask, *given):
    try:
        found = ask(*given)
    except InputError as error:  # the other one was quicker
        assert "No job has the id" in str(error) or "No run has the id" in str(error) or "The bin has" in str(error)
        count["late"] += 1
    else:
        count[what] += 1
        return found

def look():
    assert [(job.name, job.message) for job in queue.list() if job.status in ("failed", "interrupted")] == []
    assert [entry for entry in store.deleted() if entry.damage] == []
    listed = [line.id for line in store.list()]
    assert len(set(listed)) == len(listed) and not store.damaged()

together("ready")
started = [queue.start(dataclasses.replace(task, name=f"job {number}")).id for number in range(jobs)]
together("asked")
queue.cancel(started[-1])
while (state := queue.status(started[-1])).active:
    look()
assert state.status == "cancelled", state
together("cancelled")
try:
    queue.resume(started[-1])
except InputError as error:
    assert "has not ended yet" in str(error), error
together("started")

number, at_work = 0, True
while at_work:
    at_work = number < rounds or any(job.active for job in queue.list())
    for line in store.list():
        tried("described", lambda: store.describe(line.id, name=f"{me} {number}", notes=f"{me} {number}"))
    look()
    for line in store.list()[::2]:
        if line.notes:  # else a job has just made it
            tried("deleted", store.delete, line.id)
    for entry in store.deleted()[::2]:
        tried("restored", store.restore, entry.token)
    for job in queue.list():
        if job.status == "done":
            tried("removed", queue.remove, job.id)
    number += 1
look()
print(json.dumps({"jobs": started, **count}))
"""


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return home


def test_two_servers_and_their_workers_do_everything_once(tmp_path: Path, own_home: Path) -> None:
    store = RunStore()
    for name in ("a", "b", "c", "d"):
        store.save(name, make_comparison(), make_corpora())
        store.describe(name, tags=[name])
    spec = json.dumps(make_task(tmp_path / "files").to_json())
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", SERVER]
    servers = [
        subprocess.Popen([*command, me, str(JOBS), str(ROUNDS), spec], cwd=ROOT, **pipes)  # type: ignore[call-overload]
        for me in WORDS
    ]
    try:
        with turn_taken():  # no job ends while both start it
            for word in ("ready", "asked", "cancelled", "started"):
                for server in servers:
                    assert server.stdout.readline() == f"{word}\n", server.communicate()[1]
                if word != "started":
                    _go_on(servers)
        _go_on(servers)
        ends = [server.communicate(timeout=500) for server in servers]
        for server, (_, said) in zip(servers, ends, strict=True):
            assert server.returncode == 0, said
    finally:
        for server in servers:
            server.kill()
            server.communicate()
    said = [json.loads(out.splitlines()[-1]) for out, _ in ends]
    assert said[0]["jobs"] == said[1]["jobs"]
    _require_jobs_done_once(said[0]["jobs"])
    total = Counter[str]()
    for each in said:
        total.update({name: value for name, value in each.items() if name != "jobs"})
    assert total["late"] > 0, "they were never at the same thing"
    deleted = _require_each_run_once(store)
    assert total["deleted"] - total["restored"] == deleted
    _require_no_leftovers(own_home)


def _go_on(servers: list[subprocess.Popen[str]]) -> None:
    for server in servers:
        assert server.stdin is not None
        server.stdin.write("go on\n")
        server.stdin.flush()


def _require_jobs_done_once(jobs: list[str]) -> None:
    """Every job has one end in its log and a run that no other has made; the servers have removed those they saw."""
    removed = queue.jobs_folder() / queue.REMOVED
    folders = {path.name: path for path in (*removed.iterdir(), *queue.folders())}
    assert sorted(folders) == sorted(jobs)
    assert len([*removed.iterdir(), *queue.folders()]) == len(jobs)
    for job in jobs:
        log = (folders[job] / LOG).read_text()
        ends = [line for line in log.splitlines() if "  Done after " in line]
        assert len(ends) == 1, log
        assert log.count("  Worker ") == (2 if job == jobs[-1] else 1), log
        assert read_state(folders[job]).status == "done"
    assert len({read_state(folder).run for folder in folders.values()}) == len(jobs)


def _require_each_run_once(store: RunStore) -> int:
    """Every run is among the others or in the bin, once, under one of the names; how many are in the bin."""
    listed, binned = store.list(), [entry.summary for entry in store.deleted()]
    tags = Counter(tag for line in (*listed, *binned) for tag in line.tags)
    assert tags == dict.fromkeys("abcd", 1)
    assert len(listed) + len(binned) == 4 + JOBS
    for line in (*listed, *binned):
        assert line.name == line.notes
        assert line.name.split()[0] in WORDS
    store.disk_use()  # measures sizes anew
    before = store.list()
    (store.root / INDEX).unlink()
    assert RunStore().list() == before
    for line in before:
        assert store.load(line.id).summary == line
    return len(binned)


def _require_no_leftovers(home: Path) -> None:
    runs, jobs = home / "runs", queue.jobs_folder()
    assert list(runs.glob(f"{PARTIAL}*")) == []
    assert len(list((runs / BIN).iterdir())) == len(RunStore(runs).deleted())
    assert [path for path in home.rglob(".*") if path.name not in (BIN, queue.REMOVED)] == []
    assert {path.name for path in jobs.iterdir() if path.is_file()} <= {state.CHANGES, worker.TURN, estimates.TIMES}
