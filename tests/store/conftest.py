from __future__ import annotations

from pathlib import Path

import pytest

from mauve_core.runs import RunStore


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs")
