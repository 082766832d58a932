"""What a page, a part of it or a click on it does not catch is said; a fault of the program is kept for a report."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from mauve_core.base import faults
from mauve_core.base.files import HOME_VARIABLE


def page(kind: str) -> None:
    from mauve_app.components import messages
    from mauve_core.base.errors import InputError

    assert messages.uncaught(ZeroDivisionError() if kind == "fault" else InputError("wrong *name*"))


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path_factory.mktemp("home")))


def test_a_fault_is_kept_and_said() -> None:
    app = AppTest.from_function(page, kwargs={"kind": "fault"}).run()
    assert not app.exception
    assert [error.value for error in app.error] == [f"{faults.REPORT}. Reload the page to go on."]
    assert [fault["during"] for fault in faults.remembered()] == ["page compare"]


def test_an_error_of_ours_is_said_and_is_no_fault() -> None:
    app = AppTest.from_function(page, kwargs={"kind": "ours"}).run()
    assert not app.exception
    assert [error.value for error in app.error] == ["wrong \\*name\\*\\."]
    assert faults.remembered() == []
