"""The way in: what a stranger gets, passwords, sessions, the throttle, and where one is sent afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketTestSession
from starlette.websockets import WebSocket, WebSocketDisconnect

from mauve_app.server import access, connections, middleware, sign_in
from mauve_app.server.sign_in import FREE_ATTEMPTS, LONGEST_WAIT_S, Throttle
from mauve_core.base import sharing
from tests.app.asgi import hash_of

PASSWORD = "correct horse"
ECHO = "ws://127.0.0.1:8501/echo"
HTML = {"accept": "text/html,*/*"}
PATHS = ("/", "/map", "/media/x", "/_stcore/upload_file/a/b", "/static/js/index.js", "/_stcore/host-config", "/x")


async def _page(request: object) -> PlainTextResponse:
    return PlainTextResponse("the app")


async def _stream(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text("the app")
    await websocket.close()


async def _echo(websocket: WebSocket) -> None:
    await websocket.accept()
    with suppress(WebSocketDisconnect):
        while True:
            await websocket.send_text(await websocket.receive_text())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> Iterator[TestClient]:
    """The middleware and the sign-in pages around an app of two answers; a password is set."""
    monkeypatch.setenv(sharing.PASSWORD_HASH, hash_of(PASSWORD))
    monkeypatch.setattr(sign_in, "THROTTLE", Throttle())
    access.sign_in.cache_clear()
    inner = [
        *sign_in.routes(),
        WebSocketRoute("/_stcore/stream", _stream),
        WebSocketRoute("/echo", _echo),
        Route("/{path:path}", _page, methods=["GET", "PUT", "POST", "DELETE"]),
    ]
    app = Starlette(routes=inner, middleware=[Middleware(middleware.Headers), Middleware(middleware.Gate)])
    with TestClient(app, base_url="http://127.0.0.1:8501", follow_redirects=False) as client:
        yield client
    access.sign_in.cache_clear()


def attempt(server: TestClient, password: str, target: str = "/", origin: str = "http://127.0.0.1:8501") -> int:
    data = {"password": password, "next": target}
    return server.post("/sign-in", data=data, headers={"origin": origin}).status_code


def test_a_stranger_gets_the_sign_in_page_and_nothing_else(server: TestClient) -> None:
    for path in PATHS:
        assert server.get(path).status_code == 401
        answer = server.get(path, headers=HTML)
        assert (answer.status_code, answer.headers["location"].split("?")[0]) == (303, "/sign-in")
        for method in ("PUT", "POST", "DELETE"):
            assert server.request(method, path, headers=HTML).status_code == 401
    with pytest.raises(WebSocketDisconnect), server.websocket_connect("ws://127.0.0.1:8501/_stcore/stream"):
        pass
    assert server.get("/_stcore/health").text == "the app"
    form = server.get("/sign-in")
    assert (form.status_code, "the app" in form.text) == (200, False)
    for path in ("/auth/login", "/oauth2callback", "/sign-in/provider"):
        assert server.get(path).status_code == 401, "there is no provider"


@pytest.mark.slow
def test_the_password_opens_everything_and_signing_out_closes_it(server: TestClient) -> None:
    assert attempt(server, "wrong horse") == 401
    assert server.get("/").status_code == 401
    answer = server.post(
        "/sign-in", data={"password": PASSWORD, "next": "/map?run=x"}, headers={"origin": "http://127.0.0.1:8501"}
    )
    assert (answer.status_code, answer.headers["location"]) == (303, "/map?run=x")
    cookie = answer.headers["set-cookie"].lower()
    assert all(part in cookie for part in ("httponly", "samesite=lax", "path=/"))
    assert "secure" not in cookie, "the request came without TLS"
    assert [server.get(path).text for path in PATHS] == ["the app"] * len(PATHS)
    with server.websocket_connect("ws://127.0.0.1:8501/_stcore/stream") as stream:
        assert stream.receive_text() == "the app"
    kept = dict(server.cookies)
    out = server.post("/sign-out", headers={"origin": "http://127.0.0.1:8501"})
    assert out.headers["location"] == "/sign-in"
    server.cookies.update(kept)
    assert server.get("/").status_code == 401, "the token itself has ended, not the cookie alone"


def connected(server: TestClient) -> WebSocketTestSession:
    """A connection as a tab of a browser that has just signed in."""
    server.cookies.clear()
    assert attempt(server, PASSWORD) == 303
    return server.websocket_connect(ECHO)


def answers(tab: WebSocketTestSession, text: str) -> bool:
    tab.send_text(text)
    return tab.receive_text() == text


def test_signing_out_ends_the_connections_of_its_tabs_alone(server: TestClient) -> None:
    with connected(server) as elsewhere, connected(server) as one, server.websocket_connect(ECHO) as two:
        assert answers(elsewhere, "a")
        assert answers(one, "b")
        assert answers(two, "c")
        assert len(connections.CONNECTIONS) == 3
        assert server.post("/sign-out", headers={"origin": "http://127.0.0.1:8501"}).status_code == 303
        for tab in (one, two):
            with pytest.raises(WebSocketDisconnect) as caught:  # without a word from the browser
                tab.receive_text()
            assert caught.value.code == connections.POLICY_VIOLATION
        assert answers(elsewhere, "d"), "another sign-in, which goes on"
        assert len(connections.CONNECTIONS) == 1
    assert len(connections.CONNECTIONS) == 0


def test_a_connection_outlives_no_sign_in(server: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(access.time, "monotonic", lambda: now[0])
    with connected(server) as tab:
        assert answers(tab, "a")
        now[0] += access.SESSION_S + 1
        tab.send_text("b")
        with pytest.raises(WebSocketDisconnect):
            tab.receive_text()


def test_forged_and_empty_tokens_open_nothing(server: TestClient) -> None:
    for token in ("", "x", "0" * 43, "\x7f"):
        assert access.visitor_of({access.SESSION_COOKIE: token}) is None


def test_sessions_end_by_time_and_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(access.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(access, "MAX_SESSIONS", 3)
    sessions = access.Sessions()
    tokens = [sessions.begin() for _ in range(4)]
    assert [sessions.holds(token) for token in tokens] == [False, True, True, True]
    now[0] += access.SESSION_S + 1
    assert not any(map(sessions.holds, tokens))


def test_a_form_from_another_page_is_not_taken(server: TestClient) -> None:
    assert attempt(server, PASSWORD, origin="http://evil.example") == 403
    assert attempt(server, PASSWORD, origin="null") == 403
    assert server.post("/sign-in", data={"password": PASSWORD}).status_code == 400
    attempt(server, PASSWORD)
    assert server.post("/sign-out", headers={"origin": "http://evil.example"}).status_code == 403
    server.post("/sign-out")
    assert server.get("/").text == "the app"


def test_read_only_takes_no_upload(server: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt(server, PASSWORD)
    assert server.put("/_stcore/upload_file/a/b").text == "the app"
    monkeypatch.setenv(sharing.READ_ONLY, "some-run")
    assert [server.request(how, "/_stcore/upload_file/a/b").status_code for how in ("PUT", "POST", "DELETE")] == [
        403
    ] * 3
    assert server.get("/map").text == "the app"


def test_an_endless_form_is_not_read(server: TestClient) -> None:
    assert attempt(server, "x" * 100_000) == 413


@pytest.mark.parametrize(
    "body",
    [
        b"&".join(b"a%d=x" % i for i in range(9)), b"password=%zz", b"password=%", b"password=%ff", b"password=\xff",
        b"password=%00", b"password=\x00", b"password=", b"", b"next=/", b"=", b"&", b"{}", b"password=%ed%a0%80",
    ],
)  # fmt: skip
def test_what_is_no_form_is_said_to_be_none(server: TestClient, body: bytes) -> None:
    headers = {"origin": "http://127.0.0.1:8501", "content-type": "application/x-www-form-urlencoded"}
    answer = server.post("/sign-in", content=body, headers=headers)
    assert answer.status_code == (401 if body == b"password=" else 400)
    assert 'role="alert"' in answer.text


@pytest.mark.parametrize("kind", ["", "text/plain", "multipart/form-data; boundary=x", "application/json", "\xff"])
def test_another_kind_of_body_is_no_form(server: TestClient, kind: str) -> None:
    headers = {"origin": "http://127.0.0.1:8501", "content-type": kind.encode("latin-1")}
    body = f"password={PASSWORD.replace(' ', '+')}"
    assert server.post("/sign-in", content=body, headers=headers).status_code == 400
    headers["content-type"] = b"Application/X-WWW-Form-URLEncoded; charset=UTF-8"
    assert server.post("/sign-in", content=body, headers=headers).status_code == 303


@pytest.mark.parametrize("target", ["//[", "//[::1", "//\u2100.example", "/\x00", "/a\x7f", "/\ud800", "/\u0085"])
def test_a_target_that_cannot_be_read_leads_to_the_start(server: TestClient, target: str) -> None:
    assert sign_in.safe_target(target) == "/"
    query = {"next": target.encode("utf-8", errors="surrogatepass")}
    assert server.get("/sign-in?" + urlencode(query)).status_code == 200
    headers = {"origin": "http://127.0.0.1:8501", "content-type": "application/x-www-form-urlencoded"}
    answer = server.post("/sign-in", content=urlencode({"password": PASSWORD, **query}), headers=headers)
    assert (answer.status_code, answer.headers.get("location")) in ((303, "/"), (400, None))


@pytest.mark.slow
def test_guessing_is_slowed_down(server: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [5000.0]
    monkeypatch.setattr(sign_in.time, "monotonic", lambda: now[0])
    assert [attempt(server, "wrong") for _ in range(FREE_ATTEMPTS)] == [401] * FREE_ATTEMPTS
    assert attempt(server, PASSWORD) == 429, "not even the right one is heard"
    now[0] += 1.01
    assert attempt(server, "wrong") == 401
    now[0] += 1.01
    assert attempt(server, PASSWORD) == 429, "two seconds now"
    now[0] += 1.01
    assert attempt(server, PASSWORD) == 303
    assert attempt(server, "wrong") == 401, "and all is forgotten"


def test_the_wait_has_an_end() -> None:
    throttle = Throttle()
    for _ in range(200):
        throttle.judge(False)
    assert LONGEST_WAIT_S - 1 < throttle.wait() <= LONGEST_WAIT_S


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example", "/\\evil.example", "http://evil.example/", "evil", "", "/a\\b", "/a\nb", "/\tx", "/é",
        "javascript:alert(1)", "/sign-in", "/auth/logout", "/" + "x" * 7000, "https:/x", "///evil.example",
    ],
)  # fmt: skip
def test_nobody_is_sent_elsewhere(target: str) -> None:
    assert sign_in.safe_target(target) == "/"


def test_a_link_survives_the_sign_in() -> None:
    target = "/map?run=x&lasso=1,2;3,4;5,6&candidate=a%20%26%20b"
    location = sign_in.page_for_stranger(target).headers["location"]
    from urllib.parse import parse_qs, urlsplit

    assert parse_qs(urlsplit(location).query) == {"next": [target]}
    assert sign_in.safe_target(target) == target


def test_names_that_can_be_rebound_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sharing.HOST_NAMES, "Lens.Lab, other.lab")
    access.sign_in.cache_clear()
    middleware._host_names.cache_clear()
    known = ("localhost:8501", "127.0.0.1", "[::1]:8501", "192.168.1.5:80", "lens.lab", "OTHER.lab:8501")
    assert all(map(middleware.is_known_host, known))
    assert not any(map(middleware.is_known_host, ("evil.example", "localhost.evil.example", "", None, "127.0.0.1.x")))
    middleware._host_names.cache_clear()
