"""Share on every page: a link alone without a run, else files with the page's sections, made when asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import streamlit
from streamlit.testing.v1 import AppTest

from mauve_app.components import share
from mauve_core.runs import Run

OpenPage = Callable[..., AppTest]
Offered = dict[str, Callable[[], bytes]]


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> Offered:
    """What each download of the panel makes when it is pressed, by its key; nothing is made before."""
    found: Offered = {}

    def never(*_: object, **__: object) -> bytes:
        raise AssertionError("made too early")

    def note(_: str, data: Callable[[], bytes], *, key: str, **__: Any) -> None:
        found[key] = data

    monkeypatch.setattr(share, "html_report", never)
    monkeypatch.setattr(streamlit, "download_button", note)
    return found


@pytest.mark.usefixtures("run_home")
@pytest.mark.parametrize(
    ("view", "candidates", "sections"),
    [
        ("compare", (), ("findings", "trust", "format", "leaderboard", "frontier", "making")),
        ("gap", ("shifted",), ("clusters", "making")),
        ("probes", (), ("probes", "making")),
    ],
)
def test_a_view_is_made_of_its_sections_for_the_candidate_in_focus(
    open_page: OpenPage,
    offered: Offered,
    monkeypatch: pytest.MonkeyPatch,
    view: str,
    candidates: tuple[str, ...],
    sections: tuple[str, ...],
) -> None:
    made: list[tuple[Sequence[str], Sequence[str]]] = []

    def make(
        _: Run, candidates: Sequence[str] = (), *, sections: Sequence[str] = (), cluster: int | None = None
    ) -> bytes:
        assert cluster is None
        made.append((tuple(candidates), tuple(sections)))
        return b""

    monkeypatch.setattr(share, "html_report", make)
    assert not open_page(f"views/{view}.py", candidate="shifted").exception
    assert made == []
    offered["share_view"]()
    offered["share_report"]()
    assert made == [(candidates, sections), ((), ())]


def test_without_a_run_there_is_a_link_alone(
    open_page: OpenPage, offered: Offered, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(tmp_path))
    app = open_page()
    assert not app.exception
    assert not {"share_view", "share_report"} & offered.keys()
