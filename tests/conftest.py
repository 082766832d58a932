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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, the browser's before all: a worker takes whole files, and a long one at the end runs alone."""
    rank: dict[Path, int] = {}
    for item in items:
        own = 0 if "browser" in item.keywords else 1 if "slow" in item.keywords else 2
        rank[item.path] = min(own, rank.get(item.path, 2))
    items.sort(key=lambda item: rank[item.path])


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home of the program, so that no test sees the user's runs or another test's."""
    home = tmp_path / "home"
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))
    monkeypatch.delenv("MAUVE_LENS_DATABASE", raising=False)
    return home
