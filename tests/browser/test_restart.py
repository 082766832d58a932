"""An open page outlives its server: it says what happened, and after a restart the next link leads to the same run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from mauve_core.runs import RunStore
from tests.browser import charts
from tests.browser.conftest import free_port, serving
from tests.synthetic import make_run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

# No press comes sooner: what the server has not seen of the page by then, it has not seen. Streamlit may forget a page
# that is asked for while another rerun is, here the one that tells the URL; whoever sees nothing happen presses again.
_PRESS_ONCE_CONNECTED = """() => {
    const app = document.querySelector('[data-testid="stApp"]');
    const press = () => {
        if (location.pathname !== "/") return;
        document.querySelector('[data-testid="stSidebarNavLink"][href$="/clusters"]').click();
        setTimeout(press, 10000);
    };
    new MutationObserver((_, observer) => {
        if (app.dataset.testConnectionState !== "CONNECTED") return;
        observer.disconnect();
        setTimeout(press);
    }).observe(app, {attributeFilter: ["data-test-connection-state"]});
}"""


def test_after_a_restart_the_next_link_leads_to_the_same_run(page: Page, tmp_path: Path) -> None:
    home, port = tmp_path / "home", free_port()
    run = make_run(home, n=60, seeds=2, projection=False)
    RunStore(home / "runs").save("demo", run.comparison, run.corpora)
    with serving(home, port=port) as url:
        page.goto(f"{url}/?run=synthetic&scale=3")
        charts.settle(page)
        other = page.context.new_page()  # the last run of the browser is another one
        other.goto(f"{url}/?run=demo")
        charts.settle(other)
        other.close()
        page.evaluate(_PRESS_ONCE_CONNECTED)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("The server of MAUVE Lens does not answer. If it was stopped, start it again")
    assert "internet" not in page.locator("body").inner_text().lower()
    with serving(home, port=port) as url:
        expect(page).to_have_url(re.compile(r"/clusters\?.*run=synthetic"))
        expect(page).to_have_url(re.compile("scale=3"))
        charts.settle(page)
        expect(dialog).to_have_count(0)
        page.goto(url)
        expect(page).to_have_url(re.compile("run=synthetic"))
