"""``mauve-lens mcp``: a real process over standard input and output; what the docs say to register; the package."""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest
from mcp import StdioServerParameters

from mauve_core.__main__ import build_parser
from mauve_core.agents.access import Access
from mauve_core.agents.server import build_server
from tests.agents.calling import Session, talk
from tests.synthetic import make_run

ROOT = Path(__file__).resolve().parents[2]
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


def test_what_the_docs_register_is_a_call_of_the_command() -> None:
    (snippet,) = re.findall(r"```json\n(.*?)```", DOCS, re.DOTALL)
    (entry,) = json.loads(snippet)["mcpServers"].values()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert entry["command"] in project["project"]["scripts"]
    build_parser().parse_args(entry["args"])


def test_the_docs_name_every_tool() -> None:
    async def told(session: Session) -> set[str]:
        return set(session.tools)

    named = {
        word for line in DOCS.splitlines() if line.startswith("| `") for word in line.split("|")[1].split("`")[1::2]
    }
    assert named == talk(build_server(Access()), told)
