"""The list of commands: all load what they announce, the help imports none of them, and a misspelling is told."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from mauve_core.__main__ import main
from mauve_core.base.config import ESTIMATOR_NAMES, MEASURE_NAMES, MEASURES_OVER_K, PRESET_NAMES, SUMMARY_NAMES
from mauve_core.cli.parser import COMMANDS, Commands, Parser, add_commands


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


def test_help_of_all_and_of_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    for given, asked in ((["help"], ["--help"]), (["help", "runs", "show"], ["runs", "show", "--help"])):
        said = []
        for arguments in (given, asked):
            with pytest.raises(SystemExit) as ended:
                main(arguments)
            assert not ended.value.code
            said.append(capsys.readouterr().out)
        assert said[0] == said[1]
        assert said[0]
    assert main(["hepl"]) == 2
    assert "Did you mean help?" in capsys.readouterr().err


def test_what_is_announced_is_there() -> None:
    from mauve_core.analyses.measures_over_neighbours import OVER_K
    from mauve_core.analyses.methods import ESTIMATORS, PRESETS, SUMMARIES
    from mauve_core.analyses.text_measures import MEASURES

    known = MEASURES, OVER_K, ESTIMATORS, SUMMARIES, PRESETS
    names = (MEASURE_NAMES, MEASURES_OVER_K, ESTIMATOR_NAMES, SUMMARY_NAMES, PRESET_NAMES)
    assert tuple(map(tuple, known)) == names


# Libraries that take longer to import than a wrong command may take.
SLOW = {"torch", "transformers", "numba", "sklearn", "streamlit", "scipy", "pandas", "pyarrow", "plotly"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("compare --humam a.jsonl --model m=a.jsonl", "--human"),
        ("compare --human a.jsonl --model m=nowhere.jsonl --dtype auto --device cuda", "nowhere.jsonl does not exist"),
        ("compare --human a.jsonl --model m=a.jsonl --text-field m=body --dtype auto", "'body'"),
        ("compare a.jsonl --by sourc", "'sourc'"),
        ("explain --reference h=a.jsonl --model m=a.jsonl --text-field m=body", "'body'"),
        ("measure --human a.jsonl --model m=a.jsonl --text-field m=body --device cuda", "'body'"),
        ("gate --reference a.jsonl --baseline a.jsonl --candidate nowhere.jsonl --device cuda", "nowhere.jsonl"),
        ("encode a.jsonl --out f.npy --text-field body --device cuda", "'body'"),
        ("study --human nowhere.jsonl --model x --decoder greedy --name r --device cuda", "nowhere.jsonl"),
        ("generate --model x --prompts nowhere.jsonl --decoder greedy --out o --device cuda", "nowhere.jsonl"),
        ("generate --model x --prompts a.jsonl --decoder psychic --out o", "psychic"),
        ("shard-run 1/2 --human a.parquet --model m=nowhere.parquet --work w", "nowhere.parquet"),
        ("encoders some-run --device gpu", "'gpu'"),
        ("explain no-such-run", "no-such-run"),
        ("sweep no-such-run --over k", "no-such-run"),
        ("methods no-such-run --preset iclr", "no-such-run"),
        ("measure no-such-run", "no-such-run"),
        ("clusters no-such-run", "no-such-run"),
        ("runs again no-such-run --k 3", "no-such-run"),
        ("ratings import no-such-run a.jsonl", "no-such-run"),
        ("jobs log no-such-job", "no-such-job"),
        ("report no-such-run", "no-such-run"),
        ("probe no-such-run --perturbatio x", "--perturbation"),
        ("ratings rank nowhere.csv", "nowhere.csv"),
    ],
)
def test_a_wrong_command_is_refused_before_slow_libraries_are_imported(command: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "A long enough sentence."}\n' * 3)
    (tmp_path / "a.parquet").touch()
    script = (
        "import sys\nfrom mauve_core.__main__ import main\n"
        f"assert main(sys.argv[1:]) == 2\nprint(sorted({SLOW!r} & set(sys.modules)))"
    )
    given = [sys.executable, "-c", script, *command.split()]
    done = subprocess.run(given, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert told in done.stderr
    assert done.stdout == "[]\n"
