"""What ``make quick`` begins with: the tests of what changed since ``main``, the nearest first, and a fixed core.

``python -m tests.changed`` prints their files. A change reaches further than its package; ``make check`` finds that.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
# Tests for a change that is being made, as pytest's ``-m`` takes them; ``make quick`` has the same.
FAST = "not slow and not browser and not trial"

# What a branch is compared with: the first of these that there is, or else the last commit.
MAIN = ("origin/main", "main")

# Where the tests of a package lie that has another name than their folders.
FOLDERS = {
    "stats": ("numerics",),
    "clusters": ("numerics",),
    "estimators": ("numerics",),
    "texts": ("corpus",),
    "runs": ("store", "judgments"),
    "findings": ("analysis",),
    "analyses": ("experiments", "analysis", "tasks"),
}

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
    """Test files for these changed files: themselves, those of the same name, those that name the module, those that
    name one of its package that imports it, those of the same package, the core.
    """
    paths = sorted(map(PurePosixPath, changed))
    texts = {test: (root / test).read_text(encoding="utf-8") for test in _files("tests", root)}
    wanted: list[str] = [str(path) for path in paths if path.match("tests/**/test_*.py")]
    wanted += [test for path in paths for test in _of_same_name(path, root)]
    wanted += [test for path in paths for test in _naming(path, texts)]
    wanted += [test for path in paths for user in _users(path, root) for test in _naming(user, texts)]
    wanted += [str(folder) for path in paths for folder in _folders(path)]
    return list(dict.fromkeys(file for name in (*wanted, *CORE) for file in _files(name, root)))


def _of_same_name(path: PurePosixPath, root: Path) -> Iterator[str]:
    """``test_map_view.py`` for ``map.py``, for what lies in ``map/`` and for ``map_selection.py``."""
    names = {path.stem, path.parent.name, path.stem.partition("_")[0]}
    for folder in _folders(path):
        for test in _files(str(folder), root):
            name = PurePosixPath(test).stem.removeprefix("test_")
            if name in names or name.removesuffix("_view") in names:
                yield test


def _naming(path: PurePosixPath, texts: Mapping[str, str]) -> list[str]:
    """Of these files, those that import that file's module or have its name in a text; those of its package first."""
    parts = [part for part in path.with_suffix("").parts if part not in ("app", "__init__")]
    if path.suffix != ".py" or path.parts[0] not in ("mauve_core", "app"):
        return []
    above, name, own = ".".join(parts[:-1]), parts[-1], tuple(f"{folder}/" for folder in _folders(path))
    named = re.compile(rf"{re.escape(above)}(\.{name}(?![\w.])| import [^\n]*\b{name}\b)")
    found = (file for file, text in texts.items() if above in text and named.search(text))
    return sorted(found, key=lambda file: not file.startswith(own))


def _users(path: PurePosixPath, root: Path) -> list[PurePosixPath]:
    """Modules of the same package that import that file's module."""
    folder = root / PurePosixPath(*path.parts[:2])
    files = sorted(folder.rglob("*.py")) if path.suffix == ".py" else []
    texts = {file.relative_to(root).as_posix(): file.read_text(encoding="utf-8") for file in files}
    return list(map(PurePosixPath, _naming(path, texts)))


def _folders(path: PurePosixPath) -> list[PurePosixPath]:
    """Where the tests of that file's package lie."""
    first, *rest = path.parts
    if path.suffix != ".py" or not rest:
        return []
    if first == "app":
        return [PurePosixPath("tests/app")]
    if first == "mauve_core" and len(rest) > 1:
        return [PurePosixPath("tests", folder) for folder in FOLDERS.get(rest[0], (rest[0],))]
    return [path.parent] if first == "tests" and len(rest) > 1 else []


def _files(name: str, root: Path) -> list[str]:
    """The test files of a folder, or the file itself; nothing where there is none."""
    path = root / name
    found = sorted(path.rglob("test_*.py")) if path.is_dir() else [path] if path.is_file() else []
    return [file.relative_to(root).as_posix() for file in found]


if __name__ == "__main__":
    print(*nearest_tests(changed_files(), root=ROOT), sep="\n")  # noqa: T201 (what it is for)
