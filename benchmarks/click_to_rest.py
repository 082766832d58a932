"""What a reader waits for: seconds from a click to a page at rest, in a real Chromium, on the demo study.

    python benchmarks/click_to_rest.py --home HOME [--before CHECKOUT --before-home HOME] [--times 10] [--out FILE.md]

A page rests when the script has ended, every chart is drawn and nothing on the page has changed for QUIET_MS; the wait
is up to the last change. Each first load is a browser profile of its own, with an empty cache. A page of one slider,
served by plain Streamlit in the same run, is the peer: its waits are what the framework and the machine cost. Another
checkout, served with a home of its own, gives the first loads of an earlier version. HOME holds the demo, made by
``mauve-lens demo``. The machine should be idle otherwise.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from mauve_core.base.files import write_atomically

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM_FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--enable-unsafe-swiftshader",
]  # fmt: skip
TIMEOUT_MS = 120_000
QUIET_MS = 1000
PLAIN = "import streamlit as st\nst.title('Plain')\nst.slider('Number', 0, 9, key='plain_number')\n"
PAGES = {
    "Compare": "", "Decoders": "decoders", "Methods": "methods", "Clusters": "clusters", "Gap": "gap", "Map": "map",
    "Probes": "probes", "Judge": "judge", "Published": "published", "Runs": "runs", "New run": "new_run",
}  # fmt: skip
GOALS = {"first load": 2.0, "Clusters: choose a cluster": 0.7, "Compare: weight": 0.4}
"""Seconds of the median that the project aims for."""

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


def first_loads(browser: Browser, url: str, paths: dict[str, str], query: str, times: int) -> dict[str, list[float]]:
    """Seconds of every page's first load, each in a profile of its own; the server has seen the page once before."""
    found: dict[str, list[float]] = {name: [] for name in paths}
    for turn in range(times + 1):
        for name, path in paths.items():
            with opened(browser) as page:
                page.goto(f"{url}/{path}{query}")
                waited = rest(page)
            if turn:
                found[name].append(waited)
    return found


def interactions(browser: Browser, url: str, times: int) -> dict[str, list[float]]:
    """Seconds of what a reader does on Compare and Clusters."""
    with opened(browser) as page:
        page.goto(f"{url}/?run=demo")
        rest(page)
        page.get_by_role("button", name="Errors").click()
        rest(page)
        page.get_by_role("slider", name="Weight").focus()
        weight = repeated(page, times, lambda turn: page.keyboard.press("ArrowRight" if turn % 2 else "ArrowLeft"))
    with opened(browser) as page:
        page.goto(f"{url}/clusters?run=demo")
        rest(page)
        cluster = repeated(page, times, lambda turn: click_row(page, 1 + turn % 8))
    return {"Compare: weight": weight, "Clusters: choose a cluster": cluster}


def click_row(page: Page, place: int) -> None:
    x, y = page.evaluate(
        """(place) => {
            const plot = document.querySelector('.st-key-clusters_chart .js-plotly-plot'), layout = plot._fullLayout;
            const rows = plot._fullData[plot._fullData.length - 1], box = plot.getBoundingClientRect();
            return [box.x + layout._size.l + layout._size.w - 6,
                    box.y + layout.yaxis._offset + layout.yaxis.d2p(rows.y[place])];
        }""",
        place,
    )
    page.mouse.click(x, y)


def repeated(page: Page, times: int, act: Callable[[int], None]) -> list[float]:
    """Seconds of each of so many acts after a first one."""
    found = []
    for turn in range(times + 1):
        act(turn)
        found.append(rest(page))
    return found[1:]


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
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    environment = {**os.environ, "PYTHONPATH": str(checkout), "MAUVE_LENS_HOME": str(home.absolute())}
    process = subprocess.Popen(
        [sys.executable, "-m", *command, "--server.port", str(port), "--server.headless", "true"],
        cwd=checkout,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
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
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=30)


def row(what: str, waits: list[float], plain: float, goal: float | None, before: list[float] | None) -> str:
    """A line of the table."""
    middle = statistics.median(waits)
    earlier = "" if not before else f"{statistics.median(before):.2f}"
    wanted = "" if goal is None else f"{goal:g}"
    cells = [what, f"{middle:.2f}", f"{max(waits):.2f}", f"{middle / plain:.1f}", wanted, earlier]
    return f"| {' | '.join(cells)} |"


def report(options: argparse.Namespace) -> str:
    """Serve, measure, and write the page."""
    app = ["app.server.serve"]
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        script = Path(folder) / "plain.py"
        script.write_text(PLAIN)
        with served(["streamlit", "run", str(script)], Path(folder), options.home) as url:
            plain_load = first_loads(browser, url, {"plain": ""}, "", options.times)["plain"]
            with opened(browser) as page:
                page.goto(url)
                rest(page)
                page.get_by_role("slider").focus()
                keys = ("ArrowLeft", "ArrowRight")
                plain_step = repeated(page, options.times, lambda turn: page.keyboard.press(keys[turn % 2]))
        with served(app, ROOT, options.home) as url:
            loads = first_loads(browser, url, PAGES, "?run=demo", options.times)
            acts = interactions(browser, url, options.times)
        before: dict[str, list[float]] = {}
        if options.before is not None:
            with served(app, options.before, options.before_home) as url:
                before = first_loads(browser, url, PAGES, "?run=demo", options.times)
        browser.close()
    load, step = statistics.median(plain_load), statistics.median(plain_step)
    goal = GOALS["first load"]
    rows = [row(f"first load: {name}", found, load, goal, before.get(name)) for name, found in loads.items()]
    rows += [row(name, found, step, GOALS[name], None) for name, found in acts.items()]
    return f"""# Click to rest

    python benchmarks/click_to_rest.py {" ".join(sys.argv[1:])}

Seconds from a press, or from the start of a navigation, to the last change of the page, in Chromium at 1280 x 800, on
the demo study: median and worst of {options.times}. A first load is one of a new profile with an empty cache. Plain: a
page with one slider, served by Streamlit in the same run, rests after {load:.2f} s, and a step of its slider after
{step:.2f} s. Before: the median of the earlier version in the same run.

| what | median s | worst s | median / plain | goal s | before s |
| --- | --- | --- | --- | --- | --- |
{chr(10).join(rows)}

Streamlit {version("streamlit")}, Plotly {version("plotly")}, Python {platform.python_version()}.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True, help="MAUVE_LENS_HOME with the demo")
    parser.add_argument("--before", type=Path, help="a checkout of an earlier version")
    parser.add_argument("--before-home", type=Path, help="the home of that version, with its demo")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    page = report(options)
    sys.stdout.write(page)
    if options.out is not None:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))


if __name__ == "__main__":
    main()
