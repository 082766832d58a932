"""A payload of each kind in every field, on every page and in every export: nothing comes to life, and all is shown.

The fixture ``page`` fails on a request to a foreign host, on a script error and on a break of the policy of content.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode

import pytest
from markdown_it import MarkdownIt
from playwright.sync_api import Browser, FilePayload, Page, expect

from docs.screenshots import RESTING, VIEWS, open_view
from mauve_app.url.parameters import PARAMETERS
from mauve_core.base.formatting import printable
from mauve_core.figures.by_name import notebook_html
from mauve_core.jobs.state import JobState
from mauve_core.reporting.html_report import html_report
from mauve_core.reporting.paper import markdown_table
from mauve_core.runs import Run
from tests.browser import charts
from tests.browser.conftest import serving, still
from tests.browser.test_report import opened
from tests.browser.test_upload import uploader
from tests.job_folders import job
from tests.payload_run import make_plain_run, record_of_texts, rewritten
from tests.payloads import INSIDE, PAYLOADS, plain
from tests.synthetic import CROWD, make_run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial, pytest.mark.timeout(1800)]

# Of a run that shows all of a part at once, the names of the payloads: one for each candidate.
PARTS = [tuple(PAYLOADS)[first : first + CROWD] for first in range(0, len(PAYLOADS), CROWD)]

# What came to life on a page: what ran, and elements that are of payloads, also within components.
_ALIVE = """([inside]) => {
    const found = [];
    if (window.ran !== undefined) found.push(`a script ran ${window.ran} times`);
    const roots = [document];
    while (roots.length) {
        const root = roots.pop();
        for (const each of root.querySelectorAll('*')) {
            if (each.shadowRoot) roots.push(each.shadowRoot);
            const name = each.localName, words = each.textContent.trim();
            if (['iframe', 'object', 'embed', 'base', 'x:script'].includes(name)) found.push(each.outerHTML);
            if (name === 'meta' && each.httpEquiv === 'refresh') found.push(each.outerHTML);
            for (const {name: attribute, value} of each.attributes) {
                if (/^on/.test(attribute)) found.push(each.outerHTML);
                if (/^\\s*(javascript:|(https?:|mailto:)?[^?#]*example\\.org)/i.test(value)
                    && ['href', 'src', 'srcset', 'action', 'xlink:href', 'poster'].includes(attribute)
                    || attribute === 'style' && value.includes('example.org')) found.push(each.outerHTML);
            }
            const ours = ['script', 'style', 'option'].includes(name)
                || /^(del|ins|mark)$/.test(name) && each.hasAttribute('style');
            if (inside.includes(words) && !ours) found.push(each.outerHTML);
            if (name === 'style' && words.includes('*{display:none!important}')) found.push(each.outerHTML);
            if (each.closest('.js-plotly-plot') && /&(quot|#)/.test(words)) found.push(`${words} in a figure`);
            if (/katex/.test(each.className?.baseVal ?? each.className)) found.push(each.outerHTML);
        }
    }
    return found.map(each => each.slice(0, 300));
}"""


def alive(page: Page) -> list[str]:
    """Of the page as it stands, what is not text."""
    return list(dict.fromkeys(page.evaluate(_ALIVE, [INSIDE])))


def missing(keys: Iterable[str], shown: str) -> list[str]:
    """Payloads whose first 100 characters a page does not show, be it with codes for what is no text."""
    forms = {key: (plain(PAYLOADS[key]), plain(printable(PAYLOADS[key]))) for key in keys}
    return [key for key, those in forms.items() if not any(form[:100] in shown for form in those)]


def words(page: Page) -> str:
    """All text of a page, as :func:`plain` leaves it."""
    return plain(page.evaluate("document.body.textContent"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Runs by id: ``part-<n>`` with everything beside them, and ``alone-<payload>`` that hold nothing but one."""
    home = tmp_path_factory.mktemp("payloads") / "home"
    scratch = tmp_path_factory.mktemp("plain")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAUVE_LENS_HOME", str(scratch / "home"))
        whole = make_plain_run(scratch / "home")
    small = make_run(scratch, n=40, seeds=2, projection=False, names=["close"])
    made = [rewritten(whole, [PAYLOADS[key] for key in part], f"part-{n}", home) for n, part in enumerate(PARTS)]
    made += [rewritten(small, [text], f"alone-{key}", home) for key, text in PAYLOADS.items()]
    return {run.id: run for run in made}


@pytest.fixture(scope="module")
def app(chromium: Browser, runs: dict[str, Run]) -> Iterator[str]:
    """Base URL of an app that has all of these runs, and a failed job of each payload."""
    home = runs["part-0"].path.parent.parent
    with pytest.MonkeyPatch.context() as patch, ExitStack() as jobs:
        patch.setenv("MAUVE_LENS_HOME", str(home))
        for number, text in enumerate(PAYLOADS.values()):
            filled = record_of_texts(JobState, lambda _, name, text=text: text)
            jobs.enter_context(job(number, text, kind="comparison", status="failed", **filled))
    with serving(home) as url:
        yield url


@pytest.mark.parametrize(
    ("part", "turn"),
    [
        pytest.param(part, turn, marks=[] if part == turn else pytest.mark.rare)  # each view once, with some of them
        for part, turn in itertools.product(range(len(PARTS)), repeat=2)
    ],
)
def test_every_view_shows_them_as_text(page: Page, app: str, runs: dict[str, Run], part: int, turn: int) -> None:
    names = itertools.cycle(candidate.name for candidate in runs[f"part-{part}"].comparison.candidates)
    found, shown = {}, ""
    for name in ["compare", *itertools.islice(VIEWS, turn, None, len(PARTS))]:
        view = VIEWS[name]
        focused = dataclasses.replace(view, state={"candidate": next(names), **view.state})
        open_view(page, focused, app, f"part-{part}")
        expect(page.get_by_test_id("stException")).to_have_count(0)
        found[name] = alive(page)
        shown += words(page)
    assert {name: lines for name, lines in found.items() if lines} == {}
    assert missing(PARTS[part], shown) == []


@pytest.mark.rare
def test_a_run_that_is_nothing_else_is_opened(page: Page, app: str) -> None:
    for key in PAYLOADS:
        open_view(page, VIEWS["compare"], app, f"alone-{key}")
        assert alive(page) == [], key
        assert page.get_by_test_id("stException").count() == 0, key
        assert plain(PAYLOADS[key])[:12] in words(page), key


def test_links_that_are_made_of_them(page: Page, app: str) -> None:
    """Every parameter of the address that takes a text has another one, with a run that there is and without."""
    texts = list(PAYLOADS.values())
    shown = set()
    for turn, path in enumerate(dict.fromkeys(view.path for view in VIEWS.values())):
        turned = itertools.cycle([*texts[turn:], *texts[:turn]])
        taken = {}
        for each in PARAMETERS.values():
            fitting = (text for text in itertools.islice(turned, len(texts)) if text in str(each.codec.read(text)))
            if (text := next(fitting, None)) is not None:
                taken[each.name] = text
        assert {"run", "candidate", "is"} <= taken.keys(), path
        shown |= set(taken.values())
        if turn % 2:
            taken["run"] = "part-0"
        page.goto(f"{app}/{path}?{urlencode(taken)}")
        page.wait_for_function(RESTING)
        assert alive(page) == [], page.url
        assert page.get_by_test_id("stException").count() == 0, page.url
    assert shown == set(texts)


def test_files_that_are_called_so(page: Page, app: str) -> None:
    """Files, their fields and what stands in them, before anything is computed."""
    page.goto(f"{app}/new_run")
    for place, part in enumerate(PARTS):
        charts.settle(page)
        files = [_file(key) for key in part]
        uploader(page, 1).set_input_files(files)
        expect(page.locator('[class*="st-key-card_"]')).to_have_count(len(part))
        charts.settle(page)
        assert alive(page) == [], place
        expect(page.get_by_test_id("stException")).to_have_count(0)
        page.reload()


def _file(key: str) -> FilePayload:
    rows = [
        {"text": f"{PAYLOADS[key]} {row}", PAYLOADS[key]: PAYLOADS[key], "prompt": PAYLOADS[key]} for row in range(3)
    ]
    name = re.sub("[/\0]", "-", PAYLOADS[key])[:100]
    return {"name": f"{name}.jsonl", "mimeType": "", "buffer": "\n".join(map(json.dumps, rows)).encode()}


@pytest.mark.parametrize("part", range(len(PARTS)))
def test_the_report_and_the_notebook_show_them_as_text(
    chromium: Browser, runs: dict[str, Run], part: int, tmp_path: Path
) -> None:
    run = runs[f"part-{part}"]
    names = [candidate.name for candidate in run.comparison.candidates]
    path = tmp_path / "report.html"
    path.write_bytes(html_report(run, names))
    with opened(chromium, path) as page:
        page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        for plot in page.locator(".plot").all():
            plot.scroll_into_view_if_needed()
            expect(plot.locator(".main-svg").first).to_be_attached()
        assert alive(page) == []
        shown = words(page)
    assert missing(PARTS[part], shown) == []
    path.write_text(f"<!doctype html><meta charset=utf-8><title>n</title>{notebook_html(run.comparison)}", "utf-8")
    with opened(chromium, path) as page:
        assert alive(page) == []
        shown = words(page)
    assert missing(PARTS[part], shown) == []


@pytest.mark.rare
def test_the_report_of_a_run_that_is_nothing_else(chromium: Browser, runs: dict[str, Run], tmp_path: Path) -> None:
    for key in PAYLOADS:
        path = tmp_path / "report.html"
        path.write_bytes(html_report(runs[f"alone-{key}"], sections=("trust", "leaderboard", "making", "citing")))
        with opened(chromium, path) as page:
            assert alive(page) == [], key
            assert missing([key], words(page)) == []


@pytest.mark.parametrize("part", range(len(PARTS)))
def test_a_table_in_markdown_shows_them_as_text(
    chromium: Browser, runs: dict[str, Run], part: int, tmp_path: Path
) -> None:
    rendered = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    path = tmp_path / "table.html"
    table = rendered.render(markdown_table(runs[f"part-{part}"].comparison))
    path.write_text(f"<!doctype html><meta charset=utf-8><title>t</title>{table}", encoding="utf-8")
    with opened(chromium, path) as page:
        assert alive(page) == []
        made = page.evaluate("[...document.body.querySelectorAll('*')].map(each => each.localName)")
        assert set(made) == {"table", "thead", "tbody", "tr", "th", "td", "p"}
        shown = words(page)
    assert missing(PARTS[part], shown) == []


def test_a_page_on_which_one_comes_to_life_is_noticed(chromium: Browser) -> None:
    """The oracle itself: what a browser without a network makes of the payloads where nothing escapes them."""
    context = still(chromium, offline=True)
    for key in ("image", "svg", "frame", "form", "base", "style", "link", "plotly"):
        page = context.new_page()
        page.evaluate("text => document.body.innerHTML = text", PAYLOADS[key].replace("http-equiv", "title"))
        page.wait_for_timeout(100)
        assert alive(page), key
    context.close()
