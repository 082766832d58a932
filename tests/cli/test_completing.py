"""The script of ``mauve-lens completion`` completes in a real shell what the parsers have."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mauve_core.__main__ import main
from mauve_core.cli.tooling import SHELLS

BASH = shutil.which("bash") or "bash"


def script_of(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "offered"),
    [(["gate", "--mar"], ["--margin", "--markdown"]), (["work"], [])],
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
