"""What clusters capture in the real browser: compute as a job, read the charts, tick a pure cluster, reload."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from mauve_core.analysis.purity_table import purest_clusters
from mauve_core.base.config import HUMAN
from mauve_core.experiments.attributes_over_k import AttributeTable, stored_attributes
from mauve_core.store import Run
from mauve_core.tasks.attributes import AttributesTask
from tests.browser import charts
from tests.browser.test_clusters import tick_row
from tests.browser.test_compare import brightness
from tests.browser.test_upload import JOB_TIMEOUT_MS
from tests.synthetic import make_run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

KS = (3, 8)


@pytest.fixture
def run(empty_app: str, tmp_path: Path) -> Run:
    """A run in the home of ``empty_app``."""
    return make_run(tmp_path / "live-home", n=60, seeds=2, projection=False)


def drawn(page: Page, part: str) -> list[list[float]]:
    """Means of every line of that chart, in their order."""
    found: list[dict[str, Any]] = charts.traces(page, f"attributes_{part}")
    return [trace["y"] for trace in found if trace["meta"]]


def expect_result(page: Page, table: AttributeTable) -> None:
    rows = table.lines["topic", "category"]
    for part, scores in (("accuracy", ("accuracy", "baseline")), ("agreement", ("ami", "v_measure"))):
        assert drawn(page, part) == [pytest.approx([row.scores[name].mean for row in rows]) for name in scores]


def test_compute_read_tick_and_reload(page: Page, empty_app: str, run: Run) -> None:
    page.goto(f"{empty_app}/clusters?run={run.id}")
    page.get_by_text("What clusters capture").click()
    expect(page.get_by_text(re.compile("Nothing has been computed yet"))).to_be_visible()
    box = page.get_by_role("textbox", name="Numbers of clusters k")
    box.fill(", ".join(map(str, KS)))
    box.press("Tab")
    charts.settle(page)
    page.get_by_role("button", name="Compute", exact=True).click()
    expect(page.get_by_text("How these were computed")).to_be_visible(timeout=JOB_TIMEOUT_MS)
    table = stored_attributes(run)
    assert table is not None
    assert table.ks == KS
    expect_result(page, table)
    partition = run.comparison.partition("pairwise", run.comparison.candidates[0].name)
    topics = np.array(run.corpora[HUMAN].metadata["topic"].tolist(), dtype=object)
    purest = purest_clusters(partition.labels[HUMAN], partition.k, topics)
    place = 2
    around = page.locator(".st-key-purity_table")
    expect(around.locator(f'td[data-testid="glide-cell-1-{place}"]')).to_have_text(
        re.compile(rf" · {purest['cluster'][place]}$")
    )
    expect(around.locator(f'td[data-testid="glide-cell-2-{place}"]')).to_have_text(purest["value"][place])
    tick_row(page, around, place + 1)
    heading = page.get_by_text(f"Cluster {purest['cluster'][place]}", exact=True)
    expect(heading).to_be_visible()
    expect(page).to_have_url(re.compile(rf"[?&]cluster={purest['cluster'][place]}(&|$)"))
    page.reload()
    expect(heading).to_be_visible()
    page.get_by_text("What clusters capture").click()
    expect_result(page, table)


def test_every_text_of_the_charts_is_readable_in_the_dark(
    dark_page: Page, empty_app: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(run.path.parent.parent))
    AttributesTask(run.id, ks=KS).compute()
    dark_page.goto(f"{empty_app}/clusters?run={run.id}")
    dark_page.get_by_text("What clusters capture").click()
    for key in ("attributes_accuracy", "attributes_agreement"):
        fills = charts.read_chart(
            dark_page,
            key,
            "plot => Array.from(plot.querySelectorAll('.xtick text, .ytick text, .xtitle, .ytitle'))"
            ".map(text => getComputedStyle(text).fill)",
        )
        assert len(fills) >= 4
        assert min(map(brightness, fills)) > 120, key
