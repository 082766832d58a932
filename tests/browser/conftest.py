"""The real app under a real Chromium: a server in a process of its own, pages in light and dark.

Without a Chromium these tests are skipped, loudly; in CI (``CI=true``) they fail instead. A page that asks a foreign
host for anything, or on which a script fails, fails its test.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from mauve_core.runs import Run, RunStore
from tests.browser.full_run import make_full_run
from tests.conftest import missing
from tests.hostile_run import make_hostile_run
from tests.synthetic import make_run, with_map

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM_FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
NO_CHROMIUM = "THE BROWSER TESTS DID NOT RUN: no Chromium on this machine (apt-get install chromium)"
START_TIMEOUT_S = 120
# Id of the run whose names and texts are payloads.
HOSTILE = "script-alert-1-script-hostile"
_POLICY = "Content Security Policy"
# Chromium itself is silent where a script may not be compiled.
_SAY_VIOLATIONS = f"""document.addEventListener("securitypolicyviolation", event =>
    console.error("{_POLICY}", event.effectiveDirective, event.blockedURI))"""
# Of every wait: machines that others share are three times slower at times, and two tests run at once.
PAGE_TIMEOUT_MS = 60_000
expect.set_options(timeout=PAGE_TIMEOUT_MS)


@pytest.fixture(scope="session")
def chromium(pytestconfig: pytest.Config) -> Iterator[Browser]:
    """Debian's Chromium, or another one on the path."""
    path = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if path is None:
        missing(pytestconfig, NO_CHROMIUM)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def live_app(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Base URL of an app whose home holds the runs ``synthetic`` and ``HOSTILE``; shared, so leave no traces in it."""
    home = tmp_path_factory.mktemp("live") / "home"
    assert make_hostile_run(home, n=40).id == HOSTILE
    with_map(make_run(home, projection=False))
    with serving(home) as url:
        yield url


@pytest.fixture(scope="session")
def full_app(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Run]]:
    """Base URL of an app with a run on which every view has something to show, and that run."""
    home = tmp_path_factory.mktemp("full") / "home"
    run = make_full_run(home)
    with serving(home) as url:
        yield url, run


@pytest.fixture
def live_run(live_app: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run that the live app shows, from its home."""
    home = next(Path(tmp_path_factory.getbasetemp()).glob("live*/home"))
    return RunStore(home / "runs").load("synthetic")


@pytest.fixture
def empty_app(chromium: Browser, tmp_path: Path) -> Iterator[str]:
    """Base URL of an app with an empty home, for one test."""
    with serving(tmp_path / "live-home") as url:
        yield url


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page in the light appearance, 1280 pixels wide."""
    with _page(chromium, "light") as opened:
        yield opened


@pytest.fixture
def dark_page(chromium: Browser) -> Iterator[Page]:
    """The same in the dark appearance."""
    with _page(chromium, "dark") as opened:
        yield opened


def patient(context: BrowserContext) -> BrowserContext:
    """The same with the limit of this module on every wait."""
    context.set_default_timeout(PAGE_TIMEOUT_MS)
    return context


def still(chromium: Browser, **options: Any) -> BrowserContext:
    """A context of a person who asked for no motion, and patient.

    Without a graphics card Chromium draws each step of Streamlit's placeholders and icons by itself: a page that moves
    costs half as much again, and comes half as fast.
    """
    return patient(chromium.new_context(reduced_motion="reduce", **options))


@contextmanager
def _page(chromium: Browser, scheme: str) -> Iterator[Page]:
    context = still(chromium, viewport={"width": 1280, "height": 1000}, color_scheme=scheme)
    opened = context.new_page()
    foreign: list[str] = []
    broken: list[str] = []
    against: list[str] = []
    opened.on("request", lambda request: foreign.append(request.url) if _is_foreign(request.url) else None)
    opened.on("pageerror", lambda error: broken.append(str(error)))
    opened.on("console", lambda message: against.append(message.text) if _POLICY in message.text else None)
    opened.add_init_script(_SAY_VIOLATIONS)
    yield opened
    context.close()
    assert foreign == [], "the page asked a foreign host"
    assert broken == [], "a script on the page failed"
    assert against == [], "the page broke its own policy of content"


def _is_foreign(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:"))


@contextmanager
def serving(home: Path, *, port: int | None = None, **variables: str) -> Iterator[str]:
    """Run the app from the repository on a free port until the block ends; ``variables`` go to its environment."""
    port = port or free_port()
    with server_process(home, port, **variables) as server:
        wait_until_healthy(port, server, home.parent / "app.log")
        yield f"http://127.0.0.1:{port}"


@contextmanager
def server_process(
    home: Path, port: int, *, module: Sequence[str] = ("mauve_app.server.serve",), **variables: str
) -> Iterator[subprocess.Popen[bytes]]:
    """The same as a process that has only just begun; it may be killed within the block.

    ``module`` is the Python module that is run, and its first arguments.
    """
    own = {
        "MAUVE_LENS_HOME": str(home),
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "app"))),
        "OMP_NUM_THREADS": "1",
    }
    environment = {**os.environ, **own, **variables}
    home.mkdir(parents=True, exist_ok=True)
    log = home.parent / "app.log"
    with log.open("ab") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", *module, "--server.port", str(port)],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=output,
        )
        try:
            yield server
        finally:
            server.terminate()
            server.wait(timeout=30)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_healthy(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            pytest.fail(f"the app ended with {server.returncode}: {log.read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the app did not start within {START_TIMEOUT_S} s: {log.read_text()[-2000:]}")
