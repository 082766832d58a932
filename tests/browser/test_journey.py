"""The whole way as a stranger goes it: two files in, a score, the texts behind a bar, the texts inside a lasso."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from mauve_core.base.config import HUMAN
from mauve_core.store import RunStore
from tests.browser import charts, results
from tests.browser import test_clusters as clusters
from tests.browser import test_map as maps
from tests.browser.test_upload import JOB_TIMEOUT_MS, N, choose_encoder, uploader, write_sides
from tests.tiny_models import make_gpt2

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def visit(page: Page, name: str) -> None:
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()


@pytest.mark.trial
def test_from_two_files_to_the_texts_behind_the_score(page: Page, empty_app: str, tmp_path: Path) -> None:
    paths = write_sides(tmp_path)
    page.goto(f"{empty_app}/new_run")
    uploader(page, 0).set_input_files(paths["human"])
    expect(page.get_by_text(f"{N} texts, 1 left out")).to_be_visible()
    uploader(page, 1).set_input_files(paths["close"])
    expect(page.get_by_label(re.compile("Name of close"))).to_have_value("close")
    choose_encoder(page, str(make_gpt2(tmp_path / "tiny-gpt2")))
    page.get_by_role("button", name="Start", exact=True).click()
    results.expect_done(page, JOB_TIMEOUT_MS)
    results.link(page).click()

    run = RunStore(tmp_path / "live-home" / "runs").load("human-vs-close")
    score = run.comparison.candidate("close").scores["mauve"]
    row = charts.place(page, "close")
    for number in (score.mean, score.low, score.high):
        expect(row).to_contain_text(f"{number:.3f}")

    visit(page, "Clusters")
    cluster = clusters.click_row(page, 1)
    expect(page.get_by_text(f"Cluster {cluster}", exact=True)).to_be_visible()
    clusters.open_lists(page)
    labels = run.comparison.partition("pairwise", "close").labels
    expected = {
        side: [run.corpora[source].ids[i] for i in np.flatnonzero(labels[source] == cluster)]
        for side, source in (("human", HUMAN), ("model", "close"))
    }
    assert 0 < sum(map(len, expected.values())) < 2 * N
    for side, ids in expected.items():
        clusters.expect_size(page, "Human" if side == "human" else "close", len(ids), N)
        clusters.expect_ids(page, side, ids[: clusters.PAGE_SIZE])

    visit(page, "Map")
    expect(page).to_have_url(re.compile(rf"[?&]cluster={cluster}(&|$)"))  # chosen there, chosen here
    maps.draw_lasso(page, maps.TRIANGLE)
    polygon = maps.polygon_in_url(page)
    expect(page.get_by_text(re.compile("texts in the area"))).to_be_visible()
    projection = run.comparison.projection
    assert projection is not None
    inside = maps.ids_where(run, inside_polygon(projection, polygon))
    assert 0 < len(inside) < 2 * N
    assert maps.selected_ids(page) == inside

    page.reload()
    expect(page.get_by_text(f"{len(inside)} of {2 * N} texts in the area")).to_be_visible()
    assert maps.selected_ids(page) == inside
    expect(page).to_have_url(re.compile(rf"[?&]cluster={cluster}(&|$)"))


def inside_polygon(points: np.ndarray, polygon: np.ndarray) -> np.ndarray:
    """By the winding angle around each point, which the app does not use."""
    to_corner = polygon[None, :, :] - points[:, None, :].astype(np.float64)
    angle = np.arctan2(to_corner[..., 1], to_corner[..., 0])
    turn = np.diff(np.concatenate([angle, angle[:, :1]], axis=1), axis=1)
    return np.abs(((turn + np.pi) % (2 * np.pi) - np.pi).sum(axis=1)) > np.pi
