"""n-grams as numbers and what sequences share, against counters of tuples."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.estimators.token_sequences import Overlap, ngrams

sequences = st.lists(st.lists(st.integers(0, 3), max_size=9), min_size=1, max_size=7)


def flat(rows):
    return np.array([token for row in rows for token in row], dtype=np.int64), np.array([len(row) for row in rows])


def grams(row, order):
    return Counter(tuple(row[i : i + order]) for i in range(len(row) - order + 1))


@given(sequences)
def test_ngrams_are_equal_where_the_tuples_are(rows):
    tokens, lengths = flat(rows)
    for order, found in enumerate(ngrams(tokens, lengths, 4), start=1):
        tuples = [tuple(row[i : i + order]) for row in rows for i in range(len(row) - order + 1)]
        owners = [place for place, row in enumerate(rows) for _ in range(len(row) - order + 1)]
        assert found.owner.tolist() == owners
        assert found.distinct == len(set(tuples))
        assert len(set(zip(found.ids.tolist(), tuples, strict=True))) == len(set(tuples))


@given(sequences.filter(lambda rows: len(rows) >= 2), st.data())
def test_overlaps_are_bleus_statistics_among_any_choice(rows, data):
    among = sorted(data.draw(st.sets(st.integers(0, len(rows) - 1), min_size=2)))
    found = Overlap(*flat(rows)).statistics(np.array(among), np.array(among))
    for place, row in enumerate(among):
        others = [rows[other] for other in among if other != row]
        assert found.length[place] == len(rows[row])
        assert found.closest[place] == min((len(o) for o in others), key=lambda n: (abs(n - len(rows[row])), n))
        for order in range(1, 5):
            own = grams(rows[row], order)
            most = Counter()
            for other in others:
                most |= grams(other, order)
            assert found.total[place, order - 1] == own.total()
            assert found.correct[place, order - 1] == (own & most).total()


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(InputError, match="do not match"):
        ngrams([1, 2, 3], [1, 1], 2)
    overlap = Overlap([1, 2, 3], [1, 2])
    for rows, among in (([0], [0]), ([1], [0])):
        with pytest.raises(InputError, match="nothing to compare"):
            overlap.statistics(np.array(rows), np.array(among))
