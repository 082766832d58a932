"""What a release says of itself in several files is one thing: version, licence, papers."""

from __future__ import annotations

import re
import subprocess
import tomllib
from typing import Any

import pytest
import yaml

from mauve_core.reporting.paper import BIBTEX
from tests.supply.closure import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture
def citation() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return found


def test_the_citation_is_of_this_version_and_licence(citation: dict[str, Any]) -> None:
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])
    assert citation["abstract"] == PROJECT["description"]
    assert citation["keywords"] == PROJECT["keywords"]
    assert citation["authors"] == PROJECT["authors"]
    assert {"cff-version", "message", "title"} <= citation.keys()


def test_the_newest_entry_of_the_changelog_is_this_version() -> None:
    titles = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert titles[0] == PROJECT["version"]
    assert len(set(titles)) == len(titles)


def test_a_tagged_commit_has_the_version_of_its_tag() -> None:
    listed = subprocess.run(["git", "tag", "--points-at", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    assert listed.returncode == 0, listed.stderr
    assert set(re.findall(r"^v(\d.*)$", listed.stdout, re.MULTILINE)) <= {PROJECT["version"]}


def test_the_papers_are_those_that_the_methods_paragraph_cites(citation: dict[str, Any]) -> None:
    cited = " ".join(re.sub(r"[{}]", "", BIBTEX).split()).lower()
    for paper in citation["references"]:
        assert paper["title"].lower() in cited
        assert str(paper["year"]) in cited
        for author in paper["authors"]:
            assert f"{author['family-names']}, {author['given-names']}".lower() in cited
