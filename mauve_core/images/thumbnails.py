"""Small copies of images (``mauve_core.corpus.media`` says which, and where they are kept)."""

from __future__ import annotations

import io

from PIL import Image

QUALITY = 80


def thumbnail(image: Image.Image, side: int) -> bytes:
    """The image in WebP, at most ``side`` pixels wide and high; a smaller one keeps its size.

    Parameters
    ----------
    image : PIL.Image.Image
        In RGB.
    side : int
        Pixels.
    """
    small = image.copy()
    small.thumbnail((side, side), Image.Resampling.LANCZOS, reducing_gap=3.0)
    stream = io.BytesIO()
    small.save(stream, "WEBP", quality=QUALITY, method=4)
    return stream.getvalue()
