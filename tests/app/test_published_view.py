"""The Published page and its figures: the papers' numbers beside ours, with an empty home."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mauve_core.analyses import published
from mauve_core.analyses.published import PAPERS, PUBLISHED_COLUMNS, TABLES, agreements, table
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.base.formatting import UNBROKEN
from mauve_core.figures import published as figures

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]

PAGE = "views/published.py"


@pytest.fixture(autouse=True)
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))


def shown(app: AppTest) -> dict[tuple[str, str], dict[str, str]]:
    """Cells of the correlation table by reference and kind of text, with plain spaces."""
    rows = {}
    for _, row in app.table[0].value.iterrows():
        reference, text = str(row.pop("Reference")).split("  \n")
        rows[reference.strip("*"), text] = {name: str(cell).replace(UNBROKEN, " ") for name, cell in row.items()}
    return rows


def test_the_page_needs_no_run(open_page: OpenPage) -> None:
    app = open_page(PAGE)
    assert not app.exception
    assert [title.value for title in app.title] == ["Published"]


def test_ours_stands_beside_the_published_number_and_the_difference_below(open_page: OpenPage) -> None:
    app = open_page(PAGE)
    rows = shown(app)
    assert len(rows) == 5
    human = rows["Human-like", "Web text, GPT-2"]
    assert list(human) == [measure.title for name, measure in PUBLISHED_COLUMNS.items() if name != "mauve"]
    assert human["MAUVE*"] == "**0.857** = 0.857  \n0.000"  # JMLR 2023, table 4
    assert human["Self-BLEU"] == "**0.515** ≈ 0.500  \n+0.015"
    assert rows["Discriminator accuracy", "News, Grover"]["Generation perplexity"] == "**0.763** ≠ 0.468  \n+0.295"

    app.segmented_control(key="url_paper").set_value("neurips-2021").run()
    assert not app.exception
    rows = shown(app)
    assert rows["Human-like", "Web text, GPT-2"]["MAUVE"] == "**0.952** = 0.952  \n0.000"  # NeurIPS 2021, table 5
    assert rows["Sensible", "Web text, GPT-2"]["Zipf coefficient"] == "**0.683** ≈ 0.690  \n−0.007"


def test_every_number_and_every_table_can_be_read(open_page: OpenPage) -> None:
    app = open_page(PAGE, {"published_every_number": True})
    numbers = app.dataframe[1].value
    assert len(numbers) == 30
    assert set(numbers["Outcome"]) == {"reproduced", "explained by rounding", "not reproduced"}
    assert (numbers["Low"] <= numbers["High"]).all()
    for name in list(TABLES)[:2]:
        app.selectbox(key="url_table").set_value(name).run()
        assert not app.exception
        values = app.dataframe[3].value
        assert len(values) == len(table(name))
        assert "decoding" not in values


def test_missing_figures_are_an_error_on_the_page(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    agreements.cache_clear()
    monkeypatch.setattr(published, "DATA", Path("nowhere"))
    app = open_page(PAGE)
    assert not app.exception
    assert "correlations" in app.error[0].value.replace("\\", "")
    agreements.cache_clear()


def frame_of(paper: str):
    return figures.agreement_frame([row for row in agreements() if row.paper == paper])


def test_the_dots_are_the_numbers() -> None:
    paper = "jmlr-2023"
    frame = frame_of(paper)
    figure = figures.agreement_figure(frame)
    measures = figures.best_first(frame)
    assert measures[0] == PAPERS[paper].mauve
    assert measures[-1] == "repetition"
    assert list(figure.layout.yaxis.ticktext) == [PUBLISHED_COLUMNS[name].title for name in measures]
    for name, column in (("ours", "ours"), ("published", "published")):
        traces = [trace for trace in figure.data if trace.name == name]
        assert [trace.showlegend for trace in traces] == [True, False, False, False, False]
        drawn = np.array([trace.x for trace in traces])
        panels = frame.groupby(["domain", "reference"], sort=False)
        wanted = np.array([part.set_index("measure")[column][measures] for _, part in panels])
        np.testing.assert_array_equal(drawn, wanted)
    bands = [trace for trace in figure.data if trace.legendgroup == "range"]
    first = frame[(frame["reference"] == "human_like") & (frame["measure"] == measures[-1])].iloc[0]
    assert list(bands[0].x)[-3:] == [first["low"], first["high"], None]
    # Shapes differ, so that the reading does not hang on colour.
    assert {trace.marker.symbol for trace in figure.data if trace.mode == "markers"} == {"line-ns", None}
