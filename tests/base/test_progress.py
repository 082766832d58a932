"""Estimates of the time that is left."""

from __future__ import annotations

from mauve_core.base.progress import format_seconds, remaining_seconds


def test_estimates_of_the_time_left() -> None:
    assert remaining_seconds(10, 0, 5) is None
    assert remaining_seconds(10, 2, 6) == 20
    assert [format_seconds(s) for s in (0.2, 45, 200, 4800)] == ["1 s", "45 s", "3 min", "1 h 20 min"]
