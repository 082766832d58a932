"""What clusters capture, in a report: the stored numbers, and nothing that names could do."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mauve_core.analyses.attributes_over_k import AttributesTask
from mauve_core.base.config import HUMAN, QUESTIONS
from mauve_core.figures.attributes import TITLES
from mauve_core.figures.theme import as_label, short_name
from mauve_core.reporting.attached_sections import attached_section
from mauve_core.reporting.blocks import Remarks, Table
from mauve_core.reporting.html_report import html_report
from mauve_core.runs import Run, RunStore
from mauve_core.runs.ratings import Rating, RatingStore, pair_plan
from tests.hostile_run import NAMES, make_hostile_run
from tests.reporting.report_page import Page
from tests.synthetic import make_run

pytestmark = pytest.mark.integration

# How people rank the sources in the made-up ratings, which is how the scores do.
CLOSER_FIRST = [HUMAN, "close", "shifted", "collapsed"]


KS = (3, 6)
# Pairs in which a plan has each two of four sources once.
ROUND = 6


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


def test_the_topic_that_features_follow_is_what_clusters_capture(run: Run) -> None:
    """From outside: a text's features are its topic's centre, so that clusters guess topics better than chance."""
    AttributesTask(run.id, ks=KS, splits=4).compute()
    rows = Page(html_report(run)).tables["What clusters capture"][1:]
    (topic,) = [row for row in rows if row[0] == "topic" and row[1] == str(KS[1])]
    accuracy, baseline = number(topic[3]), number(topic[4])
    assert accuracy > baseline + 0.2


def test_ratings_have_a_ranking_for_each_question_and_their_correlations(run: Run) -> None:
    every = {"interesting": lambda index: True, "sensible": lambda index: index % 2 == 0}
    given = rate(run, CLOSER_FIRST, 90, every)
    page = Page(html_report(run))
    assert "judgments" in page.charts
    for question in every:
        answers = [rating for rating in given if rating.question == question]
        won: Counter[str] = Counter(item.left if item.option.endswith("A") else item.right for item in answers)
        met = Counter(name for item in answers for name in (item.left, item.right))
        (title,) = [title for title in page.tables if title.endswith(QUESTIONS[question])]
        heads, *rows = page.tables[title]
        assert heads[:7] == ["Source", "Rank", "Score", "won", "lost", "tied", "n"]
        assert [row[0] for row in rows] == CLOSER_FIRST
        for name, _, _, wins, losses, ties, n in rows:
            assert (int(wins), int(losses), int(ties)) == (won[name], met[name] - won[name], 0)
            assert int(n) == met[name]
        agreement = page.tables[f"Which scores agree with people: {question.capitalize()}"]
        coefficients = {row[0]: row[1] for row in agreement[1:]}
        # The same order of the three candidates as by MAUVE, whose order is that in which they were made.
        assert coefficients["MAUVE ↑"] == coefficients["Mid-point ↓"] == "+1.00"
        assert {row[3] for row in agreement[1:]} == {"3"}
    assert f"{90:,} answers from 1 rater" in page.text
    assert "All ratings are from one rater" in page.text
    assert page.text.count("answers of one rater resemble each other") == 1, "what holds for all is said once"
    assert not any(title.endswith(QUESTIONS["human-like"]) for title in page.tables)


def test_what_has_no_limit_or_no_place_is_said(run: Run) -> None:
    rate(run, CLOSER_FIRST, 9, {"sensible": lambda index: index == 0})
    section = attached_section(run, "judgments")
    assert section is not None
    ranking = next(block for block in section.blocks if isinstance(block, Table))
    scores = [row[2] for row in ranking.rows]
    assert sorted(score.split("\n")[0] for score in scores) == ["not placed", "not placed", "−∞", "∞"]
    assert any("group" in column for column in ranking.columns)
    page = Page(html_report(run))
    assert "never lost" in page.text


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


def test_gaps_have_ranks_from_tests_and_the_tests_are_folded_below(run: Run) -> None:
    from mauve_core.analyses.text_measures import closest_sentence, measure_run, measure_standings, ranked_tests
    from mauve_core.reporting.attached_sections import measure_rankings

    measured = measure_run(run, ["length", "precision"])
    order = [candidate.name for candidate in run.comparison.candidates]
    gaps, closest, tests = measure_rankings(measured, order)
    assert isinstance(gaps, Table)
    assert isinstance(tests, Table)
    ranks = {each.row.candidate: each for each in measure_standings(measured, "precision", order)}
    for row in gaps.rows:
        label = f"({ranks[row[0]].rank}{'=' if ranks[row[0]].tied else ''})"
        assert row[1].endswith(f"\n{label}")
    assert isinstance(closest, Remarks)
    assert closest.lines[0] == f"Precision. {closest_sentence(measured, 'precision', order)}"
    assert tests.folded
    expected = [each for name in measured.measures for each in ranked_tests(measured, name, order)]
    assert [(row[1], row[2], row[6]) for row in tests.rows] == [
        (each.first, each.second, "yes" if each.told_apart else "no") for each in expected
    ]
