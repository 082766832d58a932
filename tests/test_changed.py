"""What ``make quick`` runs for which change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.changed import CORE, ROOT, nearest_tests

TESTS = (
    "tests/app/test_gap_view.py", "tests/app/test_map_view.py", "tests/base/test_config.py",
    "tests/experiments/methods/test_running.py", "tests/experiments/test_sweeps.py",
    "tests/numerics/test_clustering.py", "tests/numerics/test_divergences.py", "tests/numerics/test_frontier.py",
    "tests/test_imports.py",
)  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in TESTS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.fixture
def core(root: Path) -> list[str]:
    return nearest_tests([], root=root)


def test_without_a_change_the_core_runs(core: list[str]) -> None:
    assert core == [
        "tests/test_imports.py", "tests/numerics/test_divergences.py", "tests/numerics/test_clustering.py",
        "tests/base/test_config.py",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "first"),
    [
        (
            "mauve_core/stats/divergences.py",
            ["tests/numerics/test_divergences.py", "tests/numerics/test_clustering.py"],
        ),
        ("mauve_core/analyses/method_fits.py", ["tests/experiments/methods/test_running.py"]),
        ("mauve_core/analyses/sweeps.py", ["tests/experiments/test_sweeps.py"]),
        ("app/mauve_app/views/map_selection.py", ["tests/app/test_map_view.py"]),
        ("tests/numerics/test_frontier.py", ["tests/numerics/test_frontier.py"]),
        ("tests/numerics/histograms.py", ["tests/numerics/test_clustering.py"]),
        ("docs/index.md", []),
        ("mauve_core/__init__.py", []),
        ("mauve_core/estimators/gone.py", ["tests/numerics/test_clustering.py"]),
    ],
)  # fmt: skip
def test_the_nearest_come_first_and_the_core_last(root: Path, core: list[str], changed: str, first: list[str]) -> None:
    found = nearest_tests([changed], root=root)
    assert found[: len(first)] == first
    assert set(core) < set(found) or not set(first) - set(core)
    assert len(set(found)) == len(found)


def test_those_that_name_the_module_come_before_its_package(root: Path, core: list[str]) -> None:
    imports = {
        "tests/numerics/test_frontier.py": "from mauve_core.stats import divergences, units\n",
        "tests/base/test_config.py": "import mauve_core.stats.divergences\n",
        "tests/app/test_gap_view.py": "from mauve_core.stats.divergences_other import kl\n",
    }
    for name, text in imports.items():
        (root / name).write_text(text)
    found = nearest_tests(["mauve_core/stats/divergences.py"], root=root)
    assert found[:3] == ["tests/numerics/test_divergences.py", *list(imports)[:2]]
    assert "tests/app/test_gap_view.py" not in found


def test_those_that_name_a_module_that_imports_it_come_next(root: Path) -> None:
    user = root / "mauve_core" / "stats" / "resampling.py"
    user.parent.mkdir(parents=True)
    user.write_text("from mauve_core.stats.checks import numbers\n")
    (root / "tests/experiments/test_sweeps.py").write_text("from mauve_core.stats import resampling\n")
    found = nearest_tests(["mauve_core/stats/checks.py"], root=root)
    assert found[:2] == ["tests/experiments/test_sweeps.py", "tests/numerics/test_clustering.py"]


def test_a_deleted_test_is_not_asked_for(root: Path, core: list[str]) -> None:
    assert "tests/base/test_gone.py" not in nearest_tests(["tests/base/test_gone.py"], root=root)


def test_all_of_the_core_is_there() -> None:
    assert [name for name in CORE if not (ROOT / name).exists()] == []
