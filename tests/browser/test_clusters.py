"""Clusters in the real browser: a clicked bar or ticked row shows that cluster's own texts, and a reload the same."""

from __future__ import annotations

import re
import urllib.parse

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from app.cluster_table import cluster_table, ordered
from mauve_core.config import HUMAN
from mauve_core.store import Run

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CANDIDATE = "shifted"
PAGE_SIZE = 8


def open_clusters(page: Page, url: str, **parameters: str) -> None:
    page.goto(f"{url}/clusters?{urllib.parse.urlencode({'run': 'synthetic', **parameters})}")
    expect(chart(page).locator(".barlayer").first).to_be_attached()


def chart(page: Page) -> Locator:
    return page.locator(".st-key-clusters_chart .js-plotly-plot")


def click_column(page: Page, place: int) -> int:
    """Click near the top of the column at that place, above any bar; the cluster that Plotly has there."""
    chart(page).scroll_into_view_if_needed()
    x, y, cluster = chart(page).evaluate(
        """(plot, place) => {
            const box = plot.getBoundingClientRect(), layout = plot._fullLayout;
            const columns = plot._fullData[plot._fullData.length - 1];
            return [box.left + layout.xaxis._offset + layout.xaxis.d2p(columns.x[place]),
                    box.top + layout._size.t + 6, columns.customdata[place][0]];
        }""",
        place,
    )
    page.mouse.click(x, y)
    return int(cluster)


def shown_ids(page: Page, side: str) -> list[str]:
    cells = page.locator(f'[class*="st-key-cluster_texts_{side}"] td[data-testid^="glide-cell-1-"]')
    return [cell.strip() for cell in cells.all_text_contents()]


def expected_ids(run: Run, source: str, cluster: int) -> list[str]:
    labels = run.comparison.partition("joint", CANDIDATE).labels[source]
    return [run.corpora[source].ids[i] for i in np.flatnonzero(labels == cluster)]


def expect_cluster(page: Page, run: Run, cluster: int) -> None:
    """The page shows that cluster: its name, both lists by id, and its first human text in full."""
    expect(page).to_have_url(re.compile(rf"[?&]cluster={cluster}(&|$)"))
    expect(page.get_by_role("heading", name=f"Cluster {cluster}", exact=True)).to_be_visible()
    for side, source in (("human", HUMAN), ("model", CANDIDATE)):
        expected = expected_ids(run, source, cluster)
        expect(page.get_by_text(f"· {len(expected)} of {len(run.corpora[source])} texts").first).to_be_visible()
        if expected:
            first = page.locator(f'[class*="st-key-cluster_texts_{side}"] td[data-testid="glide-cell-1-0"]')
            expect(first).to_have_text(expected[0])
        assert shown_ids(page, side) == expected[:PAGE_SIZE]
    human = expected_ids(run, HUMAN, cluster)
    if human:
        corpus = run.corpora[HUMAN]
        expect(page.get_by_text(corpus.texts[corpus.ids.index(human[0])], exact=True)).to_be_visible()


def test_click_a_bar_read_its_texts_reload(page: Page, live_app: str, live_run: Run) -> None:
    open_clusters(page, live_app, candidate=CANDIDATE)
    expect(page.get_by_text(re.compile("Click a bar"))).to_be_visible()
    partition = live_run.comparison.partition("joint", CANDIDATE)
    rows = ordered(cluster_table(partition.counts(HUMAN), partition.counts(CANDIDATE), 0.5), "difference")
    for place in (1, len(rows) - 2):
        cluster = click_column(page, place)
        assert cluster == rows["cluster"][place]
        expect_cluster(page, live_run, cluster)
    page.reload()
    expect_cluster(page, live_run, cluster)


def test_tick_a_row_then_see_it_on_the_map(page: Page, live_app: str, live_run: Run) -> None:
    open_clusters(page, live_app, candidate=CANDIDATE)
    page.get_by_role("tab", name="Table").click()
    table = page.locator(".st-key-clusters_table")
    third = table.locator('td[data-testid="glide-cell-1-2"]')
    expect(third).to_be_attached()
    cluster = int(third.inner_text() or third.text_content() or "")
    box = table.get_by_test_id("stDataFrame").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 17, box["y"] + 35 * 3 + 17)
    expect_cluster(page, live_run, cluster)
    page.get_by_role("link", name="On the map").click()
    expect(page.get_by_role("heading", name=f"Cluster {cluster}", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(rf"/map\?.*cluster={cluster}(&|$)"))


def test_turn_the_page_and_choose_a_text(page: Page, live_app: str, live_run: Run) -> None:
    partition = live_run.comparison.partition("joint", CANDIDATE)
    cluster = int(partition.counts(CANDIDATE).argmax())
    expected = expected_ids(live_run, CANDIDATE, cluster)
    assert len(expected) > PAGE_SIZE + 1
    open_clusters(page, live_app, candidate=CANDIDATE, cluster=str(cluster))
    expect_cluster(page, live_run, cluster)
    side = page.locator('[class*="st-key-cluster_texts_model"]')
    side.get_by_role("button", name="Next page").click()
    expect(side.locator('td[data-testid="glide-cell-1-0"]')).to_have_text(expected[PAGE_SIZE])
    box = side.get_by_test_id("stDataFrame").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 17, box["y"] + 35 * 2 + 17)
    corpus = live_run.corpora[CANDIDATE]
    expect(page.get_by_text(corpus.texts[corpus.ids.index(expected[PAGE_SIZE + 1])], exact=True)).to_be_visible()
    assert shown_ids(page, "human") == expected_ids(live_run, HUMAN, cluster)[:PAGE_SIZE]
