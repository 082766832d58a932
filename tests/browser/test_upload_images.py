"""New run with archives of images in the real browser: uploaded, started, and seen as sheets of pictures."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from mauve_app.item_uploads import PICTURES
from mauve_core.store import RunStore
from tests.browser import charts, results
from tests.browser.test_upload import JOB_TIMEOUT_MS, choose_encoder, uploader
from tests.images.made import draw_images, draw_stripes

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial, pytest.mark.rare]

N = 40
PICTURE = re.compile(r"^\d{4}\.png: ")


def test_archives_become_sheets_of_pictures(page: Page, empty_app: str, tmp_path: Path) -> None:
    folders = (draw_images(tmp_path / "photos", N), draw_stripes(tmp_path / "stripes", N))
    real, stripes = (Path(shutil.make_archive(str(folder), "zip", folder)) for folder in folders)
    page.goto(f"{empty_app}/new_run")
    uploader(page, 0).set_input_files(real)
    expect(page.get_by_role("heading", name="Real images")).to_be_visible()
    expect(page.get_by_text(f"{N} images")).to_be_visible()
    uploader(page, 1).set_input_files([stripes])
    expect(page.get_by_label(re.compile("Name of stripes"))).to_have_value("stripes")
    expect(page.get_by_role("img", name=PICTURE)).to_have_count(PICTURES)
    expect(page.get_by_label("Max tokens")).to_have_count(0)
    choose_encoder(page, "pixels")
    page.get_by_role("button", name="Start", exact=True).click()
    results.expect_done(page, JOB_TIMEOUT_MS)
    run = RunStore(tmp_path / "live-home" / "runs").load("real-vs-stripes")
    assert run.comparison.config.encoder is not None
    assert run.comparison.config.encoder.model == "pixels"
    results.link(page).click()
    expect(page.get_by_role("heading", name="Leaderboard")).to_be_visible()
    page.goto(f"{empty_app}/clusters?run=real-vs-stripes")
    charts.settle(page)
    sheet = page.locator(".sheet").first
    expect(sheet.locator("img").first).to_be_visible()
    page.wait_for_function("sheet => sheet.querySelector('img').naturalWidth > 0", arg=sheet.element_handle())
