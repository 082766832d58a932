"""Likelihoods on disk: read back as they were, made anew when damaged, another entry for other texts."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.analyses.measure_inputs import Collection, MeasureContext, entry_path, stored_or
from mauve_core.encoders.features import DamagedEntryWarning
from tests.tiny_models import POSITIONS, make_gpt2

CUT = np.array([False, True])


def losses():
    return [np.array([1.0, 2.0]), np.array([3.0])], CUT


def never():
    raise AssertionError("the entry was there")


def test_an_entry_is_read_back_as_it_was(tmp_path):
    path = tmp_path / "entry.npy"
    made, read = stored_or(path, 2, 1, losses), stored_or(path, 2, 1, never)
    for positions in (made, read):
        assert positions.owner.tolist() == [0, 0, 1]
        assert positions.values.tolist() == [[1.0], [2.0], [3.0]]
        assert positions.of_texts(np.array([1])).tolist() == [[3.0]]
        assert positions.note == "1 of 2 texts was cut at the scorer's limit"


@pytest.mark.parametrize("content", [b"", b"no array", None])
def test_a_damaged_entry_is_made_anew_with_a_warning(tmp_path, content):
    path = tmp_path / "entry.npy"
    stored_or(path, 2, 1, losses)
    path.write_bytes(path.read_bytes()[:-8] if content is None else content)
    with pytest.warns(DamagedEntryWarning, match="recomputed"):
        assert stored_or(path, 2, 1, losses).values.tolist() == [[1.0], [2.0], [3.0]]
    stored_or(path, 2, 1, never)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((3, 2)),
        np.array([[0, 0, np.nan], [1, 0, 1]]),
        np.array([[0, 0, 1.0]]),
        np.array([[1, 0, 1.0], [0, 0, 1]]),
        np.zeros((2, 3), dtype=np.float32),
    ],
)
def test_an_array_that_cannot_be_right_is_not_believed(tmp_path, array):
    path = tmp_path / "entry.npy"
    np.save(path, array)
    with pytest.warns(DamagedEntryWarning):
        stored_or(path, 2, 1, losses)


def test_other_inputs_have_another_entry():
    paths = {
        entry_path("m", "nll", ["a", "b"], None),
        entry_path("n", "nll", ["a", "b"], None),
        entry_path("m", "truncated", ["a", "b"], None),
        entry_path("m", "nll", ["ab"], None),
        entry_path("m", "nll", ["a", "b"], ["", ""]),
        entry_path("m", "nll", ["a", "b"], None, max_tokens=5),
    }
    assert len(paths) == 6


def test_the_model_reads_a_text_once(tmp_path, monkeypatch):
    folder = str(make_gpt2(tmp_path / "gpt2"))
    texts = Collection("q", ("1", "2"), ("The quick brown fox", "over the dog " * POSITIONS))
    first = MeasureContext(folder, device="cpu").likelihoods(texts)
    assert first.cut.tolist() == [False, True]
    again = MeasureContext(folder, device="cpu")
    monkeypatch.setattr(again, "model", never)
    np.testing.assert_array_equal(again.likelihoods(texts).values, first.values)
