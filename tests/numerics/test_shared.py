"""What sequences share with others, against plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.estimators.token_sequences import Sequences, Windows, longest_run, shared_ngrams, windows

N = 3

texts = st.lists(st.lists(st.integers(0, 2), max_size=12), min_size=1, max_size=6)


def of(rows: list[list[int]]) -> Windows:
    tokens = np.array([each for row in rows for each in row], np.int64)
    return windows(Sequences(tokens, np.array([*map(len, rows)], np.int64)), N)


def grams(row: list[int], n: int) -> list[tuple[int, ...]]:
    return [tuple(row[place : place + n]) for place in range(len(row) - n + 1)]


def plain_share(rows: list[list[int]], others: list[list[int]] | None, without: list[list[int]]) -> list[float]:
    found = []
    for index, row in enumerate(rows):
        own = set(grams(row, N)) - set(grams(without[index], N))
        held = [each for place, each in enumerate(rows) if place != index] if others is None else others
        known = {gram for each in held for gram in grams(each, N)}
        found.append(len(own & known) / len(own) if own else np.nan)
    return found


def plain_run(rows: list[list[int]], others: list[list[int]], without: list[list[int]]) -> int:
    """Length of the longest run all of whose n-grams count."""
    best = 0
    for row, its in zip(rows, without, strict=True):
        for length in range(N, len(row) + 1):
            for run in grams(row, length):
                counts = not set(grams(list(run), N)) & set(grams(its, N))
                if counts and any(run in grams(other, length) for other in others):
                    best = max(best, length)
    return best


@given(texts, texts, st.data())
def test_shares_and_runs_are_those_of_plain_loops(
    rows: list[list[int]], others: list[list[int]], data: st.DataObject
) -> None:
    without = [data.draw(st.lists(st.integers(0, 2), max_size=5)) for _ in rows]
    for held in (others, None):
        found = shared_ngrams(of(rows).without(of(without)), None if held is None else of(held))
        np.testing.assert_allclose(found, plain_share(rows, held, without))
    run = longest_run(of(rows).without(of(without)), of(others))
    assert (0 if run is None else run.length) == plain_run(rows, others, without)
    if run is not None:
        assert set(grams(rows[run.own], run.length)) & set(grams(others[run.other], run.length))
