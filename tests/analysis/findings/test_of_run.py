"""Findings of stored runs, in Python and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mauve_core.__main__ import main
from mauve_core.base.config import HUMAN
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.findings import finding
from mauve_core.findings.clusters import GapTest, gap_test
from mauve_core.findings.finding import HeldEqual, findings_between, held_equal, masks, run_findings, sides_of
from mauve_core.runs import Run
from mauve_core.scoring.streams import stream
from mauve_core.stats.divergences import frontier_integral
from mauve_core.texts import read_corpus
from tests.analysis.findings.test_finding import WORDS
from tests.synthetic import make_run

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("home"), projection=False)


@pytest.fixture
def run(stored: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv(HOME_VARIABLE, str(stored.path.parent.parent))
    return stored


def test_sides_are_those_of_the_run(run: Run) -> None:
    sides = sides_of(run, "collapsed")
    assert sides.texts == (*run.corpora[HUMAN].texts, *run.corpora["collapsed"].texts)
    seed = run.comparison.median_seed("collapsed", "joint")
    assert sides.labels is not None
    assert sides.labels[sides.humans :].tolist() == run.comparison.joint[seed].labels["collapsed"].tolist()
    assert len(sides.clusters) == run.comparison.joint[seed].k


def test_the_command_prints_sentences_and_json(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", run.id]) == 0
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if not line.startswith(" ") and line] == [
        "close",
        "shifted",
        "collapsed",
    ]
    assert "of 100 human texts (difference" in " ".join(printed.split())
    assert main(["explain", run.id, "--candidate", "collapsed", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = run_findings(run, "collapsed")
    assert [each["sentence"] for each in found["findings"]] == [each.sentence for each in expected]
    first, written = expected[0], found["findings"][0]
    ids = run.corpora[HUMAN if first.shown_by == "human" else "collapsed"].ids
    assert written["text_ids"] == [ids[index] for index in first.texts]
    assert main(["explain", run.id, "--candidate", "collapsed", "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("## collapsed\n\n1. ")


def test_a_candidate_takes_the_place_of_the_human_texts(run: Run) -> None:
    sides = sides_of(run, "collapsed", "close")
    assert sides.texts == (*run.corpora["close"].texts, *run.corpora["collapsed"].texts)


def test_findings_are_held_equal_in_the_partitions_of_the_run(run: Run) -> None:
    partitions = list(run.comparison.partitions("pairwise", "shifted"))
    partitions.insert(0, partitions.pop(run.comparison.median_seed("shifted")))
    (shorter,) = [each for each in run_findings(run, "shifted") if each.does == "uses shorter words"]
    prompts = run.comparison.prompts
    assert prompts is not None
    units = np.concatenate([prompts[HUMAN], prompts["shifted"]])
    (own,) = stream(run.comparison.config.score.seed, "findings").spawn(1)
    assert shorter.held_equal == held_equal(partitions, (HUMAN, "shifted"), *masks(shorter, 160, 160), units, own)
    assert shorter.held_equal.low > 0


@pytest.mark.parametrize("lacks", ["a gap", "a share above 0"])
def test_no_share_is_said(run: Run, monkeypatch: pytest.MonkeyPatch, lacks: str) -> None:
    if lacks == "a gap":
        monkeypatch.setattr(finding, "run_gap_test", lambda *_: GapTest(0.1, 20, 499))
    else:
        monkeypatch.setattr(finding, "held_equal", lambda *_: HeldEqual(0.5, -0.01, 1.0, ()))
    found = run_findings(run, "shifted", 0.049)  # what is found at the usual rate is kept
    assert "uses shorter words" in [each.does for each in found]
    assert not any(each.held_equal for each in found)


def test_two_candidates_have_a_gap_of_their_own(run: Run) -> None:
    """Against another candidate, the gap is that between the two."""
    near, far = (gap_test(run.comparison, "joint", name, reference="shifted") for name in ("close", "collapsed"))
    assert near.observed < far.observed
    p, q = (np.array([part.counts(name) for part in run.comparison.joint]) / 160 for name in ("shifted", "close"))
    assert near.observed == pytest.approx(frontier_integral(p, q).mean())


@pytest.fixture
def versions(tmp_path: Path) -> dict[str, Path]:
    """Two versions of a model's answers to the same prompts, and a second draw from the first."""
    rng = np.random.default_rng(0)
    drawn = [[" ".join(rng.choice(WORDS, size=20)) + "." for _ in range(120)] for _ in range(3)]
    made = {"v1": drawn[0], "v2": [f"Sorry, {text}" for text in drawn[1]], "again": drawn[2]}
    paths = {name: tmp_path / f"{name}.jsonl" for name in made}
    for name, path in paths.items():
        rows = [{"id": f"p{index}", "text": text} for index, text in enumerate(made[name])]
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return paths


def test_two_versions_are_compared_without_a_run(versions: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--reference", f"version 1={versions['v1']}", "--model", f"version 2={versions['v2']}"]
    assert main(["explain", *files, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["run"] == ""
    (apology,) = [each for each in found["findings"] if each["kind"] == "apology"]
    assert (apology["candidate"], apology["reference"]) == ("version 2", "version 1")
    assert "of 100 texts of version 1" in apology["sentence"]
    assert "human" not in apology["sentence"]
    assert len(apology["text_ids"]) == 120
    assert apology["gap_share"] is None
    expected = findings_between(*(read_corpus(versions[key], name=key) for key in ("v1", "v2")))
    assert [each["share_model"] for each in found["findings"]] == [each.share_model for each in expected]
