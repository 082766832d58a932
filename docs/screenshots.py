"""Pictures of every view of one run, at three widths, light and dark: for the documentation, and to look at.

``python docs/screenshots.py --home HOME --run demo --out FOLDER`` serves the app on that home and saves
``VIEW-WIDTH-light.png`` and ``VIEW-WIDTH-dark.png``. It needs Playwright and a Chromium on the path, and the repository
as the working folder. ``--view``, ``--width`` and ``--scheme`` take fewer, ``--url`` an app that runs already. A
picture of an exception or of a map without WebGL is taken, so that one can look at it, and makes the command fail.
``--readme`` takes those of the README instead: ``--home HOME --readme --out docs/pictures``.
"""

from __future__ import annotations

import argparse
import io
import itertools
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, Playwright, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
WIDTHS = (768, 1280, 1920)
SCHEMES = ("light", "dark")
HEIGHT = 1000
# Of a picture; what is longer is cut.
MOST_HEIGHT = 6000

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM_FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars",
    "--enable-unsafe-swiftshader",
]  # fmt: skip
TIMEOUT_MS = 120_000

RESTING = """() => document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === 'notRunning'
    && !document.querySelector('[data-stale="true"], [data-retained="true"], [data-testid="stSkeleton"]')
    && document.querySelector('[data-testid="stMain"] :is(h1, h2)')
    && [...document.querySelectorAll('.js-plotly-plot')].every(plot => plot._fullData)"""


@dataclass(frozen=True)
class View:
    """One picture: a page, and the state in its link.

    Attributes
    ----------
    path : str
        Of the page, as in its address.
    state : mapping
        Query parameters beside the run.
    """

    path: str = ""
    state: Mapping[str, str] = field(default_factory=dict)

    def address(self, url: str, run: str) -> str:
        """The link that opens the view on that run of the app at ``url``."""
        return f"{url}/{self.path}?{urllib.parse.urlencode({'run': run, **self.state})}"


_LASSO = "-100,-100;100,-100;100,100;-100,100"

# What no picture may show.
FAULTS = """() => [
    ...[...document.querySelectorAll('[data-testid="stException"], .st-key-fault')].map(found => found.innerText),
    ...(document.body.innerText.includes('WebGL is not supported') ? ['WebGL is not supported'] : []),
    ...(document.querySelector('.st-key-map_plain') ? ['The map is drawn without WebGL'] : [])]"""


VIEWS: dict[str, View] = {
    "compare": View(),
    "slide": View(state={"tour": "2", "present": "on"}),
    "decoders": View("decoders", {"section": "measures"}),
    "sweeps": View("decoders", {"section": "sweeps", "axis": "k"}),
    "generate": View("decoders", {"section": "generate"}),
    "methods": View("methods"),
    "clusters": View("clusters"),
    "cluster": View("clusters", {"cluster": "0"}),
    "clusters-table": View("clusters", {"form": "table"}),
    "why": View("clusters", {"cluster": "0", "detail": "why"}),
    "words": View("clusters", {"cluster": "0", "detail": "words"}),
    "metadata": View("clusters", {"cluster": "0", "detail": "metadata"}),
    "gap": View("gap"),
    "gap-cluster": View("gap", {"cluster": "0"}),
    "what-if": View("gap", {"chosen": "0,1", "below": "what-if"}),
    "few-clusters": View("gap", {"below": "few"}),
    "probes": View("probes"),
    "flow": View("probes", {"part": "flow"}),
    "text": View("probes", {"part": "text"}),
    "map": View("map"),
    "map-area": View("map", {"lasso": _LASSO}),
    "map-cluster": View("map", {"cluster": "0"}),
    "map-found": View("map", {"find": "however"}),
    "texts": View("texts", {"find": "however"}),
    "texts-all": View("texts"),
    "findings": View("findings"),
    "judge": View("judge"),
    "rate": View("judge", {"rater": "Ann"}),
    "ratings": View("judge", {"tab": "results"}),
    "published": View("published"),
    "runs": View("runs"),
    "runs-pair": View("runs", {"shelf": "pair"}),
    "runs-bin": View("runs", {"shelf": "bin"}),
    "new_run": View("new_run"),
}

# Of the README: a view, and the parts of the page with which its picture begins and ends.
README = {
    "compare": (View(), ".st-key-verdict", ".st-key-leaderboard_chart"),
    "why": (
        View("clusters", {"cluster": "44", "detail": "why"}),
        ".st-key-clusters_panes",
        '[data-testid="stDataFrame"]',
    ),
}

MARGIN = 16
# Of the window: the columns of words on the page Clusters fit into it.
README_WIDTH = 1440

CLIP = """([first, last, margin]) => {
    const begin = document.querySelector(first).getBoundingClientRect()
    const ends = [...document.querySelectorAll(last)].map(part => part.getBoundingClientRect().bottom)
    return {x: begin.x - margin, y: begin.y - margin, width: begin.width + 2 * margin,
        height: Math.max(...ends) - begin.y + 2 * margin}}"""


def main() -> None:
    """Take the pictures that the command line asks for."""
    asked = _arguments()
    asked.out.mkdir(parents=True, exist_ok=True)
    faults: list[str] = []
    with served(asked.home, asked.url) as url, sync_playwright() as playwright:
        browser = launch(playwright)
        for scheme in SCHEMES if asked.readme else ():
            take_for_readme(browser, url, asked.run, asked.out, scheme)
        for scheme, width in () if asked.readme else itertools.product(asked.scheme or SCHEMES, asked.width or WIDTHS):
            faults += take(browser, url, asked.run, asked.out, asked.view or list(VIEWS), width, scheme)
        browser.close()
    if faults:
        raise SystemExit("These pictures are not fit to be shown:\n" + "\n".join(faults))


def launch(playwright: Playwright) -> Browser:
    """The Chromium on the path, without a window."""
    path = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    return playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)


def take(browser: Browser, url: str, run: str, out: Path, names: list[str], width: int, scheme: str) -> list[str]:
    """One picture of each of these views; what is wrong with any of them, a line each."""
    faults = []
    context = browser.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)  # type: ignore[arg-type]
    context.set_default_timeout(TIMEOUT_MS)
    page = context.new_page()
    for name in names:
        page.set_viewport_size({"width": width, "height": HEIGHT})
        open_view(page, VIEWS[name], url, run)
        _stretch(page, width)
        page.screenshot(path=out / f"{name}-{width}-{scheme}.png")
        faults += [f"{name}-{width}-{scheme}: {found}" for found in page.evaluate(FAULTS)]
    context.close()
    return faults


def take_for_readme(browser: Browser, url: str, run: str, out: Path, scheme: str) -> None:
    """The parts of pages that tell most, sharp and small: ``readme-NAME-SCHEME.webp``."""
    size = {"width": README_WIDTH, "height": 2 * HEIGHT}
    page = browser.new_page(viewport=size, color_scheme=scheme, device_scale_factor=2)  # type: ignore[arg-type]
    page.set_default_timeout(TIMEOUT_MS)
    for name, (view, first, last) in README.items():
        open_view(page, view, url, run)
        drawn = page.screenshot(clip=page.evaluate(CLIP, [first, last, MARGIN]))
        Image.open(io.BytesIO(drawn)).save(out / f"readme-{name}-{scheme}.webp", quality=80, method=6)
    page.close()


def open_view(page: Page, view: View, url: str, run: str) -> None:
    """Go there, and wait until the page rests."""
    page.goto(view.address(url, run))
    page.wait_for_function(RESTING)


def _stretch(page: Page, width: int) -> None:
    """Make the window as high as the page, which scrolls inside of it."""
    for _ in range(2):
        height = page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({"width": width, "height": min(max(int(height), HEIGHT), MOST_HEIGHT)})
        page.wait_for_timeout(300)
        page.wait_for_function(RESTING)


@contextmanager
def served(home: Path | None, url: str | None) -> Iterator[str]:
    """The address of the app that runs, or of one that is served until the block ends."""
    if url is not None:
        yield url.rstrip("/")
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if home is not None:
        environment["MAUVE_LENS_HOME"] = str(home)
    command = [sys.executable, "-m", "mauve_app.server.serve", "--server.port", str(port)]
    server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(f"http://127.0.0.1:{port}/_stcore/health", server)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def _wait(address: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=2).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise SystemExit("The app did not start")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--home", type=Path, help="MAUVE_LENS_HOME of the app")
    parser.add_argument("--url", help="an app that runs already")
    parser.add_argument("--run", default="demo", help="id of the run")
    parser.add_argument("--out", type=Path, required=True, help="folder for the pictures")
    parser.add_argument("--view", action="append", choices=list(VIEWS))
    parser.add_argument("--width", action="append", type=int)
    parser.add_argument("--scheme", action="append", choices=SCHEMES)
    parser.add_argument("--readme", action="store_true", help="the pictures of the README, light and dark")
    return parser.parse_args()


if __name__ == "__main__":
    main()
