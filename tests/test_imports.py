"""Walks all files: imports point one way, those inside functions too, and no string stands where a comment belongs."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

import mauve_core

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parent.parent

# The packages of mauve_core: each imports itself and those before it.
ORDER = (
    "base",
    "stats",
    "clusters",
    "estimators",
    "texts",
    "encoders",
    "images",
    "molecules",
    "decoding",
    "scoring",
    "shards",
    "runs",
    "findings",
    "analyses",
    "jobs",
    "figures",
    "reporting",
    "agents",
    "demo",
    "cli",
    "results",
)

LEVEL = {package: level for level, package in enumerate(ORDER)}
# The two files that stand beside the packages, and may import all of them.
ENTRANCES = {"__init__", "__main__"}


# Of a file: a subject that is longer has parts with names of their own.
MOST_LINES = 900


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def part_of(path: Path) -> str:
    """The part of mauve_core that a file belongs to: its name, or that of its folder."""
    return path.relative_to(ROOT / "mauve_core").parts[0].removesuffix(".py")


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    """Line and absolute name of every module or name that the file imports, with ``import_module``, too."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "import_module":
            found += [(node.lineno, each.value) for each in node.args if isinstance(each, ast.Constant)]
    return found


def parts_imported(path: Path) -> Iterator[tuple[int, str]]:
    for line, name in imports(path):
        first, *rest = name.split(".")
        if first == "mauve_core" and rest:
            yield line, rest[0]


def wrong_directions() -> list[str]:
    found = []
    for path in modules("mauve_core"):
        here = part_of(path)
        for line, there in parts_imported(path):
            if here not in ENTRANCES and there in LEVEL and LEVEL[there] > LEVEL[here]:
                found.append(f"{path.relative_to(ROOT)}:{line}: {here} imports {there}")
    return found


def test_nothing_stands_beside_the_packages():
    assert {part_of(path) for path in modules("mauve_core")} == set(ORDER) | ENTRANCES


def test_imports_point_down():
    assert wrong_directions() == []


def test_the_walk_notices_an_import_that_points_back(tmp_path, monkeypatch):
    for folder in ("stats", "runs"):
        (tmp_path / "mauve_core" / folder).mkdir(parents=True)
    (tmp_path / "mauve_core/stats/divergences.py").write_text("def f():\n    from mauve_core.runs import RunStore\n")
    (tmp_path / "mauve_core/runs/store.py").write_text("import mauve_core.stats.divergences\n")
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    assert wrong_directions() == ["mauve_core/stats/divergences.py:2: stats imports runs"]


def circle() -> list[str]:
    """Files that import each other in a circle, if there are any; the first is named again at the end."""
    files = {}
    for top, base in (("mauve_core", ROOT), ("app/mauve_app", ROOT / "app")):
        for path in modules(top):
            files[".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")] = path
    graph = {}
    for module, path in files.items():
        names = {name if name in files else name.rpartition(".")[0] for _, name in imports(path)}
        graph[module] = names & files.keys() - {module}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_files_import_each_other_in_a_circle():
    assert circle() == []


def test_the_walk_notices_a_circle(tmp_path, monkeypatch):
    (tmp_path / "mauve_core/stats").mkdir(parents=True)
    (tmp_path / "mauve_core/stats/units.py").write_text("import mauve_core.stats.tests\n")
    (tmp_path / "mauve_core/stats/tests.py").write_text("def f():\n    from mauve_core.stats import units\n")
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    assert set(circle()) == {"mauve_core.stats.units", "mauve_core.stats.tests"}


def test_no_file_is_too_long():
    paths = [*modules("mauve_core"), *modules("app")]
    assert [path for path in paths if len(path.read_text(encoding="utf-8").splitlines()) > MOST_LINES] == []


def test_numbers_come_from_arrays_alone():
    for path in (path for room in ("stats", "clusters", "estimators") for path in modules(f"mauve_core/{room}")):
        own = [name for _, name in imports(path) if name.startswith("mauve_core.")]
        known = ("stats.", "clusters.", "estimators.", "base.errors.", "base.formatting.")
        assert all(name.removeprefix("mauve_core.").startswith(known) for name in own), path
        libraries = {name.split(".")[0] for _, name in imports(path)}
        assert not libraries & {"transformers", "streamlit", "pandas", "plotly", "gensim"}, path


def test_only_encoders_and_decoding_know_transformers():
    for path in [*modules("mauve_core"), *modules("app")]:
        if part_of(path) not in {"encoders", "decoding"} if path.is_relative_to(ROOT / "mauve_core") else True:
            assert "transformers" not in {name.split(".")[0] for _, name in imports(path)}, path


def test_the_core_does_not_know_the_app():
    for path in modules("mauve_core"):
        assert not {name.split(".")[0] for _, name in imports(path)} & {"mauve_app", "streamlit"}, path


def test_only_figures_know_plotly():
    for path in modules("mauve_core"):
        if part_of(path) not in {"figures", "results"}:  # the latter for the type of what a method returns
            assert "plotly" not in {name.split(".")[0] for _, name in imports(path)}, path


def test_the_app_imports_public_modules_of_the_core():
    for path in modules("app"):
        for line, name in imports(path):
            if name.startswith("mauve_core"):
                assert not any(part.startswith("_") for part in name.split(".")), f"{path}:{line}: {name}"


def test_importing_loads_neither_torch_nor_transformers():
    """One process, one statement after another: the first that loads them stands in what is printed."""
    statements = (
        "import mauve_core",
        "from mauve_core import CompareConfig, RunStore, compare, read_corpus, to_json",
        "import mauve_core.stats.divergences, mauve_core.jobs.queue, mauve_core.__main__",
        "import mauve_core.analyses.method_scores, mauve_core.clusters.quantisers",
        "import mauve_core.encoders.word_vectors",
        "import mauve_core.estimators.string_models, mauve_core.analyses.study",
    )
    check = "import sys\n" + "\n".join(
        f"{statement}\nprint({statement!r}, sorted({{'torch', 'transformers'}} & set(sys.modules)))"
        for statement in statements
    )
    result = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, cwd=ROOT, check=True)
    assert result.stdout.splitlines() == [f"{statement} []" for statement in statements]


def test_public_names_are_what_they_say():
    for name in mauve_core.__all__:
        assert getattr(mauve_core, name).__name__ == name
    assert callable(mauve_core.compare)
    with pytest.raises(AttributeError):
        _ = mauve_core.no_such_name


def test_the_core_has_what_benchmarks_and_docs_import():
    """Nothing else runs them often."""
    missing = []
    for path in (*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "docs").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "mauve_core":
                module = importlib.import_module(node.module or "")
                missing += [
                    f"{path.name}: {node.module}.{each.name}" for each in node.names if not has(module, each.name)
                ]
    assert missing == []


def has(module: ModuleType, name: str) -> bool:
    """Whether ``from module import name`` works."""
    return hasattr(module, name) or importlib.util.find_spec(f"{module.__name__}.{name}") is not None


def test_a_constant_is_explained_by_a_comment():
    """A string that nothing reads explains what stands above or below it, and one day cuts a sentence in two."""
    found = []
    for path in (path for package in ("mauve_core", "app", "tests", "benchmarks", "docs") for path in modules(package)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            bodies = [getattr(node, name, None) for name in ("body", "orelse", "finalbody")]
            docstring = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            for body in (body for body in bodies if isinstance(body, list)):
                found += [f"{path.relative_to(ROOT)}:{each.lineno}" for each in body[docstring:] if is_bare(each)]
    assert found == []


def is_bare(statement: ast.stmt) -> bool:
    """Whether the statement is a string alone."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
