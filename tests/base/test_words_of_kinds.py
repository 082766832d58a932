"""What items of each kind are called, and sentences with slots for it."""

from __future__ import annotations

import pytest

from mauve_core.analyses.text_measures import MEASURES
from mauve_core.base.words import TEXTS, Words

IMAGES = Words("image", "images", "real", "real images", "id")


@pytest.mark.parametrize(
    ("words", "filled"),
    [
        (TEXTS, "Human texts of one prompt, not of humans: a text."),
        (TEXTS.against("davinci"), "Reference texts of one prompt, not of the reference: a text."),
        (TEXTS.against(""), "Human texts of one prompt, not of humans: a text."),
        (IMAGES, "Real images of one id, not of real images: an image."),
        (IMAGES.against("davinci"), "Real images of one id, not of real images: an image."),
    ],
)
def test_slots_are_filled_with_what_the_items_are_called(words: Words, filled: str) -> None:
    assert words.fill("{Reference_items} of one {group}, not of {references}: {one}.") == filled


def test_what_measures_say_of_themselves_has_slots_alone() -> None:
    for each in MEASURES.values():
        assert IMAGES.fill(f"{each.description} {each.larger}")
