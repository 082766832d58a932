"""What a reader meets: everything on the first screen, in order, and the words on each page, in a real Chromium.

    python benchmarks/first_screen.py --home HOME [--before CHECKOUT --before-home HOME] [--out FILE.md]

HOME holds the demo, made by ``mauve-lens demo``. The first screen is what lies within the window once Compare rests.
Words are those of the main part of a page, folded parts left out. Another checkout, served with a home of its own,
gives the words of an earlier version.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from browsing import APP, ROOT, launched, opened, pages_of, rest, served
from playwright.sync_api import Browser, Page, sync_playwright

from mauve_core.base.files import write_atomically

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


def report(options: argparse.Namespace) -> str:
    """Serve, look, and write the page."""
    with tempfile.TemporaryDirectory(), sync_playwright() as playwright:
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
    counts = "\n".join(f"| {name} | {before.get(name, '')} | {count} |" for name, count in now.items())
    return f"""# The first screen

    python benchmarks/first_screen.py {" ".join(sys.argv[1:])}

What stands whole in the window when Compare rests on the demo study, from the top, at y pixels.
Streamlit {version("streamlit")}.

{chr(10).join(lines)}
## Words on each page

The demo study; folded parts are not counted. Before: an earlier version in the same run.

| page | before | now |
| --- | ---: | ---: |
{counts}
"""


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True, help="MAUVE_LENS_HOME with the demo")
    parser.add_argument("--before", type=Path, help="a checkout of an earlier version")
    parser.add_argument("--before-home", type=Path, help="the home of that version, with its demo")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    page = report(options)
    sys.stdout.write(page)
    if options.out is not None:
        write_atomically(options.out, lambda stream: stream.write(page.encode()))


if __name__ == "__main__":
    main()
