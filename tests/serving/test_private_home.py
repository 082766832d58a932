"""What the program keeps is for its owner alone, whatever the umask; what it writes elsewhere follows the umask."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from mauve_app import uploads
from mauve_core.__main__ import main
from mauve_core.analyses.task_registry import PrecomputeTask
from mauve_core.base import files, sharing
from mauve_core.base.config import QUESTIONS
from mauve_core.base.errors import InputError
from mauve_core.base.files import PARTS, SECRETS, close_to_others, home, write_array
from mauve_core.encoders.features import FeatureStore
from mauve_core.findings.precomputed import derive
from mauve_core.jobs import queue
from mauve_core.runs import RunStore
from mauve_core.runs.checkpoints import FinishedParts
from mauve_core.runs.ratings import RatingStore, pair_plan
from tests.handmade import make_comparison, make_corpora, make_features
from tests.synthetic import make_run

pytestmark = pytest.mark.integration

NOBODY = 65534
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0o022)
    files._close_home.cache_clear()
    yield
    os.umask(before)


def open_below(folder: Path) -> dict[str, str]:
    """Modes of what others may use, the folder itself among them."""
    modes = {str(path): path.lstat().st_mode for path in (folder, *folder.rglob("*")) if not path.is_symlink()}
    return {path: stat.filemode(mode) for path, mode in modes.items() if mode & 0o077}


def fill() -> None:
    """A home with something of every kind, made by the command line, the app and Python."""
    run = make_run(home(), n=40, seeds=2, projection=False)
    derive(run)
    RunStore().save("second", make_comparison(), make_corpora(), make_features())
    for arguments in (
        ("tag", run.id, "a"), ("note", run.id, "notes"), ("delete", "second"), ("list",), ("bin",), ("disk",)
    ):  # fmt: skip
        assert main(["runs", *arguments]) == 0
    with closing(sqlite3.connect(RunStore().root / "index.sqlite")) as other:
        other.execute("DELETE FROM runs")  # SQLite's journal is there, too
        assert {path.name for path in RunStore().root.glob("index*")} == {"index.sqlite", "index.sqlite-journal"}
        assert open_below(home()) == {}
    plan = pair_plan(run.corpora, rater="ann")
    RatingStore(run.ratings_path).append(plan[0].ratings("ann", dict.fromkeys(QUESTIONS, "tie"), 5.0))
    RunStore().attach(run.id, "measures", {"rows": [], "settings": {}, "notes": []})
    uploads.keep("human.txt", b"secret\n")
    FinishedParts({"work": 1}).keep("part", {"a": 1})
    FeatureStore().put("ab12", np.ones((3, 2), np.float32), np.ones(3, np.int32), np.zeros(3, np.bool_), {})
    write_array(home() / "likelihoods" / "x.npy", np.ones(3))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A full home, to be copied with its modes."""
    home_folder = tmp_path_factory.mktemp("kept") / "home"
    before = os.umask(0o022)
    files._close_home.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(files.HOME_VARIABLE, str(home_folder))
        fill()
    os.umask(before)
    return home_folder


@pytest.fixture
def full_home(kept: Path, own_home: Path) -> Path:
    return Path(shutil.copytree(kept, own_home, dirs_exist_ok=True))


@pytest.mark.slow
def test_everything_below_home_is_for_its_owner_alone(full_home: Path) -> None:
    assert {path.name for path in full_home.iterdir()} <= PARTS
    assert open_below(full_home) == {}


@pytest.mark.slow
def test_jobs_are_too(full_home: Path) -> None:
    job = queue.start(PrecomputeTask("synthetic"))
    queue._children[job.id].wait()
    assert queue.status(job.id).status == "done"
    queue.remove(job.id)
    assert (full_home / "jobs" / "turn.lock").exists()
    assert open_below(full_home) == {}


def test_a_home_that_an_older_version_left_open_is_closed_when_it_is_used(full_home: Path) -> None:
    link = full_home / "uploads" / "link"
    outside = full_home.parent / "outside"
    outside.mkdir()
    link.symlink_to(outside)
    for path in (full_home, *full_home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    files._close_home.cache_clear()
    assert main(["runs", "list"]) == 0
    assert open_below(full_home) == {}
    assert stat.S_IMODE(outside.stat().st_mode) == 0o755, "links are not followed"


def test_a_home_with_other_things_in_it_stays_open_and_so_do_they(full_home: Path) -> None:
    other = full_home / "thesis"
    other.mkdir()
    (other / "text").write_text("open")
    for path in (full_home, *full_home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    files._close_home.cache_clear()
    home()
    assert set(open_below(full_home)) == {str(path) for path in (full_home, other, other / "text")}


def test_what_is_written_elsewhere_follows_the_umask(own_home: Path, tmp_path: Path) -> None:
    make_run(home(), n=40, seeds=2, projection=False)
    out = tmp_path / "out" / "folder"
    assert main(["report", "synthetic", "--out", str(out / "report.html")]) == 0
    assert main(["runs", "export", "synthetic", "--out", str(out)]) == 0
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (out, *out.iterdir())}
    assert modes == {"folder": 0o755, "report.html": 0o644, "synthetic.mauve-run.zip": 0o644}


def test_the_program_knows_every_folder_that_it_makes() -> None:
    """Below a home that was left open, what is not known would stay open."""
    made = set()
    for path in [*(ROOT / "mauve_core").rglob("*.py"), *(ROOT / "app").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        constants = dict(re.findall(r'^(\w+) = "([\w.-]+)"', text, re.MULTILINE))
        found = re.findall(r"home\(\)(?:\.absolute\(\))? / (\w+|\"[\w.-]+\")", text)
        made |= {constants.get(name, name.strip('"')) for name in found}
    assert made == PARTS | {"SECRETS"}


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_reads_nothing_of_a_copied_home(full_home: Path) -> None:
    look = (
        "import os, sys\nfound = []\nfor top, folders, names in os.walk(sys.argv[1]):\n"
        "    for name in names:\n        try:\n            found.append(open(os.path.join(top, name), 'rb').read(1))\n"
        "        except OSError:\n            pass\nprint(len(found))"
    )
    with tempfile.TemporaryDirectory(dir="/tmp") as place:  # pytest's own folders let nobody in anyway
        os.chmod(place, 0o755)  # noqa: PTH101
        (Path(place) / "control").write_text("x")
        subprocess.run(["cp", "-a", str(full_home), place], check=True)
        seen = []
        for folder in (place, f"{place}/home"):
            command = [shutil.which("python3", path="/usr/bin:/bin") or sys.executable, "-I", "-c", look, folder]
            done = subprocess.run(command, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, check=True)
            seen.append(int(done.stdout))
    assert seen == [1, 0], "the file beside it, and nothing of the home"


@pytest.mark.parametrize("mode", [0o644, 0o640])
def test_secrets_that_others_may_read_are_refused(own_home: Path, mode: int) -> None:
    path = home() / SECRETS
    path.write_text("[other]\nx = 1\n")
    path.chmod(mode)
    with pytest.raises(InputError, match=rf"other users.*Received: mode {mode:o}.*chmod 600 {re.escape(str(path))}"):
        sharing.sign_in({})
    home()
    assert stat.S_IMODE(path.stat().st_mode) == mode, "whoever wrote it is to know"
    path.chmod(0o600)
    assert not sharing.sign_in({}).needed


def test_closing_takes_no_right_from_the_owner(tmp_path: Path) -> None:
    file, program = tmp_path / "file", tmp_path / "program"
    for path, mode in ((file, 0o444), (program, 0o755)):
        path.touch()
        path.chmod(mode)
    close_to_others(tmp_path)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path, file, program)] == [0o700, 0o400, 0o700]
