"""The documentation site has a page for every view, and every page is in its contents."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
VIEWS = DOCS.parent / "app" / "views"


def listed(page: Path) -> set[str]:
    """What the tables of contents on a page name, as paths below ``docs``."""
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    names = [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]
    return {str((page.parent / name).relative_to(DOCS)) for name in names}


def test_every_view_has_a_page_with_its_picture() -> None:
    views = {path.stem for path in VIEWS.glob("*.py")} - {"__init__"}
    pages = {path.stem for path in (DOCS / "guide").glob("*.md")}
    assert views <= pages
    for view in views:
        assert f"(images/{view}-1280-light.png)" in (DOCS / "guide" / f"{view}.md").read_text(encoding="utf-8")


def test_every_page_is_in_the_contents() -> None:
    contents = listed(DOCS / "index.md") | listed(DOCS / "api" / "index.md")
    written = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")}
    made = {name for name in written if name.split("/")[0] in {"measured", "_build"}}
    assert written - made - {"index"} == contents - {"measured/index"}
