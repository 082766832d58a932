"""The tab of encoders on the Methods page: what was computed with the core's digits, and encoders to compute."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.views.methods_encoders import shown_scores
from mauve_core.analyses import encoders as encoder_request
from mauve_core.analyses.encoders import CompareEncodersTask, EncoderTable
from mauve_core.figures import agreement as figures
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.tables import mean_and_spread
from tests.app.pages import said
from tests.word_files import by_chance, by_topic

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/methods.py"


@pytest.fixture
def table(run: Run, tmp_path: Path) -> EncoderTable:
    """Two encoders on the run, kept beside it; one sees no topics."""
    vectors = (by_topic(tmp_path / "topics.txt"), by_chance(tmp_path / "chance.vec"))
    return CompareEncodersTask(run.id, tuple(map(str, vectors))).compute()


def chosen(app: AppTest) -> Any:
    (item,) = [item for item in app.multiselect if str(item.key).startswith("encoders_chosen")]
    return item


def test_the_encoders_on_this_machine_are_offered_and_start_as_one_job(
    open_page: OpenPage, run: Run, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder_request.PACKAGED["minilm"].__class__, "locate", lambda self: Path(__file__))
    app = open_page(VIEW, vary="encoders")
    assert tuple(chosen(app).value) == encoder_request.USUAL_ENCODERS
    chosen(app).set_value(["minilm", "smollm2-135m:layer=3"]).run()
    app.button(key="encoders_start").click().run()
    assert not app.exception
    assert [task for _, task in started] == [CompareEncodersTask(run.id, ("minilm", "smollm2-135m:layer=3"))]


@pytest.mark.usefixtures("run")
def test_what_is_no_encoder_is_said_and_starts_nothing(open_page: OpenPage, started: list[Any]) -> None:
    app = open_page(VIEW, vary="encoders")
    for wrong in (["gpt2:size=3"], []):
        chosen(app).set_value(wrong).run()
        assert app.button(key="encoders_start").disabled
        assert len(app.error) == len(wrong)
    chosen(app).set_value(["/nowhere/model"]).run()
    app.button(key="encoders_start").click().run()
    assert "nowhere" in said(app)
    assert started == []


def test_the_answer_comes_first_and_the_digits_are_the_cores(
    open_page: OpenPage, run: Run, table: EncoderTable
) -> None:
    app = open_page(VIEW, vary="encoders")
    assert not app.exception
    words, contradictions = figures.encoders_in_words(table, "mauve")
    for line in (words, *contradictions):
        assert line in said(app)
    shown = app.table[0].value
    assert shown.equals(shown_scores(table, "mauve"))
    for index, candidate in enumerate(run.comparison.candidates):
        assert mean_and_spread(candidate.scores["mauve"]) in shown.iloc[index, 1]
    assert "95% bootstrap interval over texts at this n and k" in said(app)
    assert [tuple(each.encoder.model for each in table.results[1:] if each.encoder)] == [tuple(chosen(app).value)]


def test_damaged_results_are_said_and_can_be_computed_again(open_page: OpenPage, run: Run) -> None:
    RunStore().attach(run.id, "encoders", {"results": "none"})
    app = open_page(VIEW, vary="encoders")
    assert not app.exception
    assert len(app.error) == 1
    assert not app.button(key="encoders_start").disabled or chosen(app).value == []
