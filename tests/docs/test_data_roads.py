"""A comparison is read from top to bottom: it visits each module once or twice, not back and forth."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.data_roads import Road, features_to_mauve, text_to_score, traced

COMPARE = "mauve_core/scoring/compare.py"
STEPS = ("compare", "sides", "partitioning", "estimates", "replicates", "advice")
"""Modules of ``mauve_core.scoring`` that do a step of a comparison; result.py and streams.py serve several."""


@pytest.fixture(scope="module")
def road(tmp_path_factory: pytest.TempPathFactory) -> Road:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        return text_to_score(tmp_path_factory.mktemp("road"))


def test_the_comparison_enters_no_module_more_than_twice(road: Road) -> None:
    assert {file: count for file, count in road.entries_from(COMPARE).items() if count > 2} == {}
    assert road.entries_from(COMPARE)["mauve_core/scoring/partitioning.py"] == 1


@pytest.mark.parametrize("step", STEPS)
def test_nothing_enters_a_step_of_the_comparison_more_than_twice(road: Road, step: str) -> None:
    assert 1 <= road.entries[f"mauve_core/scoring/{step}.py"] <= 2


def test_features_to_mauve_meet_no_module_of_texts_or_runs(tmp_path: Path) -> None:
    files = set(features_to_mauve(tmp_path).entries)
    others = {file for file in files if not file.startswith(("mauve_core/numerics/", "mauve_core/base/"))}
    assert others == {"mauve_core/scoring/compute_mauve.py"}


def test_a_loop_counts_once_and_a_callback_counts() -> None:
    from mauve_core.base import formatting, progress

    with traced("by hand") as road:
        advance = progress.counted(lambda *_: formatting.as_percent(0.5), "stage", 3)  # calls it here,
        for _ in range(3):
            advance()  # and from a line of its own here
    assert road.entries["mauve_core/base/progress.py"] == 2
    assert road.entries_from("mauve_core/base/progress.py") == {"mauve_core/base/formatting.py": 2}
    assert road.returns == 2
