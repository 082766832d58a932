"""Map in the real browser: a lasso drawn with the mouse selects the texts inside it, and a reload shows the same."""

from __future__ import annotations

import csv
import io
import re
import urllib.parse
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Page, expect

from mauve_app.url.parameters import parse
from mauve_core.analyses.selection import Stack
from mauve_core.base.config import HUMAN
from mauve_core.runs import Run
from tests.browser import charts

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

CHART = "map_chart"
# Corners as shares of the plot's width and height, from its upper left.
TRIANGLE = np.array([[0.04, 0.06], [0.96, 0.10], [0.45, 0.93]])


def open_map(page: Page, url: str, **parameters: str) -> None:
    page.goto(f"{url}/map?{urllib.parse.urlencode({'run': 'synthetic', **parameters})}")
    expect(charts.chart(page, CHART)).to_be_visible()


def on_screen(page: Page, corners: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Corners in pixels of the page and in coordinates of the map, once the map has come to rest under the mouse."""
    charts.chart(page, CHART).hover()
    left, top, width, height, x0, x1, y0, y1 = charts.read_chart(
        page,
        CHART,
        """plot => {
            const box = plot.getBoundingClientRect(), {xaxis, yaxis} = plot._fullLayout;
            return [box.left + xaxis._offset, box.top + yaxis._offset, xaxis._length, yaxis._length,
                    ...xaxis.range, ...yaxis.range];
        }""",
    )
    pixels = np.array([left, top]) + corners * [width, height]
    return pixels, np.array([x0, y1]) + corners * [x1 - x0, y0 - y1]


def draw_lasso(page: Page, corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Drag along the corners and back to the first; the corners in coordinates of the map."""
    pixels, places = on_screen(page, corners)
    page.mouse.move(*pixels[0])
    page.mouse.down()
    for corner in [*pixels[1:], pixels[0]]:
        page.mouse.move(*corner, steps=6)
    page.mouse.up()
    return places


def polygon_in_url(page: Page) -> NDArray[np.float64]:
    expect(page).to_have_url(re.compile(r"[?&]lasso="))
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(page.url).query))
    lasso = parse(query).lasso
    assert lasso is not None
    return np.array(lasso)


def inside_triangle(points: NDArray[np.float32], corners: NDArray[np.float64]) -> NDArray[np.bool_]:
    """On the same side of all three edges: no use is made of the app's own test."""
    following = np.roll(corners, -1, axis=0)
    edge, to_point = following - corners, points[:, None, :] - corners
    side = edge[:, 0] * to_point[..., 1] - edge[:, 1] * to_point[..., 0]
    return np.asarray((side > 0).all(axis=1) | (side < 0).all(axis=1))


def ids_where(run: Run, inside: NDArray[np.bool_]) -> set[tuple[str, str]]:
    stack = Stack.of(run.comparison)
    names = [stack.names[place] for place in stack.source[inside]]
    positions = stack.position[inside]
    return {(name, run.corpora[name].ids[i]) for name, i in zip(names, positions, strict=True)}


def selected_ids(page: Page) -> set[tuple[str, str]]:
    """All of them, from the file that the page offers."""
    charts.settle(page)
    page.get_by_role("tab", name="List").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV with full texts").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    page.get_by_role("tab", name="Texts").click()
    return {(row["source"], row["id"]) for row in rows}


def test_lasso_read_the_texts_reload(page: Page, live_app: str, live_run: Run) -> None:
    projection = live_run.comparison.projection
    assert projection is not None
    open_map(page, live_app, candidate="close", hidden="none")
    expect(page.get_by_text(re.compile("Lasso an area"))).to_be_visible()
    drawn = draw_lasso(page, TRIANGLE)
    polygon = polygon_in_url(page)
    # A pixel of the plot is the accuracy of the mouse: about 1/380 of the width.
    pixel = (projection.max(axis=0) - projection.min(axis=0)) / 200
    for corner in drawn:
        assert (np.abs(polygon - corner) < pixel).all(axis=1).any()
    corners = np.array([polygon[np.abs((polygon - corner) / pixel).sum(axis=1).argmin()] for corner in drawn])
    truth = ids_where(live_run, inside_triangle(projection, corners))
    assert 0 < len(truth) < len(projection)
    expect(page.get_by_role("heading", name=f"{len(truth):,} of {len(projection):,} texts in the area")).to_be_visible()
    assert selected_ids(page) == truth
    human = [i for i in live_run.corpora[HUMAN].ids if (HUMAN, i) in truth]
    cells = page.locator('[class*="st-key-map_texts_human"] td[data-testid^="glide-cell-1-"]')
    expect(cells).to_have_text(human[:8])
    corpus = live_run.corpora[HUMAN]
    expect(page.get_by_text(corpus.texts[corpus.ids.index(human[0])], exact=True)).to_be_visible()
    address = page.url
    page.reload()
    expect(page.get_by_role("heading", name=f"{len(truth):,} of {len(projection):,} texts in the area")).to_be_visible()
    assert page.url == address
    assert selected_ids(page) == truth
