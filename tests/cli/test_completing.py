"""The script of ``mauve-lens completion`` completes in a real shell what the parsers have."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mauve_core.__main__ import main
from mauve_core.cli.completing import SHELLS

BASH = shutil.which("bash") or "bash"


def script_of(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["gen"], ["generate"]),
        (["gate", "--mar"], ["--margin", "--markdown"]),
        (["gate", "--measure", "mauve"], ["mauve", "mauve_star"]),
        (["runs", "exp"], ["export"]),
        (["completion", "z"], ["zsh"]),
        (["work"], []),
    ],
    ids=" ".join,
)
def test_bash_completes(
    words: list[str], offered: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "completion.bash"
    file.write_text(script_of("bash", capsys), encoding="utf-8")
    asked = (
        f"source {file}; function=$(complete -p mauve-lens | sed 's/.*-F \\([^ ]*\\).*/\\1/'); "
        f'COMP_WORDS=(mauve-lens "$@"); COMP_CWORD=$#; $function; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    ended = subprocess.run([BASH, "-c", asked, "bash", *words], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert sorted(ended.stdout.split()) == offered


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = script_of(shell, capsys)
    assert all(name in script for name in ("compare", "gate", "completion", "max-requests"))


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "bash" in capsys.readouterr().err


def test_without_the_package_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mauve_core.base.extras.find_spec", lambda name: None)
    assert main(["completion", "bash"]) == 2
    assert "pip install 'mauve-lens[completion]'" in capsys.readouterr().err
