"""A recording of the app for the documentation: from the answer to a cluster, its texts, and where it is on the map.

``python docs/recording.py --home HOME --out FILE.webp`` serves the app on that home, presses what a reader would press
and writes an animated WebP. ``--url`` takes an app that runs already. It needs what ``docs/screenshots.py`` needs.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from PIL import Image, ImageDraw
from playwright.sync_api import Locator, Page, sync_playwright
from screenshots import RESTING, TIMEOUT_MS, VIEWS, launch, open_view, served

SIZE = {"width": 1280, "height": 800}
# Of the window in the recording.
SCALE = 0.75

# Whose costliest cluster with its main difference has texts of both sides.
CANDIDATE = "beam:b=4"

READ_MS, PRESS_MS, STEP_MS = 3500, 900, 120
RING, RING_WIDTH, RING_COLOUR = 16, 4, "#d9730d"
# Frames of one scroll.
STEPS = 12


class Recording:
    """Frames of a page and how long each is shown."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[Image.Image] = []
        self.durations: list[int] = []

    def show(self, milliseconds: int, ring: tuple[float, float] | None = None) -> None:
        """Add the page as it is, with a ring around what is pressed."""
        frame = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        if ring is not None:
            x, y = ring
            box = (x - RING, y - RING, x + RING, y + RING)
            ImageDraw.Draw(frame).ellipse(box, outline=RING_COLOUR, width=RING_WIDTH)
        size = round(frame.width * SCALE), round(frame.height * SCALE)
        self.frames.append(frame.resize(size, Image.Resampling.LANCZOS))
        self.durations.append(milliseconds)

    def press(self, what: Locator) -> None:
        """Press a link or button, and wait until the page rests."""
        what.scroll_into_view_if_needed()
        box = what.bounding_box()
        assert box is not None, what  # noqa: S101
        self.show(PRESS_MS, (box["x"] + min(box["width"] / 2, 60), box["y"] + box["height"] / 2))
        what.click()
        self.page.mouse.move(1, 1)  # off the toolbar of a figure, where the next page may have one
        self.page.wait_for_timeout(500)
        self.page.wait_for_function(RESTING)
        self.show(READ_MS)

    def scroll(self, pixels: int) -> None:
        """Scroll the page."""
        for _ in range(STEPS):
            self.page.evaluate(
                "by => document.querySelector('[data-testid=stMain]').scrollBy({top: by, behavior: 'instant'})",
                pixels / STEPS,
            )
            self.show(STEP_MS)
        self.durations[-1] = READ_MS

    def save(self, path: Path) -> None:
        """Write the animation, which begins anew when it ends."""
        path.parent.mkdir(parents=True, exist_ok=True)
        first, *others = self.frames
        first.save(path, save_all=True, append_images=others, duration=self.durations, loop=0, quality=70, method=6)


def main() -> None:
    """Record what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--home", type=Path, help="MAUVE_LENS_HOME of the app")
    parser.add_argument("--url", help="an app that runs already")
    parser.add_argument("--run", default="demo", help="id of the run")
    parser.add_argument("--out", type=Path, required=True, help="the recording, .webp")
    asked = parser.parse_args()
    with served(asked.home, asked.url) as url, sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.set_default_timeout(TIMEOUT_MS)
        recording = Recording(page)
        open_view(page, VIEWS["compare"], url, asked.run)
        recording.show(READ_MS)
        row = page.locator('[class*="st-key-place_"]').filter(has=page.get_by_text(CANDIDATE, exact=True))
        recording.press(row.get_by_role("link").last)
        recording.scroll(500)
        recording.scroll(-500)
        recording.press(page.get_by_role("link", name="On the map").or_(page.get_by_role("button", name="On the map")))
        browser.close()
    recording.save(asked.out)


if __name__ == "__main__":
    main()
