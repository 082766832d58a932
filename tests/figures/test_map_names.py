"""Names on the map are whole, and untrusted words in them are escaped."""

from __future__ import annotations

import numpy as np

from mauve_core.figures.map_names import placed_names

PIXELS = np.array([100.0, 100.0])


def test_names_are_whole_and_escaped() -> None:
    name = "<b>bold</b> & a name that needs several lines, and every word of it"
    (placed,) = placed_names(np.zeros((2, 2), np.float32), np.zeros(2, np.int32), [name], [0], PIXELS)
    lines = placed["text"].split("<br>")
    assert len(lines) > 2
    assert " ".join(lines) == "&lt;b&gt;bold&lt;/b&gt; &amp; a name that needs several lines, and every word of it"
