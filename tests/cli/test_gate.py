"""``mauve-lens gate``: exit codes, the files for a pipeline, settings in TOML, and what a fault leaves behind."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mauve_core.__main__ import main
from mauve_core.cli.gating import UNFINISHED
from tests.files_on_disk import write_study
from tests.tiny_models import make_gpt2

FAILS, PASSES = ("close", "collapsed"), ("collapsed", "close")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def arguments(baseline: str, candidate: str, *more: str, features: bool = True) -> list[str]:
    files = {"reference": "human", "baseline": baseline, "candidate": candidate}
    found = ["gate", "--seeds", "2", "--quiet", *more]
    for side, name in files.items():
        found += [f"--{side}", f"{name}.jsonl", *(["--features", f"{side}={name}.npy"] if features else [])]
    return found


def outcome(path: str | Path) -> str:
    (suite,) = ElementTree.parse(path).getroot()
    return suite[0][0].tag


def test_a_fail_a_pass_and_too_few_texts(folder, capsys):
    assert main(arguments(*FAILS, "--junit", "a.xml", "--markdown", "a.md")) == 1
    told = capsys.readouterr()
    assert (told.out.split(":")[0], told.err) == ("FAIL", "")
    assert Path("a.md").read_text().startswith("**FAIL: ")
    assert outcome("a.xml") == "failure"

    assert main(arguments(*PASSES, "--junit", "a.xml")) == 0
    assert capsys.readouterr().out.startswith("PASS: ")
    assert outcome("a.xml") == "system-out"

    assert main(arguments("close", "shifted", "--junit", "a.xml", "--smallest-effect", "0.01")) == 3
    told = capsys.readouterr()
    assert told.out.startswith("NOT ENOUGH TEXTS TO TELL: ")
    assert re.search(r"about [\d,]+ texts a side would decide", told.out)
    assert outcome("a.xml") == "skipped"


def test_settings_come_from_a_file_and_the_command_line_overrides_them(folder, capsys):
    Path("gate.toml").write_text(
        'reference = "human.jsonl"\nbaseline = "close.jsonl"\ncandidate = "collapsed.jsonl"\n'
        'text-field = "text"\n'
        'margin = 0.9\nalpha = 0.1\nsmallest-effect = 1\nmeasure = "mid"\nseeds = 2\njunit = "b.xml"\n'
        '[features]\nreference = "human.npy"\nbaseline = "close.npy"\ncandidate = "collapsed.npy"\n'
    )
    assert main(["gate", "--config", "gate.toml", "--json", "--quiet"]) == 0
    (test,) = json.loads(capsys.readouterr().out)["tests"]
    assert [test[name] for name in ("measure", "margin", "alpha", "smallest_effect")] == ["mid", 0.9, 0.1, 1.0]
    assert outcome("b.xml") == "system-out"
    assert main(["gate", "--config", "gate.toml", "--json", "--quiet", "--margin", "0", "--measure", "mauve"]) == 1
    (test,) = json.loads(capsys.readouterr().out)["tests"]
    assert [test[name] for name in ("measure", "margin", "alpha")] == ["mauve", 0.0, 0.1]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('margin = "0.1"', "Allowed: a number. Received: '0.1'."),
        ("k = 2.5", "Allowed: a whole number."),
        ("margin = ", "is not a TOML file"),
        (None, "cannot be read"),
    ],
)
def test_settings_that_cannot_be_used(folder, capsys, content, told):
    if content is not None:
        Path("gate.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main(arguments(*FAILS, "--config", "gate.toml", "--junit", "a.xml", "--markdown", "a.md")) == 2
    err = capsys.readouterr().err
    assert told in err
    assert (err.startswith("mauve-lens: "), err.count("\n")) == (True, 1)
    assert outcome("a.xml") == "error"
    assert Path("a.md").read_text().startswith("**ERROR: ")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"--margin": "-1"}, "a number from 0 to 1"),
        ({"--features": "other=human.npy"}, "Features are needed for each of the three files"),
        ({"--encoder": "minilm"}, "--features and --encoder cannot be combined"),
        ({"--normalize": "strip"}, "--features and --normalize cannot be combined"),
        ({"--junit": "."}, "Cannot write"),
        ({"--measure": "length"}, "invalid choice"),
    ],
)
def test_options_that_cannot_be_used(folder, capsys, change, told):
    assert main([*arguments(*FAILS), *(word for pair in change.items() for word in pair)]) == 2
    assert told in capsys.readouterr().err


def test_a_fault_is_told_from_a_fail(folder, capsys, monkeypatch):
    monkeypatch.setattr("mauve_core.analyses.gate.run_gate", lambda *_, **__: 1 // 0)
    assert main(arguments(*FAILS, "--junit", "a.xml")) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("mauve-lens: Unexpected ZeroDivisionError")
    assert outcome("a.xml") == "error"


def test_a_gate_that_is_stopped_leaves_no_result_of_an_earlier_one(folder, monkeypatch):
    assert main(arguments(*PASSES, "--junit", "a.xml", "--markdown", "a.md")) == 0

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mauve_core.analyses.gate.run_gate", stopped)
    assert main(arguments(*PASSES, "--junit", "a.xml", "--markdown", "a.md")) == 130
    assert outcome("a.xml") == "error"
    assert UNFINISHED in Path("a.md").read_text()


@pytest.mark.slow
def test_texts_are_normalized_on_every_side(folder, capsys):
    make_gpt2(folder / "tiny")
    call = arguments(*FAILS, "--encoder", str(folder / "tiny"), "--json", features=False)
    found = []
    for more in ([], ["--normalize", "words:5"]):
        capsys.readouterr()
        assert main([*call, *more]) in (0, 1, 3)
        found.append(json.loads(capsys.readouterr().out))
    plain, cut = found
    assert plain["tests"] != cut["tests"]
    assert {note.split(":")[0] for note in set(cut["notes"]) - set(plain["notes"])} == {
        "reference", "baseline", "candidate"
    }  # fmt: skip
