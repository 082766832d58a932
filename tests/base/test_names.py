"""Names that are not UTF-8 are refused before anything is computed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from mauve_core.__main__ import main
from mauve_core.analyses.comparison_task import ComparisonTask
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.runs import RunStore
from mauve_core.scoring.compare import compare
from mauve_core.texts import corpus_from_texts, read_corpus
from mauve_core.texts.text_files import TextFile
from tests.synthetic import make_comparison_inputs

BAD = os.fsdecode(b"n\xe4me")


FAST = ["--seeds", "1", "--bootstrap", "100", "--no-map", "--quiet"]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Two files and their features, all with names in Latin-1."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    human, candidates, features = make_comparison_inputs(n=40)
    name, corpus = next(iter(candidates.items()))
    paths = {}
    for side, texts, array in (("human", human.texts, features[HUMAN]), ("model", corpus.texts, features[name])):
        paths[side] = tmp_path / f"{BAD}-{side}.txt"
        paths[f"{side} features"] = tmp_path / f"{BAD}-{side}.npy"
        try:
            paths[side].write_text("".join(text.replace("\n", " ") + "\n" for text in texts))
        except OSError:
            pytest.skip("this disk takes no such name")
        np.save(paths[f"{side} features"], array)
    return paths


def arguments(study: dict[str, Path], model: str, *more: str) -> list[str]:
    given = [f"human={study['human features']}", f"{model}={study['model features']}"]
    features = [part for each in given for part in ("--features", each)]
    return ["compare", "--human", str(study["human"]), "--model", f"{model}={study['model']}", *features, *FAST, *more]


def test_files_of_such_names_are_compared_and_stored(
    study: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(study, "m", "--out", "run")) == 0, capsys.readouterr().err
    source = RunStore().load("run").comparison.human
    assert source.origin.endswith("n\\udce4me-human.txt")
    assert main(["runs", "show", "run"]) == 0
    corpus = read_corpus(study["human"])
    assert corpus.name == "n\\udce4me-human"
    (corpus.origin + corpus.name).encode()


@pytest.mark.parametrize("more", [("--out", BAD), ()])
def test_names_of_runs_and_models_are_refused_at_once(
    more: tuple[str, ...], study: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    study["model features"].unlink()  # found only after the names have been looked at
    assert main(arguments(study, "m" if more else BAD, *more)) == 2
    said = capsys.readouterr().err
    assert "is not valid text" in said
    assert "n\\udce4me" in said
    assert not RunStore().list()


def test_python_refuses_them_too() -> None:
    human, candidates, features = make_comparison_inputs(n=40)
    name, corpus = next(iter(candidates.items()))
    config = CompareConfig(encoder=None, score=ScoreConfig(seeds=1, bootstrap=100), projection=False)
    with pytest.raises(InputError, match="candidate is not valid text"):
        compare(human, {BAD: corpus}, config, features={HUMAN: features[HUMAN], BAD: features[name]})
    with pytest.raises(InputError, match="model is not valid text"):
        EncoderConfig(model=BAD)
    with pytest.raises(InputError, match="run is not valid text"):
        ComparisonTask(BAD, TextFile("a.txt"), {"m": TextFile("b.txt")})
    with pytest.raises(InputError, match="candidate is not valid text"):
        ComparisonTask("run", TextFile("a.txt"), {BAD: TextFile("b.txt")})
    named = corpus_from_texts(["a"], name="a", origin=BAD)
    assert named.origin == "n\\udce4me"
