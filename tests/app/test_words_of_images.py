"""A run of images nowhere speaks of texts, people or writing: every page, its charts, hover labels and CSV files."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit.navigation.page import StreamlitPage

from mauve_app.components import charts
from mauve_core.__main__ import main
from mauve_core.base.config import HUMAN
from mauve_core.reporting.html_report import html_report
from mauve_core.reporting.methods_text import methods_text
from mauve_core.store import Run, RunStore
from tests.app.item_walk import OPEN, WALK, OpenPage, make_photo_run, sent

OF_TEXTS = re.compile(r"\b(texts?|humans?|people|writes?|written|writing|wrote|prompts?|tokens?)\b", re.IGNORECASE)


FIELD = re.compile(r"%\{[^}]*\}")
"""Of a hover label: what Plotly fills in."""

ALLOWED = (
    "Which texts do people prefer, and do the scores agree with them?",
    "This page is about texts, and this run compares images. Compare, Measures, Findings, Clusters, Gap, Map, Images "
    "and Probes show them.",
)
"""What the pages about texts alone say to who follows an old link. The P side's id, which options and the API take,
stays in the columns of CSV files.
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAUVE_LENS_HOME", str(folder / "home"))
        make_photo_run(folder)
    return folder / "home"


@pytest.mark.parametrize(("view", "query"), WALK)
def test_no_page_speaks_of_texts(
    open_page: OpenPage, home: Path, monkeypatch: pytest.MonkeyPatch, view: str, query: Mapping[str, str]
) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))
    tables: dict[str, Callable[[], pd.DataFrame]] = {}
    button = charts.csv_button

    def csv_button(make: Callable[[], pd.DataFrame], *, key: str, **options: object) -> None:
        tables[key] = make
        button(make, key=key, **options)

    monkeypatch.setattr(charts, "csv_button", csv_button)
    app = open_page(f"views/{view}/{view}.py", OPEN, **{"run": "photos", **query})
    assert not app.exception
    said = dict.fromkeys(sent(app))
    for key, make in tables.items():
        table = make()
        cells = [cell for column in table for cell in table[column] if isinstance(cell, str)]
        said |= dict.fromkeys(f"{key}: {each}" for each in [*table.columns, *cells] if each != HUMAN)
    wrong = [each for each in said if OF_TEXTS.search(FIELD.sub("", each)) and each not in ALLOWED]
    assert wrong == [], "\n".join(wrong)


def test_pages_about_texts_alone_leave_the_navigation_but_not_the_app(
    open_page: OpenPage, home: Path, monkeypatch: pytest.MonkeyPatch, stored_run: Run
) -> None:
    shown: dict[str, str] = {}
    navigation = st.navigation

    def spy(sections: Mapping[str, Sequence[StreamlitPage]], **options: Any) -> StreamlitPage:
        shown.update({page.title: page.visibility for pages in sections.values() for page in pages})
        return navigation(sections, **options)

    monkeypatch.setattr(st, "navigation", spy)
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))
    app = open_page("views/judge/judge.py", run="photos")
    assert [each.value for each in app.info] == [ALLOWED[1]]
    assert shown["Judge"] == "hidden"
    assert {"Measures", "Images"} <= shown.keys()
    assert {"Decoders", "Texts"}.isdisjoint(shown)
    for section, offered in (("measures", 2), ("variety", 3)):
        app = open_page("views/decoders/decoders.py", run="photos", section=section)
        (control,) = [each for each in app.get("button_group") if "decoders_section" in str(each.key)]
        assert len(control.proto.options) == offered
    shown.clear()
    monkeypatch.setenv("MAUVE_LENS_HOME", str(stored_run.path.parent.parent))
    open_page(run=stored_run.id)
    assert {shown[title] for title in ("Judge", "Decoders", "Texts")} == {"visible"}


def test_a_report_and_commands_speak_of_images(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))
    page = html_report(RunStore().load("photos")).decode()
    body = re.sub(r"<script.*?</script>|<style.*?</style>|<pre.*?</pre>", "", page, flags=re.DOTALL)
    lines = [html.unescape(line).strip() for line in re.sub(r"<[^>]+>", "\n", body).split("\n")]
    assert [line for line in lines if OF_TEXTS.search(line)] == []
    assert "Features are from pixels (float32)." in methods_text(RunStore().load("photos").comparison)
    for command in ("clusters", "test", "measure", "explain", "attributes", "runs show"):
        assert main([*command.split(), "photos"]) == 0
        printed = capsys.readouterr().out.replace("mauve-lens texts", "")
        assert [line for line in printed.splitlines() if OF_TEXTS.search(line)] == [], command
