"""Averages of word vectors from a made file: hand values, formats and what is refused."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.encoders import vector_files
from mauve_core.encoders.glove import words_of
from tests.encoders.word_tables import word_features

LINES = ["the 1 0 0", "cat 0 2 0", "sat 0 0 -4", ". 0.5 0.5 0.5", "n't 8 8 8", "Paris 1e1 0 0"]


def written(folder, lines=LINES, name="vectors.txt", ending="\n"):
    path = folder / name
    data = "".join(f"{line}{ending}" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def test_the_average_is_over_all_words_known_or_not(tmp_path):
    found = word_features({"human": ["The cat sat.", "the purple cat"]}, written(tmp_path))["human"]
    assert found.array.dtype == np.float32
    # (1 + 0 + 0 + 0.5, 2 + 0.5, -4 + 0.5) / 4, and (1, 2, 0) / 3 with one word unknown: exact but for float32.
    np.testing.assert_allclose(found.array, [[0.375, 0.625, -0.875], [1 / 3, 2 / 3, 0]], rtol=1e-7)
    assert found.words.tolist() == [4, 3]
    assert found.unknown.tolist() == [0, 1]
    assert found.notes == ("1 of 7 words (14.3%) have no vector in vectors.txt and count as zero",)


@pytest.mark.parametrize(
    ("name", "lines", "ending"),
    [
        ("vectors.txt.gz", LINES, "\n"),
        ("vectors.vec", ["6 3", *LINES], "\n"),
        ("windows.txt", ["\ufeff6 3", *LINES], "\r\n"),
    ],
)
def test_every_spelling_of_the_format_reads_the_same(tmp_path, name, lines, ending):
    texts = {"human": ["the cat", "sat ."], "model": ["cat cat unknown"]}
    plain = word_features(texts, written(tmp_path, name="plain.txt"))
    other = word_features(texts, written(tmp_path, lines, name, ending))
    assert list(other) == ["human", "model"]
    for side in texts:
        np.testing.assert_array_equal(other[side].array, plain[side].array)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop: it's 1,5!", ["do", "n't", "stop", ":", "it", "'s", "1", ",", "5", "!"]),
        ("'hello' n't can't", ["'", "hello", "'", "n't", "ca", "n't"]),
        ("Straße 東京 naïve_x", ["straße", "東京", "naïve_x"]),
    ],
)
def test_words(text, words):
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("line", "received"),
    [
        ("dog 1 2", "3 fields"),
        ("the 1 2 x", "something else among the numbers"),
        ("the 1 nan 2", "not finite"),
        ("the 1 1_0 2", "not finite"),
        ("the " + "1" * 200 + " 2 3", "more than 100 bytes"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, monkeypatch, line, received) -> None:
    monkeypatch.setattr(vector_files, "LINE_LIMIT", 100)
    path = written(tmp_path, [*LINES, line, *LINES], "bad.txt")
    with pytest.raises(InputError) as refused:
        word_features({"a": ["the cat"]}, path)
    assert refused.value.wrong.startswith(f"Line 7 of {path} ")
    assert refused.value.allowed == "a word and 3 numbers, separated by single spaces"
    assert received in refused.value.received


def test_vectors_that_fill_the_memory_are_refused_at_the_first_line(tmp_path, monkeypatch):
    monkeypatch.setattr(vector_files, "MOST_CELLS", 8)
    assert word_features({"a": ["the cat"]}, written(tmp_path))
    with pytest.raises(InputError, match=r"vectors of 3 words.*Received: 3 per word"):
        word_features({"a": ["the cat sat"]}, written(tmp_path))
