"""Stacked matrices against numpy's own stacking, and that reading by blocks copies nothing whole."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.clusters.features import Stacked, require_usable, stacked

DTYPES = (np.float16, np.float32, np.float64, np.int32)


@st.composite
def piles(draw):
    """Small matrices of one width and any precision, some without rows."""
    width, rng = draw(st.integers(1, 4)), np.random.default_rng(draw(st.integers(0, 2**16)))
    sizes = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    return [(5 * rng.normal(size=(n, width))).astype(draw(st.sampled_from(DTYPES))) for n in sizes]


def plain(arrays):
    return np.concatenate([array.astype(np.float32) for array in arrays])


@given(piles(), st.data())
def test_blocks_and_rows_are_those_of_one_array(arrays, data):
    whole, table = plain(arrays), Stacked(arrays)
    assert (table.shape, len(table), table.dtype) == (whole.shape, len(whole), np.float32)
    start, stop = data.draw(st.integers(0, 25)), data.draw(st.integers(0, 25))
    np.testing.assert_array_equal(table.block(start, stop), whole[start:stop])
    size = data.draw(st.integers(1, 7))
    joined = [rows for _, rows in table.blocks(size)]
    assert all(len(rows) <= size and rows.dtype == np.float32 for rows in joined)
    np.testing.assert_array_equal(np.concatenate([whole[:0], *joined]), whole)
    for at, rows in table.blocks(size):
        np.testing.assert_array_equal(rows, whole[at])
    np.testing.assert_array_equal(np.asarray(table), whole)
    np.testing.assert_array_equal(np.asarray(table, dtype=np.float64), whole.astype(np.float64))


@given(piles(), st.data())
def test_chosen_rows_are_those_of_one_array(arrays, data):
    whole, table = plain(arrays), Stacked(arrays)
    rows = np.array(data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=9) if len(whole) else st.just([])), int)
    np.testing.assert_array_equal(table.take(rows), whole[rows])
    chosen = Stacked(arrays, rows=rows)
    assert chosen.shape == (len(rows), whole.shape[1])
    np.testing.assert_array_equal(np.asarray(chosen), whole[rows])
    np.testing.assert_array_equal(chosen.take(np.arange(len(rows))[::-1]), whole[rows][::-1])
    np.testing.assert_array_equal(np.asarray(Stacked([table, chosen])), np.concatenate([whole, whole[rows]]))


def test_nothing_is_copied_whole(tmp_path):
    path, n, d = tmp_path / "x.npy", 40_000, 64
    np.save(path, np.ones((n, d), dtype=np.float16))
    mapped, half = np.load(path, mmap_mode="r"), np.arange(0, n, 2)
    block = 4096 * d * 4
    tracemalloc.start()
    try:
        for table in (Stacked([mapped, mapped]), Stacked([mapped], rows=half)):
            assert sum(float(rows[:, 0].sum()) for _, rows in require_usable(table).blocks()) == len(table)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A block in float32, a second one while the next is made, and its masks; all rows would be 19 blocks.
    assert peak < 4 * block


def test_a_block_of_a_float32_array_is_that_array():
    x, y = np.ones((9, 2), np.float32), np.ones((4, 2), np.float32)
    assert np.shares_memory(Stacked([x, y]).block(2, 5), x)
    table = Stacked([x])
    assert stacked(table) is table
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(table, copy=False)


def test_finite_rows_and_directions_are_required():
    x = np.ones((9000, 3), dtype=np.float16)
    assert len(require_usable(x)) == 9000
    x[8500] = 0
    with pytest.raises(InputError, match=r"The scores of q hold rows of zeros.*row 8500\b"):
        require_usable(x, name="scores of q")
    x[[3, 5000], 1] = np.inf, np.nan
    with pytest.raises(InputError, match=r"not finite.*2 rows \(3, 5000\)"):
        require_usable(x)
    with pytest.raises(InputError, match="not finite"):
        require_usable(np.array([[1e39], [1.0]]))
    with pytest.raises(InputError, match="Too few rows"):
        require_usable(np.ones((1, 3)), least_rows=2)


@pytest.mark.parametrize(
    ("arrays", "rows", "said"),
    [
        ([], None, "no features to stack"),
        ([np.ones(3)], None, "do not form a table"),
        ([np.ones((3, 0))], None, "do not form a table"),
        ([[[1.0, 2.0], [1.0]]], None, "ragged"),
        ([np.array([["a"]])], None, "real numbers"),
        ([np.ones((2, 3)), np.ones((2, 4))], None, "different dimensions"),
        ([np.ones((2, 3))], [2], "not rows"),
        ([np.ones((2, 3))], [-1], "not rows"),
        ([np.ones((2, 3))], [0.5], "not rows"),
        ([np.ones((2, 3))], [True, False], "not rows"),
    ],
)
def test_bad_input_is_refused(arrays, rows, said):
    with pytest.raises(InputError, match=said):
        Stacked(arrays, rows=rows)
