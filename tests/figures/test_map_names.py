"""Names on the map: none over another, the important first, untrusted words escaped."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from mauve_core.figures.map_names import MOST_NAMES, box_size, placed_names

PIXELS = np.array([100.0, 100.0])


def scattered(k: int, spread: float) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    rng = np.random.default_rng(k)
    xy = rng.uniform(0, spread, (k, 2))
    return np.repeat(xy, 3, axis=0).astype(np.float32), np.repeat(np.arange(k), 3).astype(np.int32)


def test_no_name_lies_over_another_and_the_first_has_its_place() -> None:
    spread = 4.0
    k = 40
    xy, cluster = scattered(k, spread)
    names = [f"name of cluster number {number}" for number in range(k)]
    order = list(reversed(range(k)))
    placed = placed_names(xy, cluster, names, order, PIXELS)
    assert 0 < len(placed) <= MOST_NAMES
    assert placed[0]["text"].replace("<br>", " ") == names[order[0]]
    assert (placed[0]["x"], placed[0]["y"], placed[0]["yshift"]) == (*map(float, xy[cluster == order[0]][0]), 0)
    boxes = []
    for each in placed:
        width, height = box_size(each["text"])
        x, y = each["x"] * PIXELS[0], each["y"] * PIXELS[1] + each["yshift"]
        boxes.append((x - width / 2, x + width / 2, y - height / 2, y + height / 2))
    for a, b in itertools.combinations(boxes, 2):
        assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2]
    if spread == 30:
        assert len(placed) == MOST_NAMES


def test_names_are_whole_and_escaped() -> None:
    name = "<b>bold</b> & a name that needs several lines, and every word of it"
    (placed,) = placed_names(np.zeros((2, 2), np.float32), np.zeros(2, np.int32), [name], [0], PIXELS)
    lines = placed["text"].split("<br>")
    assert len(lines) > 2
    assert " ".join(lines) == "&lt;b&gt;bold&lt;/b&gt; &amp; a name that needs several lines, and every word of it"
