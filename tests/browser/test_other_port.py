"""Pages of another port, and of ``localhost`` against ``127.0.0.1``, in the browser of somebody who uses the app.

Cookies know no port: the browser sends the visitor's with whatever such a page asks.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from streamlit.proto.BackMsg_pb2 import BackMsg

from mauve_core.base import sharing
from mauve_core.base.sharing import hashed
from mauve_core.runs import RunStore
from tests.browser.conftest import patient, serving
from tests.synthetic import make_run

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.trial]

PASSWORD = "correct horse battery"
NOTES = "Notes that are nobody else's"
ASKED = (
    ("GET", "/news"), ("GET", "/export/synthetic"), ("GET", "/_stcore/host-config"), ("GET", "/_stcore/health"),
    ("GET", "/progress/x"), ("GET", "/media/x"), ("PUT", "/_stcore/upload_file/a/b"), ("POST", "/sign-out"),
    ("DELETE", "/_stcore/upload_file/a/b"), ("POST", "/sign-in"),
)  # fmt: skip

# Opens a connection, asks for the page of runs, and says whether its words came; until the server closes it.
CONNECT = """([address, first, wanted]) => new Promise(done => {
    const socket = new WebSocket(address, ["streamlit", "x"]);
    const seen = {opened: false, read: false};
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
        seen.opened = true;
        socket.send(Uint8Array.from(atob(first), letter => letter.charCodeAt(0)));
    };
    socket.onmessage = event => {
        if (!new TextDecoder().decode(event.data).includes(wanted)) return;
        seen.read = true;
        socket.close();
    };
    socket.onclose = () => done(seen);
})"""

ASK = """([address, method, mode]) => fetch(address, {method, mode, credentials: "include"})
    .then(answer => `${answer.type} ${answer.status}`, () => "refused")"""

SEND_FORM = """address => {
    const form = Object.assign(document.createElement("form"), {method: "post", action: address});
    document.body.append(form);
    form.submit();
}"""


class Other(BaseHTTPRequestHandler):
    """Another server on this machine: one empty page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!DOCTYPE html><link rel=icon href=data:,><title>Other</title><body>")

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture(scope="module")
def other_port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Other)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module", params=["password", "open"])
def app(
    request: pytest.FixtureRequest, chromium: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, bool]]:
    """Port of an app with notes in a run, and whether one must sign in there."""
    home = tmp_path_factory.mktemp("other-port") / "live-home"
    make_run(home, n=60, seeds=2, projection=False)
    RunStore(home / "runs").describe("synthetic", notes=NOTES)
    signed = request.param == "password"
    with serving(home, **({sharing.PASSWORD_HASH: str(hashed(PASSWORD))} if signed else {})) as url:
        yield url.rpartition(":")[2], signed


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    made = patient(chromium.new_context())
    yield made
    made.close()


def opened(context: BrowserContext, app: tuple[str, bool], host: str) -> Page:
    """The app's page of runs under that name of this machine, signed in."""
    port, signed = app
    page = context.new_page()
    page.goto(f"http://{host}:{port}/runs")
    if signed:
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_label("Password").press("Enter")
    expect(page.get_by_text(NOTES).first).to_be_visible()
    return page


def connected(page: Page, host: str, port: str) -> dict[str, bool]:
    message = BackMsg()
    message.rerun_script.page_name = "runs"
    first = base64.b64encode(message.SerializeToString()).decode()
    found: dict[str, bool] = page.evaluate(CONNECT, [f"ws://{host}:{port}/_stcore/stream", first, NOTES])
    return found


@pytest.mark.parametrize(
    ("page_host", "app_host"), [("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1"), ("localhost", "localhost")]
)
def test_a_page_of_another_port_gets_nothing(
    context: BrowserContext, app: tuple[str, bool], other_port: int, page_host: str, app_host: str
) -> None:
    port, _ = app
    own = opened(context, app, app_host)
    foreign = context.new_page()
    foreign.goto(f"http://{page_host}:{other_port}/")
    assert connected(foreign, app_host, port) == {"opened": False, "read": False}
    assert connected(own, app_host, port) == {"opened": True, "read": True}, "and so would the other, were it let in"
    for method, path in ASKED:
        for mode in ("cors", "no-cors") if method in ("GET", "POST") else ("cors",):
            assert foreign.evaluate(ASK, [f"http://{app_host}:{port}{path}", method, mode]) == "refused"
    foreign.evaluate(SEND_FORM, f"http://{app_host}:{port}/sign-out")
    expect(foreign.get_by_text("A page of another server requested this.")).to_be_visible()
    own.reload()
    expect(own.get_by_text(NOTES).first).to_be_visible()  # nobody was signed out


def test_a_link_on_such_a_page_leads_to_the_app(
    context: BrowserContext, app: tuple[str, bool], other_port: int
) -> None:
    port, _ = app
    opened(context, app, "127.0.0.1")
    foreign = context.new_page()
    foreign.goto(f"http://localhost:{other_port}/")
    foreign.evaluate(f"location.href = 'http://127.0.0.1:{port}/runs'")
    expect(foreign.get_by_text(NOTES).first).to_be_visible()
