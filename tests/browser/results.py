"""The end of a job that made a run, and the way to the run."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect


def link(page: Page) -> Locator:
    """What opens the run: the button where the job was started, or the link in the list of jobs."""
    # Until a run of the script ends, Streamlit keeps the button of the run before beside its own.
    return page.get_by_role("button", name="Open results").or_(page.get_by_role("link", name="Open results")).first


def expect_done(page: Page, timeout_ms: float) -> None:
    """The page says that the job is done, and offers its run."""
    expect(page.get_by_text(re.compile(r"Done in|· done"))).to_be_visible(timeout=timeout_ms)
    expect(link(page)).to_be_visible()
