"""A fault of the program on a page is kept for a report, and the page says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from mauve_core.base import faults
from mauve_core.base.files import HOME_VARIABLE


def page(kind: str) -> None:
    from app.components import page_chrome
    from mauve_core.base.errors import InputError

    with page_chrome.faults_kept("map"):
        if kind == "fault":
            raise ZeroDivisionError
        if kind == "ours":
            raise InputError("wrong")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))


def test_a_fault_is_kept_and_said() -> None:
    app = AppTest.from_function(page, kwargs={"kind": "fault"}).run()
    assert [error.value for error in app.error] == [f"{faults.REPORT}."]
    assert len(app.exception) == 1
    assert [fault["during"] for fault in faults.remembered()] == ["page map"]


@pytest.mark.parametrize("kind", ["ours", "none"])
def test_an_error_of_ours_is_no_fault(kind: str) -> None:
    app = AppTest.from_function(page, kwargs={"kind": kind}).run()
    assert not app.error
    assert faults.remembered() == []
