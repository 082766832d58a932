"""Every purpose draws from a stream of its own, which stays the same when a purpose is added."""

from __future__ import annotations

import numpy as np

from mauve_core.scoring.streams import stream

# Scores and maps that are stored depend on these.
POSITIONS = {
    "clustering": 0,
    "bootstrap": 1,
    "projection": 2,
    "subsets": 3,
    "methods": 4,
    "permutations": 5,
    "halves": 6,
    "probes": 7,
    "attributes": 8,
    "pairs": 9,
    "exchange": 10,
    "gap": 11,
    "correction": 12,
}


def test_a_purpose_draws_what_it_always_drew() -> None:
    for purpose, position in POSITIONS.items():
        expected = np.random.SeedSequence(7, spawn_key=(position,)).generate_state(4)
        np.testing.assert_array_equal(stream(7, purpose).generate_state(4), expected)
