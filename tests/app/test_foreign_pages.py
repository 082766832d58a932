"""Pages of other servers, of the same host too: no connection, no effect, nothing to read; links still lead here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit import net_util
from streamlit.web.server.starlette import starlette_websocket

from mauve_app.server import access, middleware, sign_in
from mauve_core.base import sharing
from tests.app.asgi import hash_of

HERE = "http://127.0.0.1:8501"
STREAM = "ws://127.0.0.1:8501/_stcore/stream"
FOREIGN = (
    "http://127.0.0.1:8719", "http://127.0.0.1", "http://127.0.0.1:80", "http://localhost:8501", "http://[::1]:8501",
    "http://evil.example:8501", "http://evil.example", "http://127.0.0.1.evil.example:8501", "null", "NULL", "", "*",
    "http://127.0.0.1:8501/", "http://127.0.0.1:8501:8501", "http://x@127.0.0.1:8501", "http://[", "http://127.0.0.1:x",
    "127.0.0.1:8501", "ftp://127.0.0.1:8501", "chrome-extension://abc", "file://", "http://127.0.0.1:085010",
)  # fmt: skip
PRIVATE = (
    ("GET", "/_stcore/host-config"), ("GET", "/_stcore/health"), ("GET", "/media/x"), ("GET", "/news"),
    ("GET", "/progress/x"), ("GET", "/export/x"), ("GET", "/component/x"), ("GET", "/static/x"), ("GET", "/"),
    ("PUT", "/_stcore/upload_file/a/b"), ("DELETE", "/_stcore/upload_file/a/b"), ("POST", "/_stcore/upload_file/a/b"),
    ("OPTIONS", "/_stcore/upload_file/a/b"), ("POST", "/sign-in"), ("POST", "/sign-out"), ("GET", "/sign-in"),
)  # fmt: skip
LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


async def _page(_: Request) -> PlainTextResponse:
    cors = {"Access-Control-Allow-Origin": "http://localhost:8501", "Access-Control-Allow-Credentials": "true"}
    return PlainTextResponse("the app", headers=cors)


async def _stream(websocket: WebSocket) -> None:
    """Streamlit's own look at the two headers, after ours."""
    origin, host = (websocket.headers.get(name) for name in ("origin", "host"))
    assert starlette_websocket._is_origin_allowed(origin, host)
    await websocket.accept()
    await websocket.send_text("the app")
    await websocket.close()


@pytest.fixture(params=["password", "open"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, own_home: Path) -> Iterator[TestClient]:
    """The middleware around an app that answers everything, with a visitor who is signed in and without a sign-in."""
    monkeypatch.setenv(sharing.HOST_NAMES, "lens.example")
    if request.param == "password":
        monkeypatch.setenv(sharing.PASSWORD_HASH, hash_of("correct horse"))
    access.sign_in.cache_clear()
    middleware._host_names.cache_clear()
    inner = [
        *sign_in.routes(),
        WebSocketRoute("/_stcore/stream", _stream),
        Route("/{path:path}", _page, methods=["GET", "PUT", "POST", "DELETE", "OPTIONS"]),
    ]
    app = Starlette(routes=inner, middleware=[Middleware(middleware.Headers), Middleware(middleware.Gate)])
    with TestClient(app, base_url=HERE, follow_redirects=False) as client:
        client.cookies.set(access.SESSION_COOKIE, access.SESSIONS.begin())
        yield client
    access.sign_in.cache_clear()
    middleware._host_names.cache_clear()


@pytest.fixture(autouse=True)
def nothing_is_asked_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit asks a foreign server for this machine's address where an origin is not its own. Hosts are our part."""
    monkeypatch.setattr(starlette_websocket, "is_host_allowed", lambda _: True)
    for name in ("get_external_ip", "get_internal_ip"):
        monkeypatch.setattr(net_util, name, lambda: pytest.fail("an address was looked up"))


def connects(server: TestClient, headers: dict[str, str]) -> bool:
    """Whether a websocket opens; the cookie is as a browser sends it."""
    cookie = "; ".join(f"{name}={value}" for name, value in server.cookies.items())
    try:
        with server.websocket_connect(STREAM, headers={"cookie": cookie, **headers}) as stream:
            return stream.receive_text() == "the app"
    except WebSocketDisconnect:
        return False


def test_the_refusals_are_whole_sentences(server: TestClient) -> None:
    foreign = server.get("/_stcore/health", headers={"origin": "http://evil.example"})
    assert foreign.text.endswith("in front of this server must pass on the Host header unchanged.")
    for answer in (server.get("/%00"), server.get("/_stcore/metrics"), server.get("/", headers={"host": "a b"})):
        assert answer.status_code >= 400
        assert answer.text.endswith(".")


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_foreign_page_gets_no_connection(server: TestClient, origin: str) -> None:
    assert not connects(server, {"origin": origin})


def test_own_pages_and_programs_get_one(server: TestClient) -> None:
    assert connects(server, {"origin": HERE})
    assert connects(server, {}), "no browser sends none"
    assert connects(server, {"origin": "HTTP://127.0.0.1:8501"})
    assert connects(server, {"origin": HERE, "sec-fetch-site": "same-origin"})
    assert not connects(server, {"origin": HERE, "sec-fetch-site": "same-site"})
    assert not connects(server, {"origin": HERE, "sec-fetch-site": "cross-site"})


@pytest.mark.parametrize(
    ("origin", "host", "proto", "own"),
    [
        ("https://lens.example", "lens.example", "https", True),
        ("https://lens.example", "lens.example:443", "https", True),
        ("https://lens.example", "LENS.example", "https", True),
        ("https://lens.example", "lens.example", None, True),  # a proxy that does not say what it took off
        ("https://lens.example:8443", "lens.example:8443", "https", True),
        ("https://lens.example:8443", "lens.example", "https", False),
        ("https://lens.example", "lens.example:8443", "https", False),
        ("http://lens.example", "lens.example", "https", False),  # another server, on port 80
        ("http://lens.example:443", "lens.example:443", "https", False),
        ("https://lens.example", "127.0.0.1:8501", "https", False),  # a proxy that does not pass Host on
        ("http://lens.example", "lens.example", None, True),
        ("http://lens.example", "lens.example:80", None, True),
        ("http://lens.example:80", "lens.example", None, True),
        ("http://lens.example:8080", "lens.example", None, False),
        ("http://[::1]:8501", "[::1]:8501", None, True),
    ],
)
def test_behind_a_proxy_the_origin_is_what_the_browser_sees(
    server: TestClient, origin: str, host: str, proto: str | None, own: bool
) -> None:
    headers = {"origin": origin, "host": host, **({"x-forwarded-proto": proto} if proto else {})}
    assert connects(server, headers) is own
    assert server.get("/news", headers=headers).status_code == (200 if own else 403)


@pytest.mark.parametrize(("method", "path"), PRIVATE)
def test_a_foreign_page_can_ask_for_nothing(server: TestClient, method: str, path: str) -> None:
    for site in ("same-site", "cross-site", "", "same-origin, cross-site"):
        assert server.request(method, path, headers={"sec-fetch-site": site}).status_code == 403
    for origin in FOREIGN:
        assert server.request(method, path, headers={"origin": origin}).status_code == 403
    two = [("origin", HERE), ("origin", "http://127.0.0.1:8719")]
    assert server.request(method, path, headers=two).status_code == 403
    own = server.request(method, path, headers={"origin": HERE, "sec-fetch-site": "same-origin"})
    assert own.status_code != 403


def test_links_lead_to_pages_alone(server: TestClient) -> None:
    for path in ("/", "/map?run=x", "/sign-in"):
        assert server.get(path, headers=LINK).status_code in (200, 303)
        assert server.get(path, headers={**LINK, "sec-fetch-dest": "iframe"}).status_code == 403
        assert server.get(path, headers={**LINK, "sec-fetch-mode": "no-cors"}).status_code == 403
        assert server.post(path, headers={**LINK, "origin": "http://127.0.0.1:8719"}).status_code == 403
    for path in ("/export/x", "/media/x", "/news", "/progress/x", "/_stcore/host-config", "/auth/logout"):
        assert server.get(path, headers=LINK).status_code == 403
    typed = {**LINK, "sec-fetch-site": "none"}
    assert server.get("/export/x", headers=typed).status_code == 200


def test_no_answer_opens_itself_to_other_origins(server: TestClient) -> None:
    for method, path in (("GET", "/"), ("PUT", "/_stcore/upload_file/a/b"), ("OPTIONS", "/_stcore/upload_file/a/b")):
        answer = server.request(method, path, headers={"origin": HERE})
        assert answer.text == "the app"
        assert [name for name in answer.headers if name.startswith("access-control-")] == []


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8501/x", "x@127.0.0.1", "127.0.0.1?", "[::1", "a:b:c", "127.0.0.1 x", "::1"]
)
def test_a_host_that_is_none_is_said_to_be_none(server: TestClient, host: str) -> None:
    assert server.get("/", headers={"host": host}).status_code == 400
