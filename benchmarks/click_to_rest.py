"""What a reader waits for: seconds from a click to a page at rest, in a real Chromium, on the demo study.

    python benchmarks/click_to_rest.py --home HOME [--before CHECKOUT --before-home HOME] [--times 10] [--out FILE.md]

A page rests when the script has ended, every chart is drawn and nothing on the page has changed for QUIET_MS; the wait
is up to the last change. Each first load is a browser profile of its own, with an empty cache. A page of one slider
and a page of one line, served by plain Streamlit in the same run, are the peers: their waits are what the framework,
Plotly and the machine cost. Another checkout, served with a home of its own, gives the first loads of an earlier
version. HOME holds the demo, made by ``mauve-lens demo``. The machine should be idle otherwise.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from browsing import APP, ROOT, launched, opened, pages_of, rest, served
from playwright.sync_api import Browser, Page, sync_playwright

from mauve_core.base.files import write_atomically

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


def row(what: str, waits: list[float], plain: float, goal: float | None, before: list[float] | None) -> str:
    """A line of the table."""
    middle = statistics.median(waits)
    earlier = "" if not before else f"{statistics.median(before):.2f}"
    wanted = "" if goal is None else f"{goal:g}"
    cells = [what, f"{middle:.2f}", f"{max(waits):.2f}", f"{middle / plain:.1f}", wanted, earlier]
    return f"| {' | '.join(cells)} |"


def report(options: argparse.Namespace) -> str:
    """Serve, measure, and write the page."""
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
    return f"""# Click to rest

    python benchmarks/click_to_rest.py {" ".join(sys.argv[1:])}

Seconds from a press, or from the start of a navigation, to the last change of the page, in Chromium at 1280 x 800, on
the demo study: median and worst of {options.times}. A first load is one of a new profile with an empty cache. Plain: a
page with one slider, served by Streamlit in the same run, rests after {load:.2f} s, and a step of its slider after
{step:.2f} s; a page with one line drawn by st.plotly_chart, and nothing else, rests after {chart_load:.2f} s. Before:
the median of the earlier version in the same run.

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
