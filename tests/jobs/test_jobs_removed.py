"""A job that was removed by mistake."""

from __future__ import annotations

import pytest

from mauve_core.base.errors import InputError
from mauve_core.jobs import queue
from tests.job_folders import job


def test_a_removed_job_can_be_taken_back_for_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    with job(1, status="failed", log="a line\n") as first, job(2, status="failed") as second:
        pass
    before = queue.list()
    for state in (first, second):
        queue.remove(state.id)
    assert queue.list() == ()
    with pytest.raises(InputError, match="No job has the id"):
        queue.status(first.id)
    queue.take_back(second.id)
    assert queue.take_back(first.id) == first
    assert (queue.list(), queue.log_lines(first.id)) == (before, ("a line",))
    with pytest.raises(InputError, match=r"No job with the id .* was removed"):
        queue.take_back(first.id)
    queue.remove(first.id)
    monkeypatch.setattr(queue, "REMOVED_KEPT_S", -1)
    queue.remove(second.id)  # a day later
    with pytest.raises(InputError, match=r"No job with the id .* was removed"):
        queue.take_back(first.id)
    assert queue.take_back(second.id) == second
