"""What every test shares: a home of its own, and no way to a model hub."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything imports huggingface_hub, which reads it once


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home of the program, so that no test sees the user's runs or another test's."""
    home = tmp_path / "home"
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))
    return home
