"""What every test shares: a home of its own, and no way to a model hub."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A property is a claim about numbers, not about time: a busy machine must not fail it. CI draws the same examples
# every time; elsewhere they vary, and what they find becomes a test.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything imports huggingface_hub, which reads it once


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home of the program, so that no test sees the user's runs or another test's."""
    home = tmp_path / "home"
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))
    return home
