"""``mauve-lens test``: a table, JSON, and what is refused."""

from __future__ import annotations

import json
import shutil
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from mauve_core.__main__ import DONE, WRONG_INPUT, main
from mauve_core.analyses.measure_terms import Measurements
from mauve_core.analyses.text_measures import measure_run
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.result import Comparison
from mauve_core.stats.scores import SCORES
from tests.handmade import make_comparison, make_corpora, with_tests
from tests.synthetic import make_run

pytestmark = pytest.mark.integration

NAMES = ("close", "shifted", "collapsed")
KEYS = {
    *("score", "a", "b", "difference", "low", "high", "p", "p_adjusted", "p_alike", "told_apart"),
    *("paired", "n", "detectable"),
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("home"), n=60, seeds=2, projection=False)


@pytest.fixture
def run(prepared: Run, own_home: Path) -> Run:
    """A copy of the run in a home of the test's own."""
    shutil.copytree(prepared.path.parent, own_home / "runs")
    return RunStore().load(prepared.id)


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = DONE) -> str:
    capsys.readouterr()
    assert main(["test", *arguments]) == code
    captured = capsys.readouterr()
    assert (captured.err if code == DONE else captured.out) == ""
    return captured.err if code else captured.out


def found_in(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(said(capsys, *arguments, "--json"))


def test_every_pair_is_listed(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    found = found_in(capsys, run.id)
    assert [(each["a"], each["b"]) for each in found] == list(combinations(NAMES, 2))
    assert all(set(each) == KEYS and each["score"] == "mauve" for each in found)
    for each, stored in zip(found, run.comparison.differences[:: len(SCORES)], strict=True):
        assert (stored.score, stored.difference, stored.p_value) == ("mauve", each["difference"], each["p"])
        assert each["low"] <= each["difference"] <= each["high"]
        assert each["p"] <= each["p_adjusted"]
        assert (each["paired"], each["n"]) == (True, 60)
    worst = found[1]
    assert (worst["a"], worst["b"], worst["told_apart"]) == ("close", "collapsed", True)
    assert worst["difference"] > 0


def test_one_pair_is_one_object_from_the_side_that_is_asked_for(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    score = "mid"
    one = found_in(capsys, run.id, "--a", "close", "--b", "collapsed", "--score", score)
    other = found_in(capsys, run.id, "--a", "collapsed", "--b", "close", "--score", score)
    stored = run.comparison.difference(score, "close", "collapsed")
    assert stored is not None
    assert one == {
        **{"score": score, "a": "close", "b": "collapsed", "difference": stored.difference, "low": stored.low},
        **{"high": stored.high, "p": stored.p_value, "p_adjusted": stored.p_adjusted},
        **{"p_alike": stored.p_alike, "told_apart": stored.told_apart, "paired": True, "n": 60},
        "detectable": stored.detectable,
    }
    assert other == {
        **one,
        **{"a": "collapsed", "b": "close", "difference": -one["difference"], "low": -one["high"], "high": -one["low"]},
    }


def test_the_table_says_that_the_test_decides_where_an_interval_suggests_otherwise(
    own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The made-up intervals exclude 0; of the four scores' differences, all are told apart or none is."""
    found = make_comparison()
    for p_adjusted, disagrees in ((0.03, False), (0.2, True)):
        run = RunStore().save("made", with_tests(found, p_adjusted=p_adjusted), make_corpora())
        told = " ".join(said(capsys, run.id).split())
        assert ("the two are not told apart (1 pair), Holm's correction for all pairs decides" in told) == disagrees


def test_a_run_with_one_candidate_has_no_pair(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(own_home, n=40, seeds=1, projection=False, names=["close"])
    assert run.comparison.differences == ()
    assert "one candidate, so there is no pair to test" in said(capsys, run.id)
    assert found_in(capsys, run.id) == []


def test_what_cannot_be_tested_is_refused(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--a", "close"], "Two candidates are needed for a test"),
        (["--b", "close"], "Two candidates are needed for a test"),
        (["--a", "close", "--b", "close"], "with different names"),
        (["--a", "close", "--b", "nobody"], "No candidate named 'nobody'"),
        (["--a", "nobody", "--b", "close"], "Allowed: close, shifted, collapsed"),
        (["--a", "close", "--b", "human"], "No candidate named 'human'"),
        (["--score", "bleu"], "bleu"),
    ):
        line = said(capsys, run.id, *arguments, "--json", code=WRONG_INPUT)
        assert line.startswith("mauve-lens: ")
        assert line.count("\n") == 1
        assert message in line
    assert "No run has the id 'none'" in said(capsys, "none", code=WRONG_INPUT)


def test_names_from_files_cannot_steer_the_terminal(own_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    comparison = with_tests(make_comparison())
    evil = "b\x1b[2J\u202e"
    first, second = comparison.candidates
    renamed = {**vars(second.source), "name": evil}
    second = type(second)(
        type(second.source)(**renamed),
        second.scores,
        second.joint_scores,
        tuple(
            type(part)(part.kind, part.seed, part.k, part.objective, _renamed(part.labels, evil))
            for part in second.partitions
        ),
    )
    changed = {
        "candidates": (first, second),
        "joint": (),
        "prompts": None,
        "differences": tuple(type(each)(**{**vars(each), "second": evil}) for each in comparison.differences),
    }
    corpora = _renamed(make_corpora(), evil)
    RunStore().save("evil", Comparison(**{**vars(comparison), **changed}), corpora)
    table = said(capsys, "evil")
    assert all(character == "\n" or character.isprintable() for character in table)
    assert r"b\x1b[2J\u202e" in table


# Text measures


MEASURED = ("length", "precision", "self-bleu")
MEASURE_KEYS = {"measure", "a", "b", "paired", "n"} | {
    f"{prefix}{name}"
    for prefix in ("", "gap_")
    for name in ("difference", "low", "high", "p", "p_adjusted", "told_apart", "detectable")
}


@pytest.fixture
def measured(run: Run) -> Measurements:
    return measure_run(run, MEASURED)


def test_every_pair_is_listed_by_a_measure(
    run: Run, measured: Measurements, capsys: pytest.CaptureFixture[str]
) -> None:
    for measure in MEASURED:
        found = found_in(capsys, run.id, "--measure", measure)
        assert [(each["a"], each["b"]) for each in found] == list(combinations(NAMES, 2))
        tests = zip(measured.tests(measure), measured.tests(measure, "value"), strict=True)
        for each, (gap, value) in zip(found, tests, strict=True):
            assert set(each) == MEASURE_KEYS
            assert (each["measure"], each["paired"], each["n"]) == (measure, True, 60)
            for prefix, test in (("gap_", gap), ("", value)):
                names = ("difference", "low", "high", "p", "p_adjusted", "told_apart")
                expected = (test.difference, test.low, test.high, test.p_value, test.p_adjusted, test.told_apart)
                assert tuple(each[f"{prefix}{name}"] for name in names) == expected


def test_one_pair_by_a_measure_is_one_object_from_the_side_that_is_asked_for(
    run: Run, measured: Measurements, capsys: pytest.CaptureFixture[str]
) -> None:
    one = found_in(capsys, run.id, "--measure", "precision", "--a", "close", "--b", "collapsed")
    other = found_in(capsys, run.id, "--measure", "precision", "--a", "collapsed", "--b", "close")
    value = measured.tests("precision", "value")[1]
    assert (one["a"], one["b"], one["difference"], one["low"]) == ("close", "collapsed", value.difference, value.low)
    assert (other["a"], other["difference"], other["low"]) == ("collapsed", -value.difference, -(value.high or 0))
    assert (other["gap_difference"], other["gap_p"]) == (-one["gap_difference"], one["gap_p"])


def _renamed(mapping: Any, name: str) -> dict[str, Any]:
    return {name if key == "b" else key: value for key, value in mapping.items()}
