"""The Findings page of a run of images: its sentences, and sheets of both sides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mauve_app.components import contact_sheet
from mauve_core.analysis.findings.of_run import run_findings
from mauve_core.base.config import HUMAN
from mauve_core.store import Run
from tests.app.pages import said
from tests.images.made import make_dark_run

OpenPage = Callable[..., AppTest]
VIEW = "views/findings/findings.py"
N = 60


@pytest.fixture
def dark_run(own_home: Path, tmp_path: Path) -> Run:
    del own_home
    return make_dark_run(tmp_path)


@pytest.fixture
def sheets(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """What the sheets show, by source."""
    shown: dict[str, list[int]] = {}

    def show(run: Run, source: str, indices: np.ndarray, **more: Any) -> None:
        shown[source] = indices.tolist()

    monkeypatch.setattr(contact_sheet, "show", show)
    return shown


def opened(open_page: OpenPage, run: Run, view: str = VIEW, **query: str) -> AppTest:
    app = open_page(view, run=run.id, **query)
    assert not app.exception
    return app


def test_the_page_says_what_differs_and_shows_both_sides(
    open_page: OpenPage, dark_run: Run, sheets: dict[str, list[int]]
) -> None:
    app, found = opened(open_page, dark_run, candidate="dark"), run_findings(dark_run, "dark")
    assert (found[0].kind, found[0].does) == ("brightness", "makes darker images")
    assert f"**dark** differs from real images in **{'one way' if len(found) == 1 else f'{len(found)} ways'}**" in said(
        app
    )
    assert "it **makes darker images** (" in said(app)
    assert f"dark: images that {found[0].condition}. Real: those of which this is not so." in said(app)
    own = [line for line in said(app).splitlines() if "texts of the leading clusters" not in line]  # of the report
    assert not [line for line in own if "text" in line or "human" in line]
    light = {name: dark_run.corpora[name].metadata["brightness"].to_numpy() for name in (HUMAN, "dark")}
    assert sheets["dark"] == list(found[0].texts)
    assert light["dark"][sheets["dark"]].max() < light[HUMAN][sheets[HUMAN]].min()
    assert len(sheets[HUMAN]) == N - len(found[0].human_texts)
    assert not app.file_uploader
