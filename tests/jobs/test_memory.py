"""A job that takes too much memory ends alone and says why."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.jobs import memory, queue
from mauve_core.jobs.state import JobState
from mauve_core.runs import RunStore
from mauve_core.texts import limits
from tests.files_on_disk import make_task

pytestmark = pytest.mark.integration

LONGEST_S = 120


def ended(job: JobState) -> JobState:
    end = time.monotonic() + LONGEST_S
    while (state := queue.status(job.id)).active:
        assert time.monotonic() < end, state
        time.sleep(0.1)
    return state


def system(folder: Path, **files: str) -> Path:
    """A root folder with these files, ``/`` in their names written as ``__``."""
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_nine_tenths_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(limits.MEMORY_VARIABLE, raising=False)
    root = system(tmp_path, proc__meminfo="MemTotal:       10240000 kB\nMemFree:  5 kB\nHugePages_Total:  0\n")
    assert memory.limit_mb(root) == 9000


def test_or_of_the_smallest_control_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(limits.MEMORY_VARIABLE, raising=False)
    root = system(
        tmp_path,
        proc__meminfo="MemTotal:       10240000 kB\n",
        proc__self__cgroup="0::/lab/job\n",
        **{"sys__fs__cgroup__lab__job__memory.max": "max\n", "sys__fs__cgroup__lab__memory.max": f"{2000 << 20}\n"},
    )
    assert memory.limit_mb(root) == 1800


def test_or_of_the_first_version_of_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(limits.MEMORY_VARIABLE, raising=False)
    root = system(
        tmp_path,
        proc__meminfo="MemTotal:       10240000 kB\n",
        proc__self__cgroup="12:cpu,cpuacct:/elsewhere\n11:memory:/slurm/job\n0::/\n",
        **{
            "sys__fs__cgroup__memory__slurm__job__memory.limit_in_bytes": f"{4000 << 20}\n",
            "sys__fs__cgroup__memory__memory.limit_in_bytes": "9223372036854771712\n",  # none
        },
    )
    assert memory.limit_mb(root) == 3600


def test_as_set_whatever_the_machine_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.MEMORY_VARIABLE, "77")
    root = system(tmp_path, proc__meminfo="MemTotal: 10240000 kB\n", proc__self__status="VmRSS:\t  2048 kB\n")
    assert memory.limit_mb(root) == 77
    monkeypatch.setenv(limits.MEMORY_VARIABLE, "much")
    with pytest.raises(InputError, match=limits.MEMORY_VARIABLE):
        memory.limit_mb(tmp_path)


def test_no_limit_where_the_system_does_not_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(limits.MEMORY_VARIABLE, raising=False)
    assert memory.limit_mb(tmp_path) is None
    assert memory.taken_mb(tmp_path) is None
    monkeypatch.setenv(limits.MEMORY_VARIABLE, "77")
    with pytest.raises(InputError, match=f"{limits.MEMORY_VARIABLE} is set, but"):
        memory.limit_mb(tmp_path)


def test_what_is_swapped_out_counts(tmp_path: Path) -> None:
    root = system(tmp_path, proc__self__status="Name:\tpython\nVmRSS:\t  2048 kB\nVmSwap:\t  1024 kB\n")
    assert memory.taken_mb(root) == 3.0


def test_the_watch_sees_what_the_block_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_FIRST_TO_GO", "nonexistent/oom_score_adj")  # this process runs other tests
    taken = memory.taken_mb()
    assert taken is not None
    monkeypatch.setenv(limits.MEMORY_VARIABLE, str(int(taken) + 100))
    seen, called = [], threading.Event()

    def exceeded(error: MauveLensError) -> None:
        seen.append(error)
        called.set()

    with memory.watched(exceeded):
        time.sleep(3 * memory.INTERVAL_S)
        assert not seen
        held = np.ones(30 << 20)  # 240 MB
        assert called.wait(10)
    assert held[-1] == 1
    assert limits.MEMORY_VARIABLE in str(seen[0])
    assert f"{int(taken) + 100:,} MB" in seen[0].allowed


def test_refused_memory_is_called_that() -> None:
    with pytest.raises(RuntimeError) as refused:
        torch.empty(1 << 50)
    assert memory.ran_out(refused.value)
    assert memory.ran_out(MemoryError())
    assert memory.ran_out(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."))
    assert not memory.ran_out(RuntimeError("shapes do not fit"))


@pytest.mark.slow
def test_a_job_over_the_limit_ends_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.MEMORY_VARIABLE, "40")  # less than the program itself
    failed = ended(queue.start(make_task(tmp_path / "files")))
    assert failed.status == "failed"
    assert failed.message.startswith("The job took more memory than it may. Allowed: 40 MB.")
    assert RunStore().list() == []
    assert [path for path in (tmp_path / "home" / "runs").glob("*") if path.is_dir()] == []


@pytest.mark.slow
@pytest.mark.trial
def test_the_job_after_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.MEMORY_VARIABLE, "40")
    greedy = queue.start(make_task(tmp_path / "files", name="greedy"))
    monkeypatch.delenv(limits.MEMORY_VARIABLE)
    modest = queue.start(make_task(tmp_path / "files", name="modest"))
    assert ended(greedy).status == "failed"
    assert ended(modest).status == "done"
    assert [summary.id for summary in RunStore().list()] == ["modest"]
