"""Each bomb is refused, by an error of ours, within the bounds of one case."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.fuzz.bombs import BOMBS, exploded

pytestmark = [pytest.mark.slow, pytest.mark.trial, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]


@pytest.mark.parametrize("name", list(BOMBS))
def test_refused_within_bounds(name: str, tmp_path: Path) -> None:
    found = exploded(BOMBS[name], tmp_path)
    assert not found.wrong
    assert found.answer
