"""The Decoders page: what was measured and swept shown as it was computed, what was not offered, studies as asked."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.components.sweep_panel import read_numbers
from mauve_app.views.decoders_study import AT_FIRST
from mauve_core.analyses.estimator_sweeps import EstimatorSweep, SweepTask, usual_parameters
from mauve_core.analyses.measure_terms import Measurements, Value
from mauve_core.analyses.methods import ESTIMATORS
from mauve_core.analyses.study import StudyTask
from mauve_core.analyses.sweeps import usual_values
from mauve_core.analyses.text_measures import (
    ATTACHMENT,
    MEASURES,
    closest_sentence,
    measure_run,
    measure_standings,
    measure_tests_sentence,
)
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import UNBROKEN
from mauve_core.base.words import TEXTS
from mauve_core.decoding import GenerationSettings
from mauve_core.encoders import AvailableModel, text_kind
from mauve_core.figures.sweeps import score_in_words
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.tables import standings
from mauve_core.stats.scores import SCORES
from tests.app.pages import said

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/decoders.py"
WITHOUT_TOKENIZER = ("diversity", "self-bleu", "precision", "recall", "length")


@pytest.fixture
def measured(run: Run) -> Measurements:
    """Five measures of the run, kept beside it."""
    return measure_run(run, WITHOUT_TOKENIZER)


def box(app: AppTest, measure: str) -> Any:
    """The checkbox of a measure."""
    (found,) = [item for item in app.checkbox if str(item.key).endswith(f"_{measure}")]
    return found


def button(app: AppTest, label: str) -> Any:
    (found,) = [item for item in app.button if item.label == label]
    return found


def input_of(app: AppTest, key: str) -> Any:
    """The text or number input whose key begins so."""
    (found,) = [item for item in (*app.text_input, *app.number_input) if str(item.key).startswith(key)]
    return found


def plain(cell: str) -> str:
    return cell.replace(UNBROKEN, " ")


def digits(value: Value | None) -> str:
    """A value with two figures of its spread, by another road than the page's."""
    if value is None:
        return "–"
    if value.sd is None:
        whole = len(str(int(value.value))) if value.value >= 1 else 0
        return f"{value.value:.{max(4 - whole, 0)}f} ± ?"
    places = min(max(0, 1 - math.floor(math.log10(float(f"{value.sd:.1e}")))), 6)
    return f"{value.value:.{places}f} ± {value.sd:.{places}f}"


# Measures


def test_a_run_without_features_says_so(open_page: OpenPage, run: Run) -> None:
    for path in run.path.glob("features-*.npy"):
        path.unlink()
    app = open_page(VIEW)
    assert "stored without features" in said(app)
    for name, item in MEASURES.items():
        assert box(app, name).disabled == ("features" in item.needs)
        assert not (box(app, name).disabled and box(app, name).value)


def test_the_ranking_shows_the_cores_numbers_beside_mauve(
    open_page: OpenPage, run: Run, measured: Measurements
) -> None:
    app = open_page(VIEW, measure="self-bleu")
    assert not app.exception
    rows = app.table[0].value
    gaps = {row.candidate: row.gap.value for row in measured.rows if row.measure == "self-bleu" and row.gap}
    assert [cell.strip("*") for cell in rows["Candidate"]] == sorted(gaps, key=gaps.__getitem__)
    ranks = {item.candidate.name: f"{item.rank}{'=' if item.tied else ''}" for item in standings(run.comparison)}
    for _, cells in rows.iterrows():
        name = cells["Candidate"].strip("*")
        row = measured.row("self-bleu", name)
        assert row is not None
        for column, value in (("T(Q)", row.model), ("T(P)", row.human), ("Gap", row.gap)):
            assert plain(cells[column]).split("  \n")[0] == digits(value)
        mauve = run.comparison.candidate(name).scores["mauve"]
        assert plain(cells["MAUVE"]) == f"{mauve.mean:.3f} ± {mauve.sd:.3f} ({ranks[name]})"
        assert cells["n"] == "60"
    assert MEASURES["self-bleu"].description in said(app)


def test_the_wide_tables_hold_every_value_and_gap(open_page: OpenPage, run: Run, measured: Measurements) -> None:
    app = open_page(VIEW, measured="table")
    values, gaps = (frame.value for frame in app.dataframe[:2])
    names = [candidate.name for candidate in run.comparison.candidates]
    assert values["source"].tolist() == [HUMAN, *names]
    assert gaps["source"].tolist() == names
    assert values.columns.tolist() == ["source", "mauve", *(m for m in MEASURES if m in WITHOUT_TOKENIZER)]
    for name in WITHOUT_TOKENIZER:
        for place, candidate in enumerate(names):
            row = measured.row(name, candidate)
            assert row is not None
            assert plain(values[name][place + 1]) == digits(row.model)
            assert plain(values[name][0]) == digits(row.human)
            assert plain(gaps[name][place]) == digits(row.gap)


def test_ties_come_from_tests_and_the_matrix_is_folded_below(
    open_page: OpenPage, run: Run, measured: Measurements
) -> None:
    app = open_page(VIEW, {"measure_differences": True}, measure="precision")
    assert not app.exception
    names = [candidate.name for candidate in run.comparison.candidates]
    placed = measure_standings(measured, "precision", names)
    assert app.table[0].value["Rank"].tolist() == [f"{each.rank}{'=' if each.tied else ''}" for each in placed]
    assert closest_sentence(measured, "precision", names, lambda name: f"**{name}**") in said(app)
    tests = measured.tests("precision")
    apart = sum(each.told_apart for each in tests)
    assert f"Differences: {apart} of {len(tests)} pairs told apart" in [item.label for item in app.expander]
    assert measure_tests_sentence(tests, TEXTS) in said(app)


@pytest.mark.usefixtures("measured")
def test_unknown_measures_in_the_url_fall_back(open_page: OpenPage) -> None:
    app = open_page(VIEW, measure="<b>x</b>", across="zipf", along="nonsense")
    assert not app.exception
    assert app.selectbox(key="url_measure").value in WITHOUT_TOKENIZER
    assert app.selectbox(key="url_across").value != app.selectbox(key="url_along").value


def test_damaged_measurements_are_said_and_can_be_made_again(open_page: OpenPage, run: Run) -> None:
    RunStore().attach(run.id, ATTACHMENT, {"rows": "none"})
    app = open_page(VIEW)
    assert not app.exception
    assert len(app.error) == 1
    assert not button(app, "Measure").disabled


# Sweeps


def test_a_sweep_that_is_not_there_is_explained_and_offered(
    open_page: OpenPage, run: Run, started: list[tuple[str, SweepTask]]
) -> None:
    axis = "k"
    app = open_page(VIEW, section="sweeps", axis=axis)
    assert not app.exception
    assert "?" in app.caption[1].value  # the question that the sweep answers
    usual = usual_values(run, axis)
    assert usual is not None
    field = input_of(app, "sweep_values")
    assert field.value == ", ".join(f"{value:g}" for value in usual)
    field.set_value("10 20;30").run()
    input_of(app, "sweep_seeds").set_value(2).run()
    button(app, "Compute").click().run()
    assert started == [("sweep", SweepTask(run.id, axis, (10.0, 20.0, 30.0), 2))]


@pytest.mark.parametrize(
    ("text", "numbers"), [("", None), (" , ;", None), ("1,2; 3\t4", (1.0, 2.0, 3.0, 4.0)), ("0.5", (0.5,))]
)
def test_numbers_are_read_between_any_separators(text: str, numbers: tuple[float, ...] | None) -> None:
    assert read_numbers(text) == numbers


def test_a_stored_sweep_is_shown_as_it_was_computed(open_page: OpenPage, run: Run) -> None:
    score = "mid"
    sweep = SweepTask(run.id, "k", (2.0, 6.0), 2).compute()
    app = open_page(VIEW, section="sweeps", axis="k", score=score)
    assert not app.exception
    assert len(app.get("plotly_chart")) == 1
    app = open_page(VIEW, section="sweeps", axis="k", score=score, swept="table")
    assert not app.exception
    assert f"{SCORES[score].title} against clusters k" in said(app)
    table = app.dataframe[0].value
    assert table["value"].tolist() == ["2", "6"]
    for point in sweep.points:
        line = f"line_{sweep.candidates.index(point.candidate)}"
        (cell,) = table.loc[table["value"] == f"{point.value:g}", line]
        spread = point.scores[score]
        assert plain(cell) == f"{spread.mean:.3f} ± {spread.sd:.3f}"
    assert table["n"].tolist() == ["60", "60"]
    for note in sweep.notes:
        assert note in said(app)
    assert "over 2 seeds" in said(app)


def test_a_sweep_of_estimators_is_offered_and_shown_as_it_was_computed(
    open_page: OpenPage, run: Run, started: list[tuple[str, SweepTask]]
) -> None:
    axis, values = "neighbors", (7.0, 50.0)
    app = open_page(VIEW, section="sweeps", axis=axis)
    assert not app.exception
    assert not [item for item in app.segmented_control if item.label == "Score"]  # it is always MAUVE
    usual = usual_parameters(run, axis)
    assert input_of(app, "sweep_values").value == ", ".join(f"{value:g}" for value in usual)
    input_of(app, "sweep_seeds").set_value(2).run()
    button(app, "Compute").click().run()
    assert started == [("sweep", SweepTask(run.id, axis, usual, 2))]

    sweep = SweepTask(run.id, axis, values, 2).compute()
    assert isinstance(sweep, EstimatorSweep)
    app = open_page(VIEW, section="sweeps", axis=axis)
    assert not app.exception
    assert len(app.get("plotly_chart")) == 1
    assert "one standard deviation over texts" in said(app)
    app = open_page(VIEW, section="sweeps", axis=axis, swept="table")
    assert not app.exception
    table = app.dataframe[0].value
    for point in sweep.points:
        title = ESTIMATORS[point.method].title
        chosen = (table["estimator"] == title) & (table["value"] == f"{point.value:g}")
        (cell,) = table.loc[chosen, f"line_{sweep.candidates.index(point.candidate)}"]
        assert cell == score_in_words(point)
    for note in sweep.notes:
        assert note in said(app)


# Generate


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Models that were looked for, in place of their weights."""
    found: list[str] = []
    monkeypatch.setattr("mauve_app.components.jobs.check_model", lambda name, _: found.append(name))
    return found


def prompts_file(*, prompts: bool, n: int = 25) -> bytes:
    rows = [
        {"id": f"t{i}", "text": f"Text {i} of the pile."} | ({"prompt": "Once"} if prompts else {}) for i in range(n)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def upload(app: AppTest, data: bytes) -> AppTest:
    (uploader,) = [item for item in app.file_uploader if str(item.key).startswith("upload_study_")]
    uploader.upload("people.jsonl", data)
    return app.run()


def test_a_study_continues_the_prompts_of_the_open_run(
    open_page: OpenPage, run: Run, started: list[tuple[str, StudyTask]], known: list[str], own_home: Path
) -> None:
    app = open_page(VIEW, section="generate")
    assert not app.exception
    assert f"**{len(AT_FIRST)}** decoders × **60** prompts: **{len(AT_FIRST) * 60}** texts" in said(app)
    input_of(app, "study_count").set_value(30)
    app.multiselect(key="study_decoders").set_value(["greedy", "nucleus:p=0.95"])
    app.number_input(key="study_max_tokens").set_value(40)
    app.number_input(key="study_min_tokens").set_value(5)
    app.number_input(key="study_seed").set_value(7)
    app.number_input(key="study_repeats").set_value(3)
    app.toggle(key="study_measures").set_value(False)
    app.text_input(key="study_name").set_value("my study")
    app.selectbox(key="study_encoder").set_value("minilm").run()
    assert "**2** decoders × **30** prompts × **3** generations: **120** texts of at most **40** tokens" in said(app)
    assert "Written once" in said(app)
    assert "The first 30 of 60 human texts" in said(app)
    button(app, "Start").click().run()
    assert not app.exception
    ((kind, task),) = started
    assert kind == "study"
    assert (task.name, task.model, task.measures) == ("my study", app.selectbox(key="study_model").value, False)
    assert task.decoders == ("greedy", "nucleus:p=0.95")
    assert task.settings == GenerationSettings(max_new_tokens=40, min_new_tokens=5, seed=7, repeats=3)
    assert task.prompt_tokens is None
    assert task.config.encoder is not None
    assert task.config.encoder.model == "minilm"
    assert known == [task.model, "minilm"]
    corpus, human = task.human.read(HUMAN), run.corpora[HUMAN]
    assert Path(task.human.path).is_relative_to(own_home)
    assert human.prompts is not None
    assert (corpus.ids, corpus.texts, corpus.prompts) == (human.ids[:30], human.texts[:30], human.prompts[:30])


def test_without_a_run_the_page_opens_on_a_study_from_a_file(
    open_page: OpenPage, started: list[tuple[str, StudyTask]], known: list[str]
) -> None:
    app = open_page(VIEW)
    assert not app.exception
    assert app.segmented_control(key="url_decoders_section").value == "generate"
    assert button(app, "Start").disabled
    assert "Choose the human texts" in said(app)
    upload(app, prompts_file(prompts=True))
    assert f"× **25** prompts: **{25 * len(AT_FIRST)}** texts" in said(app)
    assert not [item for item in app.number_input if item.key == "study_prompt_tokens"]
    button(app, "Start").click().run()
    ((_, task),) = started
    assert task.name == f"{task.model} on people"
    assert (task.human.prompt_field, task.prompt_tokens) == ("prompt", None)


@pytest.mark.usefixtures("run")
def test_what_the_core_refuses_is_said_before_the_start(open_page: OpenPage) -> None:
    app = open_page(VIEW, section="generate")
    app.number_input(key="study_min_tokens").set_value(500).run()
    assert "min_new_tokens" in app.error[0].value.replace("\\", "")
    assert button(app, "Start").disabled
    app.number_input(key="study_min_tokens").set_value(0).run()
    app.multiselect(key="study_decoders").set_value([]).run()
    assert "Choose at least one decoder" in said(app)
    assert button(app, "Start").disabled


@pytest.mark.usefixtures("run")
def test_a_server_may_write_if_its_texts_can_be_counted_in_tokens(
    open_page: OpenPage, started: list[tuple[str, StudyTask]], known: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "openai:http://localhost:8000/v1#tiny"
    offered = tuple(AvailableModel(each, "", ready=True) for each in (name, "minilm"))
    monkeypatch.setattr(text_kind, "available_models", lambda: offered)
    app = open_page(VIEW, section="generate")
    app.multiselect(key="study_decoders").set_value(["greedy", "ancestral"]).run()
    assert not app.error
    assert "Name the tokenizer: a server does not show its own tokens" in said(app)
    assert button(app, "Start").disabled
    app.text_input(key="study_tokenizer").set_value(" someone/tiny ").run()
    assert not app.error
    app.multiselect(key="study_decoders").set_value(["greedy", "adversarial"]).run()
    assert "shows no likelihoods" in app.error[0].value
    app.multiselect(key="study_decoders").set_value(["greedy"]).run()
    app.selectbox(key="study_encoder").set_value("minilm").run()
    button(app, "Start").click().run()
    assert not app.exception
    ((_, task),) = started
    assert (task.model, task.tokenizer, task.server) == (name, "someone/tiny", None)
    assert task.name.startswith("tiny on ")
