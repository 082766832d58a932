"""Security headers on every answer, and pages that work under them: the fixture ``page`` fails where one is broken."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from mauve_app.server.middleware import WANTED, preload_header_of
from tests.browser import charts

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# Every page, and a chart that stands on it.
VIEWS = {
    "": "frontier_chart",
    "decoders": None,
    "methods": None,
    "clusters": "clusters_chart",
    "gap": None,
    "probes": None,
    "map": "map_chart",
    "judge": None,
    "published": None,
    "new_run": None,
    "findings": "findings_chart",
}

EXPECTED = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
# Sources of a policy that name no other host; digests come beside.
ONLY_HERE = {"'self'", "'none'", "data:", "blob:", "'unsafe-inline'", "'unsafe-eval'"}


def asked(url: str, **headers: str) -> tuple[int, dict[str, str]]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
            return answer.status, dict(answer.headers.items())
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers.items())


def test_every_answer_has_the_headers(live_app: str) -> None:
    for path in ("/", "/map", "/_stcore/health", "/static/nothing.js", "/media/nothing", "/sign-in"):
        _, headers = asked(live_app + path)
        sent = {name.lower(): value for name, value in headers.items()}
        assert {name: sent.get(name.lower()) for name in EXPECTED} == EXPECTED, path
        directives = [part.split() for part in sent["content-security-policy"].split(";")]
        policy = {name: set(sources) for name, *sources in directives}
        assert policy["frame-ancestors"] == policy["object-src"] == {"'none'"}, path
        assert "'unsafe-inline'" not in policy["script-src"], path
        for sources in policy.values():
            assert {source for source in sources if not source.startswith("'sha256-")} <= ONLY_HERE, path


def test_a_page_names_the_scripts_of_its_charts_and_nothing_else_does(live_app: str) -> None:
    _, headers = asked(live_app + "/map")
    links = {name.lower(): value for name, value in headers.items()}["link"].split(", ")
    assert len(links) == len(WANTED)
    for link, name in zip(links, WANTED, strict=True):
        path, relation = link.split("; ")
        assert path.startswith(f"</static/js/{name}.")
        assert relation == "rel=modulepreload"
        assert asked(live_app + path.strip("<>"))[0] == 200
    for path in ("/_stcore/health", links[0].split(">")[0].strip("<")):
        assert "link" not in {name.lower() for name in asked(live_app + path)[1]}


def test_another_streamlit_without_these_scripts_has_no_preloads(tmp_path: Path) -> None:
    assert preload_header_of(tmp_path, charts=True) == ""
    scripts = tmp_path / "static/js"
    scripts.mkdir(parents=True)
    (scripts / "PlotlyChartNew.abc.js").touch()
    assert preload_header_of(tmp_path, charts=True) == ""
    (scripts / "PlotlyChart.abc.js").touch()
    assert preload_header_of(tmp_path, charts=True) == "</static/js/PlotlyChart.abc.js>; rel=modulepreload"


def test_foreign_names_and_closed_paths_are_turned_away(live_app: str) -> None:
    assert asked(live_app, Host="rebound.example")[0] == 421
    assert asked(f"{live_app}/_stcore/agent/openapi.json")[0] == 404
    assert asked(f"{live_app}/_stcore/metrics")[0] == 404
    assert asked(f"{live_app}/_stcore/health", Host="localhost:1")[0] == 200


@pytest.mark.trial
def test_every_page_keeps_the_policy(page: Page, live_app: str) -> None:
    for path, key in VIEWS.items():
        page.goto(f"{live_app}/{path}?run=synthetic")
        expect(page.get_by_role("heading").first).to_be_visible()
        charts.settle(page)
        if key is not None:
            expect(charts.chart(page, key)).to_be_visible()
        if path == "map":
            expect(page.get_by_text("WebGL is not supported")).to_have_count(
                0
            )  # what Plotly says when it may not compile
            assert "scattergl" in charts.read_chart(page, "map_chart", "plot => plot._fullData.map(t => t.type)")


@pytest.mark.trial
def test_the_answer_panel_and_a_download_work(page: Page, live_app: str) -> None:
    page.goto(f"{live_app}/judge?run=synthetic&rater=policy")
    expect(page.get_by_role("button", name="Skip")).to_be_visible()
    page.goto(f"{live_app}/clusters?run=synthetic")
    charts.settle(page)
    button = page.locator(".st-key-clusters_csv button").first  # the second one is its tooltip
    expect(button).to_be_visible()
    with page.expect_download() as waiting:
        button.click()
    assert waiting.value.path().read_bytes().startswith(b'"cluster"')


def test_an_injected_script_and_a_foreign_picture_do_nothing(chromium: Browser, live_app: str) -> None:
    """The policy is in force: what a text would bring along, were it ever interpreted, is blocked by the browser."""
    page = chromium.new_page()
    page.goto(f"{live_app}/?run=synthetic")
    charts.settle(page)
    blocked = page.evaluate(
        """() => new Promise(done => {
            const seen = [];
            document.addEventListener("securitypolicyviolation", event => {
                seen.push(event.effectiveDirective);
                if (seen.length === 2) done(seen.sort());
            });
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script, Object.assign(new Image(), {src: "http://127.0.0.2:9/x.png"}));
        })"""
    )
    assert blocked == ["img-src", "script-src-elem"]
    assert page.evaluate("window.ran") is None
    page.close()
