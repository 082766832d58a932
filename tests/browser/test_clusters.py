"""Clusters in the real browser: a clicked bar or ticked row shows that cluster's own texts, and a reload the same."""

from __future__ import annotations

import re
import urllib.parse

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

from mauve_app.components.cluster_detail import MOST_TEXTS
from mauve_core.analysis.central_texts import central_texts
from mauve_core.analysis.cluster_table import cluster_table, ordered
from mauve_core.analysis.precomputed import run_cluster_names
from mauve_core.analysis.why import why_source
from mauve_core.base.config import HUMAN
from mauve_core.store import Run
from tests.browser import charts

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

CANDIDATE = "shifted"
CHART = "clusters_chart"
PAGE_SIZE = 8
ROW_PX = 35


def open_clusters(page: Page, url: str, **parameters: str) -> None:
    page.goto(f"{url}/clusters?{urllib.parse.urlencode({'run': 'synthetic', **parameters})}")
    expect(charts.chart(page, CHART)).to_be_visible()


def click_row(page: Page, place: int) -> int:
    """Click the end of the row at that place, beside any bar; the cluster that Plotly has there."""
    charts.settle(page)  # a chart that is drawn again meanwhile may have another height
    x, y, cluster = charts.read_chart(
        page,
        CHART,
        """(plot, place) => {
            const layout = plot._fullLayout, rows = plot._fullData[plot._fullData.length - 1];
            return [layout._size.l + layout._size.w - 6, layout.yaxis._offset + layout.yaxis.d2p(rows.y[place]),
                    rows.customdata[place][0]];
        }""",
        place,
    )
    charts.chart(page, CHART).click(position={"x": x, "y": y})
    return int(cluster)


def names_of(run: Run) -> tuple[str, ...]:
    """Of the clusters that are shown by default."""
    return run_cluster_names(run, "pairwise", CANDIDATE, run.comparison.median_seed(CANDIDATE))


def expect_ids(page: Page, side: str, expected: list[str]) -> None:
    """Just these ids stand in the side's list."""
    cells = page.locator(f'[class*="st-key-cluster_texts_{side}"] td[data-testid^="glide-cell-1-"]')
    expect(cells).to_have_text(expected)


def expect_size(page: Page, title: str, count: int, total: int) -> None:
    """The side of that title says how many of its texts are in the cluster."""
    expect(page.get_by_text(f"{title} · {count} of {total} texts", exact=True).first).to_be_visible()


def expected_ids(run: Run, source: str, cluster: int) -> list[str]:
    labels = run.comparison.partition("pairwise", CANDIDATE).labels[source]
    return [run.corpora[source].ids[i] for i in np.flatnonzero(labels == cluster)]


def expect_cluster(page: Page, run: Run, cluster: int, *, linked: bool = True) -> None:
    """The page shows that cluster: its name, the size of both sides, and its most typical texts whole."""
    if linked:
        expect(page).to_have_url(re.compile(rf"[?&]cluster={cluster}(&|$)"))
    expect(page.get_by_role("heading", name=names_of(run)[cluster], exact=True)).to_be_visible()
    expect(page.get_by_text(f"Cluster {cluster}", exact=True)).to_be_visible()
    partition = run.comparison.partition("pairwise", CANDIDATE)
    stored = run.features(HUMAN), run.features(CANDIDATE)
    corpora = run.corpora[HUMAN], run.corpora[CANDIDATE]
    central = central_texts(why_source(partition, *corpora, CANDIDATE, stored), cluster)  # type: ignore[arg-type]
    for title, source, rows in zip(("Human", CANDIDATE), (HUMAN, CANDIDATE), central, strict=True):
        expect_size(page, title, rows.size, len(run.corpora[source]))
        for row in rows[:MOST_TEXTS].tolist():
            text = re.compile(rf"^{re.escape(run.corpora[source].texts[row])}$")
            expect(page.locator('[data-testid="stHtml"]', has_text=text).first).to_be_visible()


def open_lists(page: Page) -> None:
    """Unfold the lists of all texts of the cluster."""
    page.get_by_text("All texts of this cluster", exact=True).click()


def expected_rows(run: Run) -> pd.DataFrame:
    """The clusters in the order in which the page shows them at first."""
    partition = run.comparison.partition("pairwise", CANDIDATE)
    return ordered(cluster_table(partition.counts(HUMAN), partition.counts(CANDIDATE), 0.5), "cost")


def test_the_costliest_is_open_and_a_clicked_row_shows_its_texts(page: Page, live_app: str, live_run: Run) -> None:
    open_clusters(page, live_app, candidate=CANDIDATE)
    rows = expected_rows(live_run)
    expect_cluster(page, live_run, int(rows["cluster"][0]), linked=False)
    for place in (1, len(rows) - 2):
        cluster = click_row(page, place)
        assert cluster == rows["cluster"][place]
        expect_cluster(page, live_run, cluster)
    page.reload()
    expect_cluster(page, live_run, cluster)


def test_the_arrow_keys_walk_the_list(page: Page, live_app: str, live_run: Run) -> None:
    expected = expected_rows(live_run)["cluster"].tolist()
    open_clusters(page, live_app, candidate=CANDIDATE)
    charts.settle(page)
    for key, place in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1)):
        page.keyboard.press(key)
        expect_cluster(page, live_run, expected[place])


def test_the_chosen_row_is_kept_in_sight(page: Page, live_app: str, live_run: Run) -> None:
    k = live_run.comparison.partition("pairwise", CANDIDATE).k
    area = page.locator(".st-key-clusters_list")
    for cluster, scrolled in ((0, False), (k - 1, True)):
        open_clusters(page, live_app, candidate=CANDIDATE, order="cluster", cluster=str(cluster))
        charts.settle(page)
        row = "area => (area.scrollHeight > area.clientHeight) && (area.scrollTop > 0)"
        if scrolled:
            page.wait_for_function(row, arg=area.element_handle())
        else:
            page.wait_for_timeout(500)
            assert not area.evaluate(row)


def test_click_a_cell_then_tick_a_row_then_see_it_on_the_map(page: Page, live_app: str, live_run: Run) -> None:
    open_clusters(page, live_app, candidate=CANDIDATE)
    page.get_by_role("tab", name="Table").click()
    table = page.locator(".st-key-clusters_table")
    expected = expected_rows(live_run)["cluster"].tolist()
    expect(table.locator('td[data-testid="glide-cell-1-2"]')).to_have_text(names_of(live_run)[expected[2]])
    click_cell(page, table, 2)
    expect_cluster(page, live_run, expected[1])
    click_cell(page, table, 4)
    expect_cluster(page, live_run, expected[3])
    tick_row(page, table, 3)
    expect_cluster(page, live_run, expected[2])
    page.get_by_role("link", name="On the map").click()
    expect(page.get_by_role("heading", name=names_of(live_run)[expected[2]])).to_be_visible()
    expect(page).to_have_url(re.compile(rf"/map\?.*cluster={expected[2]}(&|$)"))


def click_cell(page: Page, around: Locator, place: int) -> None:
    """Click the first cell of a row of the one table in there; the header's place is 0."""
    charts.settle(page)
    around.get_by_test_id("stDataFrame").click(position={"x": 90, "y": ROW_PX * place + 17})


def tick_row(page: Page, around: Locator, place: int) -> None:
    """Click the box before a row of the one table in there; the header's place is 0."""
    charts.settle(page)
    around.get_by_test_id("stDataFrame").click(position={"x": 17, "y": ROW_PX * place + 17})


def test_turn_the_page_and_choose_a_text(page: Page, live_app: str, live_run: Run) -> None:
    partition = live_run.comparison.partition("pairwise", CANDIDATE)
    cluster = int(partition.counts(CANDIDATE).argmax())
    expected = expected_ids(live_run, CANDIDATE, cluster)
    assert len(expected) > PAGE_SIZE + 1
    open_clusters(page, live_app, candidate=CANDIDATE, cluster=str(cluster))
    expect_cluster(page, live_run, cluster)
    open_lists(page)
    side = page.locator('[class*="st-key-cluster_texts_model"]')
    side.get_by_role("button", name="Next page").click()
    expect_ids(page, "model", expected[PAGE_SIZE : 2 * PAGE_SIZE])
    tick_row(page, side, 3)
    expect(page).to_have_url(re.compile(r"[?&]model_text="))
    click_cell(page, side, 2)
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
