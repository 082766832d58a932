"""The sentence with which Gap, Clusters and Map open, against the costs of the partition shown."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.components.focus import answer_sentence
from mauve_app.components.markup import escaped, swatch
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import as_percent, with_plain_spaces
from mauve_core.figures.theme import HUMAN_COLOUR, candidate_colour
from mauve_core.findings.clusters import ADDS, MISSES, cluster_table, with_intervals
from mauve_core.findings.precomputed import run_cluster_names
from mauve_core.runs import Run

OpenPage = Callable[..., AppTest]
PAGES = ("gap", "map")


@pytest.mark.slow
@pytest.mark.usefixtures("run_home")
@pytest.mark.parametrize("page", PAGES)
def test_each_page_opens_with_the_costliest_cluster_in_either_direction(
    open_page: OpenPage, stored_run: Run, page: str
) -> None:
    partition = stored_run.comparison.partition("pairwise", "collapsed")
    table = cluster_table(partition.counts(HUMAN), partition.counts("collapsed"), 0.5)
    app = open_page(f"views/{page}.py", run=stored_run.id, candidate="collapsed")
    assert not app.exception
    shown = [each.value for each in app.markdown]
    (place,) = [place for place, each in enumerate(shown) if "most in" in each]
    colour = candidate_colour([candidate.name for candidate in stored_run.comparison.candidates], "collapsed")
    assert shown[place].startswith(f"**collapsed** {swatch(colour)} adds most in *")
    assert f"it {swatch(HUMAN_COLOUR)} misses most in *" in shown[place]
    rank = next(place for place, each in enumerate(shown) if each.startswith("**collapsed**: MAUVE"))
    assert place < rank, "the score stands below"
    names = run_cluster_names(stored_run, "pairwise", "collapsed", partition.seed)
    for direction in (ADDS, MISSES):
        own = table[table["direction"] == direction]
        costliest = own.loc[own["cost_share"].idxmax()]
        said = f" {direction} most in *{escaped(names[int(costliest['cluster'])])}*: "
        assert said + as_percent(costliest["cost_share"]).rstrip("%") in shown[place]


@pytest.mark.usefixtures("run_home")
def test_a_page_says_that_there_is_nothing_to_explain(open_page: OpenPage, stored_run: Run) -> None:
    app = open_page("views/map.py", run=stored_run.id, candidate="close")
    assert not app.exception
    assert sum("Nothing to explain" in info.value for info in app.info) == 1
    assert not any("most in" in each.value for each in app.markdown)


def costed(human: list[int], model: list[int]) -> pd.DataFrame:
    table = cluster_table(human, model, 0.5)
    return with_intervals(table, np.zeros(len(table)), np.ones(len(table)))


def test_names_are_text_and_a_direction_without_clusters_is_left_out() -> None:
    names = ("*a*", "<b>", "c")
    found = with_plain_spaces(answer_sentence("x*y*", "#118f5a", names, costed([1, 9, 9], [9, 1, 9])))
    assert found == (
        rf"**x\*y\*** {swatch('#118f5a')} adds most in *\*a\**: 50% (0% to 100%) of the gap; "
        rf"it {swatch(HUMAN_COLOUR)} misses most in *\<b\>*: 50% (0% to 100%)."
    )
    whole = costed([5, 5, 10], [5, 5, 10])
    assert answer_sentence("x", "#118f5a", names, whole) == ""
    half = whole.assign(direction=["", "", MISSES], cost_share=[0.0, 0.0, 1.0], cost=[0.0, 0.0, 1.0])
    assert with_plain_spaces(answer_sentence("x", "#118f5a", names, half)) == (
        f"**x** {swatch(HUMAN_COLOUR)} misses most in *c*: 100% (0% to 100%) of the gap."
    )
