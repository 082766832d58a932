"""What benchmarks of the app in a real browser share: the server, the browser, and when a page rests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from playwright.sync_api import Browser, Page, Playwright

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM_FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--enable-unsafe-swiftshader",
]  # fmt: skip
TIMEOUT_MS = 120_000
QUIET_MS = 1000
APP = ["mauve_app.server.serve"]
PAGES = {
    "Compare": "", "Decoders": "decoders", "Methods": "methods", "Clusters": "clusters", "Gap": "gap", "Map": "map",
    "Texts": "texts",
    "Probes": "probes", "Judge": "judge", "Published": "published", "Runs": "runs", "New run": "new_run",
}  # fmt: skip


def pages_of(checkout: Path) -> dict[str, str]:
    """The pages that a checkout has."""
    return {
        name: path
        for name, path in PAGES.items()
        if (checkout / "app" / "mauve_app" / "views" / (path or "compare")).is_dir()
    }


_WATCH = """
window.changed = 0; window.pressed = 0;
new MutationObserver(() => { window.changed = performance.now(); }).observe(
    document, {subtree: true, childList: true, attributes: true, characterData: true});
for (const kind of ['pointerdown', 'keydown'])
    addEventListener(kind, () => { window.pressed = performance.now(); }, {capture: true});
"""
_RESTS = """(quiet) => document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === 'notRunning'
    && !document.querySelector('[data-stale="true"], [data-retained="true"], [data-testid="stSkeleton"]')
    && document.querySelector('[data-testid="stMain"] :is(h1, h2)')
    && [...document.querySelectorAll('.js-plotly-plot')].every(plot => plot._fullData)
    && performance.now() - Math.max(window.changed, window.pressed) > quiet"""


def rest(page: Page) -> float:
    """Wait until the page rests; seconds from the last press, or from the start of the navigation, to the last
    change."""
    page.wait_for_function(_RESTS, arg=QUIET_MS)
    waited: float = page.evaluate("() => Math.max(window.changed - window.pressed, 0) / 1000")
    return waited


def launched(playwright: Playwright) -> Browser:
    """A browser: the Chromium on the path, else Playwright's own."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    return playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)


@contextmanager
def opened(browser: Browser) -> Iterator[Page]:
    """A page of a new profile that writes down when it changes."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(TIMEOUT_MS)
    context.add_init_script(_WATCH)
    try:
        yield context.new_page()
    finally:
        context.close()


@contextmanager
def served(command: list[str], checkout: Path, home: Path) -> Iterator[str]:
    """The address of a server until the block ends; the port follows the command."""
    with running(command, checkout, home) as (url, _):
        yield url


@contextmanager
def running(
    command: list[str], checkout: Path, home: Path, output: int | IO[bytes] = subprocess.DEVNULL, **added: str
) -> Iterator[tuple[str, int]]:
    """Address and process id of a server until the block ends; ``added`` is added to its environment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    environment = {**os.environ, "PYTHONPATH": str(checkout), "MAUVE_LENS_HOME": str(home.absolute()), **added}
    process = subprocess.Popen(
        [sys.executable, "-m", *command, "--server.port", str(port), "--server.headless", "true"],
        cwd=checkout,
        env=environment,
        stdout=output,
        stderr=output,
    )
    try:
        deadline = time.monotonic() + TIMEOUT_MS / 1000
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2).close()
            except OSError:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise SystemExit(f"The app of {checkout} did not start") from None
                time.sleep(0.2)
            else:
                break
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait(timeout=30)
