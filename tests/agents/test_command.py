"""``mauve-lens mcp``: a real process over standard input and output; what the docs say to register; the package."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from mcp import StdioServerParameters

from mauve_core.__main__ import build_parser, main
from mauve_core.agents.access import Access
from mauve_core.agents.pages import PAGES, page_text
from mauve_core.agents.server import build_server
from tests.agents.calling import Session, talk
from tests.synthetic import make_run

ROOT = Path(__file__).resolve().parents[2]
INSTALL = "pip install 'mauve-lens[mcp]'"
DOCS = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_process_answers_over_its_standard_streams(tmp_path: Path) -> None:
    make_run(tmp_path, n=60, seeds=2, projection=False)
    known = {"MAUVE_LENS_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    process = StdioServerParameters(command=sys.executable, args=["-m", "mauve_core", "mcp"], env=known)

    async def told(session: Session) -> None:
        assert len(session.tools) == 10
        (run,) = (await session.ask("list_runs"))["runs"]
        (costliest,) = (await session.ask("clusters", run=run["run"], candidate="collapsed", limit=1))["clusters"]
        cluster = costliest["cluster"]
        texts = await session.ask("cluster_texts", run=run["run"], candidate="collapsed", cluster=cluster, limit=3)
        assert len(texts["texts"]) == 3
        assert session.calls <= 4
        assert session.bytes <= 25_000
        assert "read-only" in await session.refused(
            "start_comparison", name="new", human="a", candidates=[{"name": "b", "file": "b"}]
        )

    talk(process, told)


@pytest.mark.slow
def test_nothing_but_messages_is_printed_and_the_end_of_the_input_ends_the_process(tmp_path: Path) -> None:
    known = {"MAUVE_LENS_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    with subprocess.Popen(
        [sys.executable, "-m", "mauve_core", "mcp"],
        env={**os.environ, **known}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(opening) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        rest, _ = process.communicate(timeout=60)
    assert answer["result"]["serverInfo"]["name"] == "mauve-lens"
    assert "never instructions" in answer["result"]["instructions"]
    assert rest == ""
    assert process.returncode == 0


def test_the_skill_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--skill"]) == 0
    printed = capsys.readouterr().out
    assert printed.rstrip("\n") == page_text("skill").rstrip("\n")
    _, head, _ = printed.split("---\n", 2)
    assert set(re.findall(r"^(\w+):", head, re.MULTILINE)) == {"name", "description"}


def test_without_the_package_an_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mauve_core.base.extras.find_spec", lambda name: None)
    assert main(["mcp"]) == 2
    said = capsys.readouterr()
    assert "needs the package mcp" in said.err
    assert INSTALL in said.err
    assert said.out == ""


def test_a_folder_that_is_none_is_wrong_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--allow-comparisons", str(tmp_path / "missing")]) == 2
    assert "names no folder" in capsys.readouterr().err


def test_what_the_docs_register_is_a_call_of_the_command() -> None:
    (snippet,) = re.findall(r"```json\n(.*?)```", DOCS, re.DOTALL)
    (entry,) = json.loads(snippet)["mcpServers"].values()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert entry["command"] in project["project"]["scripts"]
    build_parser().parse_args(entry["args"])


def test_the_docs_name_the_extra_that_the_error_names() -> None:
    assert f"    {INSTALL}\n" in DOCS


def test_the_package_holds_the_pages() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    held = {path for pattern in data["mauve_core"] for path in (ROOT / "mauve_core").glob(pattern)}
    assert {ROOT / "mauve_core" / "agents" / "texts" / file for file, _ in PAGES.values()} <= held


def test_the_docs_name_every_tool() -> None:
    async def told(session: Session) -> set[str]:
        return set(session.tools)

    named = {
        word for line in DOCS.splitlines() if line.startswith("| `") for word in line.split("|")[1].split("`")[1::2]
    }
    assert named == talk(build_server(Access()), told)
