"""The Decoders page: what was measured and swept shown as it was computed, what was not offered, studies as asked."""

from __future__ import annotations

import fcntl
import json
import math
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.components.job_panel import ENDINGS
from mauve_app.components.sweep_panel import read_numbers
from mauve_app.views.decoders.decoder_picker import AT_FIRST
from mauve_core.analysis.verdict import verdict
from mauve_core.base.config import HUMAN, SCORES
from mauve_core.base.errors import InputError, StorageError
from mauve_core.base.formatting import UNBROKEN, with_plain_spaces
from mauve_core.decoding import GenerationSettings
from mauve_core.encoders import AvailableModel, text_kind
from mauve_core.experiments.methods import ESTIMATORS
from mauve_core.experiments.sweeps import (
    EstimatorSweep,
    attachment_name,
    stored_sweep,
    usual_parameters,
    usual_values,
)
from mauve_core.experiments.text_measures import MEASURES, Measurements, Value, measure_title
from mauve_core.experiments.text_measures.ranking import closest_sentence, measure_standings, measure_tests_sentence
from mauve_core.experiments.text_measures.stored import ATTACHMENT, measure_run
from mauve_core.figures.estimator_sweeps import score_in_words
from mauve_core.jobs import queue
from mauve_core.jobs.queue import JobState
from mauve_core.jobs.state import ALIVE
from mauve_core.scoring.tables import TITLES, standings
from mauve_core.store import Run, RunStore
from mauve_core.tasks.base import Task
from mauve_core.tasks.measure import MeasureTask
from mauve_core.tasks.registry import read_task
from mauve_core.tasks.study import StudyTask
from mauve_core.tasks.sweep import SweepTask
from tests.synthetic import make_run

OpenPage = Callable[..., AppTest]
VIEW = "views/decoders/decoders.py"
WITHOUT_TOKENIZER = ("diversity", "self-bleu", "precision", "recall", "length")
COSTLY = [name for name, item in MEASURES.items() if "model" in item.needs]


@pytest.fixture
def run(stored_run: Run, own_home: Path) -> Run:
    """A copy of ``stored_run`` that may be added to."""
    shutil.copytree(stored_run.path.parent, own_home / "runs")
    return RunStore().load(stored_run.id)


@pytest.fixture
def measured(run: Run) -> Measurements:
    """Five measures of the run, kept beside it."""
    return measure_run(run, WITHOUT_TOKENIZER)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Kind and task of what the page asked to start, in place of workers."""
    found: list[tuple[str, Any]] = []

    def start(task: Task, *_: object) -> JobState:
        found.append((task.kind, read_task(task.kind, json.loads(json.dumps(task.to_json())))))
        return JobState("20260101-000000000000-abcd", "x", "queued")

    monkeypatch.setattr(queue, "start", start)
    return found


def url_of(app: AppTest) -> dict[str, str]:
    return {name: value if isinstance(value, str) else value[0] for name, value in dict(app.query_params).items()}


def said(app: AppTest) -> str:
    """Everything that the page says in Markdown, captions and infos, without escapes."""
    parts = (*app.markdown, *app.caption, *app.info, *app.error, *app.header)
    return "\n".join(element.value for element in parts).replace("\\", "")


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


@pytest.mark.usefixtures("run")
def test_an_unmeasured_run_says_what_measures_are_and_offers_them(open_page: OpenPage) -> None:
    app = open_page(VIEW)
    assert not app.exception
    assert "Nothing has been measured yet" in said(app)
    for name, item in MEASURES.items():
        assert item.description in box(app, name).help
        assert box(app, name).value == ("model" not in item.needs)
    assert len(app.table) == 0


def test_the_cheap_ones_are_started_as_one_job(
    open_page: OpenPage, run: Run, started: list[tuple[str, MeasureTask]]
) -> None:
    app = open_page(VIEW)
    box(app, "zipf").uncheck().run()
    button(app, "Measure").click().run()
    assert not app.exception
    cheap = tuple(name for name in MEASURES if name not in COSTLY and name != "zipf")
    assert started == [("measures", MeasureTask(run.id, cheap, None))]


def test_a_model_goes_along_with_measures_that_need_one(
    open_page: OpenPage, run: Run, started: list[tuple[str, MeasureTask]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mauve_app.components.job_button.check_model", lambda *_: None)
    app = open_page(VIEW)
    assert "minilm" not in app.selectbox(key="measure_model").options  # it cannot score texts
    for item in app.checkbox:
        item.uncheck()
    app.run()
    assert button(app, "Measure").disabled
    box(app, "perplexity").check().run()
    button(app, "Measure").click().run()
    assert started == [("measures", MeasureTask(run.id, ("perplexity",), app.selectbox(key="measure_model").value))]


@pytest.mark.usefixtures("run")
def test_an_unknown_model_is_said_and_nothing_starts(
    open_page: OpenPage, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_kind, "available_models", lambda: (AvailableModel("no/such-model", "gone", ready=False),))
    app = open_page(VIEW)
    box(app, "perplexity").check().run()
    button(app, "Measure").click().run()
    assert started == []
    assert "no/such-model" in app.error[0].value.replace("\\", "")


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


@pytest.mark.usefixtures("measured")
def test_a_tab_holds_the_panels_of_its_group_and_mauve_is_the_first_of_all(open_page: OpenPage) -> None:
    drawn = {}
    for tab in ("closeness", "diversity"):
        app = open_page(VIEW, measured=tab)
        assert not app.exception
        figure = json.loads(app.get("plotly_chart")[0].proto.spec)
        drawn[tab] = [note["text"] for note in figure["layout"]["annotations"] if "yshift" in note or note["y"] > 0]
    assert drawn["closeness"][0] == "MAUVE ↑"
    for tab, titles in drawn.items():
        of_group = [name for name in WITHOUT_TOKENIZER if MEASURES[name].group == tab]
        assert [title.split("<br>")[0] for title in titles if title != "MAUVE ↑"] == list(map(measure_title, of_group))


@pytest.mark.usefixtures("measured")
def test_a_link_to_a_tab_that_the_run_lacks_opens_the_first(open_page: OpenPage) -> None:
    app = open_page(VIEW, measured="likelihood")
    assert not app.exception
    assert [tab.label for tab in app.tabs] == ["Closeness", "Repetition and length", "Table"]


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


@pytest.mark.usefixtures("measured")
def test_the_page_opens_with_who_is_closest(open_page: OpenPage, run: Run) -> None:
    first = str(verdict(run).closest).partition(". ")[0]
    assert with_plain_spaces(first).rstrip(".") in with_plain_spaces(said(open_page(VIEW))).replace("**", "")


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
    assert measure_tests_sentence(tests) in said(app)


@pytest.mark.usefixtures("measured")
def test_notes_are_shown_with_the_ranking(open_page: OpenPage) -> None:
    app = open_page(VIEW, measure="precision")
    assert "two random halves of P (30 and 30)" in said(app)


@pytest.mark.usefixtures("measured")
def test_what_is_chosen_stands_in_the_url(open_page: OpenPage) -> None:
    app = open_page(VIEW, {"measures_ranking": True, "measures_plane": True})
    app.selectbox(key="url_measure").set_value("recall").run()
    app.selectbox(key="url_across").set_value("precision").run()
    app.selectbox(key="url_along").set_value("recall").run()
    assert not app.exception
    parameters = url_of(app)
    assert {name: parameters[name] for name in ("measure", "across", "along")} == {
        "measure": "recall",
        "across": "precision",
        "along": "recall",
    }
    again = open_page(VIEW, **parameters)
    for key in ("url_measure", "url_across", "url_along"):
        assert again.selectbox(key=key).value == app.selectbox(key=key).value


@pytest.mark.usefixtures("measured")
def test_unknown_measures_in_the_url_fall_back(open_page: OpenPage) -> None:
    app = open_page(VIEW, measure="<b>x</b>", across="zipf", along="nonsense")
    assert not app.exception
    assert app.selectbox(key="url_measure").value in WITHOUT_TOKENIZER
    assert app.selectbox(key="url_across").value != app.selectbox(key="url_along").value


@pytest.mark.usefixtures("measured")
def test_the_rest_is_offered_where_only_some_were_measured(open_page: OpenPage) -> None:
    app = open_page(VIEW)
    rest = [name for name in MEASURES if name not in WITHOUT_TOKENIZER]
    assert any(item.label == f"Measure the other {len(rest)}, or measure again" for item in app.expander)
    for name in MEASURES:
        assert box(app, name).value == (name in rest and name not in COSTLY)
        assert ("measured" in box(app, name).label) == (name in WITHOUT_TOKENIZER)


def test_one_measure_alone_has_no_plane(open_page: OpenPage, run: Run) -> None:
    measure_run(run, ("length",))
    app = open_page(VIEW, {"measures_ranking": True})
    assert not app.exception
    assert "Quality against diversity" not in [each.label for each in app.expander]
    assert len(app.table) == 1


@pytest.mark.parametrize("names", [["close"], ["close", "shifted"]])
def test_one_measure_of_few_candidates_has_its_panel(open_page: OpenPage, own_home: Path, names: list[str]) -> None:
    run = make_run(own_home, n=60, seeds=1, projection=False, names=names)
    measure_run(run, ("length",))
    app = open_page(VIEW)
    assert not app.exception
    assert measure_title("length") in {
        title["text"]
        for chart in app.get("plotly_chart")
        for title in json.loads(chart.proto.spec)["layout"].get("annotations", [])
    }


def test_damaged_measurements_are_said_and_can_be_made_again(open_page: OpenPage, run: Run) -> None:
    RunStore().attach(run.id, ATTACHMENT, {"rows": "none"})
    app = open_page(VIEW)
    assert not app.exception
    assert len(app.error) == 1
    assert not button(app, "Measure").disabled


# Sweeps


@pytest.mark.parametrize("axis", ["n", "k", "scale"])
def test_a_sweep_that_is_not_there_is_explained_and_offered(
    open_page: OpenPage, run: Run, started: list[tuple[str, SweepTask]], axis: Any
) -> None:
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


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("text", ["ten", "10, 20x", "-3", "nan", "1e999"])
def test_values_that_are_none_are_said_and_nothing_starts(open_page: OpenPage, started: list[Any], text: str) -> None:
    app = open_page(VIEW, section="sweeps", axis="k")
    input_of(app, "sweep_values").set_value(text).run()
    button(app, "Compute").click().run()
    assert not app.exception
    assert started == []
    assert len(app.error) == 1


@pytest.mark.parametrize(
    ("text", "numbers"), [("", None), (" , ;", None), ("1,2; 3\t4", (1.0, 2.0, 3.0, 4.0)), ("0.5", (0.5,))]
)
def test_numbers_are_read_between_any_separators(text: str, numbers: tuple[float, ...] | None) -> None:
    assert read_numbers(text) == numbers


def test_a_sweep_that_cannot_be_is_explained(open_page: OpenPage, run: Run) -> None:
    app = open_page(VIEW, section="sweeps", axis="length")
    assert "given features" in said(app)
    assert not [item for item in app.button if item.label == "Compute"]
    app.segmented_control(key="url_axis").set_value("decoder").run()
    assert not app.exception
    assert "two candidates of the same decoder" in said(app)
    button(app, "Generate texts with several values").click().run()
    assert url_of(app)["section"] == "generate"
    assert app.segmented_control(key="url_decoders_section").value == "generate"


@pytest.mark.parametrize("score", SCORES)
def test_a_stored_sweep_is_shown_as_it_was_computed(open_page: OpenPage, run: Run, score: str) -> None:
    sweep = SweepTask(run.id, "k", (2.0, 6.0), 2).compute()
    app = open_page(VIEW, section="sweeps", axis="k", score=score)
    assert not app.exception
    assert len(app.get("plotly_chart")) == 1
    app = open_page(VIEW, section="sweeps", axis="k", score=score, swept="table")
    assert not app.exception
    assert f"{TITLES[score]} against clusters k" in said(app)
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


def test_a_stored_sweep_can_be_computed_again_with_other_values(
    open_page: OpenPage, run: Run, started: list[tuple[str, SweepTask]]
) -> None:
    SweepTask(run.id, "scale", (1.0, 4.0), 1).compute()
    app = open_page(VIEW, section="sweeps", axis="scale")
    assert input_of(app, "sweep_values").value == "1, 4"
    assert input_of(app, "sweep_seeds").value == 1
    assert "one seed" in said(app)
    input_of(app, "sweep_values").set_value("2").run()
    button(app, "Compute").click().run()
    assert started == [("sweep", SweepTask(run.id, "scale", (2.0,), 1))]
    assert stored_sweep(run, "scale") is not None  # the old one stays until the new one is there


@pytest.mark.parametrize(
    ("axis", "values"), [("neighbors", (7.0, 50.0)), ("components", (3.0,)), ("bandwidth", (0.5, 1.0))]
)
def test_a_sweep_of_estimators_is_offered_and_shown_as_it_was_computed(
    open_page: OpenPage, run: Run, started: list[tuple[str, SweepTask]], axis: Any, values: tuple[float, ...]
) -> None:
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


def test_a_damaged_sweep_is_said(open_page: OpenPage, run: Run) -> None:
    RunStore().attach(run.id, attachment_name("k"), {"over": "k"})
    app = open_page(VIEW, section="sweeps", axis="k")
    assert not app.exception
    assert len(app.error) == 1
    assert not button(app, "Compute").disabled


# Jobs


@contextmanager
def job(number: int, kind: str, run_id: str, **values: Any) -> Iterator[JobState]:
    """A job on disk that adds to a run; while the block runs its worker looks alive if the job is active."""
    state = JobState(**{"id": f"20260101-00000000{number:04d}-abcd", "name": f"job {number}", "kind": kind, **values})
    folder = queue.jobs_folder() / state.id
    folder.mkdir(parents=True)
    (folder / queue.TASK).write_text(json.dumps({"run": run_id}))
    queue.write_state(folder, state)
    with (folder / ALIVE).open("w") as handle:
        if state.active:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield state


def test_the_jobs_of_this_run_and_section_are_shown(open_page: OpenPage, run: Run) -> None:
    with (
        job(1, "measures", run.id, status="running", stage="Measuring: Zipf", done=1, total=4) as state,
        job(2, "measures", "another", status="running"),
        job(3, "sweep", run.id, status="failed", message="No value <b>fits</b>"),
        job(4, "measures", run.id, status="done", run=run.id),
    ):
        app = open_page(VIEW)
        assert [key for key in keys(app) if key.startswith("cancel_")] == [f"cancel_{state.id}"]
        assert "measure_start" not in keys(app)
        app.segmented_control(key="url_decoders_section").set_value("sweeps").run()
        app.segmented_control(key="url_axis").set_value("k").run()
        assert listed(app) == [f"**job 3** · {ENDINGS['failed']}"]
        assert app.error[0].value.replace("\\", "") == "No value <b>fits</b>"


def keys(app: AppTest) -> list[str]:
    return [str(item.key) for item in app.button]


def listed(app: AppTest) -> list[str]:
    """Jobs on the page; the sidebar has those that run elsewhere."""
    return [element.value for element in app.main.markdown if element.value.startswith("**job ")]


def test_a_new_job_forgets_those_that_have_added_what_they_should(
    open_page: OpenPage, run: Run, started: list[Any]
) -> None:
    with (
        job(1, "measures", run.id, status="done", run=run.id),
        job(2, "measures", run.id, status="failed"),
        job(3, "sweep", run.id, status="done", run=run.id),
    ):
        app = open_page(VIEW)
        button(app, "Measure").click().run()
        assert len(started) == 1
        assert {found.name for found in queue.list()} == {"job 2", "job 3"}


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("error", [InputError("The task is wrong"), StorageError("No space left")])
def test_a_job_that_cannot_start_is_said(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(queue, "start", refuse)
    app = open_page(VIEW)
    button(app, "Measure").click().run()
    assert app.error[0].value.replace("\\", "") == str(error)


# Generate


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Models that were looked for, in place of their weights."""
    found: list[str] = []
    monkeypatch.setattr("mauve_app.components.job_button.check_model", lambda name, _: found.append(name))
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
    input_of(app, "study_count").set_value(30).run()
    app.multiselect(key="study_decoders").set_value(["greedy", "nucleus:p=0.95"]).run()
    app.number_input(key="study_max_tokens").set_value(40).run()
    app.number_input(key="study_min_tokens").set_value(5).run()
    app.number_input(key="study_seed").set_value(7).run()
    app.number_input(key="study_repeats").set_value(3).run()
    app.toggle(key="study_measures").set_value(False).run()
    app.text_input(key="study_name").set_value("my study").run()
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


def test_texts_without_prompts_are_cut(
    open_page: OpenPage, started: list[tuple[str, StudyTask]], known: list[str]
) -> None:
    app = open_page(VIEW)
    upload(app, prompts_file(prompts=False))
    app.number_input(key="study_prompt_tokens").set_value(3).run()
    button(app, "Start").click().run()
    ((_, task),) = started
    assert (task.human.prompt_field, task.prompt_tokens) == ("", 3)


@pytest.mark.usefixtures("run")
def test_several_values_of_one_parameter_become_chips(open_page: OpenPage) -> None:
    app = open_page(VIEW, section="generate")
    app.selectbox(key="study_kind").set_value("contrastive").run()
    assert "likely yet unlike everything before it" in said(app)
    input_of(app, "study_contrastive_alpha").set_value(0.4).run()
    button(app, "Add").click().run()
    button(app, "Add").click().run()  # once more changes nothing
    input_of(app, "study_contrastive_alpha").set_value(0.8).run()
    button(app, "Add").click().run()
    assert not app.exception
    assert app.multiselect(key="study_decoders").value == [
        *AT_FIRST,
        "contrastive:alpha=0.4,k=5",
        "contrastive:alpha=0.8,k=5",
    ]
    app.selectbox(key="study_kind").set_value("adversarial").run()
    assert "perplexity of the human texts" in said(app)
    button(app, "Add").click().run()
    input_of(app, "study_adversarial_ppl").set_value(12.5).run()
    button(app, "Add").click().run()
    assert app.multiselect(key="study_decoders").value[-2:] == ["adversarial", "adversarial:ppl=12.5"]


@pytest.mark.usefixtures("run")
def test_a_value_outside_its_range_is_said(open_page: OpenPage) -> None:
    app = open_page(VIEW, section="generate")
    app.selectbox(key="study_kind").set_value("nucleus").run()
    input_of(app, "study_nucleus_p").set_value(1.5).run()
    button(app, "Add").click().run()
    assert "(0, 1]" in app.toast[0].value.replace("\\", "")
    assert app.multiselect(key="study_decoders").value == list(AT_FIRST)


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


@pytest.mark.usefixtures("run")
def test_a_study_with_an_unknown_model_is_not_started(
    open_page: OpenPage, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_kind, "available_models", lambda: (AvailableModel("no/such-model", "gone", ready=False),))
    app = open_page(VIEW, section="generate")
    button(app, "Start").click().run()
    assert started == []
    assert "no/such-model" in app.error[0].value.replace("\\", "")


@pytest.mark.usefixtures("run")
def test_the_choices_survive_a_change_of_page(open_page: OpenPage) -> None:
    app = open_page(VIEW, section="generate")
    app.multiselect(key="study_decoders").set_value(["greedy"]).run()
    app.number_input(key="study_max_tokens").set_value(77).run()
    app.switch_page("views/compare/compare.py").run()
    app.switch_page(VIEW).run()
    assert app.multiselect(key="study_decoders").value == ["greedy"]
    assert app.number_input(key="study_max_tokens").value == 77


# States around


@pytest.mark.parametrize("section", ["measures", "sweeps"])
def test_sections_that_need_a_run_teach_without_one(open_page: OpenPage, section: str) -> None:
    app = open_page(VIEW, section=section)
    assert not app.exception
    assert [header.value for header in app.header] == ["No runs yet"]


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("section", ["measures", "sweeps", "generate"])
def test_a_run_that_is_not_there_is_said_where_it_is_needed(open_page: OpenPage, section: str) -> None:
    app = open_page(VIEW, section=section, run="gone")
    assert not app.exception
    assert len(app.error) == (0 if section == "generate" else 1)


def test_titles_name_units() -> None:
    assert measure_title("length") == f"{MEASURES['length'].title} ({MEASURES['length'].unit})"
    assert measure_title("distinct") == MEASURES["distinct"].title
    assert measure_title("gone since") == "gone since"
