"""Sweeps of estimators' parameters: the methods' own scores at the default, a plain twin elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mauve_core.analyses import estimator_sweeps as module
from mauve_core.analyses.estimator_sweeps import (
    DEFAULTS,
    PARAMETER,
    EstimatorSweep,
    SweepTask,
    estimator_sweep,
    stored_estimator_sweep,
    usual_parameters,
)
from mauve_core.analyses.method_scores import methods_run
from mauve_core.analyses.methods import Method
from mauve_core.base.config import HUMAN, EstimatorAxis
from mauve_core.base.errors import InputError
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.runs import Run
from mauve_core.runs.checkpoints import FinishedParts
from tests.experiments.methods import plain_estimators as plain
from tests.synthetic import make_run

pytestmark = pytest.mark.slow

N = 60
NAMES = ("close", "collapsed")
AXES = ["neighbors", "bandwidth", pytest.param("components", marks=pytest.mark.trial)]
ELSEWHERE: dict[EstimatorAxis, float] = {"neighbors": 7, "components": 3, "bandwidth": 2.5}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("estimators")


@pytest.fixture(scope="module")
def run(home: Path) -> Run:
    return make_run(home, n=N, seeds=2, projection=False, names=NAMES)


@pytest.fixture(scope="module")
def sweep(run: Run) -> Callable[[EstimatorAxis], EstimatorSweep]:
    return cache(lambda axis: estimator_sweep(run, axis, (ELSEWHERE[axis], DEFAULTS[axis])))


@pytest.fixture(autouse=True)
def stored(home: Path, run: Run, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(home))


@pytest.mark.parametrize("axis", AXES)
def test_at_the_default_it_is_the_methods_own_score(
    run: Run, sweep: Callable[[EstimatorAxis], EstimatorSweep], axis: EstimatorAxis
) -> None:
    table = methods_run(run, [Method(name) for name in PARAMETER[axis]])
    for result in table.results:
        for name in NAMES:
            (point,) = (
                item for item in sweep(axis).line(result.method.estimator, name) if item.value == DEFAULTS[axis]
            )
            assert point.score == result.scores[name]
            assert point.score.sd_texts is not None
            assert (point.score.sd_seeds is not None) == (result.method.estimator == "gaussian")


@pytest.mark.parametrize("estimator", ["knn", "kde"])
@pytest.mark.parametrize("axis", AXES)
def test_elsewhere_it_is_the_plain_twins(
    run: Run,
    sweep: Callable[[EstimatorAxis], EstimatorSweep],
    axis: EstimatorAxis,
    estimator: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if estimator not in PARAMETER[axis]:
        pytest.skip("this estimator has no such parameter")
    value = ELSEWHERE[axis]
    if axis == "neighbors":
        monkeypatch.setattr(plain, "NEIGHBORS", int(value))
    elif axis == "components":
        monkeypatch.setattr(plain, "COMPONENTS", int(value))
    x_p, x_q = (np.asarray(run.features(side), dtype=np.float64) for side in (HUMAN, "collapsed"))
    if axis == "bandwidth":
        at_p, at_q = _wider(x_p, x_q, value, monkeypatch)
    else:
        at_p, at_q = getattr(plain, estimator)(x_p, x_q)
    (point,) = (item for item in sweep(axis).line(estimator, "collapsed") if item.value == value)
    assert point.score.value == pytest.approx(plain.mauve(at_p, at_q, "union", plain.CONSTANTS[estimator]), abs=1e-6)
    (default,) = (item for item in sweep(axis).line(estimator, "collapsed") if item.value == DEFAULTS[axis])
    assert abs(default.score.value - point.score.value) > 1e-3


def _wider(
    x_p: np.ndarray, x_q: np.ndarray, times: float, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[float], list[float]]:
    """Equations 26 and 27 by loops, with a multiple of the width that the plain search ends with."""
    widths: list[float] = []
    log_density = plain.log_density

    def spy(distances: list[float], width: float, *, leave_out: int | None = None) -> float:
        widths.append(width)
        return log_density(distances, width, leave_out=leave_out)

    with monkeypatch.context() as patch:
        patch.setattr(plain, "log_density", spy)
        plain.kde(x_p, x_q)
    u_p, u_q = plain.components(x_p, x_q)
    width = times * widths[-1]
    own = {0: plain.squares(u_p, u_p), 1: plain.squares(u_q, u_q)}
    from_p, from_q = plain.squares(u_p, u_q), plain.squares(u_q, u_p)
    at_p = [log_density(own[0][i], width, leave_out=i) - log_density(from_p[i], width) for i in range(len(u_p))]
    at_q = [log_density(from_q[j], width) - log_density(own[1][j], width, leave_out=j) for j in range(len(u_q))]
    return at_p, at_q


@pytest.mark.parametrize(
    ("axis", "value", "allowed"),
    [
        ("neighbors", 0, "whole numbers from 1 to"),
        ("neighbors", 7.5, "whole numbers from 1 to"),
        ("neighbors", 2 * N, "whole numbers from 1 to"),
        ("components", 100_000, "whole numbers from 1 to"),
        ("bandwidth", 0, "numbers from 0.01 to 100"),
        ("bandwidth", 101, "numbers from 0.01 to 100"),
    ],
)
def test_values_out_of_range_are_refused(run: Run, axis: EstimatorAxis, value: float, allowed: str) -> None:
    with pytest.raises(InputError, match=allowed) as error:
        estimator_sweep(run, axis, (value,))
    assert f"{value}" in str(error.value)


def test_the_most_neighbors_allowed_still_leave_groups_out(run: Run) -> None:
    most = module._most_neighbors(run)
    (point, _) = estimator_sweep(run, "neighbors", (most,)).points
    assert point.score.sd_texts is not None
    with pytest.raises(InputError):
        estimator_sweep(run, "neighbors", (most + 1,))


def test_usual_values_fit_the_texts(run: Run) -> None:
    features = run.features(HUMAN)
    assert features is not None
    assert max(usual_parameters(run, "components")) <= features.shape[1]
    assert max(usual_parameters(run, "neighbors")) < 2 * N
    assert DEFAULTS["bandwidth"] in usual_parameters(run, "bandwidth")


def test_a_task_stores_it_and_resumes_without_fitting_again(
    run: Run, sweep: Callable[[EstimatorAxis], EstimatorSweep], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = SweepTask(run.id, "neighbors", (7.0, 50.0))
    assert task.compute() == sweep("neighbors")
    assert stored_estimator_sweep(run, "neighbors") == sweep("neighbors")
    finished = FinishedParts({"test": 1})
    estimator_sweep(run, "neighbors", (7.0, 50.0), finished=finished)
    monkeypatch.setattr(module, "scorer", lambda *_, **__: lambda *_: pytest.fail("fitted again"))
    assert estimator_sweep(run, "neighbors", (7.0, 50.0), finished=finished) == sweep("neighbors")
