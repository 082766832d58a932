"""Long work behind a page: it goes on when the script is run again, and its progress is shown."""

from __future__ import annotations

import threading
import time

import pytest
from streamlit.testing.v1 import AppTest

from mauve_app import uploads
from mauve_app.uploads import UNCLAIMED, BackgroundWork
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress

pytestmark = pytest.mark.integration

DEADLINE_S = 20.0


def test_a_result_is_taken_once_and_an_error_raised() -> None:
    works, seen = BackgroundWork[int](), list[str]()

    def work(progress: Progress) -> int:
        seen.append("begun")
        return len(seen)

    assert [works.result("a", work), works.result("a", work)] == [1, 2]

    def refuse(progress: Progress) -> int:
        raise InputError("It is damaged")

    with pytest.raises(InputError, match="It is damaged"):
        works.result("b", refuse)
    assert works.result("b", work) == 3, "what failed is begun again"


def test_a_script_that_is_run_again_finds_the_work_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    works, go_on, begun = BackgroundWork[str](), threading.Event(), list[int]()

    def work(progress: Progress) -> str:
        begun.append(1)
        assert go_on.wait(DEADLINE_S)
        return "read"

    def interrupted(each: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(uploads, "_show_progress", interrupted)
        with pytest.raises(KeyboardInterrupt):
            works.result("a", work)
    go_on.set()
    assert works.result("a", work) == "read"
    assert begun == [1]


def test_results_that_nobody_takes_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    works = BackgroundWork[int]()
    for number in range(UNCLAIMED + 5):
        found = works._begun(number, lambda progress: 1)
        assert found.result.result(DEADLINE_S) == 1
    assert len(works._works) == UNCLAIMED


def test_progress_is_drawn_until_the_end() -> None:
    def page() -> None:
        import time

        import streamlit as st

        from mauve_app.uploads import BackgroundWork

        def work(progress: object) -> str:
            progress("Reading images", 3, 12)
            time.sleep(1)
            return "read"

        drawn = []
        real = st.delta_generator.DeltaGenerator.progress
        st.delta_generator.DeltaGenerator.progress = lambda self, value, text: drawn.append((value, text))
        st.text(BackgroundWork[str]().result("a", work))
        st.delta_generator.DeltaGenerator.progress = real
        st.json([list(each) for each in drawn])

    begun = time.monotonic()
    app = AppTest.from_function(page, default_timeout=DEADLINE_S).run()
    assert time.monotonic() - begun < DEADLINE_S
    assert not app.exception
    assert app.text[0].value == "read"
    assert "Reading images: 3 of 12" in app.json[0].value
