"""The reference of the command line is what the parsers say."""

from __future__ import annotations

import re
import runpy
from typing import Any

import pytest

from mauve_core.cli.parser import COMMANDS
from tests.supply.closure import ROOT


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "make_commands.py"))


def test_the_page_is_made_of_the_parsers_of_now(made: dict[str, Any]) -> None:
    assert made["PAGE"].read_text(encoding="utf-8") == made["page"](), "make it anew: python docs/make_commands.py"


def test_every_command_that_is_listed_has_a_section_and_hidden_ones_have_none(made: dict[str, Any]) -> None:
    page = made["page"]()
    shown = {name for explained in COMMANDS.values() for name, line in explained.items() if line}
    assert set(re.findall(r"^## (\S+)$", page, re.MULTILINE)) == shown
    for option in ("--by FIELD", "--junit FILE.xml", "--max-requests N"):
        assert f"| `{option}` |" in page
