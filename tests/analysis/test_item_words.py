"""Numbers name clusters of images, and a rare tag does not."""

from __future__ import annotations

import numpy as np

from mauve_core.findings.distinctive_words import count_words, item_words
from mauve_core.findings.why_cards import cluster_names, labelled, usual_tags
from mauve_core.texts.kinds import kind_of

SIX = ["6, square, dark"] * 9 + ["4, square, dark"]
SEVEN = ["7, tall, dark, red fox"] * 10
LABELS = np.repeat(np.arange(2, dtype=np.int32), 10)


def test_what_most_items_share_is_left_out() -> None:
    image = kind_of("image")
    found = item_words(image, SIX, [*SIX, *SEVEN])
    assert found.vocabulary.tolist() == ["4", "6", "square"]
    assert found.matrix.shape == (10, 3)
    assert item_words(image, SEVEN, [*SIX, *SEVEN]).vocabulary.tolist() == ["7", "red fox", "tall"]
    assert item_words(image, SIX, [*SIX, *SEVEN] + ["wide"] * 40).vocabulary.tolist() == ["4", "6", "dark", "square"]


def test_words_of_texts_are_counted_as_before() -> None:
    texts = ["the river bank", "a river", "river"]
    found, expected = item_words(kind_of("text"), texts, texts), count_words(texts)
    assert found.vocabulary.tolist() == expected.vocabulary.tolist() == ["bank", "river"]
    assert (found.matrix != expected.matrix).nnz == 0


def test_numbers_name_clusters_of_images_and_a_rare_tag_does_not() -> None:
    described = [*SIX, *SEVEN, "9, tall"]
    words = item_words(kind_of("image"), described, described)
    labels = np.append(LABELS, np.int32(1))
    names = cluster_names(words, {}, labels, 2, tags=True)
    assert {"6", "4"} <= set(names[0].split(", "))
    assert "9" not in names[1].split(", ")
    assert "6" not in cluster_names(words, {}, labels, 2)[0].split(", ")
    group = words.by_group(labels, 2)[1]
    assert {each.word for each in group} - {each.word for each in usual_tags(group, 11)} == {"9"}


def test_a_number_in_a_name_is_not_said_twice() -> None:
    assert labelled(("6", "6 (1)"), 1) == "6 (1)"
    assert labelled(("6", "6 (1)"), 0) == "6 · 0"
