"""What a reader meets and waits for, in a real Chromium on the demo study.

    python benchmarks/in_browser.py clicks --home HOME [--before CHECKOUT --before-home HOME] [--times 10] [--out FILE]
    python benchmarks/in_browser.py screen --home HOME [--before CHECKOUT --before-home HOME] [--out FILE]

HOME holds the demo, made by ``mauve-lens demo``. Another checkout, served with a home of its own, gives the waits or
the words of an earlier version.

*clicks*: seconds from a click to a page at rest. A page rests when the script has ended, every chart is drawn and
nothing on the page has changed for QUIET_MS; the wait is up to the last change. Each first load is a browser profile of
its own, with an empty cache. A page of one slider and a page of one line, served by plain Streamlit in the same run,
are the peers: their waits are what the framework, Plotly and the machine cost. The machine should be idle otherwise.

*screen*: everything on the first screen, in order, and the words on each page. The first screen is what lies within the
window once Compare rests. Words are those of the main part of a page, folded parts left out.
"""

from __future__ import annotations

import argparse
import os
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
from pathlib import Path
from typing import IO, Any

from frame import arguments, table, write
from frame import page as page_of_results
from playwright.sync_api import Browser, Page, Playwright, sync_playwright

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
    environment = {
        **os.environ,
        "PYTHONPATH": f"{checkout}{os.pathsep}{checkout / 'app'}",
        "MAUVE_LENS_HOME": str(home.absolute()),
        **added,
    }
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


PLAIN = "import streamlit as st\nst.title('Plain')\nst.slider('Number', 0, 9, key='plain_number')\n"
CHART = "import streamlit as st\nst.title('Plain')\nst.plotly_chart({'data': [{'y': [1, 3, 2]}]})\n"
# Seconds of the median that the project aims for.
GOALS = {"first load": 2.0, "Clusters: choose a cluster": 0.7, "Compare: weight": 0.4}


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


def row(what: str, waits: list[float], plain: float, goal: float | None, before: list[float] | None) -> list[str]:
    """A line of the table."""
    middle = statistics.median(waits)
    earlier = "" if not before else f"{statistics.median(before):.2f}"
    wanted = "" if goal is None else f"{goal:g}"
    return [what, f"{middle:.2f}", f"{max(waits):.2f}", f"{middle / plain:.1f}", wanted, earlier]


def clicks(options: argparse.Namespace) -> str:
    """What a reader waits for."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launched(playwright)
        slider, chart = Path(folder) / "slider.py", Path(folder) / "chart.py"
        slider.write_text(PLAIN)
        chart.write_text(CHART)
        with served(["streamlit", "run", str(chart)], Path(folder), options.home) as url:
            chart_load = statistics.median(first_loads(browser, url, {"plain": ""}, "", options.times)["plain"])
        with served(["streamlit", "run", str(slider)], Path(folder), options.home) as url:
            plain_load = first_loads(browser, url, {"plain": ""}, "", options.times)["plain"]
            with opened(browser) as page:
                page.goto(url)
                rest(page)
                page.get_by_role("slider").focus()
                keys = ("ArrowLeft", "ArrowRight")
                plain_step = repeated(page, options.times, lambda turn: page.keyboard.press(keys[turn % 2]))
        with served(APP, ROOT, options.home) as url:
            loads = first_loads(browser, url, pages_of(ROOT), "?run=demo", options.times)
            acts = interactions(browser, url, options.times)
        before: dict[str, list[float]] = {}
        if options.before is not None:
            with served(APP, options.before, options.before_home) as url:
                before = first_loads(browser, url, pages_of(options.before), "?run=demo", options.times)
        browser.close()
    load, step = statistics.median(plain_load), statistics.median(plain_step)
    goal = GOALS["first load"]
    rows = [row(f"first load: {name}", found, load, goal, before.get(name)) for name, found in loads.items()]
    rows += [row(name, found, step, GOALS[name], None) for name, found in acts.items()]
    about = f"""Seconds from a press, or from the start of a navigation, to the last change of the page, in Chromium at
1280 x 800, on the demo study: median and worst of {options.times}. A first load is one of a new profile with an empty
cache. Plain: a page with one slider, served by Streamlit in the same run, rests after {load:.2f} s, and a step of its
slider after {step:.2f} s; a page with one line drawn by st.plotly_chart, and nothing else, rests after {chart_load:.2f}
s. Before: the median of the earlier version in the same run."""
    header = ["what", "median s", "worst s", "median / plain", "goal s", "before s"]
    return page_of_results("Click to rest", about, table(header, rows), packages=("streamlit", "plotly"))


WINDOWS = ((1280, 800), (1920, 1080))
SCHEMES = ("light", "dark")

_SEEN = """() => {
    const main = document.querySelector('[data-testid="stMain"]'), found = [];
    const kinds = '[data-testid="stHeading"], [data-testid="stMarkdown"], [data-testid="stCaptionContainer"], ' +
        '[data-testid="stPlotlyChart"], [data-testid="stExpander"] summary, [data-testid="stPageLink"], ' +
        '[data-testid="stButton"] button, [data-testid="stPopover"] button, [data-testid="stDownloadButton"] button';
    for (const each of main.querySelectorAll(kinds)) {
        const box = each.getBoundingClientRect();
        if (!box.width || box.bottom > innerHeight + 4 || box.top < 0 || each.parentElement.closest(kinds)) continue;
        const chart = each.dataset.testid === 'stPlotlyChart';
        const said = chart ? '(chart)'
            : [...each.querySelectorAll('[data-testid="stIconMaterial"]')]
                .reduce((text, icon) => text.replace(icon.innerText, ''), each.innerText);
        const text = said.replace(/\\s+/g, ' ').trim();
        if (text) found.push({y: Math.round(box.top), x: Math.round(box.left), text});
    }
    return found.sort((a, b) => a.y - b.y || a.x - b.x);
}"""
_WORDS = """() => {
    const main = document.querySelector('[data-testid="stMain"]');
    const icons = [...main.querySelectorAll('[data-testid="stIconMaterial"]')].filter(icon => icon.innerText).length;
    return main.innerText.split(/\\s+/).filter(word => /[\\p{L}\\p{N}]/u.test(word)).length - icons;
}"""
# Things this near to each other in height stand in one line.
ROW_PX = 8


def screens(browser: Browser, url: str) -> dict[tuple[int, int, str], list[dict[str, Any]]]:
    """What stands in each window, the uppermost first."""
    found = {}
    for width, height in WINDOWS:
        for scheme in SCHEMES:
            with opened(browser) as page:
                page.set_viewport_size({"width": width, "height": height})
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                page.goto(f"{url}/?run=demo")
                rest(page)
                found[width, height, scheme] = page.evaluate(_SEEN)
    return found


def words(browser: Browser, url: str, checkout: Path) -> dict[str, int]:
    """Words on each page."""
    found = {}
    for name, path in pages_of(checkout).items():
        with opened(browser) as page:
            found[name] = _words(page, f"{url}/{path}?run=demo")
    return found


def _words(page: Page, address: str) -> int:
    page.goto(address)
    rest(page)
    counted: int = page.evaluate(_WORDS)
    return counted


def screen(options: argparse.Namespace) -> str:
    """What a reader meets."""
    with sync_playwright() as playwright:
        browser = launched(playwright)
        with served(APP, ROOT, options.home) as url:
            seen, now = screens(browser, url), words(browser, url, ROOT)
        before: dict[str, int] = {}
        if options.before is not None:
            with served(APP, options.before, options.before_home) as url:
                before = words(browser, url, options.before)
        browser.close()
    lines = []
    for width, height in WINDOWS:
        first, *others = (_rows(seen[width, height, scheme]) for scheme in SCHEMES)
        for scheme, rows in zip(SCHEMES, (first, *others), strict=True):
            lines += [f"## {width} x {height}, {scheme}", ""]
            same = rows == first and scheme != SCHEMES[0]
            lines += [f"The same as {SCHEMES[0]}.", ""] if same else [*rows, ""]
    counts = [[name, before.get(name, ""), count] for name, count in now.items()]
    return page_of_results(
        "The first screen",
        "What stands whole in the window when Compare rests on the demo study, from the top, at y pixels.",
        "\n".join(lines).strip(),
        "## Words on each page",
        "The demo study; folded parts are not counted. Before: an earlier version in the same run.",
        table(["page", "before", "now"], counts),
        packages=("streamlit",),
    )


def _rows(items: list[dict[str, Any]]) -> list[str]:
    """What stands beside each other as one line, from the left; lines are numbered."""
    rows: list[list[dict[str, Any]]] = []
    for item in items:
        if rows and item["y"] - rows[-1][0]["y"] < ROW_PX:
            rows[-1].append(item)
        else:
            rows.append([item])
    return [
        f"{place}. y = {row[0]['y']}: {' | '.join(each['text'] for each in sorted(row, key=lambda each: each['x']))}"
        for place, row in enumerate(rows, start=1)
    ]


if __name__ == "__main__":
    parser = arguments(__doc__, times=10)
    parser.add_argument("what", choices=("clicks", "screen"))
    parser.add_argument("--home", type=Path, required=True, help="MAUVE_LENS_HOME with the demo")
    parser.add_argument("--before", type=Path, help="a checkout of an earlier version")
    parser.add_argument("--before-home", type=Path, help="the home of that version, with its demo")
    options = parser.parse_args()
    write(clicks(options) if options.what == "clicks" else screen(options), options.out)
