"""What ``make quick`` begins with: the tests of what changed since ``main``, the nearest first, and a fixed core.

``python -m tests.changed`` prints their files. A change reaches further than its package; ``make check`` finds that.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
MAIN = ("origin/main", "main")
"""What a branch is compared with: the first of these that there is, or else the last commit."""

CORE = (
    "tests/test_imports.py",
    "tests/scoring/test_compare.py",
    "tests/scoring/test_parity_histograms.py",
    "tests/numerics/test_divergences.py",
    "tests/numerics/test_scores.py",
    "tests/numerics/test_smoothing.py",
    "tests/numerics/test_clustering.py",
    "tests/store/test_store.py",
    "tests/corpus/test_corpus.py",
    "tests/base",
    "tests/figures/test_figures_by_name.py",
    "tests/app/test_compare_view.py",
)


def changed_files() -> list[str]:
    """Files that differ from the branch's beginning on ``main``, committed or not, and those that git does not know."""
    base = next(filter(None, (_git("merge-base", "HEAD", name) for name in MAIN)), "HEAD")
    return [
        *_git("diff", "--name-only", base).splitlines(),
        *_git("ls-files", "--others", "--exclude-standard").splitlines(),
    ]


def _git(*arguments: str) -> str:
    """What git prints; nothing where it fails."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def nearest_tests(changed: Iterable[str], *, root: Path) -> list[str]:
    """Test files for these changed files: themselves, those of the same name, those that name the module, those of the
    same package, the core.
    """
    paths = sorted(map(PurePosixPath, changed))
    wanted: list[str] = [str(path) for path in paths if path.match("tests/**/test_*.py")]
    wanted += [test for path in paths for test in _of_same_name(path, root)]
    wanted += _naming(paths, root)
    wanted += [str(folder) for path in paths for folder in _folders(path)]
    return list(dict.fromkeys(file for name in (*wanted, *CORE) for file in _files(name, root)))


def _of_same_name(path: PurePosixPath, root: Path) -> Iterator[str]:
    """``test_divergences.py`` for ``divergences.py`` and for what lies in ``divergences/``."""
    names = {path.stem, path.parent.name}
    for folder in _folders(path):
        for test in _files(str(folder), root):
            name = PurePosixPath(test).stem.removeprefix("test_")
            if name in names or name.removesuffix("_view") in names:
                yield test


def _naming(paths: Iterable[PurePosixPath], root: Path) -> list[str]:
    """Test files that import one of these modules or have its name in a text, those of its own package first."""
    texts = {test: (root / test).read_text(encoding="utf-8") for test in _files("tests", root)}
    found = []
    for path in paths:
        parts = [part for part in path.with_suffix("").parts if part not in ("app", "__init__")]
        if path.suffix == ".py" and parts[0] in ("mauve_core", "mauve_app"):
            above, name = re.escape(".".join(parts[:-1])), re.escape(parts[-1])
            named = re.compile(rf"\b{above}\.{name}(?![\w.])|\bfrom {above} import [^\n]*\b{name}\b")
            own = tuple(f"{folder}/" for folder in _folders(path))
            found += sorted((test for test in texts if named.search(texts[test])), key=lambda t: not t.startswith(own))
    return found


def _folders(path: PurePosixPath) -> list[PurePosixPath]:
    """Where the tests of that file's package lie."""
    first, *rest = path.parts
    if path.suffix != ".py" or not rest:
        return []
    if first == "app":
        return [PurePosixPath("tests/app")]
    if first == "mauve_core" and len(rest) > 1:
        # The tests of an experiment have a folder of their own only where they are many.
        return [PurePosixPath("tests", *rest[:-1][:depth]) for depth in (2, 1) if depth < len(rest)]
    return [path.parent] if first == "tests" and len(rest) > 1 else []


def _files(name: str, root: Path) -> list[str]:
    """The test files of a folder, or the file itself; nothing where there is none."""
    path = root / name
    found = sorted(path.rglob("test_*.py")) if path.is_dir() else [path] if path.is_file() else []
    return [file.relative_to(root).as_posix() for file in found]


if __name__ == "__main__":
    print(*nearest_tests(changed_files(), root=ROOT), sep="\n")  # noqa: T201 (what it is for)
