"""The page on the gate: its YAML and TOML can be read, its commands exist, and its rule is the one of the code."""

from __future__ import annotations

import argparse
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from mauve_core.__main__ import build_parser
from mauve_core.cli.gating import EXIT_CODES, LABELS, apply_settings
from mauve_core.cli.parser import Commands, Parser
from mauve_core.scoring.gate_rule import RULE
from mauve_core.stats.scores import SCORES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def gate_parser() -> argparse.ArgumentParser:
    (commands,) = (each for each in build_parser()._actions if isinstance(each, Commands))
    found = commands.choices["gate"]
    assert isinstance(found, Parser)
    return found


def yaml_blocks() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    action, workflow, hooks = (yaml.safe_load(block) for block in blocks("yaml"))
    return action, workflow, hooks


def parsed(command: str) -> argparse.Namespace:
    """Read a command of the page; an option that does not exist is an InputError."""
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:2] == ["mauve-lens", "gate"]
    return gate_parser().parse_args(words[2:])


def test_the_action_runs_the_gate_on_all_its_inputs():
    action, workflow, _ = yaml_blocks()
    (step,) = (each for each in action["runs"]["steps"] if "run" in each)
    assert action["runs"]["using"] == "composite"
    assert step["shell"] == "bash"
    assert "${{" not in step["run"]  # an input in the script's text could be a command
    command = re.search(r"(mauve-lens gate .*?) \|\| code", step["run"], re.DOTALL)
    assert command is not None
    given = vars(parsed(command[1].replace("$MARGIN", "0.5")))
    for name in action["inputs"]:
        assert given[name] == (0.5 if name == "margin" else f"${name.upper()}")
        assert step["env"][name.upper()] == f"${{{{ inputs.{name} }}}}"
    (use,) = (each for each in workflow["jobs"]["gate"]["steps"] if each.get("uses", "").startswith("./"))
    required = {name for name, kind in action["inputs"].items() if kind.get("required")}
    assert required <= set(use["with"]) <= set(action["inputs"])


def test_the_hook_runs_the_gate():
    (repository,) = yaml_blocks()[2]["repos"]
    (hook,) = repository["hooks"]
    assert parsed(hook["entry"]).config == "gate.toml"
    assert re.search(hook["files"], "texts/candidate.jsonl")


def test_the_settings_are_read(tmp_path: Path):
    for block in blocks("toml"):
        path = tmp_path / "gate.toml"
        path.write_text(block, encoding="utf-8")
        args = gate_parser().parse_args([])
        apply_settings(args, path)
        for key, value in tomllib.loads(block).items():
            given = getattr(args, key.replace("-", "_"))
            assert given == ([f"{name}={file}" for name, file in value.items()] if key == "features" else value)


def test_rule_codes_and_defaults_are_those_of_the_code():
    assert RULE in " ".join(PAGE.split())
    for verdict, code in EXIT_CODES.items():
        assert re.search(rf"^\| {code} \| .*`{re.escape(LABELS[verdict])}:` \|$", PAGE, re.MULTILINE)
    (row,) = re.findall(r"^\| `--smallest-effect` \| (.*?) \|", PAGE, re.MULTILINE)
    assert [float(number) for number in re.findall(r"0\.\d+", row)] == [
        SCORES[name].smallest_effect for name in ("frontier_integral", "mauve", "mauve_star", "mid")
    ]


def test_options_of_the_table_exist():
    named = set(re.findall(r"^\| `(--[\w-]+)`", PAGE, re.MULTILINE))
    assert named
    assert named <= gate_parser()._option_string_actions.keys()
