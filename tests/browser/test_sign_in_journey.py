"""Signing in as a person does, by password and by OpenID Connect: refused, let in where one was going, out again."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from mauve_core.base import sharing
from mauve_core.base.sharing import hashed
from tests.browser import charts
from tests.browser.conftest import free_port, patient, serving
from tests.browser.openid_provider import CLIENT, SECRET, provider
from tests.synthetic import make_run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

PASSWORD = "correct horse battery"


def status(url: str, cookies: str = "") -> int:
    request = urllib.request.Request(url, headers={"Cookie": cookies} if cookies else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_password(page: Page, chromium: Browser, tmp_path: Path) -> None:
    home = tmp_path / "live-home"
    make_run(home, n=40, seeds=2, projection=False)
    with serving(home, **{sharing.PASSWORD_HASH: str(hashed(PASSWORD))}) as url:
        target = f"{url}/clusters?run=synthetic&cluster=3&candidate=shifted"
        page.goto(target)
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        assert "synthetic" not in page.locator("main").inner_text()
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_have_text("Wrong password.")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_label("Password").press("Enter")
        expect(page.get_by_text("Cluster 3", exact=True)).to_be_visible()
        assert page.url == target
        page.reload()
        expect(page.get_by_text("Cluster 3", exact=True)).to_be_visible()
        charts.settle(page)
        media = page.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
        stranger = chromium.new_page()
        stranger.goto(f"{url}/")
        expect(stranger.get_by_role("heading", name="Sign in")).to_be_visible()
        stranger.close()
        assert {status(f"{url}/{path}") for path in ("_stcore/host-config", "media/x", "static/js/x.js")} == {401}
        assert all(status(entry) == 401 for entry in media if "/media/" in entry)
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        page.goto(target)
        expect(page.get_by_label("Password")).to_be_visible()


def test_signing_out_in_one_tab_closes_the_others(chromium: Browser, tmp_path: Path) -> None:
    home = tmp_path / "live-home"
    make_run(home, n=40, seeds=2, projection=False)
    with serving(home, **{sharing.PASSWORD_HASH: str(hashed(PASSWORD))}) as url:
        context = patient(chromium.new_context())
        one, two = context.new_page(), context.new_page()
        one.goto(url)
        one.get_by_label("Password").fill(PASSWORD)
        one.get_by_label("Password").press("Enter")
        expect(one.get_by_role("heading", name="Leaderboard")).to_be_visible()
        two.goto(url)
        expect(two.get_by_role("heading", name="Leaderboard")).to_be_visible()
        charts.settle(one)
        charts.settle(two)
        one.get_by_role("button", name="Sign out").click()
        expect(one.get_by_label("Password")).to_be_visible()
        expect(two.get_by_label("Password")).to_be_visible()  # by itself
        expect(two.get_by_text("synthetic")).to_have_count(0)
        two.get_by_label("Password").fill(PASSWORD)
        two.get_by_label("Password").press("Enter")
        expect(two.get_by_role("heading", name="Leaderboard")).to_be_visible()
        context.close()


def test_openid_connect(page: Page, tmp_path: Path) -> None:
    home, port = tmp_path / "live-home", free_port()
    make_run(home, n=40, seeds=2, projection=False)
    with provider() as known:
        (home / sharing.SECRETS).write_text(
            f'[auth]\nredirect_uri = "http://127.0.0.1:{port}/oauth2callback"\ncookie_secret = "{"k" * 40}"\n'
            f'client_id = "{CLIENT}"\nclient_secret = "{SECRET}"\n'
            f'server_metadata_url = "{known.address}/.well-known/openid-configuration"\n'
        )
        (home / sharing.SECRETS).chmod(0o600)
        with serving(home, port=port, **{sharing.ALLOWED: "anna@example.org, @lab.example"}) as url:
            target = f"{url}/clusters?run=synthetic&cluster=3"
            known.email = "mallory@example.org"
            page.goto(target)
            page.get_by_role("link", name="Sign in with your account").click()
            expect(page.get_by_role("heading", name="Not allowed")).to_be_visible()
            expect(page.get_by_text("mallory@example.org")).to_be_visible()
            page.goto(target)
            expect(page.get_by_role("heading", name="Not allowed")).to_be_visible()
            page.get_by_role("button", name="Sign out").click()
            expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
            known.email = "anna@example.org"
            page.goto(target)
            page.get_by_role("link", name="Sign in with your account").click()
            expect(page.get_by_text("Cluster 3", exact=True)).to_be_visible()
            expect(page).to_have_url(re.compile(re.escape(target)))
            expect(page.get_by_text("anna@\u2060example.org")).to_be_visible()
            page.reload()
            expect(page.get_by_text("Cluster 3", exact=True)).to_be_visible()
            charts.settle(page)
            other = page.context.new_page()
            other.goto(target)
            expect(other.get_by_role("button", name="Sign out")).to_be_visible()
            copy = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in page.context.cookies())
            assert status(f"{url}/_stcore/host-config", copy) == 200
            page.get_by_role("button", name="Sign out").click()
            for each in (page, other):
                expect(each.get_by_role("heading", name="Sign in")).to_be_visible()
            assert status(f"{url}/_stcore/host-config") == 401
            assert status(f"{url}/_stcore/host-config", copy) == 401, "nor does a copy of the cookie open it"
