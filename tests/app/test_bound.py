"""Widgets that follow the URL: what they show, what they write, and what the URL leaves out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.url import bound
from tests.app.pages import url_of


def opened(script: Callable[[], None], **query: str) -> AppTest:
    app = AppTest.from_function(script)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def page() -> None:
    import streamlit as st

    from mauve_app.url import bound

    names = {"a": "Alpha", "b": "Beta"}
    st.text(str(bound.selectbox("ranking_measure", "Measure", names, "b")))
    st.text(str(bound.selectbox("candidate", "Candidate", ["x", "y"], "x", omit_default=False)))
    st.text(str(bound.selectbox("cluster", "Cluster", range(4), None)))
    st.text(bound.segmented_control("what_if_action", "Action", {"drop": "Drop", "cap": "Cap"}))
    bound.multiselect("what_if_clusters", "Clusters", range(4), [1], default=[1])
    st.slider("Weight", 0.0, 1.0, step=0.1, **bound.bind("weight", 0.5))
    st.toggle("Others", **bound.bind("probes_other_sources", True, key="others"))
    st.button("Close", **bound.on_click(cluster=None))


def test_what_the_url_lacks_is_the_default() -> None:
    assert [text.value for text in opened(page).text] == ["b", "x", "None", "drop"]


def test_what_the_url_has_is_shown_if_it_is_there() -> None:
    there = opened(page, measure="a", candidate="y", cluster="3", action="cap")
    assert [text.value for text in there.text] == ["a", "y", "3", "cap"]
    assert there.selectbox(key="url_measure").options == ["Alpha", "Beta"]
    elsewhere = opened(page, measure="z", candidate="z", cluster="4", action="match")
    assert [text.value for text in elsewhere.text] == ["b", "x", "None", "drop"]


def test_a_choice_is_written_and_the_default_left_out() -> None:
    app = opened(page)
    app.selectbox(key="url_measure").set_value("a").run()
    app.segmented_control(key="url_action").set_value("cap").run()
    app.multiselect(key="url_chosen").set_value([3, 1]).run()
    app.slider(key="url_weight").set_value(0.3).run()
    app.toggle(key="others").set_value(False).run()
    expected = {"measure": "a", "action": "cap", "chosen": "1,3", "weight": "0.3", "yardstick": "off"}
    assert url_of(app) == expected
    app.selectbox(key="url_measure").set_value("b").run()
    app.segmented_control(key="url_action").set_value("drop").run()
    assert url_of(app) == {"chosen": "1,3", "weight": "0.3", "yardstick": "off"}


def test_a_default_of_one_page_alone_is_written() -> None:
    app = opened(page, candidate="y")
    app.selectbox(key="url_candidate").set_value("x").run()
    assert url_of(app) == {"candidate": "x"}


def test_a_button_changes_the_state() -> None:
    app = opened(page, cluster="3", human_text="2")
    app.button[0].click().run()
    assert url_of(app) == {}


def test_a_control_that_has_left_the_page_changes_nothing() -> None:
    """A slow browser reports it all the same, and Streamlit calls back for a key that it no longer knows."""

    def script() -> None:
        import streamlit as st

        from mauve_app.url import bound

        link = bound.bind("weight", 0.5)
        del st.session_state[link["key"]]
        link["on_change"](*link["args"])

    assert url_of(opened(script, weight="0.3")) == {"weight": "0.3"}


def test_a_widget_follows_the_url_and_its_title() -> None:
    def titled() -> None:
        import streamlit as st

        from mauve_app.url import bound

        name = st.session_state.get("name", "old")
        bound.selectbox("run", "Run", {"a": name, "b": "other"}, None)
        st.text(f"sent {st.session_state['url_run']}")

    app = opened(titled, run="a")
    box = app.selectbox(key="url_run")
    assert (box.value, box.options) == ("a", ["old", "other"])
    app.session_state["name"] = "new"
    app.run()
    assert app.selectbox(key="url_run").proto.raw_value == "new"
    app.query_params["run"] = "b"
    app.run()
    assert app.selectbox(key="url_run").value == "b"


def test_a_sliders_rounding_error_is_no_other_value() -> None:
    assert bound._same(0.29, 0.01 + 28 * 0.01)
    assert not bound._same(0.29, 0.3)
    assert not bound._same(None, 0.3)


@pytest.mark.parametrize(
    ("rows", "cells", "expected"),
    [
        ([1], [], {"cluster": "5"}),
        ([2], [], {"cluster": "7"}),
        ([], [], {}),
        ([], [(1, "n")], {"cluster": "5"}),
        ([], [(2, "n")], {"cluster": "7"}),
        ([0], [(1, "n")], {"cluster": "5"}),
        ([1], [(0, "n")], {"cluster": "5"}),
    ],
)
def test_a_ticked_row_or_a_marked_cell_is_written(
    rows: list[int], cells: list[tuple[int, str]], expected: dict[str, str]
) -> None:
    """The last row cannot be chosen; of a row and a cell, the new one counts."""
    written: dict[str, Any] = {"rows": rows, "cells": cells}

    def script(rows: list[int], cells: list[tuple[int, str]]) -> None:
        import pandas as pd
        import streamlit as st

        from mauve_app.url import bound

        bound.table("cluster", pd.DataFrame({"n": [1, 2, 3]}), [7, 5, None], key="rows")
        assert st.session_state["rows"]["selection"]["rows"] == [0]
        st.session_state["ticked"] = {"selection": {"rows": rows, "columns": [], "cells": cells}}
        bound._write_row("cluster", "ticked", (7, 5, None))

    app = AppTest.from_function(script, kwargs=written)
    app.query_params["cluster"] = "7"
    app.run()
    assert not app.exception
    assert url_of(app) == expected
