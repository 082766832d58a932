"""What differs between two folders of items is found, and what is volatile is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.golden.differences import folder_differences, neutral

ITEM = {"created": "2026-01-01T10:00:00", "path": "/tmp/x/home/runs", "mean": 0.1 + 0.2, "rows": [1, "a\nb\nc"]}


def written(folder: Path, item: object) -> Path:
    (folder / "scores").mkdir(parents=True)
    (folder / "scores" / "one.json").write_text(json.dumps(neutral(item, {"/tmp/x/home": "<home>"})))
    return folder


def test_what_is_volatile_does_not_count(tmp_path: Path) -> None:
    before = written(tmp_path / "a", ITEM)
    again = written(tmp_path / "b", {**ITEM, "created": "2027-03-04T11:00:00"})
    assert folder_differences(before, again) == {}
    text = (before / "scores" / "one.json").read_text()
    assert "2026" not in text
    assert "<home>/runs" in text


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"mean": 0.3}, "mean: 0.30000000000000004 -> 0.3"),
        ({"rows": [1.0, "a\nb\nc"]}, "rows[0]: 1 -> 1.0"),
        ({"rows": [1, "a\nB\nc"]}, "rows[1] line 2: 'b' -> 'B'"),
        ({"rows": [1]}, "rows: 2 entries -> 1"),
        ({"more": None}, "more: new"),
    ],
)
def test_a_planted_change_is_found(tmp_path: Path, change: dict[str, object], found: str) -> None:
    before, after = written(tmp_path / "a", ITEM), written(tmp_path / "b", {**ITEM, **change})
    assert folder_differences(before, after) == {"scores/one.json": [found]}
    (before / "scores" / "one.json").unlink()
    assert folder_differences(before, after) == {"scores/one.json": ["new"]}
