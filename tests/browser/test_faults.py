"""A fault in a page, in a fragment that runs alone or on a click is said in one message and kept for a report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from mauve_core.base import faults
from mauve_core.base.files import HOME_VARIABLE
from tests.browser.conftest import free_port, server_process, wait_until_healthy

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

SAID = f"{faults.REPORT}. Reload the page to go on."


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Base URL of a server with a page of faults, whose home is the program's."""
    port, home = free_port(), tmp_path / "home"
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    with server_process(home, port, module=("tests.browser.faulty_app",)) as server:
        wait_until_healthy(port, server, tmp_path / "app.log")
        yield f"http://127.0.0.1:{port}"


def test_faults_are_said_and_kept_wherever_they_happen(page: Page, faulty: str) -> None:
    page.goto(faulty)
    message, ends = (
        page.get_by_test_id("stAlertContentError").get_by_role("paragraph"),
        page.get_by_text("The end of the whole page"),
    )
    expect(ends).to_be_visible()
    expect(message).to_have_count(0)
    page.get_by_role("button", name="Click").click()
    expect(message).to_have_text(SAID)
    expect(ends).to_have_count(0)  # Streamlit does not go on after a click that failed
    page.reload()
    page.get_by_role("button", name="Part").click()
    expect(message).to_have_text(SAID)
    expect(ends).to_be_visible()
    page.get_by_text("fault", exact=True).click()
    expect(ends).to_have_count(0)
    expect(page.get_by_text("The end of the part")).to_be_visible()
    expect(message).to_have_text(SAID)
    assert {fault["during"] for fault in faults.remembered()} == {"page compare"}
    assert all(fault["errors"][0]["type"] == "builtins.ZeroDivisionError" for fault in faults.remembered())
    assert len(faults.remembered()) == 3
    page.get_by_text("error", exact=True).click()
    expect(message).to_have_text("This page takes no input.")
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert len(faults.remembered()) == 3
