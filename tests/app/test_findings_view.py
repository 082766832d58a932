"""The Findings page: the sentence, the chosen finding and its texts, and the way to the other pages."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mauve_app import cache
from mauve_app.components import text_search
from mauve_app.url.parameters import State
from mauve_core.base import sharing
from mauve_core.base.config import HUMAN
from mauve_core.findings.finding import HeldEqual, run_findings
from mauve_core.findings.precomputed import run_cluster_names
from mauve_core.findings.why_cards import labelled
from mauve_core.runs import Run
from tests.analysis.findings.test_finding import WORDS

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW, CLUSTERS = "views/findings.py", "views/clusters.py"


@pytest.fixture(autouse=True)
def home(run_home: Path) -> Path:
    return run_home


def opened(open_page: OpenPage, view: str = VIEW, **query: str) -> AppTest:
    app = open_page(view, **query)
    assert not app.exception
    return app


def says(app: AppTest) -> str:
    return "\n".join(element.value for element in [*app.header, *app.markdown, *app.caption, *app.info]).replace(
        "\\", ""
    )


def listed(app: AppTest) -> list[str]:
    (table,) = (each.value for each in app.dataframe if list(each.value.columns) == ["source", "id", "text"])
    return table["id"].tolist()


def test_the_largest_finding_is_said_first_and_its_texts_are_listed(open_page: OpenPage, stored_run: Run) -> None:
    app, found = opened(open_page, candidate="collapsed"), run_findings(stored_run, "collapsed")
    assert f"**collapsed** differs from human texts in **{len(found)} ways**" in says(app)
    assert f"Most clearly, it **{found[0].does}**" in says(app)
    assert f"It {found[0].does}" in says(app)
    assert f"Tested on {found[0].tested_model} and {found[0].tested_human} texts" in says(app)
    side = HUMAN if found[0].shown_by == "human" else "collapsed"
    assert listed(app) == [stored_run.corpora[side].ids[row] for row in found[0].texts[:8]]


def test_a_finding_in_the_link_is_shown_with_its_texts(open_page: OpenPage, stored_run: Run) -> None:
    found = run_findings(stored_run, "collapsed")[1]
    app = opened(open_page, candidate="collapsed", shows=found.key)
    assert f"It {found.does}" in says(app)
    side = HUMAN if found.shown_by == "human" else "collapsed"
    assert listed(app) == [stored_run.corpora[side].ids[row] for row in found.texts[:8]]


@pytest.mark.parametrize(("equal", "is_said"), [(HeldEqual(0.5, 0.43, 0.6, (1, 0)), True), (None, False)])
def test_the_clusters_in_which_the_gap_falls_are_named(
    open_page: OpenPage, stored_run: Run, monkeypatch: pytest.MonkeyPatch, equal: HeldEqual | None, is_said: bool
) -> None:
    """Only where the finding has a share."""
    first = replace(run_findings(stored_run, "collapsed")[0], held_equal=equal)
    monkeypatch.setattr(cache, "run_findings", lambda *_, **__: (first,))
    names = run_cluster_names(stored_run, "pairwise", "collapsed", stored_run.comparison.median_seed("collapsed"))
    said = says(opened(open_page, candidate="collapsed"))
    assert (f"The gap falls most in: {labelled(names, 1)}; {labelled(names, 0)}." in said) == is_said


def test_its_texts_go_along_to_the_clusters(open_page: OpenPage, stored_run: Run) -> None:
    found = run_findings(stored_run, "collapsed")[1]
    app = opened(open_page, CLUSTERS, candidate="collapsed", shows=found.key)
    assert f"**texts that {found.condition}**: {len(found.human_texts)} of 60 texts by people" in says(app)
    assert f"{len(found.model_texts)} of 60 texts by collapsed" in says(app)


def test_what_the_run_lacks_is_left_aside(open_page: OpenPage, stored_run: Run) -> None:
    query = {"shows": "loop-00000000", "versus": "nobody"}
    found = run_findings(stored_run, "collapsed")
    app = opened(open_page, candidate="collapsed", **query)
    assert f"It {found[0].does}" in says(app)
    assert text_search.of(stored_run, State(candidate="collapsed", search_finding="loop-00000000")).shown is None


def test_without_any_finding_the_page_says_so(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "run_findings", lambda *_, **__: ())
    app = opened(open_page, candidate="collapsed")
    assert "No difference between **collapsed** and human texts was found" in says(app)
    assert not app.get("plotly_chart")


def lines(*, sorry: bool, n: int = 120, seed: int = 0) -> bytes:
    rng = np.random.default_rng(seed)
    rows = [
        {"id": f"p{row}", "text": f"{'Sorry, ' * sorry}{' '.join(rng.choice(WORDS, size=20))}."} for row in range(n)
    ]
    return "\n".join(map(json.dumps, rows)).encode()


def compared(open_page: OpenPage, *files: tuple[str, bytes]) -> AppTest:
    app = open_page(VIEW, {"findings_files": True}, candidate="collapsed")
    (box,) = [box for box in app.file_uploader if str(box.key).startswith("upload_findings_")]
    for name, data in files:
        box.upload(name, data)
    app.run()
    assert not app.exception
    return app


def test_two_files_are_compared_without_a_run_and_never_called_human(open_page: OpenPage) -> None:
    files = ("v1.jsonl", lines(sorry=False)), ("v2.jsonl", lines(sorry=True, seed=1))
    app = compared(open_page, *files)
    assert "**v2** differs from v1 in **" in says(app)
    (table,) = [each.value for each in app.dataframe if list(each.value.columns) == ["finding", "difference"]]
    assert any(each.startswith("apologizes more often: 100 of 100 texts apologize") for each in table["finding"])
    assert not table["finding"].str.contains("human").any()
    shown = [each.value for each in app.text if each.value.startswith("Sorry, ")]
    assert len(shown) == 3


@pytest.mark.usefixtures("own_home")
def test_two_draws_of_one_version_differ_in_nothing(open_page: OpenPage) -> None:
    app = compared(open_page, ("a.jsonl", lines(sorry=False)), ("b.jsonl", lines(sorry=False, seed=1)))
    assert "No difference between **b** and a was found" in says(app)


def test_a_read_only_app_takes_no_files(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sharing.READ_ONLY, "synthetic")
    app = open_page(VIEW, {"findings_files": True}, candidate="collapsed")
    assert not app.exception
    assert not app.file_uploader
