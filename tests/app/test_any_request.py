"""Whatever is sent to the routes of our own, and to what stands before them: an answer, and never a failure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import ASGIApp

from mauve_app.components import live_updates
from mauve_app.server import access, middleware, run_files, serve, sign_in
from mauve_app.server.sign_in import Throttle
from mauve_core.base import sharing
from mauve_core.base.sharing import parse_hash
from tests.app.asgi import asked, hash_of
from tests.serving.test_sharing import write_secrets

pytestmark = pytest.mark.integration

FORM = (b"content-type", b"application/x-www-form-urlencoded")
HERE = (b"host", b"127.0.0.1:8501")
OWN = (b"origin", b"http://127.0.0.1:8501")
PATHS = (
    "/sign-in",
    "/sign-in/provider",
    "/sign-out",
    "/auth/logout",
    "/news",
    "/progress/",
    "/export/",
    "/compare",
    "/",
)
NAMES = (
    b"host", b"origin", b"cookie", b"accept", b"content-type", b"content-length", b"sec-fetch-site", b"sec-fetch-mode",
    b"x-forwarded-proto", b"range", b"if-none-match",
)  # fmt: skip
VALUES = (
    b"127.0.0.1:8501", b"[::1", b"http://[", b"http://127.0.0.1:8501", b"null", b"text/html", b"same-origin", b"https",
    FORM[1], b"multipart/form-data", b"mauve_lens_session=x", b'_streamlit_user="\\303"; mauve_lens_next=%ff//[',
    b"_streamlit_user=eyJ9.aaaaaa.bbbbbb; _streamlit_user_1=x", b"bytes=0-",
)  # fmt: skip

values = st.one_of(st.sampled_from(VALUES), st.binary(max_size=30))
further = st.lists(st.tuples(st.sampled_from(NAMES), values), max_size=5)
paths = st.one_of(
    st.sampled_from(PATHS),
    st.tuples(st.sampled_from(PATHS), st.text(st.characters(exclude_categories=["Cs"]), max_size=300)).map("".join),
)
queries = st.one_of(
    st.binary(max_size=30),
    st.tuples(st.sampled_from((b"next=", b"provider=", b"")), st.binary(max_size=30)).map(b"".join),
)
bodies = st.lists(
    st.one_of(st.binary(max_size=50), st.sampled_from((b"password=x&", b"next=//[&", b"%", b"a=1&" * 9, b"x" * 9000))),
    max_size=3,
)


@pytest.fixture(params=["open", "password", "provider"])
def app(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, own_home: Path) -> Iterator[ASGIApp]:
    """The routes behind the middleware; forms are waited for but a moment, and hashing is quick."""
    if request.param == "password":
        written = dataclasses.replace(parse_hash(hash_of("correct horse")), cost=2, block=1)
        monkeypatch.setenv(sharing.PASSWORD_HASH, str(written))
    if request.param == "provider":
        write_secrets(own_home)
        monkeypatch.setenv(sharing.ALLOWED, "*")
    monkeypatch.setattr(sign_in, "THROTTLE", Throttle())
    monkeypatch.setattr(sign_in, "BODY_S", 0.02)
    access.sign_in.cache_clear()
    routes = [route for part in (sign_in, run_files, live_updates) for route in part.routes()]
    routes.append(Route(serve.COMPARE, serve._to_first_page, methods=["GET"]))
    yield Starlette(routes=routes, middleware=[Middleware(middleware.Headers), Middleware(middleware.Gate)])
    access.sign_in.cache_clear()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(("GET", "POST", "HEAD", "PUT", "OPTIONS")), paths, queries, further, bodies, st.booleans())
@example("GET", "//[", b"", [(b"accept", b"text/html")], [], True)
@example("GET", "/sign-in", b"next=//[", [], [], True)
@example("GET", "/x", b"\xff", [(b"accept", b"text/html")], [], True)
@example("GET", "/compare", b"\xff", [], [], True)
@example("POST", "/sign-out", b"", [(b"origin", b"http://[")], [], True)
def test_no_request_makes_the_server_fail(
    app: ASGIApp,
    method: str,
    path: str,
    query: bytes,
    headers: list[tuple[bytes, bytes]],
    body: list[bytes],
    ends: bool,
) -> None:
    sent = [*({HERE} if all(name != b"host" for name, _ in headers) else ()), *headers]
    answer = asked(app, path, method=method, query=query, headers=sent, body=body, ends=ends)
    assert 200 <= answer.status < 500


@pytest.mark.parametrize("app", ["password"], indirect=True)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies)
@example([b"&".join(b"a%d=x" % number for number in range(9))])
def test_no_form_makes_the_server_fail(app: ASGIApp, body: list[bytes]) -> None:
    answer = asked(app, "/sign-in", method="POST", headers=[HERE, OWN, FORM], body=body)
    assert answer.status in (400, 401, 413, 429)


@pytest.mark.parametrize("app", ["password"], indirect=True)
@pytest.mark.parametrize("body", [[], [b"password=correct+ho"], [b"password=correct+horse"]])
def test_a_form_that_does_not_end_is_no_sign_in(app: ASGIApp, body: list[bytes]) -> None:
    """Nothing comes, and the wait has an end; or the visitor goes halfway."""
    answer = asked(app, "/sign-in", method="POST", headers=[HERE, OWN, FORM], body=body, ends=False)
    assert answer.status == 400
    assert "set-cookie" not in answer.headers
