"""Which of all the server's addresses each kind of visitor reaches; one that is new to the router fails here first."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

# The health check, which says nothing but that the server runs, and the sign-in.
SIGNED_OUT = {
    "GET /_stcore/health", "GET /sign-in", "HEAD /_stcore/health", "HEAD /sign-in", "OPTIONS /_stcore/health",
    "POST /sign-in", "POST /sign-out",
}  # fmt: skip

READ_ONLY = SIGNED_OUT | {
    "GET /{path:path}", "HEAD /{path:path}",
    "GET /_stcore/bidi-components/{path:path}", "GET /_stcore/host-config", "GET /auth/login",
    "GET /auth/logout", "GET /compare", "GET /component/{path:path}", "GET /export/{run_id}",
    "GET /media/{file_id:path}", "GET /news", "GET /oauth2callback", "GET /progress/{job_id}",
    "GET /sign-in/provider", "HEAD /_stcore/bidi-components/{path:path}", "HEAD /_stcore/host-config",
    "HEAD /auth/login", "HEAD /auth/logout", "HEAD /compare", "HEAD /component/{path:path}",
    "HEAD /export/{run_id}", "HEAD /media/{file_id:path}", "HEAD /news", "HEAD /oauth2callback",
    "HEAD /progress/{job_id}", "HEAD /sign-in/provider", "OPTIONS /_stcore/bidi-components/{path:path}",
    "OPTIONS /_stcore/upload_file/{session_id}/{file_id}", "OPTIONS /component/{path:path}",
    "OPTIONS /media/{file_id:path}", "WebSocket /_stcore/stream",
    "GET /thumbnails/{run_id}/{source:int}/{side:int}/{file}",
    "HEAD /thumbnails/{run_id}/{source:int}/{side:int}/{file}",
}  # fmt: skip
WHOLE = READ_ONLY | {
    "DELETE /_stcore/upload_file/{session_id}/{file_id}",
    "PUT /_stcore/upload_file/{session_id}/{file_id}",
}


@pytest.fixture(scope="module")
def reached() -> dict[str, set[str]]:
    command = [sys.executable, "-m", "tests.app.reachable"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    return {kind: set(addresses) for kind, addresses in json.loads(printed).items()}


def test_a_stranger_reaches_the_sign_in_alone(reached: dict[str, set[str]]) -> None:
    assert reached["signed out"] == SIGNED_OUT


def test_a_read_only_visitor_sends_no_file(reached: dict[str, set[str]]) -> None:
    assert reached["signed in, read-only"] == READ_ONLY


def test_a_visitor_reaches_pages_files_and_their_connection(reached: dict[str, set[str]]) -> None:
    assert reached["signed in"] == WHOLE
    assert reached["on this machine, without a sign-in"] == WHOLE


def test_nobody_reaches_what_streamlit_offers_to_programs(reached: dict[str, set[str]]) -> None:
    closed = {address for address in reached["everything"] if "/agent/" in address or "/metrics" in address}
    assert len(closed) > 10
    assert not closed & set().union(*(reached[kind] for kind in reached if kind != "everything"))
