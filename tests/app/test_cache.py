"""What pages share between reruns goes with the run that it was computed from."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import streamlit

from mauve_app import cache
from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.findings.clusters import cost_intervals
from mauve_core.runs import RunStore
from tests.synthetic import make_run

pytestmark = pytest.mark.integration

NAME = "shifted"


def test_a_replaced_run_has_its_own_intervals_of_the_costs(own_home: Path) -> None:
    streamlit.cache_resource.clear()
    streamlit.cache_data.clear()
    first = make_run(own_home, n=40, seeds=1, projection=False)
    before = cache.costs_of(first.id, "joint", NAME, 0, "none")
    assert cache.costs_of(first.id, "joint", NAME, 0, "none") is before
    shutil.rmtree(first.path)
    second = make_run(own_home, n=50, seeds=1, projection=False)
    assert second.id == first.id
    run = cache.load_run(second.id)  # as every page does first
    found = cache.costs_of(run.id, "joint", NAME, 0, "none")
    expected = cost_intervals(run.comparison, "joint", NAME, 0)
    np.testing.assert_array_equal(found.of_clusters, expected.of_clusters)
    assert found.adds == expected.adds != before.adds


def test_a_replaced_run_leaves_the_entries_of_other_runs_and_the_encoder(own_home: Path) -> None:
    streamlit.cache_resource.clear()
    run = make_run(own_home, n=40, seeds=1, projection=False)
    other = make_run(own_home, name="other", n=40, seeds=1, projection=False)
    encoder = cache.shared_encoder(EncoderConfig("none"))
    opened = cache.load_run(run.id), cache.load_run(other.id)
    intervals = cache.costs_of(other.id, "joint", NAME, 0, "none")
    shutil.rmtree(run.path)
    with pytest.raises(InputError):
        cache.load_run(run.id)
    make_run(own_home, n=50, seeds=1, projection=False)
    assert cache.load_run(run.id) is not opened[0]
    assert len(cache.load_run(run.id).corpora[HUMAN]) == 50
    assert cache.load_run(other.id) is opened[1]
    assert cache.costs_of(other.id, "joint", NAME, 0, "none") is intervals
    assert cache.shared_encoder(EncoderConfig("none")) is encoder


def test_a_run_that_is_described_anew_is_read_again_and_nothing_else(own_home: Path) -> None:
    run = make_run(own_home, n=40, seeds=1, projection=False)
    before, stack = cache.load_run(run.id), cache.stack(run.id)
    RunStore().describe(run.id, name="Another name")
    assert cache.load_run(run.id) is not before
    assert cache.load_run(run.id).name == "Another name"
    assert cache.stack(run.id) is stack
