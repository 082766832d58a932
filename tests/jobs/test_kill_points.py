"""A worker killed, or refused by the disk, at each change of a file in turn: nothing half-written is seen, and the run
comes out as if nothing had happened.

Workers are forked from the test, which spares them the interpreter's start.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mauve_core.base.files import HOME_VARIABLE, private_opener
from mauve_core.jobs import queue, worker
from mauve_core.jobs.queue import remove_leftovers
from mauve_core.jobs.state import LOG, JobState
from mauve_core.runs import RunStore
from tests.disturbed import Fault, in_child, killed_at, no_file_above, nothing, refused_from, spread
from tests.long_jobs import contents, make_task, require_no_leftovers, require_nothing_partial, require_whole

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="workers are forked")]

KILLS, REFUSALS = 24, 8
REFUSED = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT)
# Bytes beyond which a file cannot grow.
SIZES = (0, 200, 2000, 20_000)


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
        self._folder, self._patch = folder, patch
        self._fault: Fault = nothing
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
        home = os.environ[HOME_VARIABLE]
        in_child(lambda: worker.work(folder), home, self._fault, self._trace, folder / LOG)


@pytest.fixture(scope="module")
def disturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disturbed]:
    with pytest.MonkeyPatch.context() as patch:
        yield Disturbed(tmp_path_factory.mktemp("disturbed"), patch)


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
