"""The Probes page of a run of images: what is asked, what came out, and pictures before and after."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from mauve_core import compare, read_corpus
from mauve_core.analyses.probe_results import ATTACHMENT, ProbeTable, summary
from mauve_core.analyses.probes import probe_run
from mauve_core.base.config import HUMAN
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.encoders.features import FeatureStore
from mauve_core.images.perturbing import PROBES
from mauve_core.runs import Run, RunStore
from mauve_core.texts.kinds import parse_perturbation
from tests.app.pages import said
from tests.images.made import draw_stripes

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/probes.py"
N = 40


@pytest.fixture
def run(own_home: Path, tmp_path: Path) -> Run:
    sides = {name: draw_stripes(tmp_path / name, N, seed=seed) for seed, name in enumerate((HUMAN, "other"))}
    corpora = {name: read_corpus(path, name=name) for name, path in sides.items()}
    settings = {"encoder": "pixels", "seeds": 1, "k": 4, "draw_map": False, "feature_store": FeatureStore()}
    return RunStore().save("photos", compare(corpora[HUMAN], {"other": corpora["other"]}, **settings), corpora)


@pytest.fixture
def table(run: Run) -> ProbeTable:
    found = probe_run(run, [parse_perturbation(spec) for spec in ("flip@0.5", "blur-3")], splits=1)
    RunStore().attach(run.id, ATTACHMENT, dataclass_to_json(found))
    return found


def test_a_run_without_probes_offers_those_of_images(open_page: OpenPage, run: Run) -> None:
    app = open_page(VIEW, run=run.id)
    assert not app.exception
    assert "Half of the images are **changed on purpose**" in said(app)
    (chosen,) = [each for each in app.multiselect if str(each.key).startswith("probes_chosen")]
    assert list(chosen.value) == list(PROBES)
    assert not [option for option in chosen.options if "word" in option.lower()]
    assert f"Each half has {N // 2} images" in said(app)
    (part,) = [each for each in app.get("button_group") if "probes_section" in str(each.key)]
    assert [option.content for option in part.proto.options] == ["What the score notices", "Which images move"]


def test_pictures_stand_before_and_after_as_long_as_there_are_originals(
    open_page: OpenPage, run: Run, table: ProbeTable
) -> None:
    app = open_page(VIEW, run=run.id, perturbation="flip@0.5")
    assert not app.exception
    assert summary(table) in said(app)
    shown = [text.value for text in app.text if text.value in run.corpora[HUMAN].ids]
    changed = table.line("flip@0.5").flow.ids
    assert len(shown) == 4
    assert set(shown) < set(changed)
    assert len(app.get("image")) == 8
    shutil.rmtree(run.corpora[HUMAN].origin)
    app = open_page(VIEW, run=run.id, perturbation="blur-3")
    assert not app.exception
    assert [error.value for error in app.error if "The images are no longer at" in error.value.replace("\\", "")]
    assert len(app.error) == 1
