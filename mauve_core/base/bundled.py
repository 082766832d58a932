"""The files that come with the program: the demo study and the published figures."""

from __future__ import annotations

from pathlib import Path


def bundled(name: str) -> Path:
    """Return a folder of ``data``, which an installed package holds and a clone of the repository has beside it."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "data"
    return (inside if inside.is_dir() else package.parent / "data") / name
