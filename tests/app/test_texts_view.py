"""The Texts page, and the search that goes along to Clusters, Gap and Map."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.components import text_search
from mauve_core.analyses.selection import TextSearch, found_texts, shares_found
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import percent_with_interval
from mauve_core.runs import Run

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]
VIEW = "views/texts.py"
# In some texts of every source of the made-up run.
WORD = "river"


@pytest.fixture(autouse=True)
def home(run_home: Path) -> Path:
    return run_home


def opened(open_page: OpenPage, view: str = VIEW, **query: str) -> AppTest:
    app = open_page(view, **query)
    assert not app.exception
    return app


def says(app: AppTest) -> str:
    return "\n".join(element.value for element in [*app.markdown, *app.caption])


def listed(app: AppTest) -> pd.DataFrame:
    (table,) = (each.value for each in app.dataframe if list(each.value.columns) == ["source", "id", "text"])
    return table


def masks(run: Run, word: str = WORD) -> dict[str, np.ndarray]:
    found = found_texts(run.corpora, TextSearch(word))
    assert all(0 < mask.sum() < mask.size for mask in found.values()), "the word says nothing"
    return found


def test_a_search_says_how_much_of_each_source_it_found_and_lists_it(open_page: OpenPage, stored_run: Run) -> None:
    app, found = opened(open_page, find=WORD), masks(stored_run)
    shares = shares_found(found, TextSearch(WORD))
    total, n = sum(each.found for each in shares), sum(each.n for each in shares)
    assert f"**“{WORD}”**: {total:,} of {n:,} texts." in says(app)
    human = next(each for each in shares if each.source == HUMAN)
    assert f"Human: {percent_with_interval(human.share, human.low, human.high)}." in says(app)
    ends = sorted((each for each in shares if each.source != HUMAN), key=lambda each: each.share)
    assert f"from {percent_with_interval(ends[0].share, ends[0].low, ends[0].high)} in {ends[0].source}" in says(app)
    rows = np.flatnonzero(found[HUMAN])[:8]
    assert listed(app)["id"].tolist()[: rows.size] == [stored_run.corpora[HUMAN].ids[row] for row in rows]
    assert listed(app)["text"].str.lower().str.contains(WORD).all()
    assert any(f">{WORD}</mark>" in each.proto.body for each in app.get("html"))


def test_typing_and_clearing_are_in_the_link(open_page: OpenPage) -> None:
    app = opened(open_page, run="synthetic")
    app.text_input(key="url_find").set_value(WORD)
    app.toggle(key="url_regex").set_value(True)
    app.number_input(key="url_from_words").set_value(3)
    app.selectbox(key="url_in").set_value("close").run()
    link = {name: value if isinstance(value, str) else value[0] for name, value in dict(app.query_params).items()}
    assert link == {"run": "synthetic", "find": WORD, "regex": "on", "from_words": "3", "in": "close"}
    assert set(listed(app)["source"]) == {"close"}
    app.button(key="texts_clear").click().run()
    assert not app.exception
    assert set(app.query_params) == {"run"}
    assert app.text_input(key="url_find").value == ""


def test_a_value_of_metadata_narrows_it_down_also_one_that_is_not_offered(
    open_page: OpenPage, stored_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_search, "MOST_VALUES", 1)
    *_, rare = text_search._values(stored_run, "topic")
    total = sum((corpus.metadata["topic"] == rare).sum() for corpus in stored_run.corpora.values())
    app = opened(open_page, where="topic", **{"is": rare})
    assert app.selectbox(key="url_is").value == rare
    assert f"**topic = {rare}**: {total:,} of" in says(app).replace("\\", "")


@pytest.mark.parametrize(
    ("view", "pattern", "why"),
    [(VIEW, "(?P<x>a){9999}{9999}", "repeats too much"), ("views/gap.py", "(", "cannot be used")],
)
def test_an_unusable_expression_is_said_and_nothing_is_lost(
    open_page: OpenPage, view: str, pattern: str, why: str
) -> None:
    app = opened(open_page, view, find=pattern, regex="on")
    (error,) = app.error
    assert why in error.value
    assert app.text_input(key="url_find").value == pattern
    assert len(app.dataframe) or app.get("plotly_chart")


def test_the_open_text_stands_beside_the_same_prompt_of_another_source(open_page: OpenPage, stored_run: Run) -> None:
    human = stored_run.corpora[HUMAN]
    app = opened(open_page, read="3", candidate="shifted")
    beside = app.selectbox(key="url_beside")
    assert beside.value == "shifted"
    assert HUMAN not in beside.options
    bodies = [each.proto.body for each in app.get("html")]
    assert any(human.texts[3] in body for body in bodies)
    assert any(stored_run.corpora["shifted"].texts[3] in body for body in bodies)
    app = opened(open_page, read=str(len(human) + 3))
    assert app.selectbox(key="url_beside").value == HUMAN


def test_clusters_counts_sorts_by_and_lists_only_what_was_found(open_page: OpenPage, stored_run: Run) -> None:
    found = masks(stored_run)
    partition = stored_run.comparison.partition("pairwise", "shifted")
    in_clusters = [
        np.bincount(partition.labels[name][found[name]], minlength=partition.k) for name in (HUMAN, "shifted")
    ]
    most = int(np.argmax(in_clusters[0] + in_clusters[1]))
    query = {"candidate": "shifted", "find": WORD, "order": "found", "form": "table", "cluster": str(most)}
    app = opened(open_page, "views/clusters.py", **query)
    (table,) = (each.value for each in app.dataframe if "found" in each.value.columns)
    assert table["cluster"].iloc[0] == most
    assert table["found"].iloc[0] == f"{in_clusters[0][most]} : {in_clusters[1][most]}"
    of = [int((partition.labels[name] == most).sum()) for name in (HUMAN, "shifted")]
    assert (
        f"**Found here:** {in_clusters[0][most]} of {of[0]} human and {in_clusters[1][most]} of {of[1]} shifted"
        in says(app)
    )
    counts = [
        f"{found[name].sum():,} of {found[name].size:,} texts by {who}"
        for name, who in ((HUMAN, "people"), ("shifted", "shifted"))
    ]
    for each in counts:
        assert each in says(app)
    bodies = [each.proto.body for each in app.get("html")]
    texts = [body for body in bodies if "white-space:pre-wrap" in body]
    assert texts
    assert all(f">{WORD}</mark>" in body for body in texts)


def test_gap_scores_the_run_without_what_was_found(open_page: OpenPage, stored_run: Run) -> None:
    found = masks(stored_run)
    query = {"candidate": "shifted", "find": WORD, "below": "what-if", "pick": "found"}
    app = opened(open_page, "views/gap.py", **query)
    assert f"**Chosen: {found['shifted'].sum()} of {found['shifted'].size} texts of shifted**" in says(app)
    assert any("Then" in each.value.columns for each in app.table)
    empty = opened(open_page, "views/gap.py", **{**query, "find": ""})
    assert "Find texts first" in says(empty)


def test_map_raises_what_was_found_and_lists_it(open_page: OpenPage, stored_run: Run) -> None:
    found = masks(stored_run)
    app = opened(open_page, "views/map.py", find=WORD, candidate="shifted")
    both = int(found[HUMAN].sum() + found["shifted"].sum())
    assert f"{both:,} texts found" in [each.value for each in app.header]
    everywhere = "-2,-2;2,-2;2,2;-2,2"
    app = opened(open_page, "views/map.py", find=WORD, candidate="shifted", lasso=everywhere)
    assert f"{both:,} of {both:,} texts in the area" in [each.value for each in app.header]
