"""The documentation site has a page for every view, and every page is in its contents."""

from __future__ import annotations

import re
from pathlib import Path

from tests.app.pages import PAGES

DOCS = Path(__file__).resolve().parents[2] / "docs"


def listed(page: Path) -> set[str]:
    """What the tables of contents on a page name, as paths below ``docs``."""
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    names = [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]
    return {str((page.parent / name).relative_to(DOCS)) for name in names}


def test_every_view_has_a_page_with_its_picture() -> None:
    pages = {path.stem for path in (DOCS / "guide").glob("*.md")}
    assert set(PAGES) == pages
    for view in PAGES:
        assert f"(images/{view}-1280-light.png)" in (DOCS / "guide" / f"{view}.md").read_text(encoding="utf-8")


def test_every_page_is_in_the_contents() -> None:
    contents = listed(DOCS / "index.md") | listed(DOCS / "api" / "index.md")
    written = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")}
    made = {name for name in written if name.split("/")[0] in {"measured", "_build"}}
    assert written - made - {"index"} == contents - {"measured/index"}


def test_the_design_opens_with_a_tree_that_names_every_package() -> None:
    tree = (DOCS / "design.md").read_text(encoding="utf-8").split("\n\n")[1].splitlines()
    core = DOCS.parent / "mauve_core"
    packages = {path.parent.name for path in core.glob("*/__init__.py")}
    packages |= {path.stem for path in core.glob("*.py") if not path.stem.startswith("__")}
    assert len(tree) <= 24
    assert {line.split()[0] for line in tree if "mauve_core" in line} == {f"mauve_core/{name}" for name in packages}


def test_every_file_that_the_docs_name_exists() -> None:
    root = DOCS.parent
    pages = [*root.glob("*.md"), *DOCS.glob("*.md"), *(DOCS / "guide").glob("*.md")]
    named = {
        (page.name, name)
        for page in pages
        for name in re.findall(r"\b((?:tests|benchmarks|data|docs|\w+)/[\w/]+\.py)\b", page.read_text(encoding="utf-8"))
    }
    homes = (root, root / "mauve_core", root / "app", root / "app" / "mauve_app")
    missing = {(page, name) for page, name in named if not any((home / name).is_file() for home in homes)}
    assert named
    assert not missing


def test_what_the_readme_links_to_and_shows_exists() -> None:
    root = DOCS.parent
    text = (root / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"\]\(([^)#]+)|(?:src|srcset)=\"([^\"]+)", text)
    paths = {link or shown for link, shown in named if not link.startswith("http")}
    assert {path for path in paths if not (root / path).is_file()} == set()
    assert {path.rpartition("/")[2] for path in paths if path.startswith("docs/pictures/")} == {
        f"readme-{name}-{scheme}.webp" for name in ("compare", "why") for scheme in ("light", "dark")
    }
