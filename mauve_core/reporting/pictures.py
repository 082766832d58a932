"""Small pictures of items in a report, as data URLs."""

from __future__ import annotations

import base64
from collections.abc import Iterable

from mauve_core.reporting.blocks import Picture
from mauve_core.texts import Corpus
from mauve_core.texts.media import SIDES

# Of a side, at most.
PICTURES = 12


def pictures_of(corpus: Corpus, indices: Iterable[int]) -> tuple[Picture, ...]:
    """Return the small pictures of these items; none where a corpus has no pictures."""
    media = corpus.media
    if media is None:
        return ()
    shown = ((index, base64.b64encode(media.picture(index, SIDES[0])).decode("ascii")) for index in indices)
    return tuple(Picture(corpus.ids[index], f"data:image/webp;base64,{encoded}") for index, encoded in shown)
