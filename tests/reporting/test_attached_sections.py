"""What clusters capture, in a report: the stored numbers, and nothing that names could do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mauve_core.base.config import HUMAN
from mauve_core.figures.attributes import TITLES
from mauve_core.figures.theme import as_label, short_name
from mauve_core.judgments import Rating, RatingStore, pair_plan
from mauve_core.reporting.html_report import html_report
from mauve_core.store import Run, RunStore
from mauve_core.tasks.attributes import AttributesTask
from tests.hostile_run import NAMES, make_hostile_run
from tests.reporting.report_page import Page
from tests.synthetic import make_run

KS = (3, 6)
ROUND = 6
"""Pairs in which a plan has each two of four sources once."""


@pytest.fixture(scope="module")
def kept_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("attached"), n=60, seeds=2, projection=False)


@pytest.fixture
def run(kept_run: Run, own_home: Path) -> Run:
    """A copy that may be added to."""
    shutil.copytree(kept_run.path.parent, own_home / "runs")
    return RunStore().load(kept_run.id)


def rate(run: Run, order: list[str], pairs: int, questions: Mapping[str, Callable[[int], bool]]) -> list[Rating]:
    """A rater prefers what stands first in ``order``, and in every fourth round the other; of each question those pairs
    for whose number its condition holds."""
    plan, store, given = pair_plan(run.corpora, rater="ann"), RatingStore(run.ratings_path), []
    for index in range(pairs):
        pair = plan[index]
        first = order.index(pair.left) < order.index(pair.right)
        option = "definitely A" if first != (index // ROUND % 4 == 3) else "slightly B"
        answers = {question: option for question, holds in questions.items() if holds(index)}
        if answers:
            ratings = pair.ratings("ann", answers, 30.0)
            store.append(ratings)
            given += ratings
    return given


def number(cell: str) -> float:
    """The first number of a cell."""
    return float(cell.replace("\N{NO-BREAK SPACE}", " ").split()[0].replace("−", "-").replace("+", ""))


def test_attributes_have_their_figures_and_every_number(run: Run) -> None:
    assert "What clusters capture" not in Page(html_report(run)).text
    table = AttributesTask(run.id, ks=KS, splits=4).compute()
    page = Page(html_report(run))
    assert {"attributes-accuracy", "attributes-agreement"} <= set(page.charts)
    assert "attributes-explained" not in page.charts, "no number varies in these texts"
    heads, *rows = page.tables["What clusters capture"]
    assert heads == ["column", "k", "n", *TITLES.values()]
    assert len(rows) == len(table.rows)
    for cells, row in zip(rows, table.rows, strict=True):
        assert (cells[1], cells[2]) == (str(row.k), str(row.n))
        for name, cell in zip(TITLES, cells[3:], strict=True):
            if name in row.scores:
                assert number(cell) == pytest.approx(row.scores[name].mean, abs=5.1e-4)  # three decimals
            else:
                assert cell == "–"
    assert f"Texts: 60 of {HUMAN}; joint partition" in page.text
    for note in table.notes:
        assert note in page.text


def test_names_and_columns_do_nothing_in_these_sections(own_home: Path) -> None:
    run = make_hostile_run(own_home)
    rate(run, [HUMAN, *NAMES], 40, {"interesting": lambda index: True})
    AttributesTask(run.id, ks=KS, source=NAMES[0], splits=2).compute()
    page = Page(html_report(run))
    assert {"judgments", "attributes-explained"} <= set(page.charts)
    assert {tag for tag, _ in page.elements}.isdisjoint({"img", "iframe", "svg", "base", "b", "i"})
    assert [tag for tag, _ in page.elements].count("script") == 3
    drawn = json.dumps(page.charts, ensure_ascii=False)
    assert all(name not in drawn for name in NAMES)
    assert as_label(short_name(NAMES[0])) in drawn, "where Plotly takes HTML the names stand escaped"
    templates = [trace.get("hovertemplate") or "" for trace in page.charts["judgments"]["data"]]
    assert not any("%{y}" in template for template in templates), "a name is no template"
