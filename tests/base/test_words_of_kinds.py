"""What is said of texts, said of other items."""

from __future__ import annotations

import pytest

from mauve_core.base.words import TEXTS, real_items

IMAGES = real_items("image", "images")


@pytest.mark.parametrize(
    ("sentence", "of_images"),
    [
        ("The human texts are those of people.", "The real images are those of real images."),
        ("Pair by prompt", "Pair by id"),
        ("Adds: the model writes what humans don't", "Adds: the model shows what real images don't"),
        ("exchanging texts within prompts", "exchanging images among images of one id"),
    ],
)
def test_a_sentence_of_texts_is_said_of_images(sentence: str, of_images: str) -> None:
    assert IMAGES.said(sentence) == of_images
    assert TEXTS.said(sentence) == sentence


def test_names_and_quotations_stay() -> None:
    names = ["human-text", "text"]
    assert IMAGES.said("human-text has more texts than text, like “human texts”.", names) == (
        "human-text has more images than text, like “human texts”."
    )
    assert IMAGES.said("human-text") == "real-image"


@pytest.mark.parametrize(
    ("sentence", "of_a_reference"),
    [
        ("one human text, nearer to human text", "one reference text, nearer to reference text"),
        ("a good decoder lies where people do", "a good decoder lies where the reference does"),
        ("Humans write what the model misses", "The reference has what the model misses"),
        ("it says “human” more than people", "it says “human” more than the reference"),
    ],
)
def test_a_reference_that_a_model_wrote_is_not_called_human(sentence: str, of_a_reference: str) -> None:
    assert TEXTS.against("davinci").said(sentence) == of_a_reference
    assert TEXTS.against("").said(sentence) == sentence
