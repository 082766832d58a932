"""A job that was removed by mistake."""

from __future__ import annotations

import pytest

from mauve_core import jobs
from mauve_core.errors import InputError
from tests.job_folders import job


def test_a_removed_job_can_be_taken_back_for_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    with job(1, status="failed", log="a line\n") as first, job(2, status="failed") as second:
        pass
    before = jobs.list()
    for state in (first, second):
        jobs.remove(state.id)
    assert jobs.list() == ()
    with pytest.raises(InputError, match="No job has the id"):
        jobs.status(first.id)
    jobs.take_back(second.id)
    assert jobs.take_back(first.id) == first
    assert (jobs.list(), jobs.log_lines(first.id)) == (before, ("a line",))
    with pytest.raises(InputError, match=r"No job has the id .* among those removed"):
        jobs.take_back(first.id)
    jobs.remove(first.id)
    monkeypatch.setattr(jobs, "REMOVED_KEPT_S", -1)
    jobs.remove(second.id)  # a day later
    with pytest.raises(InputError, match=r"No job has the id .* among those removed"):
        jobs.take_back(first.id)
    assert jobs.take_back(second.id) == second
