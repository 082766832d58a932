"""Names that were a language of this project's own do not come back: the glossary has the field's terms."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

MODULES = {
    "again": "recompare",
    "derived": "precomputed",
    "dropin": "compute_mauve",
    "face": "page_chrome",
    "finished": "checkpoints",
    "given_features": "external_features",
    "lanes": "worker_pool",
    "other_partitions": "repartition",
    "preparing": "precompute",
    "settings_difference": "comparability",
    "signs": "fingerprints",
    "trust": "stability",
    "without": "exclude_texts",
    "written_numbers": "formatting",
}
"""Retired names of modules, and what they are called now."""

NAMES = {
    "again": "recompare",
    "each": "parallel_map",
    "heat": "warm_up",
    "heated": "warmed_up",
    "Held": "StoredWeights",
    "Lane": "Worker",
    "Lanes": "WorkerPool",
    "other_partitions": "repartition",
    "MetricContext": "MeasureContext",
    "Place": "MethodStanding",
    "place": "location",
    "places": "method_standings",
    "shelf": "section",
    "take_place": "replace_run",
    "told": "progress_data",
    "Tools": "MeasureContext",
    "Trust": "Stability",
    "trust": "stability",
    "yardstick": "baseline",
}
"""Retired names of classes and functions, and what they are called now."""


def retired_names(path: Path) -> Iterator[str]:
    """What is wrong with the name of the module, and with those of its classes, functions and imports."""
    module = path.parent.name if path.stem == "__init__" else path.stem
    if module in MODULES:
        yield f"{module} is called {MODULES[module]}"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names = [node.name.lstrip("_")]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.asname or alias.name for alias in node.names]
        yield from (f"{name} is called {NAMES[name]}" for name in names if name in NAMES)


def retired_in(root: Path) -> list[str]:
    files = (path for package in ("mauve_core", "app") for path in sorted((root / package).rglob("*.py")))
    return [f"{path.relative_to(root).as_posix()}: {wrong}" for path in files for wrong in retired_names(path)]


def test_no_retired_name_comes_back() -> None:
    assert retired_in(ROOT) == []


@pytest.mark.parametrize(
    ("file", "source", "wrong"),
    [
        ("app/written_numbers.py", "", "written_numbers is called formatting"),
        ("mauve_core/run.py", "def _again(): ...", "again is called recompare"),
        ("mauve_core/run.py", "class Lanes: ...", "Lanes is called WorkerPool"),
        ("mauve_core/run.py", "from mauve_core.numerics.threads import each", "each is called parallel_map"),
    ],
)
def test_a_retired_name_is_noticed(tmp_path: Path, file: str, source: str, wrong: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(source, encoding="utf-8")
    assert retired_in(tmp_path) == [f"{file}: {wrong}"]
