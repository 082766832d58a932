"""Names of clusters: a property or words, never blank, unique, and made of nothing but letters of the texts."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mauve_core.base.errors import InputError
from mauve_core.findings import why_cards as module
from mauve_core.findings.distinctive_words import count_words
from mauve_core.findings.why_cards import MOST_WORDS, NO_TEXTS, NO_WORDS, SEPARATES, cluster_names
from mauve_core.stats.two_groups import effect
from mauve_core.texts.properties import PROPERTIES, text_properties

pytestmark = pytest.mark.integration


def names_of(texts: Sequence[str], labels: Sequence[int], k: int) -> tuple[str, ...]:
    return cluster_names(count_words(texts), text_properties(texts), np.array(labels, dtype=np.int32), k)


def study() -> tuple[list[str], list[int]]:
    """Three topics of 20 texts; those of the third are a tenth as long as the others."""
    rng = np.random.default_rng(0)
    texts, labels = [], []
    for cluster, (topic, length) in enumerate((("river", 60), ("engine", 60), ("violin", 6))):
        for _ in range(20):
            texts.append(f"{topic} {' '.join(rng.choice([f'{topic}{c}' for c in 'abcdef'], size=length))}.")
            labels.append(cluster)
    return texts, labels


def test_a_property_that_separates_a_cluster_names_it() -> None:
    names = names_of(*study(), 3)
    assert names[2] == PROPERTIES["length"].less
    assert names[0].startswith("river")
    assert names[1].startswith("engine")


def test_the_property_is_the_one_with_the_farthest_interval() -> None:
    texts, labels = study()
    rng = np.random.default_rng(1)
    values = {name: rng.random(60) for name in PROPERTIES}
    inside = np.array(labels) == 1
    values["length"] = np.where(inside, 2.0, 1.0) + 0.4 * rng.normal(size=60)
    values["punctuation"] = np.where(inside, -1.0, 1.0)
    values["distinct"][:5] = np.nan
    names = cluster_names(count_words(texts), values, np.array(labels), 3)
    for cluster in range(3):
        found = {}
        for name, kind in PROPERTIES.items():
            known = ~np.isnan(values[name])
            own = np.array(labels)[known] == cluster
            one = effect(values[name][known][own], values[name][known][~own])
            if one.low >= SEPARATES:
                found[kind.more] = one.low
            elif one.high <= 1 - SEPARATES:
                found[kind.less] = 1 - one.high
        assert bool(found) == (
            names[cluster] in {words for kind in PROPERTIES.values() for words in (kind.more, kind.less)}
        )
        if found:
            assert names[cluster] == max(found, key=lambda words: found[words])
    assert names[1] == PROPERTIES["punctuation"].less


def test_words_are_the_groups_own_in_their_order() -> None:
    texts, labels = study()
    counts = count_words(texts)
    expected = counts.by_group(np.array(labels), 3, top=MOST_WORDS, min_texts=2)
    quiet = {name: np.zeros(60) for name in PROPERTIES}
    names = cluster_names(counts, quiet, np.array(labels), 3)
    for name, words in zip(names, expected, strict=True):
        # The topic and the topic with one more letter are forms of one word.
        assert name.split(", ")[0] == words[0].word
        assert len(name.split(", ")) <= MOST_WORDS


def test_equal_names_take_one_word_more_then_the_number() -> None:
    same = ["sun moon star sky"] * 2
    quiet = {name: np.zeros(6) for name in PROPERTIES}
    counts = count_words([*same, *same, "of", "the"])
    names = cluster_names(counts, quiet, np.array([0, 0, 1, 1, 2, 3]), 5)
    assert names[:2] == ("moon, sky, star, sun (0)", "moon, sky, star, sun (1)")
    assert names[2:] == (f"{NO_WORDS} (2)", f"{NO_WORDS} (3)", NO_TEXTS)


def test_clusters_of_one_property_are_told_apart_by_words() -> None:
    short = ["river stone."] * 15 + ["violin bow."] * 15
    long = [" ".join(f"word{i}{j}" for j in range(40)) + "." for i in range(40)]
    labels = [0] * 15 + [1] * 15 + [2] * 40
    quiet = {name: np.zeros(70) for name in PROPERTIES}
    quiet["length"] = np.array([len(text.split()) for text in [*short, *long]], dtype=np.float64)
    quiet["length"][:30] += np.tile([0.1, 0.2], 15)
    names = cluster_names(count_words([*short, *long]), quiet, np.array(labels), 3)
    if names[0].startswith(PROPERTIES["length"].less):
        assert names[:2] == (f"{PROPERTIES['length'].less}: river", f"{PROPERTIES['length'].less}: bow")
    assert len(set(names)) == 3


def test_an_apostrophe_makes_no_word() -> None:
    texts = ["the dog's bone, it's his; they'll don't", "dog’s bone isn’t"]
    assert names_of(texts, [0, 0], 1) == ("bone, dog",)
    assert names_of(["l'homme d'accord", "l'homme qu'il"], [0, 0], 1)[0].startswith("homme")


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        (["Кошка спит", "кошка ест"], "кошка"),
        (["我喜欢 苹果", "他买 苹果"], "苹果"),
        (["القط ينام", "القط يأكل"], "القط"),
        (["2019 2019 sun", "2019 sun"], "sun"),
        (["<script>alert</script> **bold**", "alert [x](y)"], "alert"),
        (["robots robot robots", "robot robots"], "robots"),
    ],
)
def test_words_of_any_script_and_no_numbers_or_marks(texts: list[str], first: str) -> None:
    (name,) = names_of(texts, [0, 0], 1)
    assert name.split(", ")[0] == first
    assert not re.search(r"[<>*\[\]()]|\d", name)
    assert len([word for word in name.split(", ") if word.startswith("robot")]) <= 1


def test_texts_without_words_and_single_texts_have_names_too() -> None:
    assert names_of(["", "!!", "the of"], [0, 1, 2], 4) == (
        f"{NO_WORDS} (0)", f"{NO_WORDS} (1)", f"{NO_WORDS} (2)", NO_TEXTS
    )  # fmt: skip
    assert names_of(["apple pear"], [0], 1) == ("apple, pear",)
    assert names_of([], [], 2) == (f"{NO_TEXTS} (0)", f"{NO_TEXTS} (1)")
    (link,) = names_of(["x" * 400], [0], 1)
    assert link == "x" * (module.LONGEST_WORD - 1) + "…"


words_of = st.lists(st.sampled_from(["sun", "moon", "star", "the", "7", "it's", "…", "\u202e"]), max_size=6)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(words_of.map(" ".join), st.integers(0, 4)), max_size=25))
def test_names_are_never_blank_and_never_twice(texts: list[tuple[str, int]]) -> None:
    names = names_of([text for text, _ in texts], [label for _, label in texts], 5)
    assert len(names) == 5
    assert all(name.strip() and "\n" not in name for name in names)
    assert max(Counter(names).values()) == 1
    assert names == names_of([text for text, _ in texts], [label for _, label in texts], 5)


def test_properties_of_other_texts_are_refused() -> None:
    with pytest.raises(InputError):
        cluster_names(count_words(["a b"]), {name: np.zeros(2) for name in PROPERTIES}, np.array([0]), 1)


def test_five_hundred_clusters_take_seconds_at_most() -> None:
    rng = np.random.default_rng(0)
    vocabulary = np.array([f"{a}{b}{c}" for a in "abcdefghij" for b in "klmnopqrst" for c in "uvwxyzabcd"])
    texts = [" ".join(rng.choice(vocabulary, size=30)) for _ in range(5000)]
    counts, quiet = count_words(texts), {name: rng.random(5000) for name in PROPERTIES}
    labels = rng.integers(0, 500, 5000)
    start = time.process_time()
    assert len(set(cluster_names(counts, quiet, labels, 500))) == 500
    assert time.process_time() - start < 5
