"""A run of images nowhere speaks of texts, people or writing: every page, its charts, hover labels and CSV files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import pytest

from mauve_app.components import charts
from mauve_core.base.config import HUMAN
from tests.app.item_walk import OPEN, WALK, OpenPage, make_photo_run, sent

OF_TEXTS = re.compile(r"\b(texts?|humans?|people|writes?|written|writing|wrote|prompts?|tokens?)\b", re.IGNORECASE)


FIELD = re.compile(r"%\{[^}]*\}")
"""Of a hover label: what Plotly fills in."""

ALLOWED = (
    "Which texts do people prefer, and do the scores agree with them?",
    "This page is about texts, and this run compares images. Compare, Findings, Clusters, Gap, Map and Probes show "
    "them.",
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
