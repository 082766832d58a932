"""What journeys through the app take a reader: presses, files chosen, scrolls and seconds, in a real Chromium.

    python benchmarks/journeys.py --home HOME [--out FILE.md]

HOME holds the demo, made by ``mauve-lens demo``. A press is a click or a key that acts; a scroll is counted when what
is pressed or read next lies outside the window of 1280 x 800. Seconds end when the answer stands on the page, and
depend on the machine. Own files are two of 60 made-up texts, in a home without runs. The last journey scores two files
of 500 texts for the second time, so their features are in the cache; its seconds go from Start to the scores.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
from browsing import APP, ROOT, launched, opened, rest, served
from playwright.sync_api import Locator, Page, expect, sync_playwright

from mauve_core.base.files import write_atomically

TEXTS, MANY_TEXTS = 60, 500
WORDS = {
    "human": "river glacier market harvest engine violin parliament planet winter letter stone garden",
    "model": "river river market market engine engine stone stone winter letter planet garden",
}
JOB_MS = 300_000


@dataclass
class Reader:
    """A person at a page, whose work is counted."""

    page: Page
    presses: int = 0
    files: int = 0
    scrolls: int = 0
    began: float = field(default_factory=time.monotonic)

    def press(self, target: Locator) -> None:
        """Click it."""
        expect(target).to_be_enabled(timeout=JOB_MS)
        self.sees(target)
        target.click()
        self.presses += 1

    def choose(self, target: Locator, path: Path) -> None:
        """Hand a file to a field."""
        target.set_input_files(path)
        self.files += 1

    def sees(self, target: Locator) -> None:
        """Read it, which takes a scroll if it lies outside the window."""
        expect(target).to_be_visible(timeout=JOB_MS)
        box, window = target.bounding_box(), self.page.viewport_size
        if box is not None and window is not None and not 0 <= box["y"] < window["height"] - 20:
            target.scroll_into_view_if_needed()
            self.scrolls += 1

    def row(self, what: str, seconds: float | None = None) -> str:
        """The journey as a line of the table; seconds since it began unless they are given."""
        seconds = time.monotonic() - self.began if seconds is None else seconds
        return f"| {what} | {self.presses} | {self.files} | {self.scrolls} | {seconds:.1f} |"


def made_up(folder: Path, texts: int) -> dict[str, Path]:
    """A file of texts for each side."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    files = {side: folder / f"{side}.jsonl" for side in WORDS}
    for side, words in WORDS.items():
        made = [" ".join(rng.choice(words.split(), 30)) for _ in range(texts)]
        files[side].write_text("".join(json.dumps({"text": text}) + "\n" for text in made))
    return files


def scored(reader: Reader, files: dict[str, Path], texts: int) -> float:
    """Hand the files to New run, start it and open its results; seconds from Start to the scores."""
    page = reader.page
    for place, path in enumerate(files.values()):
        field = page.locator('[data-testid="stFileUploader"] input[type="file"]').nth(place)
        reader.choose(field, path)
        expect(page.get_by_text(re.compile(rf"{texts} texts")).nth(place)).to_be_visible()
    reader.press(page.get_by_role("button", name="Start", exact=True))
    started = time.monotonic()
    opens = page.get_by_role("button", name="Open results").or_(page.get_by_role("link", name="Open results"))
    reader.press(opens.first)
    expect(page.locator(".st-key-ranked_list")).to_contain_text("±")
    return time.monotonic() - started


def own_files(page: Page, url: str, folder: Path) -> str:
    """From the first screen of an empty app to the texts of the costliest cluster of two files."""
    files = made_up(folder / "few", TEXTS)
    page.goto(url)
    rest(page)
    reader = Reader(page)
    reader.press(page.get_by_role("link", name="Start a run with your own files"))
    scored(reader, files, TEXTS)
    reader.press(page.locator('.st-key-ranked_list [data-testid="stPageLink"] a').first)
    counted = page.locator(".st-key-clusters_panes").get_by_text(re.compile(r"of 60 texts"))
    reader.sees(counted.filter(visible=True).last)
    return reader.row("own files: which cluster costs most, with its texts")


def cached_features(page: Page, url: str, folder: Path) -> str:
    """From New run to the scores of two files that a run has encoded before, with a map still to come."""
    files = made_up(folder / "many", MANY_TEXTS)
    for _ in range(2):
        page.goto(f"{url}/new_run")
        rest(page)
        ended = page.get_by_role("button", name="Dismiss")
        while ended.count():
            ended.first.click()
            rest(page)
        reader = Reader(page)
        seconds = scored(reader, files, MANY_TEXTS)
    return reader.row(f"own files, {MANY_TEXTS} texts each, encoded before: from Start to the scores", seconds)


def worst_cluster(page: Page, url: str) -> str:
    """From the demo's first screen to greedy's costliest cluster; its link is the page's address."""
    page.goto(f"{url}/?run=demo")
    rest(page)
    reader = Reader(page)
    place = page.locator('[class*="st-key-place_"]').filter(has=page.get_by_text("greedy", exact=True))
    reader.press(place.get_by_role("link"))
    expect(page).to_have_url(re.compile(r"/clusters\?.*candidate=greedy.*cluster=\d+"))
    counted = page.locator(".st-key-clusters_panes").get_by_text(re.compile(r"\d+ of 512 texts"))
    reader.sees(counted.filter(visible=True).last)
    return reader.row("demo: greedy's costliest cluster with its texts, and a link to it")


def articles(page: Page, url: str) -> str:
    """From the demo's first screen to whether MAUVE notices missing articles."""
    page.goto(f"{url}/?run=demo")
    rest(page)
    reader = Reader(page)
    reader.press(page.get_by_test_id("stSidebarNav").get_by_role("link", name="Probes"))
    reader.sees(page.get_by_text(re.compile(r"etected: .*Articles dropped")).first)
    return reader.row("demo: does MAUVE notice missing articles?")


def report(options: argparse.Namespace) -> str:
    """Serve, walk, and write the page."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launched(playwright)
        with served(APP, ROOT, Path(folder) / "home") as url:
            with opened(browser) as page:
                rows = [own_files(page, url, Path(folder))]
            with opened(browser) as page:
                cached = cached_features(page, url, Path(folder))
        with served(APP, ROOT, options.home) as url:
            for journey in (worst_cluster, articles):
                with opened(browser) as page:
                    rows.append(journey(page, url))
        rows.append(cached)
        browser.close()
    return f"""# Journeys

    python benchmarks/journeys.py {" ".join(sys.argv[1:])}

What journeys take in Chromium at 1280 x 800. A scroll is counted when what is pressed or read next lies outside the
window. The seconds of the first are those of the run, encoder and all; those of the last go from Start to the scores.
They depend on the machine.

| journey | presses | files | scrolls | seconds |
| --- | ---: | ---: | ---: | ---: |
{chr(10).join(rows)}

Streamlit {version("streamlit")}.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True, help="MAUVE_LENS_HOME with the demo")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    page = report(options)
    sys.stdout.write(page)
    if options.out is not None:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))


if __name__ == "__main__":
    main()
