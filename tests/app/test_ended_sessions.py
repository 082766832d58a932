"""Sessions whose browser has gone: a few wait for it, the others give back what they hold."""

from __future__ import annotations

import os
import resource
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from mauve_app.server.connections import KEPT, KEPT_S, Sessions
from mauve_app.server.serve import DESCRIPTORS
from tests.synthetic import make_run

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 120.0
# Descriptors that the server is allowed at first.
FEW = 200


class Server:
    """Streamlit's runtime, as far as it is asked."""

    def __init__(self, *connected: str) -> None:
        self.connected, self.closed = set(connected), []  # type: ignore[var-annotated]

    def is_active_session(self, session_id: str) -> bool:
        return session_id in self.connected

    def close_session(self, session_id: str) -> None:
        self.closed.append(session_id)


def noted(*ids: str) -> Sessions:
    sessions = Sessions()
    for session_id in ids:
        sessions.note(session_id)
    return sessions


def test_a_session_without_a_browser_is_closed_after_a_while() -> None:
    sessions, server = noted("here", "gone"), Server("here")
    sessions.tidy(server, 1000.0)
    sessions.tidy(server, 1000.0 + KEPT_S)
    assert server.closed == []
    sessions.tidy(server, 1000.5 + KEPT_S)
    sessions.tidy(server, 2000.0)
    assert server.closed == ["gone"]


def test_a_browser_that_comes_back_finds_its_session() -> None:
    sessions, server = noted("a"), Server()
    sessions.tidy(server, 0.0)
    server.connected.add("a")
    sessions.tidy(server, KEPT_S - 1)
    server.connected.clear()
    for now in (KEPT_S, 2 * KEPT_S - 1):
        sessions.tidy(server, now)
    assert server.closed == [], "its time began anew"


def test_of_many_ended_sessions_the_last_are_kept() -> None:
    ids = [f"s{place:03}" for place in range(KEPT + 5)]
    sessions, server = Sessions(), Server("here")
    for now, session_id in enumerate(["here", *ids]):
        sessions.note(session_id)
        sessions.tidy(server, float(now) / 100)
    assert server.closed == ids[:5]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The app's server with a run in its home, allowed few descriptors, and its port."""
    home = tmp_path_factory.mktemp("served") / "home"
    make_run(home, n=40, seeds=1, projection=False)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "MAUVE_LENS_HOME": str(home), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    server = shlex.join([sys.executable, "-m", "mauve_app.server.serve", "--server.port", str(port)])
    command = ["bash", "-c", f"ulimit -S -n {FEW}; exec {server}"]
    with (home.parent / "app.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not is_healthy(port):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield process, port
    finally:
        process.terminate()
        process.wait(timeout=30)


def is_healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health") as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError):
        return False


def draw(port: int) -> list[str]:
    """Open the first page in a tab of its own and close it; the headings that came."""
    origin = f"http://127.0.0.1:{port}"
    address = f"ws://127.0.0.1:{port}/_stcore/stream"
    headings = []
    with connect(address, origin=origin, subprotocols=["streamlit"], max_size=None) as tab:  # type: ignore[arg-type,list-item]
        message = BackMsg()
        message.rerun_script.query_string = "run=synthetic"
        tab.send(message.SerializeToString())
        while True:
            told = ForwardMsg.FromString(tab.recv(timeout=PATIENCE_S))  # type: ignore[arg-type]
            if told.WhichOneof("type") == "script_finished":
                assert told.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
                return headings
            element = told.delta.new_element
            assert element.WhichOneof("type") != "exception", element.exception.message
            if element.WhichOneof("type") == "heading":
                headings.append(element.heading.body)


def descriptors(process: subprocess.Popen[bytes]) -> int:
    return len([*Path(f"/proc/{process.pid}/fd").iterdir()])


@pytest.mark.slow
@pytest.mark.trial
def test_the_server_allows_itself_more_descriptors(served: tuple[subprocess.Popen[bytes], int]) -> None:
    soft, hard = resource.prlimit(served[0].pid, resource.RLIMIT_NOFILE)
    assert soft == (DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS))
    assert soft > FEW


@pytest.mark.slow
@pytest.mark.trial
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are counted in /proc")
def test_tabs_that_come_and_go_fill_no_table_of_descriptors(served: tuple[subprocess.Popen[bytes], int]) -> None:
    process, port = served
    draw(port)
    before = descriptors(process)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (before + 100, before + 100))
    for _ in range(60):
        assert "Compare" in draw(port)
    # An event loop of a session is three descriptors; the last connections may still be about to close.
    assert descriptors(process) <= before + 3 * KEPT + 20
