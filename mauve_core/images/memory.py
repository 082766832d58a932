"""Memory of images: what threads share, for which who needs some waits, and images some rows at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image

# Pixels of the rows that are taken at once.
AT_ONCE = 2**20

# Bytes of a part of a large image. glibc keeps up to 32 MB for the thread that freed them; more it gives back, so that
# what many threads free one after the other is not all kept.
Image.core.set_block_size(2**26)  # type: ignore[attr-defined]


class Room:
    """So many bytes in all.

    Whoever holds a part and asks for another waits for others that may do the same, so parts of one room are not taken
    one inside the other.
    """

    def __init__(self, total: int) -> None:
        self.total = self._free = total
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, amount: int) -> Iterator[None]:
        """While the block runs, hold that many bytes, or all if it is more."""
        held = min(amount, self.total)
        with self._changed:
            self._changed.wait_for(lambda: self._free >= held)
            self._free -= held
        try:
            yield
        finally:
            with self._changed:
                self._free += held
                self._changed.notify_all()


def strips(image: Image.Image) -> Iterator[tuple[int, Image.Image]]:
    """The first row, and a copy, of some rows of an image after others."""
    rows = max(1, AT_ONCE // image.width)
    for top in range(0, image.height, rows):
        yield top, image.crop((0, top, image.width, min(top + rows, image.height)))
