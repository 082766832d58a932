"""Averages of word vectors from a made file: hand values, formats and what is refused."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pytest

from mauve_core.base.config import CompareConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.encoders import vector_files
from mauve_core.encoders.word_vectors import WordTable, words_of
from mauve_core.scoring.compare import compare
from mauve_core.texts import corpus_from_texts
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
        ("vectors.vec.GZ".lower(), ["6 3", *LINES], " \n"),
        ("windows.txt", ["\ufeff6 3", *LINES], "\r\n"),
        ("twice.txt", ["\ufeff\ufeff6 3", *LINES], "\n"),
    ],
)
def test_every_spelling_of_the_format_reads_the_same(tmp_path, name, lines, ending):
    texts = {"human": ["the cat", "sat ."], "model": ["cat cat unknown"]}
    plain = word_features(texts, written(tmp_path, name="plain.txt"))
    other = word_features(texts, written(tmp_path, lines, name, ending))
    assert list(other) == ["human", "model"]
    for side in texts:
        np.testing.assert_array_equal(other[side].array, plain[side].array)


def test_a_file_may_lack_its_last_line_ending(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("\n".join(LINES))
    table = WordTable(path)
    rows = [table.numbered(["Paris"])]
    table.read()
    assert table.averages(rows).array.tolist() == [[10, 0, 0]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop: it's 1,5!", ["do", "n't", "stop", ":", "it", "'s", "1", ",", "5", "!"]),
        ("don\u2019t", ["do", "n't"]),
        ("'hello' n't can't", ["'", "hello", "'", "n't", "ca", "n't"]),
        ("Straße 東京 naïve_x", ["straße", "東京", "naïve_x"]),
        (" \n\u00a0", []),
    ],
)
def test_words(text, words):
    assert words_of(text) == words


def test_entries_of_several_words_and_second_vectors_are_passed_over_and_counted(tmp_path):
    path = written(tmp_path, [*LINES, "the cat 7 7 7", "cat 9 9 9"])
    found = word_features({"a": ["the cat"]}, path)["a"]
    assert found.array.tolist() == [[0.5, 1, 0]]
    assert found.notes[1:] == (
        "1 multi-word entries in vectors.txt were skipped",
        "1 repeated vectors of words in vectors.txt were skipped",
    )


@pytest.mark.parametrize(
    ("line", "received"),
    [
        ("dog 1 2", "3 fields"),
        ("", "0 fields"),
        ("the 1 2 x", "something else among the numbers"),
        ("the 1 nan 2", "not finite"),
        ("the 1 1e39 2", "not finite"),
        ("the 1 1_0 2", "not finite"),
        ("a dog 1 x 2", "something else among the numbers"),
        ("the\t1\t2\t3", "1 fields"),
        ("the " + "1" * 200 + " 2 3", "more than 100 bytes"),
    ],
)
@pytest.mark.parametrize("name", ["bad.txt", "bad.txt.gz"])
def test_a_malformed_line_is_named(tmp_path, monkeypatch, line, received, name):
    monkeypatch.setattr(vector_files, "LINE_LIMIT", 100)
    path = written(tmp_path, [*LINES, line, *LINES], name)
    with pytest.raises(InputError) as refused:
        word_features({"a": ["the cat"]}, path)
    assert refused.value.wrong.startswith(f"Line 7 of {path} ")
    assert refused.value.allowed == "a word and 3 numbers, separated by single spaces"
    assert received in refused.value.received


@pytest.mark.parametrize("lines", [["the"], ["100 20000", *LINES], ["0 0"], ["the " + " ".join("1" * 10_001)]])
def test_a_first_line_without_a_usable_number_of_numbers_is_refused(tmp_path, lines):
    with pytest.raises(InputError, match=r"Line 1 of .*1 to 10,000 numbers"):
        word_features({"a": ["the cat"]}, written(tmp_path, lines))


@pytest.mark.parametrize(
    ("lines", "allowed"), [(["7 3", *LINES], "7 lines"), (["5 3", *LINES], "5 lines"), ([], "one word vector")]
)
def test_a_file_that_is_not_all_there_is_refused(tmp_path, lines, allowed):
    with pytest.raises(InputError, match="is incomplete") as refused:
        word_features({"a": ["the cat"]}, written(tmp_path, lines))
    assert allowed in refused.value.allowed


def test_files_that_cannot_be_read_are_refused(tmp_path):
    plain = written(tmp_path)
    packed = plain.rename(tmp_path / "vectors.txt.gz")
    with pytest.raises(InputError, match="not a gzip file"):
        word_features({"a": ["the"]}, packed)
    whole = written(tmp_path, name="whole.gz").read_bytes()
    packed.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="damaged gzip"):
        word_features({"a": ["the"]}, packed)
    for path in (tmp_path, tmp_path / "none.txt"):
        with pytest.raises(InputError, match=r"is a folder|does not exist"):
            word_features({"a": ["the"]}, path)


@pytest.mark.parametrize("text", ["purple dogs", "", " "])
def test_a_text_without_any_vector_is_named(tmp_path, text):
    with pytest.raises(InputError, match=r"no vector for any word in text 1 \(counted from 0\)"):
        word_features({"human": ["the"], "model": ["cat", text]}, written(tmp_path))


def test_the_features_serve_a_comparison(tmp_path):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(40)]
    path = written(tmp_path, [f"{word} {' '.join(f'{x:.4f}' for x in rng.normal(size=5))}" for word in words])
    chosen = {"human": words[:20], "near": words[:20], "far": words[20:]}
    texts = {side: [" ".join(rng.choice(own, size=20)) for _ in range(60)] for side, own in chosen.items()}
    corpora = {side: corpus_from_texts(rows, name=side) for side, rows in texts.items()}
    features = {side: found.array for side, found in word_features(texts, path).items()}
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=1, restarts=1, bootstrap=100), projection=False)
    human = corpora.pop("human")
    near, far = compare(human, corpora, config, features=features).candidates
    assert near.scores["mauve"].mean > far.scores["mauve"].mean + 0.2


def test_what_is_no_plain_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    for path, said in ((tmp_path / "pipe.txt", "is a named pipe"), (tmp_path, "is a folder")):
        with pytest.raises(InputError, match=said):
            word_features({"a": ["the"]}, path)


def test_vectors_that_fill_the_memory_are_refused_at_the_first_line(tmp_path, monkeypatch):
    monkeypatch.setattr(vector_files, "MOST_CELLS", 8)
    assert word_features({"a": ["the cat"]}, written(tmp_path))
    with pytest.raises(InputError, match=r"vectors of 3 words.*Received: 3 per word"):
        word_features({"a": ["the cat sat"]}, written(tmp_path))
