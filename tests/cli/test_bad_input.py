"""Everything that can be wrong with what a person gives: one clear line, the right exit code, and nothing else lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from mauve_core.__main__ import main
from mauve_core.base import faults
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.encoders.catalogue import PACKAGED
from mauve_core.runs import RunStore
from tests.files_on_disk import write_study

NAMES = (HUMAN, "close", "collapsed")
FAST = {"--seeds": ["2"], "--bootstrap": ["100"], "--no-map": [], "--quiet": []}


class Shell:
    """The command line with a study on disk and one run stored before anything goes wrong."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self._before = RunStore().load("earlier").comparison.candidates[0].scores

    def compare(self, *more: str, features: bool = True) -> list[str]:
        return compare_arguments(self.folder, *more, features=features)

    def refuses(self, arguments: Sequence[str], *parts: str, code: int = 2) -> None:
        """The command ends with that code and one line that has all the parts; the earlier run is untouched."""
        self._capsys.readouterr()
        assert main(arguments) == code
        captured = self._capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1, captured.err
        assert captured.err.startswith("mauve-lens: ")
        for part in parts:
            assert part in captured.err
        assert "Traceback" not in captured.err
        assert [summary.id for summary in RunStore().list()] == ["earlier"]
        assert RunStore().load("earlier").comparison.candidates[0].scores == self._before


def compare_arguments(folder: Path, *more: str, features: bool = True) -> list[str]:
    usual = [word for name, value in FAST.items() if name not in more for word in (name, *value)]
    arguments = ["compare", "--human", str(folder / "human.jsonl"), *usual, *more]
    for name in NAMES[1:]:
        arguments += ["--model", f"{name}={folder / name}.jsonl"]
    for name in NAMES if features else ():
        arguments += ["--features", f"{name}={folder / name}.npy"]
    return arguments


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files, and a home with one run; each test works on a copy."""
    folder = tmp_path_factory.mktemp("prepared")
    write_study(folder / "files")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(HOME_VARIABLE, str(folder / "home"))
        assert main([*compare_arguments(folder / "files"), "--out", "earlier"]) == 0
    return folder


@pytest.fixture
def shell(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.delenv("MAUVE_LENS_DEBUG", raising=False)
    return Shell(tmp_path / "files", capsys)


@pytest.mark.slow
def test_missing_file(shell: Shell) -> None:
    (shell.folder / "close.jsonl").unlink()
    shell.refuses(shell.compare(), "close.jsonl")


def test_empty_file(shell: Shell) -> None:
    (shell.folder / "close.jsonl").write_text("")
    shell.refuses(shell.compare(), "close.jsonl")


def test_file_of_empty_texts(shell: Shell) -> None:
    (shell.folder / "close.jsonl").write_text('{"text": " "}\n' * 30)
    shell.refuses(shell.compare(), "close.jsonl", "30")


def test_wrong_field_names_those_there_are(shell: Shell) -> None:
    shell.refuses(shell.compare("--text-field", "body"), "'body'", "human.jsonl", "'id', 'text', 'note'")
    shell.refuses(shell.compare("--text-field", "close=body"), "'body'", "close.jsonl")
    shell.refuses([*shell.compare("--with-prompt", features=False), "--encoder", "minilm"], "no prompts")


def test_broken_json_names_file_and_line(shell: Shell) -> None:
    path = shell.folder / "close.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:6], lines[6][:-9], *lines[7:]]))
    shell.refuses(shell.compare(), "close.jsonl", "Line 7 ")


def test_latin_1_file_names_file_and_line(shell: Shell) -> None:
    path = shell.folder / "collapsed.jsonl"
    path.write_bytes(path.read_bytes() + '{"text": "déjà vu"}\n'.encode("latin-1"))
    shell.refuses(shell.compare(), "collapsed.jsonl", "UTF-8", "41")


def test_too_few_texts_against_many(shell: Shell) -> None:
    """Also with 5,000 on the other side: more human texts do not make up for a candidate of three."""
    rows = [{"id": str(i), "text": f"Text number {i}"} for i in range(5000)]
    (shell.folder / "human.jsonl").write_text("\n".join(map(json.dumps, rows)))
    np.save(shell.folder / "human.npy", np.random.default_rng(0).normal(size=(5000, 16)))
    (shell.folder / "close.jsonl").write_text("\n".join(map(json.dumps, rows[:3])))
    np.save(shell.folder / "close.npy", np.ones((3, 16)))
    shell.refuses(shell.compare(), "close.jsonl", "Received: 3", "at least")


def test_all_features_equal(shell: Shell) -> None:
    for name in NAMES:
        np.save(shell.folder / f"{name}.npy", np.ones((40, 16)))
    shell.refuses(shell.compare(), "equal")


@pytest.mark.parametrize("value", [np.nan, 1e300])
def test_features_that_are_not_finite(shell: Shell, value: float) -> None:
    """1e300 is finite as float64 and not as float32, in which features are kept."""
    features = np.random.default_rng(0).normal(size=(40, 16))
    features[[3, 8], 5] = value
    np.save(shell.folder / "close.npy", features)
    shell.refuses(shell.compare(), "close.npy", "not finite", "3, 8")


def test_features_of_different_dimension(shell: Shell) -> None:
    np.save(shell.folder / "close.npy", np.ones((40, 15)))
    shell.refuses(shell.compare(), "different dimensions", "close.npy: 15", "human.npy: 16")


def test_features_that_are_no_features(shell: Shell) -> None:
    path = shell.folder / "close.npy"
    arrays: dict[str, np.ndarray] = {
        "wrong number of rows": np.ones((39, 16)),
        "no features": np.ones(40),
    }
    for message, array in arrays.items():
        np.save(path, array)
        shell.refuses(shell.compare(), "close.npy", message)
    np.save(path, np.array([{"os": "system"}], dtype=object), allow_pickle=True)
    shell.refuses(shell.compare(), "close.npy", "cannot be read")


def test_features_for_some_sources_only(shell: Shell) -> None:
    shell.refuses(shell.compare()[:-2], "collapsed", "for every source")
    shell.refuses([*shell.compare(), "--features", "x=y.npy"], "names unknown sources: x", "human, close, collapsed")
    shell.refuses(shell.compare("--encoder", "minilm"), "--features and --encoder cannot be combined")


def test_unknown_model_says_what_is_available(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    name = "nobody/nothing-like-this"
    shell.refuses(shell.compare("--encoder", name, features=False), name, *PACKAGED)


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        (["--seeds", "many"], ["--seeds", "'many'"]),
        (["--scale", "nan"], ["setting scale", "number"]),
        (["--seeds", "9" * 4301], ["--seeds"]),
        (["--model", "close=x.jsonl"], ["'close' twice"]),
        (["--human", "x.jsonl"], ["--human is given twice", "human.jsonl' and 'x.jsonl'"]),
    ],
)
def test_options_that_cannot_be_used(shell: Shell, more: list[str], parts: list[str]) -> None:
    shell.refuses(shell.compare(*more), *parts)


@pytest.mark.parametrize(
    "arguments",
    [[], ["compare"], ["runs", "show", "../../etc"]],
)
def test_commands_that_cannot_be_understood(shell: Shell, arguments: list[str]) -> None:
    shell.refuses(arguments)


@pytest.mark.parametrize("device", ["cuda:99", "\x1b[31mcpu"])
def test_a_device_is_checked_where_nothing_is_left_to_encode(shell: Shell, device: str) -> None:
    shell.refuses(["runs", "again", "earlier", "--device", device], "device", "cuda" if "cuda" in device else "Allowed")


@pytest.mark.parametrize(
    ("variable", "value"), [("MAUVE_LENS_MAX_ROWS", "9" * 4301), ("MAUVE_LENS_MAX_MEMORY_MB", "-1")]
)
def test_a_limit_that_cannot_be_used_is_wrong_input(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    from mauve_core.texts import limits

    monkeypatch.setenv(variable, value)
    with pytest.raises(InputError, match=f"{variable} is not a valid limit. Allowed: a whole number above 0"):
        limits.check()
    if variable == limits.ROWS_VARIABLE:
        shell.refuses(shell.compare(), variable)


@pytest.mark.slow
@pytest.mark.parametrize("action", [["report", "earlier"], ["runs", "export", "earlier"]])
def test_what_cannot_be_written_over_is_wrong_input(shell: Shell, tmp_path: Path, action: list[str]) -> None:
    os.mkfifo(tmp_path / "out")
    shell.refuses([*action, "--out", str(tmp_path / "out")], "Cannot write")


def test_encode_refuses_before_it_works(shell: Shell) -> None:
    file = str(shell.folder / "close.jsonl")
    shell.refuses(["encode", file, "--out", "features.txt", "--encoder", "minilm"], "ends in .npy")
    shell.refuses(["encode", "nowhere.jsonl", "--out", "f.npy", "--encoder", "minilm"], "nowhere.jsonl")


def test_generate_refuses_an_unknown_decoder(shell: Shell, tmp_path: Path) -> None:
    prompts = ["--prompts", str(shell.folder / "close.jsonl"), "--out", str(tmp_path / "out"), "--quiet"]
    shell.refuses(["generate", "--model", "smollm2-135m", "--decoder", "psychic", *prompts], "psychic", "greedy")
    batch = ["--decoder", "greedy", "--batch-size", "0"]
    shell.refuses(["generate", "--model", "smollm2-135m", *batch, *prompts], "--batch-size cannot be used")
    assert not (tmp_path / "out").exists()


@pytest.fixture
def tiny_model(tmp_path: Path) -> str:
    from tests.tiny_models import make_gpt2

    return str(make_gpt2(tmp_path / "model"))


@pytest.mark.slow
def test_all_texts_equal(shell: Shell, tiny_model: str) -> None:
    for name in NAMES:
        rows = [{"id": str(i), "text": "The same words."} for i in range(40)]
        (shell.folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    shell.refuses(shell.compare("--encoder", tiny_model, "--device", "cpu", features=False), "equal")


@pytest.mark.slow
def test_full_disk_while_caching(shell: Shell, tiny_model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full for the second side's features; with space again, the first side's are not computed again."""
    arguments = shell.compare("--encoder", tiny_model, "--device", "cpu", features=False)
    monkeypatch.setattr(os, "fsync", full_after("features", finished=1, sync=os.fsync))
    shell.refuses(arguments, "No space left", "MAUVE_LENS_HOME", code=1)
    monkeypatch.undo()
    monkeypatch.setenv(HOME_VARIABLE, str(shell.folder.parent / "home"))

    features = shell.folder.parent / "home" / "features"
    (kept,) = (path.parent for path in features.glob("*/meta.json"))
    written = kept.stat().st_mtime_ns
    assert main([*arguments, "--out", "later"]) == 0
    assert kept.stat().st_mtime_ns == written
    assert len(list(features.glob("*/meta.json"))) == len(NAMES)
    assert RunStore().load("later").features(HUMAN) is not None


def full_after(part: str, *, finished: int, sync: Callable[[int], None]) -> Callable[[int], None]:
    """An fsync without space below the folder ``part``, once ``finished`` entries of the store are complete there."""

    def full(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        folders = [folder for folder in path.parents if folder.name == part]
        if folders and len(list(folders[0].glob("[0-9a-f]*/meta.json"))) >= finished:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    return full


LONG = "x" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "--human", f"{LONG}.jsonl", "--model", "m=close.jsonl"],
        ["compare", "--human", f"{LONG}/a.zip", "--model", "m=close.jsonl"],
        ["compare", "--human", f"hf:./{LONG}", "--model", "m=close.jsonl"],
        ["measure", "--human", f"{LONG}.smi.gz", "--model", "m=close.jsonl"],
        ["runs", "import", f"{LONG}.zip"],
        ["encode", f"{LONG}.txt", "--out", "a.npy"],
    ],
)
def test_a_name_that_is_too_long_is_refused(arguments: list[str], shell: Shell) -> None:
    shell.refuses(arguments, "File name too long")


@pytest.mark.parametrize(
    "arguments",
    [["report", "earlier", "--out", f"{LONG}.html"], ["runs", "export", "earlier", "--out", f"{LONG}.zip"]],
)
def test_a_long_name_of_what_is_written_is_refused(arguments: list[str], shell: Shell) -> None:
    shell.refuses(arguments, "is too long for the file system", "Give a shorter one", code=1)


def test_of_a_long_pattern_no_file_is_found(shell: Shell) -> None:
    shell.refuses(["compare", "--human", f"{LONG}*.jsonl", "--model", "m=close.jsonl"], LONG[:80])


OUTPUTS = (
    ["runs"],
    ["runs", "show", "earlier", "--json"],
    ["debug", "--out", "-"],
    ["schema", "compare"],
    ["--version"],
    ["--help"],
    ["compare", "--help"],
)


@pytest.mark.parametrize("arguments", OUTPUTS, ids=" ".join)
def test_output_to_a_full_device(
    arguments: list[str], shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr("sys.stdout", full)
        assert main(arguments) == 1
    assert capsys.readouterr().err == (
        "mauve-lens: Cannot write the output: No space left on device. Write it where there is room.\n"
    )
    assert faults.remembered() == []


@pytest.mark.parametrize("arguments", OUTPUTS, ids=" ".join)
def test_output_to_a_closed_pipe(
    arguments: list[str], shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        monkeypatch.setattr("sys.stdout", closed)
        assert main(arguments) == 1
    assert capsys.readouterr().err == ""
    assert faults.remembered() == []


def test_what_the_system_refuses_is_no_fault_of_the_program() -> None:
    long = OSError(errno.ENAMETOOLONG, "File name too long", LONG)
    assert "is too long for the file system" in str(faults.refused_by_system(long))
    assert "Permission denied" in str(
        faults.refused_by_system(PermissionError(errno.EACCES, "Permission denied", b"a"))
    )
    for ours in (ValueError("a"), OSError("a"), ConnectionError(errno.ECONNRESET, "reset")):
        assert faults.refused_by_system(ours) is None
