"""Gap in the real browser: the ledger is the core's, a clicked bar opens its texts, a what-if moves the scores."""

from __future__ import annotations

import re
import urllib.parse

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from mauve_core.base.config import HUMAN
from mauve_core.findings.clusters import cluster_table
from mauve_core.runs import Run
from tests.browser import charts

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

CANDIDATE = "shifted"


def open_gap(page: Page, url: str, **parameters: str) -> None:
    page.goto(f"{url}/gap?{urllib.parse.urlencode({'run': 'synthetic', 'candidate': CANDIDATE, **parameters})}")
    expect(charts.chart(page, "gap_ledger_adds")).to_be_visible()


def expected_bars(run: Run, direction: str, smoothing: str = "none") -> dict[int, float]:
    partition = run.comparison.partition("pairwise", CANDIDATE)
    table = cluster_table(partition.counts(HUMAN), partition.counts(CANDIDATE), 0.5, smoothing)
    rows = table[table["direction"] == direction].sort_values(["cost", "cluster"], ascending=[False, True]).head(12)
    return dict(zip(rows["cluster"].tolist(), rows["cost_share"].tolist(), strict=True))


def click_row(page: Page, direction: str, place: int) -> int:
    """Click near the right end of a bar's row, beyond the bar; the cluster that Plotly has there."""
    x, y, cluster = charts.read_chart(
        page,
        f"gap_ledger_{direction}",
        """(plot, place) => {
            const layout = plot._fullLayout, rows = plot._fullData[1];
            return [layout.xaxis._offset + layout.xaxis._length - 6, layout.yaxis._offset + layout.yaxis.d2p(place),
                    rows.customdata[place][0]];
        }""",
        place,
    )
    charts.chart(page, f"gap_ledger_{direction}").click(position={"x": x, "y": y})
    return int(cluster)


def expected_ids(run: Run, source: str, cluster: int) -> list[str]:
    labels = run.comparison.partition("pairwise", CANDIDATE).labels[source]
    return [run.corpora[source].ids[i] for i in np.flatnonzero(labels == cluster)]


def expect_cluster(page: Page, run: Run, cluster: int) -> None:
    """Exactly that cluster's texts stand below the ledger, in the open list of all."""
    expect(page).to_have_url(re.compile(rf"[?&]cluster={cluster}(&|$)"))
    expect(page.get_by_text(f"Cluster {cluster}", exact=True)).to_be_visible()
    for side, title, source in (("human", "Human", HUMAN), ("model", CANDIDATE, CANDIDATE)):
        expected = expected_ids(run, source, cluster)
        total = len(run.corpora[source])
        expect(page.get_by_text(f"{title} · {len(expected)} of {total} texts", exact=True).first).to_be_visible()
        cells = page.locator(f'[class*="st-key-cluster_texts_{side}"] td[data-testid^="glide-cell-1-"]')
        expect(cells).to_have_text(expected[:8])


def open_lists(page: Page) -> None:
    page.get_by_text("All texts of this cluster", exact=True).click()


def test_a_clicked_bar_opens_exactly_that_clusters_texts(page: Page, live_app: str, live_run: Run) -> None:
    open_gap(page, live_app)
    cluster = click_row(page, "adds", 1)
    assert cluster == list(expected_bars(live_run, "adds"))[1]
    open_lists(page)
    expect_cluster(page, live_run, cluster)
    page.reload()
    open_lists(page)
    expect_cluster(page, live_run, cluster)
    page.get_by_role("link", name="On the map").click()
    expect(page).to_have_url(re.compile(rf"/map\?.*cluster={cluster}(&|$)"))
