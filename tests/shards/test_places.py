"""Shards on disk: what is listed, in which order, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from mauve_core.base.errors import InputError
from mauve_core.shards.places import MANIFEST_SUFFIX, list_shards, opened_shard


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b.jsonl", "a.jsonl.gz", "inner/c.parquet", "_SUCCESS", ".hidden.jsonl", "notes.md", "inner/d.jsonl"):
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return tmp_path / "tree"


@pytest.mark.parametrize(
    ("where", "expected"),
    [("", ["a.jsonl.gz", "b.jsonl", "inner/c.parquet", "inner/d.jsonl"]), ("**/*.jsonl", ["b.jsonl", "inner/d.jsonl"])],
)
def test_shards_are_listed_by_name(tree: Path, where: str, expected: list[str]) -> None:
    assert list_shards(tree / where) == tuple(str(tree / name) for name in expected)


def test_a_relative_place_becomes_absolute(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    assert list_shards("*.jsonl") == (str(tree / "b.jsonl"),)


def test_a_manifest_has_its_own_order(tree: Path) -> None:
    manifest = tree / f"shards{MANIFEST_SUFFIX}"
    manifest.write_text("# the second first\ninner/d.jsonl\n\nb.jsonl\ns3://bucket/e.jsonl\n")
    assert list_shards(manifest) == (str(tree / "inner/d.jsonl"), str(tree / "b.jsonl"), "s3://bucket/e.jsonl")


@pytest.mark.parametrize(
    ("lines", "message"),
    [("b.jsonl\nb.jsonl\n", "names shards twice"), ("s3://key:secret@bucket/e.jsonl\n", "no user and no key")],
)
def test_a_manifest_that_cannot_be_used(tree: Path, lines: str, message: str) -> None:
    manifest = tree / f"shards{MANIFEST_SUFFIX}"
    manifest.write_text(lines)
    with pytest.raises(InputError, match=message) as caught:
        list_shards(manifest)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("*.csv", "There are no shards"),
        ("missing", "does not exist"),
        ("s3://bucket/*.jsonl?secret_key=abc", "no user and no key"),
    ],
)
def test_places_without_shards(tree: Path, where: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        list_shards(where if "://" in where else tree / where)
    assert "secret@" not in str(caught.value)
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize("where", ["a.json", ""])
def test_json_files_are_refused_with_what_to_do(tmp_path: Path, where: str) -> None:
    for name in ("a.json", "a.json.gz"):
        (tmp_path / name).write_text('{"text": "One."}\n')
    (tmp_path / "all.manifest").write_text("a.json\n")
    with pytest.raises(InputError, match=r"Rename \.json files that hold one object per line to \.jsonl"):
        list_shards(tmp_path / where)


def test_kinds_of_shards_are_not_mixed(tree: Path) -> None:
    (tree / "inner/e.npy").write_text("")
    with pytest.raises(InputError, match="different kinds"):
        list_shards(tree)


def test_a_shard_that_has_vanished_is_named(tree: Path) -> None:
    (shard,) = list_shards(tree / "b.jsonl")
    Path(shard).unlink()
    with pytest.raises(InputError, match=r"b\.jsonl cannot be read.*finished shards are kept"), opened_shard(shard):
        pass
