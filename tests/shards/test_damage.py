"""The work folder as a store: private, read in one way, and what is damaged is made again, of that file alone."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import pickle
import shutil
import signal
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mauve_core.analyses.over_shards import clusters_over_all
from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import InputError, StorageError
from mauve_core.encoders.features import DamagedEntryWarning
from mauve_core.shards.comparison import compare_shards, encode_tasks
from mauve_core.shards.costs import estimate
from mauve_core.shards.encoding import sample_of
from mauve_core.shards.places import STEP_SUFFIXES, DamagedError, damaged, remade
from mauve_core.shards.plan import Plan, Work, plan_of
from tests.disturbed import Fault, in_child, killed_at, nothing, spread
from tests.sharded import SCORE, Inline, carried_out, made_texts, written_texts
from tests.word_files import by_topic

pytestmark = pytest.mark.integration

as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")

NOBODY = 65534


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage")


@pytest.fixture(scope="module")
def plan(folder: Path) -> Plan:
    places = written_texts(folder / "in", made_texts(), 3)
    encoder = EncoderConfig(str(by_topic(folder / "words.txt")))
    score = dataclasses.replace(SCORE, max_iterations=2)
    return plan_of(places[HUMAN], {"model": places["model"]}, encoder=encoder, score=score, sample_rows=200)


@pytest.fixture(scope="module")
def done(plan: Plan, folder: Path) -> tuple[Path, str, str]:
    """A finished comparison in a folder that stood open, its digest, and that of its clusters."""
    (folder / "done").mkdir(mode=0o755)
    before = os.umask(0)
    try:
        found = carried_out(plan, folder / "done")
    finally:
        os.umask(before)
    return folder / "done", found.digest(), clusters_over_all(Work.open(folder / "done")).digest()


@pytest.fixture
def work(done: tuple[Path, str, str], tmp_path: Path) -> Work:
    """A copy of it."""
    shutil.copytree(done[0], tmp_path / "work")
    return Work.open(tmp_path / "work")


def changed(path: Path) -> None:
    """One bit, in the middle of the file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def replaced(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


def saved(array: NDArray[np.object_]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def bound(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


def linked(path: Path) -> None:
    """To a file elsewhere with the same content."""
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


DAMAGE: dict[str, Callable[[Path], object]] = {
    "changed": changed,
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "empty": lambda path: path.write_bytes(b""),
    "gone": Path.unlink,
    "objects": lambda path: path.write_bytes(saved(np.array([{}], dtype=object))),
    "pickle": lambda path: path.write_bytes(pickle.dumps({"n": 3})),
    "pipe": lambda path: replaced(path, os.mkfifo),
    "socket": lambda path: replaced(path, bound),
    "folder": lambda path: replaced(path, Path.mkdir),
    "link": linked,
    "dangling": lambda path: replaced(path, lambda own: own.symlink_to("nowhere")),
    "endless": lambda path: replaced(path, lambda own: own.symlink_to("/dev/zero")),
}

RECORDS = {
    "no JSON": "{",
    "no object": "[3]",
    "a string": '"sha256"',
    "nested": "[" * 100_000,
    "digits": "9" * 5000,
    "huge": '{"files": {}, "found": {"n": 1e999}, "sha256": "0"}',
    "types": '{"files": 3, "found": [], "sha256": {}}',
    "no digest": '{"files": {}, "found": {"n": 3}}',
}
DAMAGE.update((name, partial(Path.write_text, data=content)) for name, content in RECORDS.items())


@pytest.mark.parametrize(
    ("damage", "suffix"),
    [(damage, suffix) for damage in DAMAGE for suffix in STEP_SUFFIXES if suffix == ".json" or damage not in RECORDS],
)
def test_damage_is_of_one_file_alone(plan: Plan, tmp_path: Path, damage: str, suffix: str) -> None:
    work = Work.begin(tmp_path / "work", plan)

    def stored(name: str) -> Path:
        path = work.path("partitions", name)
        work.write(path.with_suffix(".npy"), lambda stream: np.save(stream, np.arange(300)))
        work.write_lines(path.with_suffix(".jsonl"), [["one", 1], None])
        work.finish(path, ".npy", ".jsonl", arrays={"some": np.arange(9), "more": np.ones(3)}, n=3)
        return path

    def read(path: Path) -> object:
        return {
            ".json": lambda: work.found(path),
            ".npy": lambda: work.array(path.with_suffix(".npy")).tolist(),
            ".npz": lambda: work.arrays(path, "some")["some"].tolist(),
            ".jsonl": lambda: work.lines(path.with_suffix(".jsonl")),
        }[suffix]()

    own, other = stored("own"), stored("other")
    expected = read(own)
    DAMAGE[damage](own.with_suffix(suffix))
    with pytest.raises(DamagedError) as caught:
        read(own)
    assert f"is damaged: {own.with_suffix(suffix)} is damaged or missing: " in str(caught.value)
    assert f"Remove {own.with_suffix('.json')}, then repeat the command" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).damage == caught.value.damage  # from a worker
    assert read(other) == expected

    tries = iter((0, 1))

    @remade
    def again() -> object:
        if next(tries):
            assert not any(own.with_suffix(each).exists() for each in STEP_SUFFIXES)
            stored("own")
        return read(own)

    with pytest.warns(DamagedEntryWarning, match=rf"{own.with_suffix(suffix)} was damaged or missing .* made again"):
        assert again() == expected


def test_what_is_damaged_again_ends_the_step(plan: Plan, tmp_path: Path) -> None:
    work, tries = Work.begin(tmp_path / "work", plan), []

    @remade
    def step() -> None:
        tries.append(0)
        work.found(work.path("never"))

    with pytest.warns(DamagedEntryWarning), pytest.raises(DamagedError, match=r"never\.json is damaged or missing"):
        step()
    assert len(tries) == 2


def test_a_disk_that_refuses_is_no_damage(tmp_path: Path) -> None:
    """Or hours of work would be removed for a moment without network."""
    with pytest.raises(StorageError, match="Input/output error") as caught, damaged(tmp_path):
        raise OSError(5, os.strerror(5))
    assert not isinstance(caught.value, DamagedError)


def exchanged(first: Path, second: Path, *suffixes: str) -> None:
    for suffix in suffixes:
        one, other = first.with_suffix(suffix), second.with_suffix(suffix)
        one.rename(one.with_suffix(".aside"))
        other.rename(one)
        one.with_suffix(".aside").rename(other)


def encoded(work: Work, index: int) -> Path:
    return encode_tasks(work)[index].output


def from_projection(work: Work) -> None:
    """What follows the first pass is to be done again."""
    shutil.rmtree(work.folder / "partitions")
    shutil.rmtree(work.folder / "fetched")


def from_labels(work: Work) -> None:
    for path in work.folder.glob("partitions/*/labels/*/*.json"):
        path.unlink()


Step = Callable[[Work], object]


def nothing_before(work: Work) -> None:
    """All that is damaged is read again anyway."""


def change(*parts: str | int) -> Step:
    return lambda work: changed(work.path("partitions", 1, *parts))


def exchange(one: tuple[str | int, ...], other: tuple[str | int, ...]) -> Step:
    """The arrays of two shards, without their records."""
    return lambda work: exchanged(work.path("partitions", 1, *one), work.path("partitions", 1, *other), ".npy", ".npz")


FOUND: dict[str, tuple[Step, Step, int]] = {
    "features": (from_projection, lambda work: changed(encoded(work, 1).with_suffix(".npy")), 1),
    "two shards": (from_projection, lambda work: exchanged(encoded(work, 0), encoded(work, 4), ".npy", ".npz"), 2),
    "two shards with records": (
        from_projection,
        lambda work: exchanged(encoded(work, 0), encoded(work, 4), ".npy", ".npz", ".json"),
        2,
    ),
    "groups and moments": (from_projection, lambda work: changed(encoded(work, 1).with_suffix(".npz")), 1),
    "numbers of a record": (
        nothing_before,
        lambda work: encoded(work, 1).write_text(encoded(work, 1).read_text().replace('"n": 80', '"n": 79')),
        1,
    ),
    "coordinates": (from_labels, change("coordinates", 0, "00001.npy"), 1),
    "coordinates of two shards": (from_labels, exchange(("coordinates", 0, 1), ("coordinates", 1, 1)), 2),
    "the last state": (from_labels, change("states", "00002.npz"), 1),
    "counts": (nothing_before, change("labels", 1, "00002.npz"), 1),
    "counts of two shards": (nothing_before, exchange(("labels", 1, 0), ("labels", 1, 2)), 2),
    "the projection": (nothing_before, change("projection.npz"), 1),
    "rows of clusters": (nothing_before, change("kept", 1, "00001.npz"), 1),
    "texts": (nothing_before, lambda work: changed(work.path("fetched", 1, "00001.jsonl")), 1),
    "phrases": (nothing_before, change("phrases.npz"), 1),
}


@pytest.mark.parametrize("found", FOUND)
def test_damage_changes_no_result(work: Work, done: tuple[Path, str, str], plan: Plan, found: str) -> None:
    before, damage, files = FOUND[found]
    before(work)
    damage(work)

    @remade
    def results() -> tuple[str, str]:
        own = Work.begin(work.root, plan)
        return compare_shards(own, Inline()).digest(), clusters_over_all(own).digest()

    with pytest.warns(DamagedEntryWarning) as said:
        assert results() == done[1:]
    assert len(said) == files


def test_what_to_do_about_damage_helps(work: Work, done: tuple[Path, str, str], plan: Plan) -> None:
    """Where nothing repairs it by itself: texts for the app are read when the passes are over."""
    expected = sample_of(work, HUMAN, 50)
    changed(encoded(work, 1).with_suffix(".jsonl"))
    with pytest.raises(DamagedError, match=f"Remove {encoded(work, 1)}, then repeat the command"):
        sample_of(work, HUMAN, 50)
    encoded(work, 1).unlink()
    assert carried_out(plan, work.root).digest() == done[1]
    assert sample_of(work, HUMAN, 50) == expected


def test_a_damaged_sample_is_timed_again(plan: Plan, tmp_path: Path) -> None:
    work = Work.begin(tmp_path / "work", plan)
    assert estimate(work, Inline(), encode_tasks(work), always=True)
    changed(next(work.root.glob("estimate/cpu/*.json")))
    changed(next(work.root.glob("estimate/cpu/*.npz")))
    with pytest.warns(DamagedEntryWarning):
        assert estimate(work, Inline(), encode_tasks(work), always=True)


def test_nobody_else_can_read_it(done: tuple[Path, str, str]) -> None:
    modes = {(path.is_dir(), path.lstat().st_mode & 0o777) for path in (done[0], *done[0].rglob("*"))}
    assert modes == {(True, 0o700), (False, 0o600)}


@as_root
def test_a_folder_of_another_user_is_refused(plan: Plan, work: Work, tmp_path: Path) -> None:
    for part in ("", "encoded", "comparisons"):
        os.chown(work.root / part, NOBODY, NOBODY)
        for use in (lambda: Work.begin(work.root, plan), lambda: Work.open(work.folder), lambda: Work.open(work.root)):
            with pytest.raises(
                InputError, match=r"belongs to another user.*number 65534\. Name another folder"
            ) as caught:
                use()
            assert str(work.root / part) in str(caught.value)
        os.chown(work.root / part, os.getuid(), os.getgid())
    assert Work.open(work.root).plan == plan


@as_root
def test_files_of_another_user_are_damage(work: Work, done: tuple[Path, str, str], plan: Plan) -> None:
    """Whoever could write into the folder before it was closed could write a record, too."""
    for path in (encoded(work, 2), work.path("partitions", 1, "labels", 1, "00001.npz"), work.folder / "plan.json"):
        os.chown(path, NOBODY, NOBODY)
    with pytest.warns(DamagedEntryWarning, match="it belongs to another user") as said:
        assert carried_out(plan, work.root).digest() == done[1]
    assert len(said) == 3


@pytest.mark.parametrize(
    "damage", ["cut", "empty", "pipe", "socket", "folder", "dangling", "endless", "objects", *RECORDS, "another"]
)
def test_a_damaged_plan_is_written_again(work: Work, plan: Plan, damage: str) -> None:
    path = work.folder / "plan.json"
    expected = path.read_bytes()
    if damage == "another":
        path.write_text(json.dumps(dataclasses.replace(plan, run_texts=3).as_dict()))
    else:
        DAMAGE[damage](path)
    for folder in (work.folder, work.root):
        with pytest.raises(InputError, match=r"^The (plan in .*plan\.json is|work folder is of another)") as caught:
            Work.open(folder)
        assert "\n" not in str(caught.value)
    with pytest.warns(DamagedEntryWarning, match="The plan in"):
        assert Work.begin(work.root, plan).plan == plan
    assert path.read_bytes() == expected


def test_a_shard_that_is_a_pipe_is_refused(plan: Plan, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    with pytest.raises(InputError, match=r"The shard .*a\.jsonl is a named pipe"):
        plan_of(tmp_path / "a.jsonl", {"model": plan.sides["model"][0]}, encoder=plan.encoder, score=SCORE)


def contents(root: Path) -> dict[str, bytes]:
    """What is stored, without what a killed process was writing and the lock."""
    files = (path for path in root.rglob("*") if path.is_file() and not path.name.startswith((".", "lock")))
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


@pytest.mark.parametrize("moments", [2, pytest.param(24, marks=[pytest.mark.trial, pytest.mark.rare])])
def test_killed_before_a_change_of_a_file(
    plan: Plan, done: tuple[Path, str, str], tmp_path: Path, moments: int
) -> None:
    """Whenever that is, the next command ends with the same bits, and does not find what was left behind."""

    def disturbed(root: Path, fault: Fault) -> int:
        return in_child(lambda: carried_out(plan, root), str(root), fault, tmp_path / "trace", tmp_path / "log")

    assert disturbed(tmp_path / "whole", nothing) == 0
    changes = len((tmp_path / "trace").read_text().splitlines())
    for number in spread(moments + 2, changes)[1:-1]:
        root = tmp_path / f"killed-{number}"
        assert disturbed(root, killed_at(number)) == signal.SIGKILL
        assert carried_out(plan, root).digest() == done[1]
        assert contents(root) == contents(done[0]), number
