"""Clusters in the real browser: a clicked bar or ticked row shows that cluster's own texts, and a reload the same."""

from __future__ import annotations

import re
import urllib.parse

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

from mauve_core.analysis.cluster_table import cluster_table, ordered
from mauve_core.base.config import HUMAN
from mauve_core.store import Run
from tests.browser import charts

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CANDIDATE = "shifted"
CHART = "clusters_chart"
PAGE_SIZE = 8
ROW_PX = 35


def open_clusters(page: Page, url: str, **parameters: str) -> None:
    page.goto(f"{url}/clusters?{urllib.parse.urlencode({'run': 'synthetic', **parameters})}")
    expect(charts.chart(page, CHART)).to_be_visible()


def click_column(page: Page, place: int) -> int:
    """Click near the top of the column at that place, above any bar; the cluster that Plotly has there."""
    x, y, cluster = charts.read_chart(
        page,
        CHART,
        """(plot, place) => {
            const layout = plot._fullLayout, columns = plot._fullData[plot._fullData.length - 1];
            return [layout.xaxis._offset + layout.xaxis.d2p(columns.x[place]), layout._size.t + 6,
                    columns.customdata[place][0]];
        }""",
        place,
    )
    charts.chart(page, CHART).click(position={"x": x, "y": y})
    return int(cluster)


def expect_ids(page: Page, side: str, expected: list[str]) -> None:
    """Just these ids stand in the side's list."""
    cells = page.locator(f'[class*="st-key-cluster_texts_{side}"] td[data-testid^="glide-cell-1-"]')
    expect(cells).to_have_text(expected)


def expect_size(page: Page, title: str, count: int, total: int) -> None:
    """The side of that title says how many of its texts are in the cluster."""
    expect(page.get_by_text(f"{title} · {count} of {total} texts", exact=True)).to_be_visible()


def expected_ids(run: Run, source: str, cluster: int) -> list[str]:
    labels = run.comparison.partition("joint", CANDIDATE).labels[source]
    return [run.corpora[source].ids[i] for i in np.flatnonzero(labels == cluster)]


def expect_cluster(page: Page, run: Run, cluster: int) -> None:
    """The page shows that cluster: its name, both lists by id, and its first human text in full."""
    expect(page).to_have_url(re.compile(rf"[?&]cluster={cluster}(&|$)"))
    expect(page.get_by_role("heading", name=f"Cluster {cluster}", exact=True)).to_be_visible()
    for side, title, source in (("human", "Human", HUMAN), ("model", CANDIDATE, CANDIDATE)):
        expected = expected_ids(run, source, cluster)
        expect_size(page, title, len(expected), len(run.corpora[source]))
        expect_ids(page, side, expected[:PAGE_SIZE])
    human = expected_ids(run, HUMAN, cluster)
    if human:
        corpus = run.corpora[HUMAN]
        text = re.escape(corpus.texts[corpus.ids.index(human[0])])
        # A short text stands whole in its row of the list too; rows are cells, the text below them is not.
        expect(page.locator("span", has_text=re.compile(rf"^{text}$"))).to_be_visible()


def expected_rows(run: Run) -> pd.DataFrame:
    """The clusters in the order in which the page shows them at first."""
    partition = run.comparison.partition("joint", CANDIDATE)
    return ordered(cluster_table(partition.counts(HUMAN), partition.counts(CANDIDATE), 0.5), "difference")


def test_click_a_bar_read_its_texts_reload(page: Page, live_app: str, live_run: Run) -> None:
    open_clusters(page, live_app, candidate=CANDIDATE)
    expect(page.get_by_text(re.compile("Click a bar"))).to_be_visible()
    rows = expected_rows(live_run)
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
    cluster = int(expected_rows(live_run)["cluster"][2])
    expect(table.locator('td[data-testid="glide-cell-1-2"]')).to_have_text(str(cluster))
    tick_row(page, table, 3)
    expect_cluster(page, live_run, cluster)
    page.get_by_role("link", name="On the map").click()
    expect(page.get_by_role("heading", name=f"Cluster {cluster}", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(rf"/map\?.*cluster={cluster}(&|$)"))


def tick_row(page: Page, around: Locator, place: int) -> None:
    """Click the box before a row of the one table in there; the header's place is 0."""
    charts.settle(page)
    around.get_by_test_id("stDataFrame").click(position={"x": 17, "y": ROW_PX * place + 17})


def test_turn_the_page_and_choose_a_text(page: Page, live_app: str, live_run: Run) -> None:
    partition = live_run.comparison.partition("joint", CANDIDATE)
    cluster = int(partition.counts(CANDIDATE).argmax())
    expected = expected_ids(live_run, CANDIDATE, cluster)
    assert len(expected) > PAGE_SIZE + 1
    open_clusters(page, live_app, candidate=CANDIDATE, cluster=str(cluster))
    expect_cluster(page, live_run, cluster)
    side = page.locator('[class*="st-key-cluster_texts_model"]')
    side.get_by_role("button", name="Next page").click()
    expect_ids(page, "model", expected[PAGE_SIZE : 2 * PAGE_SIZE])
    tick_row(page, side, 2)
    corpus = live_run.corpora[CANDIDATE]
    place = corpus.ids.index(expected[PAGE_SIZE + 1])
    expect(page.get_by_text(corpus.texts[place], exact=True)).to_be_visible()
    expect_ids(page, "human", expected_ids(live_run, HUMAN, cluster)[:PAGE_SIZE])
    expect(page).to_have_url(re.compile(rf"[?&]model_text={place}(&|$)"))
    assert "human_text" not in page.url
    page.reload()
    expect_ids(page, "model", expected[PAGE_SIZE : 2 * PAGE_SIZE])
    expect(page.get_by_text(corpus.texts[place], exact=True)).to_be_visible()
    charts.settle(page)
    page.get_by_role("tab", name="Words").click()
    expect(side).to_have_count(0)
    page.get_by_role("tab", name="Texts").click()
    expect_ids(page, "model", expected[PAGE_SIZE : 2 * PAGE_SIZE])
    expect(page.get_by_text(corpus.texts[place], exact=True)).to_be_visible()
    side.get_by_role("button", name="Previous page").click()
    expect_ids(page, "model", expected[:PAGE_SIZE])
    expect(page).not_to_have_url(re.compile("_text="))
