"""Each bomb is refused, by an error of ours, within the bounds of one case."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.fuzz.bombs import BOMBS, exploded

pytestmark = [pytest.mark.slow, pytest.mark.trial, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]


# The rest are larger, or of the same kinds: ``make bombs`` tries them.
LEFT_OUT = {name for name in BOMBS if name.startswith("images")} - {"images: four GIFs, 100 million pixels"}
LEFT_OUT |= {"standard input: zeros", "pattern: seven folders", "word vectors: a hundred million words, gzipped"}
LEFT_OUT |= {"texts: an object of 22 million lists"}


@pytest.mark.parametrize("name", sorted(BOMBS.keys() - LEFT_OUT))
def test_refused_within_bounds(name: str, tmp_path: Path) -> None:
    found = exploded(BOMBS[name], tmp_path)
    assert not found.wrong
    assert found.answer or not BOMBS[name].refused
