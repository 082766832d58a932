"""The batch scripts of docs/scale.md on a real Slurm: two nodes on this machine, one of whose parts is cancelled."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from mauve_core.__main__ import main
from mauve_core.base.config import HUMAN
from mauve_core.base.files import HOME_VARIABLE
from tests.conftest import missing
from tests.sharded import made_texts, written_texts
from tests.word_files import by_topic

pytestmark = [pytest.mark.slow, pytest.mark.trial, pytest.mark.rare, pytest.mark.timeout(600)]

NO_SLURM = (
    "THE BATCH SCRIPTS DID NOT RUN: no Slurm on this machine (apt-get install slurmctld slurmd slurm-client munge)"
)
DAEMONS = ("munged", "slurmctld", "slurmd")
SCALE = Path(__file__).parents[2] / "docs" / "scale.md"
PARTS, SHARDS = 4, 8
STARTED_S, ENDED_S = 60, 300

CONFIGURATION = """
ClusterName=tested
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MpiDefault=none
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1 RealMemory=8000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1 RealMemory=8000
PartitionName=all Nodes=n1,n2 Default=YES State=UP
"""


class Slurm:
    """Commands of Slurm, given where jobs write their logs."""

    def __init__(self, shared: Path, environment: Mapping[str, str]) -> None:
        self.shared = shared
        self._environment = dict(environment)

    def __call__(self, *command: str) -> str:
        done = subprocess.run(
            command, cwd=self.shared, env=self._environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout.strip()

    def wait(self, holds: Callable[[str], bool], seconds: float, *query: str) -> None:
        end = time.monotonic() + seconds
        while not holds(found := self(*query)):
            if time.monotonic() > end:
                logs = "\n".join(path.read_text() for path in sorted(self.shared.glob("*.log")))
                pytest.fail(f"{' '.join(query)} still says {found!r}\n{logs}")
            time.sleep(0.5)


def free_ports(count: int) -> list[int]:
    with ExitStack() as probes:
        made = [probes.enter_context(socket.socket()) for _ in range(count)]
        for each in made:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in made]


@pytest.fixture(scope="module")
def configuration(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Path]:
    """Two nodes of a core each, and what they need."""
    path_of = {name: shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") for name in DAEMONS}
    if not all(path_of.values()):
        missing(pytestconfig, NO_SLURM)
    folder = tmp_path_factory.mktemp("slurm")
    key = folder / "munge.key"
    key.touch(0o600)
    key.write_bytes(os.urandom(1024))
    for name in ("state", "n1", "n2"):
        (folder / name).mkdir()
    path = folder / "slurm.conf"
    host, user = socket.gethostname(), getpass.getuser()
    path.write_text(CONFIGURATION.format(folder=folder, host=host, user=user, ports=free_ports(3)))
    own = [
        f"--{name}={folder}/munge.{name.partition('-')[0]}" for name in ("socket", "key-file", "pid-file", "seed-file")
    ]
    commands = [
        ["munged", "--foreground", "--force", *own],
        ["slurmctld", "-D", "-f", str(path)],
        *(["slurmd", "-D", "-f", str(path), "-N", name] for name in ("n1", "n2")),
    ]
    with ExitStack() as running:
        log = running.enter_context((folder / "daemons.log").open("wb"))
        for command in commands:
            program = [str(path_of[command[0]]), *command[1:]]
            daemon = running.enter_context(subprocess.Popen(program, stdout=log, stderr=log))
            running.callback(daemon.terminate)
            time.sleep(1)
        yield path


@pytest.fixture
def slurm(configuration: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    """A cluster whose nodes are idle, with the texts and both scripts of the page in its shared folder."""
    shared = tmp_path / "shared"
    for name, place in written_texts(shared, made_texts(), SHARDS).items():
        place.rename(shared / ("human" if name == HUMAN else "ours"))
    words = by_topic(shared / "words.txt")
    for name, text in scripts(shared, words).items():
        (shared / name).write_text(text)
    monkeypatch.setenv(HOME_VARIABLE, str(shared / "home"))
    found = Slurm(shared, {**os.environ, "SLURM_CONF": str(configuration)})
    found.wait(lambda states: states.split() == ["idle"] * 2, STARTED_S, "sinfo", "--noheader", "--Node", "--format=%T")
    return found


def scripts(shared: Path, words: Path) -> dict[str, str]:
    """Those of the page, for nodes of one core without a GPU and for our texts and encoder."""
    found = re.findall(r"```bash\n(#!/bin/bash\n.*?)```", SCALE.read_text(), re.DOTALL)
    encode, merge = found
    environment = Path(sys.prefix)
    changes = {
        "/shared/venv": str(environment),
        "/shared": str(shared),
        "--gres=gpu:1": "--ntasks=1",
        "--cpus-per-task=4 --mem=32G": "--cpus-per-task=1",
        "--cpus-per-task=64 --mem=272G": "--cpus-per-task=1",
        "--array=1-64": f"--array=1-{PARTS}",
        "_ID/64": f"_ID/{PARTS}",
        "--device cuda": "--device cpu",
        "*.parquet": "*.jsonl",
        "gpt2-large --revision COMMIT --dtype bfloat16": str(words),
    }
    for old, new in changes.items():
        assert old in encode + merge, f"{SCALE.name} has no {old!r} any more"
        encode, merge = (text.replace(old, new) for text in (encode, merge))
    return {"encode.sbatch": encode, "merge.sbatch": merge}


def submit(slurm: Slurm, *options: str) -> tuple[str, str]:
    """As the page says: the array, then what needs all of it. Returns their ids."""
    array = slurm("sbatch", "--parsable", *options, "encode.sbatch")
    return array, slurm("sbatch", "--parsable", f"--dependency=afterok:{array}", "merge.sbatch")


def merged(slurm: Slurm, job: str) -> str:
    """What the merge job printed, once nothing waits or runs any more."""
    slurm.wait(lambda waiting: not waiting, ENDED_S, "squeue", "--noheader")
    return (slurm.shared / f"merge-{job}.log").read_text()


def digest(printed: str) -> str:
    (found,) = re.findall(r"Digest: ([0-9a-f]{64})", printed)
    return str(found)


def test_the_scripts_of_the_page_give_what_one_machine_gives(
    slurm: Slurm, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    array, merge = submit(slurm)
    printed = merged(slurm, merge)
    nodes = {path.name: path.read_text() for path in slurm.shared.glob(f"encode-{array}-*.log")}
    assert len(nodes) == PARTS
    assert "Engine: local, 1 worker." in printed, "one core was asked for"
    assert len(list((slurm.shared / "home" / "runs").iterdir())) == 1
    shared = slurm.shared
    sides = ("--human", str(shared / "human" / "*.jsonl"), "--model", f"ours={shared / 'ours' / '*.jsonl'}")
    made = ("--encoder", str(shared / "words.txt"), "--stored-as", "float16", "--device", "cpu")
    capsys.readouterr()
    main(["compare", "--engine", "local", *sides, *made, "--work", str(tmp_path / "elsewhere"), "--quiet"])
    assert digest(printed) == digest(capsys.readouterr().out)


def test_a_part_that_is_cancelled_is_submitted_again_alone(slurm: Slurm) -> None:
    array, merge = submit(slurm)
    slurm("scancel", f"{array}_3")
    query = ("squeue", "--noheader", "--format=%i %r")
    slurm.wait(lambda waiting: waiting == f"{merge} DependencyNeverSatisfied", ENDED_S, *query)
    assert not (slurm.shared / f"merge-{merge}.log").exists()
    slurm("scancel", merge)
    encoded = set((slurm.shared / "work" / "encoded").rglob("*.npy"))
    _, again = submit(slurm, "--array=3")
    printed = merged(slurm, again)
    assert digest(printed)
    assert set((slurm.shared / "work" / "encoded").rglob("*.npy")) > encoded
