"""The list of commands: all load what they announce, the help imports none of them, and a misspelling is told."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

from mauve_core.__main__ import main
from mauve_core.cli.commands import COMMANDS, add_commands
from mauve_core.cli.parser import Commands, Parser


@pytest.mark.parametrize("module", COMMANDS)
def test_a_module_adds_the_commands_that_are_announced(module: str) -> None:
    parser = Parser(prog="mauve-lens")
    add_commands(parser, load=False)
    (commands,) = [action for action in parser._actions if isinstance(action, Commands)]
    announced = list(COMMANDS[module])
    assert [name for name, loaded in commands.choices.items() if loaded is not None] == []
    commands.load(announced[0])
    assert [name for name, loaded in commands.choices.items() if loaded is not None] == announced


def test_help_and_version_import_neither_numpy_nor_a_command() -> None:
    script = (
        "import sys\nfrom mauve_core.__main__ import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(sorted({'numpy', 'mauve_core.cli.comparing'} & set(sys.modules)))"
    )

    def said(option: str) -> list[str]:
        done = subprocess.run([sys.executable, "-c", script, option], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    listed, versions = said("--help"), said("--version")
    assert listed[-1] == versions[-1] == "[]"
    assert versions[:-1] == [f"mauve-lens {version('mauve-lens')}"]
    shown = [name for names in COMMANDS.values() for name, explained in names.items() if explained]
    assert all(any(line.split()[:1] == [name] for line in listed) for name in shown)
    assert not any("work" in line.split()[:1] for line in listed)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["compare", "--humam", "a.jsonl"], "mauve-lens compare has no option --humam. Did you mean --human?"),
        (["runs", "list", "--serch", "x"], "mauve-lens runs list has no option --serch. Did you mean --search?"),
        (["compair"], "No command is named 'compair'."),
    ],
)
def test_a_misspelling_is_told_before_what_is_missing(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"mauve-lens: {told}")
    assert said.count("\n") == 1
