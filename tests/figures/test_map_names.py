"""Names on the map are whole, and untrusted words in them are escaped."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.figures import text_map
from mauve_core.figures.text_map import placed_names

PIXELS = np.array([100.0, 100.0])


def test_names_are_whole_and_escaped() -> None:
    name = "<b>bold</b> & a name that needs several lines, and every word of it"
    (placed,) = placed_names(np.zeros((2, 2), np.float32), np.zeros(2, np.int32), [name], [0], PIXELS)
    lines = placed["text"].split("<br>")
    assert len(lines) > 2
    assert " ".join(lines) == "&lt;b&gt;bold&lt;/b&gt; &amp; a name that needs several lines, and every word of it"


@pytest.mark.parametrize("k", [1, 5, 40])
def test_a_name_stands_at_the_median_of_its_texts(k: int) -> None:
    rng = np.random.default_rng(k)
    xy, cluster = rng.normal(size=(300, 2)).astype(np.float32), rng.integers(-1, k, 300).astype(np.int32)
    cluster[cluster == 3] = -1
    middles, sizes = text_map._middles(xy, cluster, k + 2)
    for number in range(k + 2):
        own = xy[cluster == number]
        assert sizes[number] == len(own)
        expected = np.median(own, axis=0).astype(np.float64) if len(own) else [np.nan, np.nan]
        np.testing.assert_array_equal(middles[number], expected)
