"""Names that are not UTF-8 are refused before anything is computed."""

from __future__ import annotations

import os

import pytest

from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.corpus import corpus_from_texts
from mauve_core.scoring.compare import compare
from mauve_core.tasks.comparison import ComparisonTask, TextFile
from tests.synthetic import make_comparison_inputs

BAD = os.fsdecode(b"n\xe4me")


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
