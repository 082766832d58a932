"""Each bomb is refused, by an error of ours, within the bounds of one case."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.fuzz.bombs import BOMBS, exploded

pytestmark = [pytest.mark.slow, pytest.mark.trial, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]


# One of each kind; the rest are larger, or take long on a slow machine.
USUAL = {"images: four GIFs, 100 million pixels"} | {name for name in BOMBS if not name.startswith("images")}
USUAL -= {"standard input: zeros", "pattern: seven folders", "word vectors: a hundred million words, gzipped"}
USUAL -= {"texts: an object of 22 million lists", "texts: a record of five million lists"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in USUAL else pytest.mark.rare) for name in BOMBS]
)
def test_refused_within_bounds(name: str, tmp_path: Path) -> None:
    found = exploded(BOMBS[name], tmp_path)
    assert not found.wrong
    assert found.answer or not BOMBS[name].refused
