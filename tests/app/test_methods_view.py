"""The Methods page: what was computed shown with the core's digits, methods put together, errors against n and k."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.views.methods_estimators import shown_scores
from mauve_core.__main__ import main
from mauve_core.analyses.method_scores import (
    MARK,
    CompareMethodsTask,
    MethodResult,
    MethodScore,
    MethodTable,
    stored_methods,
)
from mauve_core.analyses.methods import ESTIMATORS, Method
from mauve_core.base.config import METHOD_SEEDS
from mauve_core.base.formatting import with_two_spreads
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.figures.methods import leaderboard_decimals, score_labels
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.tables import mean_and_spread
from mauve_core.stats.divergences import SMOOTHINGS
from mauve_core.stats.f_divergences import GENERATORS
from tests.app.pages import said
from tests.synthetic import make_run

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/methods.py"
CHEAP = ("kmeans", "kmeans:summary=frontier-integral", "kmeans:summary=auc,smoothing=laplace", "frechet")
NASTY = "*b* <img> [x](y)"


@pytest.fixture
def table(run: Run) -> MethodTable:
    """Four quick methods on the run, kept beside it."""
    return CompareMethodsTask(run.id, CHEAP, 2).compute()


def found(elements: Any, key: str) -> Any:
    """The one widget whose key begins so."""
    (item,) = [item for item in elements if str(item.key).startswith(key)]
    return item


def choose(app: AppTest, part: str, value: str) -> None:
    found(app.selectbox, f"methods_{part}").set_value(value).run()
    assert not app.exception


def offered(app: AppTest, part: str) -> list[str]:
    return list(found(app.selectbox, f"methods_{part}").options)


def parts(app: AppTest) -> set[str]:
    """Parts of the builder that are asked for."""
    keys = [str(item.key) for item in (*app.selectbox, *app.number_input)]
    names = ("estimator", "summary", "divergence", "smoothing", "correction", "expectation", "scale")
    return {part for part in names if any(key.startswith(f"methods_{part}") for key in keys)}


def start(app: AppTest) -> None:
    app.button(key="methods_start").click().run()
    assert not app.exception


def test_one_candidate_has_no_ranking_and_no_agreement(
    open_page: OpenPage, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(own_home, n=40, seeds=2, projection=False, names=("shifted",))
    assert main(["methods", run.id, *(f"--method={spec}" for spec in CHEAP), "--quiet"]) == 0
    table = stored_methods(run)
    assert table is not None
    assert np.isnan(table.agreement()).all()
    printed = capsys.readouterr().out
    app = open_page(VIEW, run=run.id)
    assert not app.exception
    shown = said(app)
    assert "Ranking by each method" in shown
    for text in (printed, shown):
        assert "does not depend on the method" not in text
    assert not {"Agreement", "What they rank differently"} & {header.value for header in app.header}


# The form


def test_the_usual_ones_are_started_as_one_job(open_page: OpenPage, run: Run, started: list[Any]) -> None:
    app = open_page(VIEW)
    start(app)
    assert started == [("methods", CompareMethodsTask(run.id, CompareMethodsTask.methods, METHOD_SEEDS))]


def test_a_method_is_put_together_and_added_once(open_page: OpenPage, run: Run, started: list[Any]) -> None:
    app = open_page(VIEW)
    found(app.multiselect, "methods_chosen").set_value(["kmeans"]).run()
    choose(app, "summary", "mid")
    choose(app, "divergence", "chi2")
    choose(app, "smoothing", "good-turing")
    add = found(app.button, "methods_add")
    add.click().run()
    found(app.button, "methods_add").click().run()
    choose(app, "estimator", "knn")
    choose(app, "summary", "mauve")
    found(app.number_input, "methods_scale").set_value(7.5).run()
    found(app.button, "methods_add").click().run()
    start(app)
    wanted = (Method(), Method("kmeans", "chi2", "mid", "good-turing"), Method("knn", "chi2", scale=7.5))
    assert started == [("methods", CompareMethodsTask(run.id, tuple(method.spec for method in wanted), METHOD_SEEDS))]


@pytest.mark.usefixtures("run")
def test_only_parts_that_go_together_are_offered(open_page: OpenPage) -> None:
    app = open_page(VIEW)
    assert parts(app) == {"estimator", "summary", "divergence", "smoothing", "correction", "scale"}
    assert offered(app, "correction") == ["No correction", "Bias-reduced"]
    assert "It is not from the papers" in found(app.selectbox, "methods_correction").help
    choose(app, "smoothing", "laplace")
    assert "correction" not in parts(app)
    choose(app, "smoothing", "none")
    assert offered(app, "smoothing") == list(SMOOTHINGS.values())
    without = [item.title for item in GENERATORS.values() if item.at_zero < float("inf")]
    assert offered(app, "divergence") == without
    choose(app, "summary", "divergence")
    assert offered(app, "divergence") == [item.title for item in GENERATORS.values()]
    assert parts(app) == {"estimator", "summary", "divergence", "smoothing"}
    choose(app, "divergence", "fi-chi2-printed")
    choose(app, "summary", "mid")  # it has no frontier and falls back
    assert offered(app, "divergence") == without
    assert found(app.selectbox, "methods_divergence").value in GENERATORS
    choose(app, "summary", "forward-kl")
    assert parts(app) == {"estimator", "summary", "smoothing"}
    choose(app, "estimator", "kde")
    assert parts(app) == {"estimator", "summary", "expectation"}
    assert offered(app, "expectation") == ["Both samples", "Other sample"]
    said_of_it = found(app.selectbox, "methods_expectation").help
    assert "union, the default, averages density ratios over both samples" in said_of_it
    assert "equations 24 to 29" in said_of_it
    choose(app, "estimator", "direct")
    assert offered(app, "expectation") == ["Both samples", "Own sample"]
    choose(app, "summary", "frontier-integral")
    assert parts(app) == {"estimator", "summary", "divergence"}
    choose(app, "summary", "mauve")
    choose(app, "divergence", "chi2")
    assert parts(app) == {"estimator", "summary", "divergence", "scale"}
    choose(app, "estimator", "strings")
    assert "expectation" not in parts(app)
    choose(app, "estimator", "mmd")
    assert parts(app) == {"estimator"}
    assert ESTIMATORS["mmd"].reason in said(app)


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("typed", ["knn:smoothing=laplace", NASTY])
def test_what_cannot_be_read_is_said_and_nothing_starts(open_page: OpenPage, started: list[Any], typed: str) -> None:
    app = open_page(VIEW)
    found(app.multiselect, "methods_chosen").set_value(["kmeans", typed]).run()
    assert not app.exception
    assert len(app.error) == 1
    assert app.button(key="methods_start").disabled
    assert started == []


# The result


def test_what_was_computed_is_shown_with_the_cores_digits(open_page: OpenPage, run: Run, table: MethodTable) -> None:
    app = open_page(VIEW)
    assert not app.exception
    rows = app.dataframe[0].value
    assert [row.lstrip("1234 ").rstrip(f"↑↓{MARK} ") for row in rows["method"]] == [
        i.method.title for i in table.results
    ]
    for (_, row), result in zip(rows.iterrows(), table.results, strict=True):
        assert ("↑" in row["method"]) == result.method.higher_is_closer
        decimals = leaderboard_decimals(result.method)
        labels = score_labels([result.scores[name] for name in table.candidates], decimals)
        for place, expected in enumerate(labels):
            assert row[f"line_{place}"].startswith(f"{expected}  (")
        assert result.ceiling is not None
        ceiling = result.ceiling
        assert row["ceiling"] == with_two_spreads(ceiling.value, ceiling.sd_seeds, ceiling.sd_texts, decimals)
    # MAUVE of k-means has the leaderboard's value
    for place, name in enumerate(table.candidates):
        own = run.comparison.candidate(name).scores["mauve"]
        assert rows[f"line_{place}"][0].startswith(mean_and_spread(own))
    assert "30 texts per side" in said(app)
    assert len(app.get("plotly_chart")) == 4


def keep(run: Run, *results: MethodResult) -> MethodTable:
    made = MethodTable(results, {"seeds": 1})
    RunStore().attach(run.id, "methods", dataclass_to_json(made))
    return made


def handmade(run: Run, spec: Method, *values: float, half_width: float | None = 0.01) -> MethodResult:
    names = [candidate.name for candidate in run.comparison.candidates]
    scores = {
        name: MethodScore(v, None, 0.005, v - half_width, v + half_width, 60)
        if half_width is not None
        else MethodScore(v, None, None, None, None, 60)
        for name, v in zip(names, values, strict=True)
    }
    return MethodResult(spec, scores, None, 0.1, ("a *note* <b>",))


def test_what_is_ranked_otherwise_is_said_with_its_reason(open_page: OpenPage, run: Run) -> None:
    made = keep(
        run,
        handmade(run, Method(), 0.9, 0.8, 0.7),
        handmade(run, Method("knn"), 0.7, 0.8, 0.9),
        handmade(run, Method("classifier"), 0.9, 0.6, 0.8, half_width=None),
    )
    app = open_page(VIEW, {"methods_settings": True})
    assert not app.exception
    text = said(app)
    first, second, third = made.candidates
    tests = [run.comparison.difference("mauve", first, each) for each in (second, third)]
    assert [test is not None and test.told_apart for test in tests] == [False, True]
    pairs = f"**{third}** before **{first}**; **{third}** before **{second}**"
    assert f"Nearest neighbors · MAUVE puts {pairs}." in text
    assert ESTIMATORS["knn"].reason in text
    assert f"Nearest neighbors · MAUVE puts **{second}** before **{first}**." in text
    assert any(item.label == "Within the spread (2)" for item in app.expander)
    assert f"Classifier · MAUVE puts **{third}** before **{second}**." in text
    assert "a *note* <b>" in text


def test_ranks_stand_in_brackets_with_their_ties(run: Run) -> None:
    table = MethodTable(
        (
            handmade(run, Method(), 0.9, 0.895, 0.7),
            handmade(run, Method("classifier"), 0.7, 0.8, 0.9, half_width=None),
        )
    )
    rows = shown_scores(table, None)
    brackets = [[cell.split("(")[1] for cell in row] for row in rows[["line_0", "line_1", "line_2"]].to_numpy()]
    assert brackets == [["1=)", "1=)", "3)"], ["3?)", "2?)", "1?)"]]


def test_a_damaged_table_is_said_and_can_be_made_again(open_page: OpenPage, run: Run) -> None:
    RunStore().attach(run.id, "methods", {"results": "none"})
    app = open_page(VIEW)
    assert not app.exception
    assert len(app.error) == 1
    assert not app.button(key="methods_start").disabled
