"""Pages of a run whose candidate has several generations: both spreads, and a line where all count together."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.views import compare
from mauve_core.base.formatting import UNBROKEN
from mauve_core.runs import Run
from tests.repeated import store_repeated

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
POOLED = "All 3 generations of close count together here"


@pytest.fixture
def run() -> Run:
    return store_repeated("Generations")


def captions(app: AppTest) -> str:
    return " ".join(element.value for element in app.caption)


def test_compare_names_both_spreads(open_page: OpenPage, run: Run) -> None:
    app = open_page("views/compare.py", {compare.ALL_SCORES: True}, run=run.id)
    assert not app.exception
    found = run.comparison.candidate("close").scores["mauve"]
    board = next(table.value for table in app.table if "MAUVE ↑" in table.value)
    row = board.map(lambda cell: str(cell).replace(UNBROKEN, " ")).set_index("Candidate").loc["**close**"]
    assert row["MAUVE ↑"] == (
        f"**{found.mean:.3f}** ± {found.sd:.3f} (seeds) ± {found.generations_sd:.3f} (3 generations)  \n"
        f"{found.low:.3f} to {found.high:.3f}"
    )
    assert row["n"] == "60 × 3"
    assert "± (generations) the spread over generations" in captions(app)
    assert captions(app).count(POOLED) == 1  # under the curves


def test_pages_of_clusters_say_that_generations_count_together(open_page: OpenPage, run: Run) -> None:
    view = "gap"
    app = open_page(f"views/{view}.py", run=run.id, candidate="close")
    assert not app.exception
    assert POOLED in captions(app)
    other = open_page(f"views/{view}.py", run=run.id, candidate="shifted")
    assert POOLED not in captions(other)
