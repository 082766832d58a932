"""A candidate's MAUVE in the real browser: the leaderboard's digits on every page that prints it, or the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from mauve_core.scoring.tables import interval_of, mean_and_spread
from mauve_core.store import Run, RunStore
from tests.browser import charts
from tests.browser.conftest import serving
from tests.browser.full_run import make_full_run
from tests.pages_with_scores import LOOKED_INSIDE, NAME, OF_SAMPLING, REASONS, SAME

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

_WORDS = """() => {
    const cells = [...document.querySelectorAll('td[data-testid^="glide-cell"]')].map(each => each.textContent);
    return [document.querySelector('[data-testid="stMain"]').innerText, ...cells].join('\\n');
}"""


@pytest.fixture(scope="module")
def full_app(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Run]]:
    """An app whose run ``synthetic`` has something to show on every page, and the run; it is there as ``again`` too."""
    run = make_full_run(tmp_path_factory.mktemp("full") / "home")
    RunStore(run.path.parent).save("again", run.comparison, run.corpora)
    with serving(run.path.parent.parent) as url:
        yield url, run


def opened(page: Page, url: str, view: str, query: Mapping[str, str]) -> None:
    place = "" if view == "compare" else view
    page.goto(f"{url}/{place}?" + urlencode({"run": "synthetic", "candidate": NAME, **query}))


def expect_words(page: Page, text: str) -> None:
    """Wait until the text stands on the page, be it in a table that is drawn on a canvas."""
    page.wait_for_function(f"text => ({_WORDS})().includes(text)", arg=text)


@pytest.mark.parametrize(("view", "query"), SAME)
def test_a_page_has_the_leaderboards_digits(
    page: Page, full_app: tuple[str, Run], view: str, query: Mapping[str, str]
) -> None:
    url, run = full_app
    opened(page, url, view, query)
    expect_words(page, mean_and_spread(run.comparison.candidate(NAME).scores["mauve"]))


@pytest.mark.parametrize(("view", "query", "reason"), REASONS)
def test_another_number_has_its_reason_on_the_page(
    page: Page, full_app: tuple[str, Run], view: str, query: Mapping[str, str], reason: str
) -> None:
    opened(page, full_app[0], view, query)
    if reason == OF_SAMPLING:
        page.get_by_text("How many texts, how many clusters").click()
    expect_words(page, reason)


def test_the_interval_stands_with_the_score_from_page_to_page(page: Page, full_app: tuple[str, Run]) -> None:
    url, run = full_app
    estimate = run.comparison.candidate(NAME).scores["mauve"]
    opened(page, url, "compare", {})
    row = charts.place(page, NAME)
    for part in (mean_and_spread(estimate), interval_of(estimate)):
        expect(row).to_contain_text(part)
    for view in LOOKED_INSIDE:
        page.get_by_test_id("stSidebarNav").get_by_role("link", name=view.title(), exact=True).click()
        line = page.get_by_text("these clusters:")
        expect(line).to_contain_text(f"{NAME}: MAUVE {mean_and_spread(estimate)} ({interval_of(estimate)} at n = ")
        charts.settle(page)
    opened(page, url, "gap", {"below": "what-if", "chosen": "1"})
    table = page.get_by_role("table").filter(has_text="As it is")
    for part in (mean_and_spread(estimate), interval_of(estimate)):
        expect(table).to_contain_text(part)
