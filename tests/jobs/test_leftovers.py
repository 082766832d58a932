"""Old uploads and what killed processes left behind go; what anybody needs or writes stays."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from pathlib import Path
from typing import IO

import pytest

from mauve_core.base.errors import InputError
from mauve_core.base.files import home, write_atomically
from mauve_core.jobs import queue
from mauve_core.jobs.queue import DAY_S, remove_leftovers, uploads_folder, use_upload
from mauve_core.jobs.state import ALIVE, TASK, write_json
from mauve_core.texts import limits
from tests.job_folders import job

OLD_S = (limits.UPLOAD_DAYS + 1) * DAY_S


@pytest.fixture(autouse=True)
def here(own_home: Path) -> Path:
    return own_home


def aged(path: Path, seconds: float) -> Path:
    """The file or folder as if it had been written so long ago."""
    moment = time.time() - seconds
    os.utime(path, (moment, moment))
    return path


def uploaded(digit: str, seconds: float = OLD_S) -> Path:
    """An upload that was last used so long ago; its folder."""
    folder = uploads_folder() / (digit * 64)
    folder.mkdir(parents=True)
    (folder / "texts.jsonl").write_text('{"text": "a"}\n')
    return aged(folder, seconds)


def names(folder: Path) -> list[str]:
    return sorted(path.name[:1] for path in folder.iterdir())


def test_an_upload_goes_once_it_was_not_used_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    uploaded("a")
    uploaded("b", OLD_S - 2 * DAY_S)
    remove_leftovers()
    assert names(uploads_folder()) == ["b"]
    monkeypatch.setenv(limits.UPLOAD_DAYS_VARIABLE, "3")
    uploaded("c", 2.9 * DAY_S)
    remove_leftovers()
    assert names(uploads_folder()) == ["c"]


def test_what_was_used_again_stays() -> None:
    folder = uploaded("a")
    assert use_upload(folder)
    remove_leftovers()
    assert names(uploads_folder()) == ["a"]
    assert not use_upload(uploads_folder() / "nowhere")


@pytest.mark.parametrize("status", ["running", "failed", "done"])
def test_an_upload_stays_as_long_as_a_job_that_is_not_done_names_it(status: str) -> None:
    folder = uploaded("a")
    with job(1, status=status) as state:
        write_json(queue.jobs_folder() / state.id / TASK, {"human": {"path": str(folder / "texts.jsonl")}})
        remove_leftovers()
        assert folder.exists() == (status != "done")


def test_an_upload_stays_for_a_job_that_may_be_taken_back_or_is_damaged() -> None:
    first, second = uploaded("a"), uploaded("b")
    with job(1, status="failed") as state, job(2, status="failed") as damaged:
        pass
    folder = queue.jobs_folder()
    write_json(folder / state.id / TASK, {"path": str(first)})
    write_json(folder / damaged.id / TASK, {"path": str(second)})
    (folder / damaged.id / "state.json").write_text("{")
    queue.remove(state.id)
    remove_leftovers()
    assert names(uploads_folder()) == ["a", "b"]


def test_an_upload_that_is_used_as_it_is_removed_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody brings the same file while it is taken out of sight."""
    folder = uploaded("a")
    real = Path.rename

    def rename(path: Path, target: Path) -> Path:
        if path == folder:
            assert use_upload(folder)
        return real(path, target)

    monkeypatch.setattr(Path, "rename", rename)
    remove_leftovers()
    assert (folder / "texts.jsonl").is_file()
    assert names(uploads_folder()) == ["a"]


@pytest.mark.parametrize("text", ["0", "1.5"])
def test_days_that_are_no_number_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.UPLOAD_DAYS_VARIABLE, text)
    with pytest.raises(InputError, match="whole number above 0"):
        remove_leftovers()


def killed_while_writing(path: Path) -> Path:
    """What a process left that was killed while it wrote that file."""

    def half(stream: IO[bytes]) -> None:
        stream.write(b"half")
        stream.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    before = {*path.parent.glob(".*")}
    child = os.fork()
    if not child:
        write_atomically(path, half)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    (left,) = {*path.parent.glob(".*")} - before
    return left


@pytest.mark.slow
def test_what_a_killed_process_was_writing_goes_at_once_and_what_a_living_one_writes_stays() -> None:
    upload = uploaded("a", 0.0)
    run = home() / "runs" / "one"
    places = [
        home() / "features" / "f.npy",
        home() / "models" / "m" / "config.json",
        home() / "unfinished" / "a" / "b.json",
        run / "attached" / "probes.json",
        run / "derived" / "names.npz",
        upload / "texts.jsonl",
    ]
    for path in places:
        path.parent.mkdir(parents=True, exist_ok=True)
    with job(1, status="failed") as ended:
        places.append(queue.jobs_folder() / ended.id / "state.json")
    left = [killed_while_writing(path) for path in places]
    aside = uploads_folder() / f".{'c' * 64}.0123456789abcdef"
    aside.mkdir()
    link = home() / "runs" / ".link.0123456789abcdef"
    link.symlink_to(upload)

    def meanwhile(stream: IO[bytes]) -> None:
        remove_leftovers()
        assert [path for path in (*left, aside) if path.exists()] == []
        stream.write(b"whole")

    write_atomically(places[0], meanwhile)
    assert places[0].read_bytes() == b"whole"
    assert [path for path in home().rglob(".*") if path != link] == []
    assert (upload / "texts.jsonl").read_text() == '{"text": "a"}\n'


def test_what_was_written_before_the_clock_was_set_back_goes_in_its_time() -> None:
    folder = uploaded("a", -365 * DAY_S)
    remove_leftovers()
    assert abs(time.time() - folder.stat().st_mtime) < DAY_S, "its days begin now"
    aged(folder, OLD_S)
    remove_leftovers()
    assert names(uploads_folder()) == []


def test_a_job_that_never_came_to_be_is_removed() -> None:
    """Its process was killed between the folder and the state."""
    folder = queue.jobs_folder()
    half, held, other = (folder / f"20260101-00000000000{place}-abcd" for place in range(3))
    for path in (half, held):
        path.mkdir(parents=True)
        (path / ALIVE).touch()
    other.mkdir()
    (folder / "notes").mkdir()
    with (held / ALIVE).open() as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        remove_leftovers()
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == [held.name, "notes"]
