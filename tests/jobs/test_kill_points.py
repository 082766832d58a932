"""A worker killed, or refused by the disk, at each change of a file in turn: nothing half-written is seen, and the run
comes out as if nothing had happened.

Workers are forked from the test, which spares them the interpreter's start. An audit hook of the interpreter sees every
file that is opened for writing, renamed or removed, before it happens.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mauve_core.base.files import HOME_VARIABLE, private_opener
from mauve_core.jobs import queue, worker
from mauve_core.jobs.leftovers import remove_leftovers
from mauve_core.jobs.state import LOG, JobState
from mauve_core.store import RunStore
from tests.long_jobs import contents, make_task, require_no_leftovers, require_nothing_partial, require_whole

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="workers are forked")]

KILLS, REFUSALS = 24, 8
REFUSED = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT)
# Bytes beyond which a file cannot grow.
SIZES = (0, 200, 2000, 20_000)

# Audit events that announce a change; ``open`` is one if the file is opened for writing.
CHANGES = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "sqlite3.connect"})

# Called before each change, with its number from 1 and what it is.
Fault = Callable[[int, str], None]


def nothing(number: int, what: str) -> None:
    """No fault."""


def killed_at(number: int) -> Fault:
    def fault(now: int, what: str) -> None:
        if now == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return fault


def refused_from(number: int, code: int) -> Fault:
    """The disk refuses that change and all later ones."""

    def fault(now: int, what: str) -> None:
        if now >= number:
            raise OSError(code, os.strerror(code), what)

    return fault


def no_file_above(size: int) -> Fault:
    """No file grows beyond so many bytes, as on a full disk."""

    def fault(now: int, what: str) -> None:
        if now == 1:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    return fault


def in_child(folder: Path, fault: Fault, trace: Path) -> int:
    """Do the job in a forked child, which writes down each change; its exit status."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    try:
        os.dup2(os.open(folder / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), 2)
        home, count = os.environ[HOME_VARIABLE], 0
        lines = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal count
            writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if (writes or event in CHANGES) and str(arguments[0]).startswith(home):
                count += 1
                os.write(lines, f"{event} {arguments[0]}\n".encode())
                fault(count, str(arguments[0]))

        sys.addaudithook(hook)
        worker.work(folder)
    except BaseException:  # noqa: BLE001 (its state and log say what it was)
        os._exit(1)
    os._exit(0)


class Disturbed:
    """One comparison, done in a new home each time by a worker that is disturbed.

    Attributes
    ----------
    changes : list of str
        The changes of files on the way to a run when nothing happens.
    expected : dict
        What that run holds.
    """

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder, self._patch, self._fault = folder, patch, nothing
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setattr(queue, "_spawn", self._spawn)
        self._task = make_task(folder / "files", 24)
        job = self.started(nothing)
        assert job.status == "done", job
        self.changes = self._trace.read_text().splitlines()
        self.expected = contents(RunStore().root / "study")

    def started(self, fault: Fault) -> JobState:
        """The job in a new home, once its worker has ended."""
        self._patch.setenv(HOME_VARIABLE, tempfile.mkdtemp(dir=self._folder, prefix="home-"))
        self._fault = fault
        job = queue.start(self._task)
        self._fault = nothing
        return queue.status(job.id)

    def require_mended(self, job: JobState) -> None:
        """Whatever is visible is whole; after the next start the job ends as if nothing had happened."""
        require_whole(job)
        remove_leftovers()
        require_nothing_partial()
        if job.status != "done":
            job = queue.status(queue.resume(job.id).id)
        assert (job.status, job.run) == ("done", "study")
        assert contents(RunStore().root / "study") == self.expected
        require_whole(job)
        require_no_leftovers(job)

    @property
    def _trace(self) -> Path:
        return self._folder / "trace.txt"

    def _spawn(self, folder: Path, lock: int) -> None:
        private_opener(str(folder / LOG), os.O_WRONLY | os.O_CREAT)
        in_child(folder, self._fault, self._trace)


@pytest.fixture(scope="module")
def disturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disturbed]:
    with pytest.MonkeyPatch.context() as patch:
        yield Disturbed(tmp_path_factory.mktemp("disturbed"), patch)


def spread(count: int, most: int) -> list[int]:
    """So many numbers from 1 to ``most``, evenly spread."""
    return sorted({1 + (most - 1) * place // (count - 1) for place in range(count)})


def test_killed_half_way(disturbed: Disturbed) -> None:
    changes = disturbed.changes
    assert {"os.rename", "os.mkdir", "open", "sqlite3.connect"} <= {change.split()[0] for change in changes}
    job = disturbed.started(killed_at(len(changes) // 2))
    assert job.status == "interrupted"
    disturbed.require_mended(job)


@pytest.mark.trial
def test_killed_before_each_change(disturbed: Disturbed) -> None:
    changes = disturbed.changes
    assert len(changes) >= KILLS
    for number in spread(KILLS, len(changes)):
        job = disturbed.started(killed_at(number))
        assert job.status in ("interrupted", "done"), (number, changes[number - 1], job)
        disturbed.require_mended(job)


@pytest.mark.trial
def test_refused_by_the_disk(disturbed: Disturbed) -> None:
    changes = disturbed.changes
    faults = {
        f"{errno.errorcode[code]} from change {number}, {changes[number - 1]}": refused_from(number, code)
        for number, code in zip(spread(REFUSALS, len(changes)), REFUSED * REFUSALS, strict=False)
    }
    faults |= {f"no file above {size} bytes": no_file_above(size) for size in SIZES}
    for name, fault in faults.items():
        job = disturbed.started(fault)
        assert job.status in ("failed", "interrupted", "done"), (name, job)
        assert "Error in this program" not in job.message, (name, job)
        disturbed.require_mended(job)
