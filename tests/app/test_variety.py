"""Variety, a section of Decoders: sentences, picture, answers and pairs as the core measures them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from mauve_core.analyses.diversity import ABOUT_AGREEMENT, diversity_of_run, missed_sentence, sentence
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.base.words import TEXTS
from mauve_core.runs import Run
from tests.planted_modes import store_modes

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/decoders.py"


@pytest.fixture
def run(own_home: Path) -> Run:
    return store_modes()


def said(app: AppTest) -> str:
    parts = (*app.markdown, *app.caption, *app.info, *app.error)
    return with_plain_spaces("\n".join(element.value for element in parts)).replace("*", "")


def test_each_candidate_has_its_sentence_until_the_features_are_gone(open_page: OpenPage, run: Run) -> None:
    folded = {"variety_pairs": True, "variety_about": True}
    app = open_page(VIEW, folded, run=run.id, section="variety")
    assert not app.exception
    found, words = diversity_of_run(run), said(app)
    for name, own in found.candidates.items():
        assert with_plain_spaces(sentence(name, own, found.gap)) in words
        assert with_plain_spaces(missed_sentence(found.missed[name], TEXTS)) in words
    assert ABOUT_AGREEMENT in words
    assert "not measured: once." in words
    (pairs,) = [each.value for each in app.dataframe if "as close?" in each.value.columns]
    assert len(pairs) == len(found.pairs)
    for path in run.path.glob("features-*.npy"):
        path.unlink()
    app = open_page(VIEW, run=run.id, section="variety")
    assert not app.exception
    assert "features" in said(app)
