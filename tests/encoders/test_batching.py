from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.encoders.batching import pad, padded_tokens, plan_batches, plan_packed

LENGTHS = st.lists(st.integers(1, 300), min_size=0, max_size=80).map(lambda values: np.array(values, dtype=np.int32))


@given(lengths=LENGTHS, batch_tokens=st.integers(1, 2000))
def test_every_text_is_in_one_batch_within_the_bound(lengths: np.ndarray, batch_tokens: int) -> None:
    batches = plan_batches(lengths, batch_tokens)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * lengths[batch].max() <= batch_tokens


@given(lengths=LENGTHS, batch_tokens=st.integers(1, 2000))
def test_batches_are_full_and_run_from_long_to_short(lengths: np.ndarray, batch_tokens: int) -> None:
    batches = plan_batches(lengths, batch_tokens)
    order = lengths[np.concatenate(batches)] if batches else lengths
    assert (np.diff(order) <= 0).all()
    for batch in batches[:-1]:
        assert (len(batch) + 1) * lengths[batch].max() > batch_tokens


@given(lengths=LENGTHS, batch_tokens=st.integers(1, 2000))
def test_texts_laid_end_to_end_fill_the_bound_with_tokens(lengths: np.ndarray, batch_tokens: int) -> None:
    batches = plan_packed(lengths, batch_tokens)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for place, batch in enumerate(batches):
        assert len(batch) == 1 or lengths[batch].sum() <= batch_tokens
        assert (np.diff(lengths[batch]) <= 0).all()
        if place + 1 < len(batches):
            assert lengths[batch].sum() + lengths[batches[place + 1][0]] > batch_tokens


def test_hand_made_plan() -> None:
    lengths = np.array([2, 9, 2, 5, 5], dtype=np.int32)
    batches = plan_batches(lengths, 10)
    assert [batch.tolist() for batch in batches] == [[1], [3, 4], [0, 2]]
    assert padded_tokens(lengths, batches) == 9 + 2 * 5 + 2 * 2


@pytest.mark.parametrize(("lengths", "batch_tokens"), [([3, 0], 8), ([3, 4], 0)])
def test_refuses_what_cannot_be_batched(lengths: list[int], batch_tokens: int) -> None:
    with pytest.raises(InputError):
        plan_batches(np.array(lengths, dtype=np.int32), batch_tokens)
    with pytest.raises(InputError):
        plan_packed(np.array(lengths, dtype=np.int32), batch_tokens)


def test_padding_is_on_the_right_and_masked() -> None:
    ids, mask = pad([np.array([5, 6, 7], dtype=np.int32), np.array([8], dtype=np.int32)], padding=9)
    assert ids.tolist() == [[5, 6, 7], [8, 9, 9]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert ids.dtype == mask.dtype == np.int64
