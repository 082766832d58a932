"""benchmarks/shards_peers.py at toy size: every way has its row, and all reach the same from the same centers."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.spatial.distance import cdist

ROOT = Path(__file__).parents[1]


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("shards_peers")


@pytest.fixture
def asked(benchmark: ModuleType, tmp_path: Path):
    """Rows and 5 of them as first centers."""
    rows = np.random.default_rng(0).normal(size=(400, 4)).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    np.save(tmp_path / "start0.npy", rows[:5].astype(np.float64))
    return benchmark.Asked("", 0, 5, str(tmp_path), 7, 0.0)


def test_the_objective_is_that_of_the_nearest_centers(benchmark: ModuleType) -> None:
    random = np.random.default_rng(1)
    rows, centers = random.normal(size=(9000, 3)).astype(np.float32), random.normal(size=(20, 3))
    distances = cdist(rows.astype(np.float64), centers)
    labels, objective = benchmark.assigned(rows, centers)
    np.testing.assert_array_equal(labels, distances.argmin(1))
    assert objective == pytest.approx((distances.min(1) ** 2).sum(), rel=1e-12)


def test_a_topic_has_a_cluster_where_it_is_the_most_frequent_one(benchmark: ModuleType) -> None:
    topics, labels = np.array([0, 0, 1, 2, 2, 5], dtype=np.int16), np.array([0, 0, 0, 3, 3, 3])
    assert benchmark.without_cluster(topics, labels) == 2  # of four


def test_given_iterations_are_lloyds(benchmark: ModuleType, asked) -> None:
    rows, centers = asked.rows().astype(np.float64), asked.start()
    for _ in range(asked.iterations):
        labels = cdist(rows, centers).argmin(1)
        centers = np.array([rows[labels == label].mean(0) for label in range(5)])
    for way in (benchmark.plain_given, benchmark.in_memory_given, benchmark.scikit_given):
        found = way(asked, benchmark.Fit(0.0))
        assert found.iterations == "7"
        np.testing.assert_allclose(found.centers, centers, rtol=1e-4, atol=1e-5)


def test_ratios_are_those_of_each_round(benchmark: ModuleType) -> None:
    found = [
        {"way": way, "seed": seed, "seconds": seconds}
        for way, seed, seconds in [("ours", 0, 1.0), ("theirs", 0, 3.0), ("theirs", 1, 20.0), ("ours", 1, 4.0)]
    ]
    assert benchmark.beside(found, "theirs", "ours", "seconds") == "4.0 ± 1.4"


@pytest.mark.trial
@pytest.mark.slow
def test_the_page(tmp_path: Path) -> None:
    out = tmp_path / "page.md"
    command = [sys.executable, "benchmarks/shards_peers.py", "--workdir", str(tmp_path), "--out", str(out)]
    command += ["--rows", "2000", "--dimension", "6", "--shards", "4", "--k", "12", "--seeds", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    page = out.read_text(encoding="utf-8")
    assert ("pyspark is not installed here" in page) == (importlib.util.find_spec("pyspark") is None)
    reached, taken, given = (
        {cells[1]: cells for cells in (re.split(r" *(?<!\\)\| *", line) for line in part.splitlines()[2:])}
        for part in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)
    )
    assert reached.keys() == taken.keys()
    assert reached["ours in memory"][6] == "1.00000"  # where the sample has all rows, so has the partition over shards
    assert float(reached["scikit-learn KMeans"][6]) == pytest.approx(1, abs=0.1)
    plain = float(given["plain NumPy, float64"][2])
    assert [float(cells[2]) for cells in given.values()] == pytest.approx([plain] * len(given), rel=1e-3)
    assert all(float(cells[2]) > 0 for cells in taken.values())
