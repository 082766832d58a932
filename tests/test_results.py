"""A run as data frames, as one file and in the app; a comparison where it holds what is needed."""

from __future__ import annotations

import inspect
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mauve_core
from mauve_core.analyses import data_frames
from mauve_core.analyses.attached_results import load_run, save_run
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.cli import serving
from mauve_core.cli.serving import RunningApp, open_run
from mauve_core.figures.by_name import figure
from mauve_core.findings.finding import findings_frame, run_findings
from mauve_core.findings.precomputed import run_gap_test
from mauve_core.reporting.trackers import log_run
from mauve_core.results import Results
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.estimates import divergence
from tests.synthetic import make_run

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("home"), projection=False, seeds=2)


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("single"), projection=False, seeds=2, names=["collapsed"])


def test_methods_have_the_arguments_of_what_they_call() -> None:
    called = [
        (Results.clusters, data_frames.clusters),
        (Results.ledger, data_frames.ledger),
        (Results.findings, findings_frame),
        (Results.texts, data_frames.texts),
        (Results.divergence, divergence),
        (Results.figure, figure),
        (Results.save, save_run),
        (Results.log, log_run),
        (Results.open, open_run),
    ]
    for method, function in called:
        (_, *own), (_, *wanted) = (inspect.signature(each).parameters.values() for each in (method, function))
        assert [(each.name, each.kind, each.default) for each in own] == [
            (each.name, each.kind, each.default) for each in wanted
        ], method


def test_frames_are_those_of_the_functions(run: Run) -> None:
    results = Results(run)
    pd.testing.assert_frame_equal(results.scores(), data_frames.scores(run.comparison))
    pd.testing.assert_frame_equal(results.pairs(), data_frames.pairs(run.comparison))
    pd.testing.assert_frame_equal(results.clusters("shifted"), data_frames.clusters(run, "shifted"))
    pd.testing.assert_frame_equal(results.texts("shifted", cluster=3), data_frames.texts(run, "shifted", cluster=3))


def test_a_comparison_gives_the_same_numbers_without_the_words_of_texts(run: Run) -> None:
    comparison = run.comparison
    pd.testing.assert_frame_equal(Results(comparison).pairs(), Results(run).pairs())
    for name, kind in (("collapsed", "pairwise"), ("close", "joint")):
        of_run = Results(run).clusters(name, kind=kind)  # type: ignore[arg-type]
        of_comparison = Results(comparison).clusters(name, kind=kind)  # type: ignore[arg-type]
        pd.testing.assert_frame_equal(of_comparison, of_run.drop(columns="name"))
    results = Results(comparison)
    for ask in (results.findings, results.texts, lambda: results.save("x"), lambda: results.log("x"), results.open):
        with pytest.raises(InputError, match=r"no texts\. Store it with its corpora"):
            ask()


@pytest.mark.parametrize(("most", "kind"), [(1, "pairwise"), (3, "joint"), (1000, "pairwise")])
def test_the_ledger_adds_up_to_the_whole_gap(run: Run, most: int, kind: Any) -> None:
    results, bare = Results(run), Results(run.comparison)
    ledger, table = results.ledger("collapsed", kind=kind, most=most), results.clusters("collapsed", kind=kind)
    assert ledger["share"].sum() == pytest.approx(1)
    assert ledger["cost"].sum() == pytest.approx(table["cost"].sum())
    assert ledger[["clusters", "human", "model"]].sum().tolist() == [
        len(table), table["human"].sum(), table["model"].sum()
    ]  # fmt: skip
    for direction, rows in ledger.groupby("direction"):
        own = table[table["direction"] == direction].sort_values("cost", ascending=False)
        shown = rows[rows["cluster"].notna()]
        assert shown["cluster"].tolist() == own["cluster"].tolist()[:most]
        assert shown["name"].tolist() == own["name"].tolist()[:most]
        assert shown[["low", "high"]].to_numpy().tolist() == own[["low", "high"]].to_numpy().tolist()[:most]
        assert len(rows) - len(shown) == (len(own) > most)
    pd.testing.assert_frame_equal(bare.ledger("collapsed", kind=kind, most=most), ledger.drop(columns="name"))


def test_no_ledger_without_a_gap(tmp_path: Path) -> None:
    alike = make_run(tmp_path, projection=False, seeds=2, names=["close"])
    if run_gap_test(alike, "pairwise", "close").explains:
        pytest.fail("this run must have no gap to explain")
    with pytest.raises(InputError, match=r"clusters\(\), which needs no gap"):
        Results(alike).ledger()


def test_the_only_candidate_need_not_be_named(single: Run, run: Run) -> None:
    cluster = int(Results(single).clusters()["cluster"].iloc[0])
    found = Results(single).texts(cluster=cluster)
    assert set(found["cluster"]) == {cluster}
    assert set(found["source"]) <= {HUMAN, "collapsed"}
    with pytest.raises(InputError, match=r"Which candidate is meant must be said\. Allowed: close, shifted, collapsed"):
        Results(run).texts(cluster=cluster)
    with pytest.raises(InputError, match="Which candidate is meant"):
        Results(run).clusters()


def test_a_figure_is_a_method_too(run: Run) -> None:
    assert len(Results(run).figure("leaderboard").data) == len(mauve_core.figure(run.comparison, "leaderboard").data)


def test_a_run_comes_back_from_its_file_and_from_its_folder(run: Run, tmp_path: Path) -> None:
    RunStore(run.path.parent).attach(run.id, "note", {"a": 1})
    file = Results(run).save(tmp_path / "study.zip")
    for back in (load_run(file), load_run(str(run.path))):
        assert back.digest == run.digest
        assert back.corpora[HUMAN].digest == run.corpora[HUMAN].digest
        np.testing.assert_array_equal(back.features("close"), run.features("close"))  # type: ignore[arg-type]
    assert load_run(file).attachment("note") == {"a": 1}


def test_the_folder_of_an_opened_file_goes_with_the_process(run: Run, tmp_path: Path) -> None:
    file = Results(run).save(tmp_path)
    assert file.name == f"{run.id}.mauve-run.zip"
    script = f"import mauve_core; print(mauve_core.load_run({str(file)!r}).path)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).name == run.id
    assert not Path(done.stdout.strip()).exists()


def test_what_is_no_run_is_refused_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(serving.tempfile, "tempdir", str(scratch))
    (tmp_path / "not.zip").write_text("no archive")
    with pytest.raises(InputError, match="cannot be imported"):
        load_run(tmp_path / "not.zip")
    with pytest.raises(InputError, match="is no run"):
        load_run(tmp_path)
    assert list(scratch.iterdir()) == []


SERVER = """
import http.server, json, os, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps([self.path, os.environ["MAUVE_LENS_HOME"]]).encode())
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""


def stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    """Start a small server instead of the app."""

    def command(port: int) -> serving.AppCommand:
        environment: dict[str, Any] = {"PATH": "/usr/bin"}
        return serving.AppCommand((sys.executable, "-c", script, str(port)), tmp_path, environment)

    monkeypatch.setattr(serving, "app_command", command)


def test_the_app_opens_on_the_run_and_closes(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, tmp_path, SERVER)
    with Results(run).open() as app:
        assert isinstance(app, RunningApp)
        with urllib.request.urlopen(app.url, timeout=10) as answer:
            assert answer.read().decode() == f'["/?run={run.id}", "{run.path.parent.parent}"]'
        assert app.url in repr(app)
        assert f'href="{app.url}"' in app._repr_html_()
    assert not app.is_running
    assert "stopped" in repr(app)
    app.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(app.url, timeout=2)


def test_an_app_that_ends_says_why(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, tmp_path, "raise SystemExit('no room here')")
    with pytest.raises(MauveLensError, match=r"ended while it started\. Received: no room here"):
        Results(run).open()


def test_a_run_outside_a_library_is_not_opened(run: Run, tmp_path: Path) -> None:
    elsewhere = RunStore(tmp_path / "elsewhere").save("one", run.comparison, run.corpora)
    with pytest.raises(InputError, match="is not in one"):
        Results(elsewhere).open()


def test_findings_are_those_of_the_run(run: Run, single: Run) -> None:
    found = run_findings(run, "collapsed")
    frame = Results(run).findings("collapsed")
    assert frame["sentence"].tolist() == [each.sentence for each in found]
    assert frame["p_adjusted"].tolist() == [each.p_adjusted for each in found]
    assert Results(single).findings()["candidate"].unique().tolist() == ["collapsed"]
    assert set(Results(run).findings("collapsed", reference="close")["reference"]) == {"close"}
    with pytest.raises(InputError):
        Results(run).findings()
