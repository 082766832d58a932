"""Bars of tqdm show what is reported; they are drawn where a notebook expects them."""

from __future__ import annotations

from typing import Any

import pytest
import tqdm.std

from mauve_core.base import progress_bars
from mauve_core.base.errors import InputError
from mauve_core.base.progress import ConsoleProgress, silent
from mauve_core.base.progress_bars import BarProgress, progress_for


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    made: list[Any] = []

    class Kept(tqdm.std.tqdm):  # type: ignore[type-arg]
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            made.append(self)

    monkeypatch.setattr(progress_bars, "_bar_class", lambda: Kept)
    return made


def test_every_stage_has_a_bar_that_ends_with_it(bars: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    report = BarProgress()
    for done in (0, 2, 4):
        report("Encoding", done, 4)
        report("Clustering", done // 2, 3)
    assert [(bar.desc, bar.n, bar.total, bar.disable) for bar in bars] == [
        ("Encoding", 4, 4, True),  # closed
        ("Clustering", 2, 3, False),
    ]
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Encoding: 100%" in shown.err
    bars[1].close()


def test_the_choice_is_made_by_name_or_is_a_function() -> None:
    def own(stage: str, done: int, total: int) -> None: ...

    assert progress_for(own) is own
    assert progress_for("none") is silent
    assert isinstance(progress_for("tqdm"), BarProgress)
    assert isinstance(progress_for("console"), ConsoleProgress)
    with pytest.raises(InputError, match=r"'auto', 'tqdm', 'console' or 'none'.*Received: 'bar'"):
        progress_for("bar")  # type: ignore[arg-type]
