"""Signing out of a sign-in by OpenID Connect: it stays ended, however its cookies are sent again, and others go on."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import itsdangerous
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.auth_util import set_cookie_with_chunks
from streamlit.web.server import server_util
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

from mauve_app.server import access, middleware, sign_in
from mauve_core.base import sharing
from mauve_core.base.files import home
from tests.serving.test_sharing import write_secrets

SECRET = "k" * 40
USER = "_streamlit_user"
HERE = "http://127.0.0.1:8501"
# Every sign-in has a second of its own; the clock is read once, because it may tick between two sign-ins.
_SIGN_IN_TIMES = itertools.count(int(time.time()), -1)


async def _page(_: object) -> PlainTextResponse:
    return PlainTextResponse("the app")


async def _echo(websocket: WebSocket) -> None:
    await websocket.accept()
    with suppress(WebSocketDisconnect):
        while True:
            await websocket.send_text(await websocket.receive_text())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> Iterator[TestClient]:
    """The middleware and the sign-in pages around an app; a provider is set up, and its cookies are signed."""
    write_secrets(own_home)
    monkeypatch.setenv(sharing.ALLOWED, "anna@example.org")
    monkeypatch.setattr(server_util, "get_cookie_secret", lambda: SECRET)
    monkeypatch.setattr(access, "SIGNED_OUT", access.SignedOut())
    access.sign_in.cache_clear()
    inner = [*sign_in.routes(), WebSocketRoute("/echo", _echo), Route("/{path:path}", _page)]
    app = Starlette(routes=inner, middleware=[Middleware(middleware.Headers), Middleware(middleware.Gate)])
    with TestClient(app, base_url=HERE, follow_redirects=False) as client:
        yield client
    access.sign_in.cache_clear()


def signed_in(nonce: str = "one", email: str = "anna@example.org", groups: int = 0) -> dict[str, str]:
    """The cookies as Streamlit writes them, in several where ``groups`` makes the claims long."""
    ids = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(groups)]
    claims = {"iss": "x", "sub": "1", "groups": ids, "email": email, "nonce": nonce}
    cookies: dict[str, str] = {}
    at = next(_SIGN_IN_TIMES)  # two sign-ins of one person never share a second

    def signed(name: str, value: str) -> bytes:
        with patch.object(itsdangerous.TimestampSigner, "get_timestamp", lambda _: at):
            return create_signed_value(SECRET, name, value)

    set_cookie_with_chunks(
        lambda name, value: cookies.update({name: signed(name, value).decode()}),
        signed,
        USER,
        {**claims, "origin": HERE, "is_logged_in": True},
        cookie_attr_size=100,
    )
    return cookies


def header(cookies: dict[str, str]) -> dict[str, str]:
    return {"cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}


def is_let_in(server: TestClient, sent: str) -> bool:
    return server.get("/", headers={"cookie": sent}).status_code == 200


def sign_out(server: TestClient, cookies: dict[str, str]) -> None:
    assert server.post("/sign-out", headers={"origin": HERE, **header(cookies)}).status_code == 200


def other_spellings(token: str) -> list[str]:
    """The same signature in other letters: the spare bits of its last one, padding, letters that are none of Base64."""
    signed, _, signature = token.rpartition(".")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    meant = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    ends = [signature[:-1] + letter for letter in letters]
    same = [end for end in ends if base64.urlsafe_b64decode(end + "=" * (-len(end) % 4)) == meant]
    return [f"{signed}.{each}" for each in (*same, f"{signature}=", f"{signature}!!!!", f'"{signature}"')]


def variations(cookies: dict[str, str]) -> list[str]:
    """The same cookies as a copy may be sent again."""
    pairs = [f"{name}={value}" for name, value in cookies.items()]
    further = [
        f"{USER}_7=x",
        f"{USER}_0=",
        f"{USER}_01=x",
        f"{USER}_99=x",
        f"{USER}_tokens=x",
        f"{USER}_=x",
        "x=y",
        USER,
    ]
    again = [
        "; ".join(pairs),
        "; ".join(reversed(pairs)),
        ";".join(pairs),
        "; ".join([*pairs, *pairs]),
        "; ".join([f"{USER}=x", *pairs]),
        "; ".join(f'{name}="{value}"' for name, value in cookies.items()),
        *("; ".join([*pairs, each]) for each in further),
        *("; ".join([each, *pairs]) for each in further),
        *(
            "; ".join([*(pair for pair in pairs if not pair.startswith(f"{name}=")), f"{name}={other}"])
            for name, value in cookies.items()
            for other in other_spellings(value)
        ),
    ]
    return list(dict.fromkeys(again))


@pytest.mark.parametrize(("groups", "number"), [(0, 1), (80, 3), (150, 5)])
def test_no_copy_is_let_in_again(server: TestClient, groups: int, number: int) -> None:
    cookies = signed_in(groups=groups)
    assert len(cookies) == number
    copies = variations(cookies)
    before = [is_let_in(server, sent) for sent in copies]
    assert sum(before) > 20, "they are copies that would be let in"
    sign_out(server, cookies)
    assert [sent for sent in copies if is_let_in(server, sent)] == []


def test_any_copy_signs_out_for_all(server: TestClient) -> None:
    cookies = signed_in()
    sign_out(server, {f"{USER}_7": "x", USER: other_spellings(cookies[USER])[-2]})
    assert not is_let_in(server, header(cookies)["cookie"])


def test_parts_of_an_ended_sign_in_serve_no_other(server: TestClient) -> None:
    one, two = signed_in("one", groups=80), signed_in("two", groups=80)
    last = sorted(one)[-1]
    mixed = {**two, last: one[last]}
    assert is_let_in(server, header(mixed)["cookie"]), "Streamlit puts together whatever fits"
    sign_out(server, one)
    assert not is_let_in(server, header(mixed)["cookie"])
    assert is_let_in(server, header(two)["cookie"])


@pytest.mark.parametrize("groups", [0, 80])
def test_other_sign_ins_of_the_same_person_go_on(server: TestClient, groups: int) -> None:
    one, two = signed_in("one", groups=groups), signed_in("two", groups=groups)
    sign_out(server, one)
    assert not is_let_in(server, header(one)["cookie"])
    assert is_let_in(server, header(two)["cookie"])
    assert is_let_in(server, header(signed_in("three", groups=groups))["cookie"])


def test_it_ends_the_connections_of_all_tabs_however_they_sent_the_cookies(server: TestClient) -> None:
    cookies, other = signed_in(groups=80), signed_in("two", groups=80)
    further = {**dict(reversed(cookies.items())), f"{USER}_77": "x"}
    with (
        server.websocket_connect("ws://127.0.0.1:8501/echo", headers=header(further)) as tab,
        server.websocket_connect("ws://127.0.0.1:8501/echo", headers=header(other)) as elsewhere,
    ):
        tab.send_text("a")
        assert tab.receive_text() == "a"
        sign_out(server, cookies)
        with pytest.raises(WebSocketDisconnect):  # without a word from the browser
            tab.receive_text()
        elsewhere.send_text("b")
        assert elsewhere.receive_text() == "b"


def test_it_stays_ended_when_the_server_starts_again(server: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    cookies = signed_in(groups=80)
    sign_out(server, cookies)
    monkeypatch.setattr(access, "SIGNED_OUT", access.SignedOut())
    assert not is_let_in(server, header(cookies)["cookie"])
    folder = home() / access.REVOKED_FOLDER
    assert folder.stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())
    assert SECRET not in "".join(map(str, folder.iterdir()))


def test_of_many_those_that_no_cookie_outlives_are_forgotten(
    server: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = signed_in("one")
    sign_out(server, first)
    folder = home() / access.REVOKED_FOLDER
    long_ago = time.time() - access.REVOKED_KEPT_S - 60
    for path in folder.iterdir():
        os.utime(path, (long_ago, long_ago))
    sign_out(server, signed_in("two"))
    monkeypatch.setattr(access, "SIGNED_OUT", access.SignedOut())
    assert not is_let_in(server, header(first)["cookie"]), "a clock that jumps lets nobody in again"
    monkeypatch.setattr(access, "MAX_REVOKED", 2)
    sign_out(server, signed_in("three"))
    assert len(list(folder.iterdir())) == 2


def test_a_disk_that_refuses_lets_nobody_in_while_the_server_runs(
    server: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    (home() / access.REVOKED_FOLDER).write_text("no folder")
    cookies = signed_in()
    sign_out(server, cookies)
    assert not is_let_in(server, header(cookies)["cookie"])
    assert "when the server restarts" in caplog.text


def test_asking_for_the_providers_page_alone_ends_and_forgets_nothing(server: TestClient) -> None:
    cookies = signed_in()
    answer = server.get("/auth/logout", headers=header(cookies))
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    sign_out(server, cookies)
    assert server.get("/auth/logout", headers=header(cookies)).text == "the app"


def test_forged_and_expired_cookies_let_nobody_in(server: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    cookies = signed_in()
    claims = base64.urlsafe_b64encode(json.dumps({"is_logged_in": True, "email": "anna@example.org"}).encode()).decode()
    for value in ("", "x", ".", "..", claims, f"{claims}.aaaaaa.bbbbbb", cookies[USER][1:], "\x80\xff", "é" * 40):
        assert access.visitor_of({USER: value}) is None
    assert access.visitor_of(cookies) is not None
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 32 * 24 * 3600)
    assert access.visitor_of(cookies) is None
