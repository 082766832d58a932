"""A command whose result is stored with the run prints it and computes nothing; ``--again`` computes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mauve_core.__main__ import main
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.experiments.encoders import EncoderTable
from mauve_core.store import Run, RunStore
from mauve_core.tasks import compare_encoders, compare_methods, measure
from tests.encoder_tables import result_of
from tests.synthetic import make_run

VALUES = {"close": 0.5, "shifted": 0.3, "collapsed": 0.1}


@pytest.fixture
def run(own_home: Path) -> Run:
    return make_run(own_home, n=60, seeds=2, projection=False)


@pytest.fixture
def printed(run: Run, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command prints on the run."""

    def call(command: str, *options: str) -> str:
        capsys.readouterr()
        assert main([command, run.id, "--quiet", *options]) == 0
        return capsys.readouterr().out

    return call


@pytest.fixture
def computes(run: Run, capsys: pytest.CaptureFixture[str]) -> Callable[..., bool]:
    """Whether a command on the run meets :func:`refuse`."""

    def call(command: str, *options: str) -> bool:
        assert main([command, run.id, "--quiet", *options]) == 1
        return "nothing is to be computed" in capsys.readouterr().err

    return call


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("nothing is to be computed")


def first_lines(text: str) -> str:
    return text.rpartition("\n\n")[0]


def test_measures_that_are_stored_are_printed(
    run: Run, printed: Callable[..., str], computes: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("--measure", "length", "--measure", "diversity")
    computed = printed("measure", *asked)
    assert f"Saved with run {run.id}." in computed
    monkeypatch.setattr(measure, "measure_run", refuse)
    again = printed("measure", *asked)
    assert first_lines(again) == first_lines(computed)
    assert f"Stored with run {run.id} on {RunStore().load(run.id).attached_on('measures')}; --again" in again
    assert json.loads(printed("measure", "--measure", "length", "--json"))["run"] == run.id
    for other in (("--again", *asked), ("--measure", "density"), ("--measure", "length", "--measure", "density")):
        assert computes("measure", *other)


def test_measures_with_other_settings_are_computed(
    run: Run, printed: Callable[..., str], computes: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    printed("measure", "--measure", "length")
    values = RunStore().load(run.id).attachment("measures")
    values["settings"]["length"]["groups"] = 10
    RunStore().attach(run.id, "measures", values)
    monkeypatch.setattr(measure, "measure_run", refuse)
    assert computes("measure", "--measure", "length")


def test_methods_that_are_stored_are_printed(
    run: Run, printed: Callable[..., str], computes: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = printed("methods", "--method", "kmeans", "--method", "kmeans:summary=mid")
    monkeypatch.setattr(compare_methods, "methods_run", refuse)
    assert first_lines(printed("methods", "--method", "kmeans", "--method", "kmeans:summary=mid")) == first_lines(
        computed
    )
    part = json.loads(printed("methods", "--method", "kmeans:summary=mid", "--json"))
    assert [each["method"] for each in part["results"]] == ["kmeans:summary=mid"]
    stored = RunStore().load(run.id).attachment("methods")
    assert len(stored["results"]) == 2, "a part of the table replaces nothing"
    for other in (
        ("--method", "frechet"),
        ("--method", "kmeans", "--permutations", "9"),
        ("--method", "kmeans", "--again"),
    ):
        assert computes("methods", *other)


def test_encoders_that_are_stored_are_printed(
    run: Run,
    printed: Callable[..., str],
    computes: Callable[..., bool],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("a 1 2\n")
    encoders = [None, "minilm", "gpt2", str(vectors)]
    table = EncoderTable(tuple(result_of(each, VALUES) for each in encoders))
    RunStore().attach(run.id, "encoders", dataclass_to_json(table))
    monkeypatch.setattr(compare_encoders, "encoders_run", refuse)
    shown = printed("encoders", "--encoder", "gpt2")
    assert "gpt2" in shown
    assert "minilm" not in shown
    assert f"Stored with run {run.id} on " in shown
    both = json.loads(printed("encoders", "--encoder", "gpt2", "--encoder", "minilm", "--json"))
    assert both["titles"] == ["features given", "gpt2", "minilm"]
    for other in (("--encoder", "gpt2", "--again"), ("--encoder", "gpt2:layer=0"), ("--encoder", str(vectors))):
        assert computes("encoders", *other)
