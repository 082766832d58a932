"""The fits and the schedule by which a comparison over shards is extrapolated."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "benchmarks"))
    return importlib.import_module("shards_fits")


def test_fits_find_the_cost_of_each_part(fits: ModuleType) -> None:
    rng = np.random.default_rng(4)
    true = {name: rng.uniform(0.5, 2, len(terms(fits.Size(1, 1, 1, 1, 1)))) for name, terms in fits.TERMS.items()}
    sizes = [
        fits.Size(*(int(each) for each in rng.integers(2, 60, 5)), int(rng.integers(1, 9)))  # all parts matter
        for _ in range(40)
    ]
    points = [(name, size, float(own @ fits.TERMS[name](size))) for name, own in true.items() for size in sizes]
    found = fits.fitted(points)
    for name, own in true.items():
        assert found[name] == pytest.approx(own, rel=1e-6), name


def test_a_pass_ends_with_its_workers_its_bytes_and_its_driver(fits: ModuleType) -> None:
    nothing = {name: np.zeros(len(terms(fits.Size(1, 1, 1, 1, 1)))) for name, terms in fits.TERMS.items()}
    a_second = {name: np.array([1.0, *each[1:]]) for name, each in nothing.items()}
    case = fits.Case(fits.Size(1e6, 64, 50, 100, 2, 3000), 1000, 3, 0, 0, 4, math.inf)
    alone = fits.simulated(case, a_second, 100, 1000)
    assert alone["encode"].wall == 30  # 3,000 tasks of a second by 100 workers
    assert alone["label"].wall == 3 + 3000  # by 1,000, then the driver looks at each shard
    assert alone["sum"].workers == 3  # in 1,000 batches of three shards, so once in each iteration
    assert alone["start"].workers == 1 + fits.START_ITERATIONS
    slow = fits.simulated(case._replace(bandwidth=1e6), nothing, 100)
    assert slow["project"].moved == pytest.approx((1e6 * 64 * 4 + 1e6 * 50 * 4) / 1e6)
    assert slow["project"].driver == pytest.approx(3000 * 8 * 64 * 65 / 1e6)
    assert slow["project"].wall == pytest.approx(slow["project"].moved + slow["project"].driver)
    assert fits.bottleneck(slow).endswith(("file system", "driver"))
    assert fits.bottleneck(alone) == "project: driver"
