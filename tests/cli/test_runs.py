"""``mauve-lens runs`` from the outside: runs found, described, put away and brought back, and sent as files."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from mauve_core.__main__ import main
from mauve_core.runs import RunStore
from tests.handmade import make_comparison, make_corpora, make_features

pytestmark = pytest.mark.integration


@pytest.fixture
def store(own_home: Path) -> RunStore:
    made = RunStore()
    for name in ("one", "two"):
        made.save(name, make_comparison(), make_corpora(), make_features())
    return made


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["runs", *arguments]) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    return sorted(run["id"] for run in json.loads(said(capsys, "--json", *arguments))["runs"])


def test_runs_are_described_and_found(store: RunStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is now called New name" in said(capsys, "rename", "one", "New  name")
    assert "Tags of run one: a, b" in said(capsys, "tag", "one", "b", "a")
    assert "Tags of run one: b, c" in said(capsys, "tag", "one", "c", "--remove", "a")
    assert "notes of 5 characters" in said(capsys, "note", "one", "first")
    assert (store.list("new")[0].tags, store.list("new")[0].notes) == (("b", "c"), "first")
    assert listed(capsys) == ["one", "two"]
    assert listed(capsys, "list") == ["one", "two"]
    assert listed(capsys, "--search", "NEW first") == listed(capsys, "list", "--search", "name") == ["one"]
    assert listed(capsys, "--tag", "b", "--tag", "c") == ["one"]
    assert listed(capsys, "--tag", "b", "--search", "two") == []
    assert "No stored run matches all of these" in said(capsys, "--search", "none")
    table = said(capsys)
    assert "b, c" in table
    assert "kB" in table
    shown = said(capsys, "show", "one")
    assert "Run one (New name)" in shown
    assert "Tags: b, c\n> first\n" in shown
    assert "has no notes" in said(capsys, "note", "one", "")


def test_folders_of_the_machine_are_not_shown(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = make_comparison()
    comparison = dataclasses.replace(made, human=dataclasses.replace(made.human, origin="/srv/secret/people.jsonl"))
    RunStore().save("one", comparison, make_corpora(), make_features())
    for table in (said(capsys), said(capsys, "show", "one")):
        assert "people.jsonl" in table
        assert "secret" not in table


def test_what_cannot_be_said_is_refused(store: RunStore, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (("rename", "one", " "), "name cannot be used"),
        (("tag", "one"), "No tag is given"),
        (("tag", "one", "x" * 41), "tag cannot be used"),
        (("tag", "none", "x"), "No run has the id 'none'"),
        (("restore", "one"), "The bin has no entry 'one'"),
        (("purge",), "runs to remove or --all"),
        (("purge", "one", "--all"), "runs to remove or --all"),
        (("export", "none"), "No run has the id 'none'"),
        (("import", "none.zip"), "The archive of a run none.zip cannot be read: it does not exist"),
    ):
        assert message in said(capsys, *arguments, code=2)
    assert listed(capsys) == ["one", "two"]


def test_the_bin(store: RunStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert "The bin is empty" in said(capsys, "bin")
    for run_id in ("one", "two"):
        assert f"mauve-lens runs restore {run_id}" in said(capsys, "delete", run_id)
    entries = json.loads(said(capsys, "bin", "--json"))["deleted"]
    assert [entry["summary"]["id"] for entry in entries] == ["two", "one"]
    assert entries[0]["token"] in said(capsys, "bin")
    assert "Restored run one" in said(capsys, "restore", "one")
    assert "Restored run two" in said(capsys, "restore", entries[0]["token"])
    assert listed(capsys) == ["one", "two"]
    for run_id in ("one", "two"):
        said(capsys, "delete", run_id)
    assert "kB freed" in said(capsys, "purge", "one")
    assert [entry.summary.id for entry in store.deleted()] == ["two"]
    assert "kB freed" in said(capsys, "purge", "--all")
    assert store.deleted() == []


def test_a_run_goes_out_and_comes_in(
    store: RunStore, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "Wrote one.mauve-run.zip" in said(capsys, "export", "one")
    said(capsys, "export", "one", "--out", "other.zip")
    assert "Stored as run one-2" in said(capsys, "import", "one.mauve-run.zip")
    assert "Stored as run third" in said(capsys, "import", "other.zip", "--name", "Third")
    assert listed(capsys) == ["one", "one-2", "third", "two"]
