"""A run compared afresh without some texts: the texts that stay, their own features, and everything else as ever."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from mauve_core.analyses.comparison_task import ExcludeTextsTask
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from tests.synthetic import make_run

MODEL = "shifted"
GONE = {HUMAN: ("t0003",), MODEL: ("t0000", "t0002", "t0039")}


@pytest.fixture
def run(own_home: Path) -> Run:
    return make_run(own_home, n=40, seeds=2, projection=False)


@pytest.mark.slow
def test_equal_to_comparing_the_texts_that_stay(run: Run) -> None:
    identifier = ExcludeTextsTask("less", run.id, MODEL, GONE).perform()
    found = RunStore().load(identifier)
    kept = {
        name: [place for place, each in enumerate(run.corpora[name].ids) if each not in GONE[name]]
        for name in (HUMAN, MODEL)
    }
    assert list(found.corpora) == [HUMAN, MODEL]
    features = {}
    for name, places in kept.items():
        assert found.corpora[name].ids == tuple(run.corpora[name].ids[place] for place in places)
        assert found.corpora[name].texts == tuple(run.corpora[name].texts[place] for place in places)
        stored, all_of_it = found.features(name), run.features(name)
        assert stored is not None
        assert all_of_it is not None
        features[name] = all_of_it[places]
        np.testing.assert_array_equal(stored, features[name])
    corpora = {name: run.corpora[name].take(places) for name, places in kept.items()}
    afresh = compare(corpora[HUMAN], {MODEL: corpora[MODEL]}, run.comparison.config, features=features)
    assert found.comparison.candidate(MODEL).scores == afresh.candidate(MODEL).scores
    assert found.comparison.config == run.comparison.config
    assert "3 of 40 texts of run synthetic are left out" in found.corpora[MODEL].notes[-1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"run": " "}, "setting run cannot be used"),
        ({"dropped": {}}, "None of the compared texts"),
        ({"dropped": {"close": ("t0000",)}}, "None of the compared texts"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_at_once(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dataclasses.replace(ExcludeTextsTask("less", "synthetic", MODEL, GONE), **change)  # type: ignore[arg-type]


def test_an_unknown_text_or_candidate_is_named(run: Run) -> None:
    with pytest.raises(InputError, match=r"no text with that id.*nowhere"):
        ExcludeTextsTask("less", run.id, MODEL, {MODEL: ("t0000", "nowhere")}).perform()
    with pytest.raises(InputError, match="No candidate named 'other'"):
        ExcludeTextsTask("less", run.id, "other", {"other": ("t0000",)}).perform()
    assert [summary.id for summary in RunStore().list()] == [run.id]


def test_without_the_features_nothing_is_encoded_in_silence(run: Run) -> None:
    for path in run.path.glob("features-*.npy"):
        path.unlink()
    with pytest.raises(InputError, match=r"features of 'human' were not stored.*Compare the texts again"):
        ExcludeTextsTask("less", run.id, MODEL, GONE).perform()
    assert [summary.id for summary in RunStore().list()] == [run.id]
