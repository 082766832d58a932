"""Measures of a stored run: what is kept beside it, and what a report makes of it."""

from __future__ import annotations

import pytest

from mauve_core.__main__ import main
from mauve_core.experiments.text_measures import MEASURES
from mauve_core.experiments.text_measures.stored import measure_run, stored_measurements
from mauve_core.store import RunStore
from tests.synthetic import make_run
from tests.tiny_models import make_gpt2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(make_gpt2(tmp_path_factory.mktemp("model") / "gpt2"))


@pytest.fixture(autouse=True)
def tiny_tokenizer(folder, monkeypatch):
    """The packaged model would be converted anew in each test's own home."""
    monkeypatch.setattr("mauve_core.experiments.text_measures.stored.DEFAULT_MODEL", folder)
    monkeypatch.setattr("mauve_core.experiments.text_measures.context.DEFAULT_MODEL", folder)


@pytest.fixture
def run(own_home):
    return make_run(own_home, projection=False)


def test_measures_add_up_beside_the_run(run):
    assert stored_measurements(run) is None
    first = measure_run(run, ["length"])
    assert stored_measurements(run) == first
    both = measure_run(run, ["repetition"])
    assert both.measures == ("repetition", "length")
    assert both.rows[-len(first.rows) :] == first.rows
    names = tuple(candidate.name for candidate in run.comparison.candidates)
    assert both.candidates == names
    assert stored_measurements(RunStore().load(run.id)) == both


@pytest.mark.parametrize("measures", [["length"], ["length", "repetition", "diversity", "self-bleu", "precision"]])
def test_a_report_follows_whatever_was_measured(measures, own_home, tmp_path, capsys) -> None:
    names = ["close", "shifted"]
    run = make_run(own_home, n=40, seeds=1, projection=False, names=names)
    wanted = [part for name in measures for part in ("--measure", name)]
    assert main(["measure", run.id, *wanted, "--quiet"]) == 0
    page = tmp_path / "report.html"
    assert main(["report", run.id, "--out", str(page)]) == 0
    assert MEASURES["length"].title in page.read_text()
    assert str(page) in capsys.readouterr().out
