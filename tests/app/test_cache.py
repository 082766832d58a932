"""What pages share between reruns goes with the run that it was computed from."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import streamlit
from numpy.typing import NDArray

from app.caching import cache
from mauve_core.analysis import cluster_table
from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.store import Run, RunStore
from tests.synthetic import make_run

NAME = "shifted"


def afresh(run: Run, weight: float) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    partition = run.comparison.partition("joint", NAME, 0)
    return cluster_table.error_intervals(partition.counts(HUMAN), partition.counts(NAME), weight)


def test_a_replaced_run_has_its_own_intervals_of_the_errors(own_home: Path) -> None:
    streamlit.cache_resource.clear()
    streamlit.cache_data.clear()
    first = make_run(own_home, n=40, seeds=1, projection=False)
    before = cache.error_intervals(first.id, "joint", NAME, 0, 0.5, "none")
    assert cache.error_intervals(first.id, "joint", NAME, 0, 0.5, "none") is before
    shutil.rmtree(first.path)
    second = make_run(own_home, n=50, seeds=1, projection=False)
    assert second.id == first.id
    run = cache.load_run(second.id)  # as every page does first
    found = cache.error_intervals(run.id, "joint", NAME, 0, 0.5, "none")
    expected = afresh(run, 0.5)
    for error in ("type_1", "type_2"):
        np.testing.assert_array_equal(found[error], expected[error])
        assert len(found[error][0]) != len(before[error][0]) or (found[error][0] != before[error][0]).any()


def test_a_replaced_run_leaves_the_entries_of_other_runs_and_the_encoder(own_home: Path) -> None:
    streamlit.cache_resource.clear()
    run = make_run(own_home, n=40, seeds=1, projection=False)
    other = make_run(own_home, name="other", n=40, seeds=1, projection=False)
    encoder = cache.shared_encoder(EncoderConfig("none"))
    opened = cache.load_run(run.id), cache.load_run(other.id)
    intervals = cache.error_intervals(other.id, "joint", NAME, 0, 0.5, "none")
    shutil.rmtree(run.path)
    with pytest.raises(InputError):
        cache.load_run(run.id)
    make_run(own_home, n=50, seeds=1, projection=False)
    assert cache.load_run(run.id) is not opened[0]
    assert len(cache.load_run(run.id).corpora[HUMAN]) == 50
    assert cache.load_run(other.id) is opened[1]
    assert cache.error_intervals(other.id, "joint", NAME, 0, 0.5, "none") is intervals
    assert cache.shared_encoder(EncoderConfig("none")) is encoder


def test_a_run_that_is_described_anew_is_read_again_and_nothing_else(own_home: Path) -> None:
    run = make_run(own_home, n=40, seeds=1, projection=False)
    before, stack = cache.load_run(run.id), cache.stack(run.id)
    RunStore().describe(run.id, name="Another name")
    assert cache.load_run(run.id) is not before
    assert cache.load_run(run.id).name == "Another name"
    assert cache.stack(run.id) is stack
