"""The picture of the item under the mouse on the map, above the words of Plotly's own label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mauve_app.browser import component
from mauve_app.server import own_server
from mauve_app.server.thumbnails import folder_url
from mauve_core.analysis.selection import Stack
from mauve_core.corpus.media import SIDES
from mauve_core.store import Run

# Points of a map whose pictures are shown: the browser gets the digest of each, 64 letters.
MOST_PICTURES = 5_000

_hovered = component("mauve_lens_hovered_picture", "hovered_picture", '<img class="picture" alt="" hidden>')


def show(run: Run, stack: Stack, drawn: NDArray[np.intp], *, chart: str) -> None:
    """Show pictures over the chart of that key.

    Texts, and maps of more than ``MOST_PICTURES`` points, have none.

    Parameters
    ----------
    drawn : (m,) int array
        Places in the stack of the items that the map draws.
    """
    media = [run.corpora[name].media for name in stack.names]
    if own_server.is_missing() or drawn.size > MOST_PICTURES or any(each is None for each in media):
        return
    digests = [each.digests for each in media if each is not None]
    owners = zip(drawn.tolist(), stack.source[drawn].tolist(), stack.position[drawn].tolist(), strict=True)
    _hovered(
        key="map_picture",
        data={
            "chart": chart,
            "folders": [folder_url(run, name, SIDES[0]) for name in stack.names],
            "pictures": {str(place): [source, digests[source][row]] for place, source, row in owners},
        },
    )
