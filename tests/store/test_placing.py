"""How a finished run comes to its place: whole, in one step."""

from __future__ import annotations

from pathlib import Path

from mauve_core.runs.placing import put


def test_a_run_is_renamed_into_its_place(tmp_path: Path) -> None:
    """A copy would be seen half-done, and would have another inode."""
    folder = tmp_path / ".partial"
    folder.mkdir()
    (folder / "comparison.json").write_text("{}")
    (tmp_path / "run").mkdir()
    inode = folder.stat().st_ino
    final = put(folder, tmp_path, "run")
    assert (final.name, final.stat().st_ino) == ("run-2", inode)
    assert not folder.exists()
