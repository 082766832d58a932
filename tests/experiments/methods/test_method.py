"""Methods as they are written, and the ones that are refused."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.experiments.methods import ESTIMATORS, PRESETS, SUMMARIES, Method, parse_method
from mauve_core.numerics.divergences.frontier import mauve
from mauve_core.numerics.divergences.kl import frontier_integral, kl_divergence, mid_point
from mauve_core.numerics.transport.frontiers import displacement_frontier

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])


@pytest.mark.parametrize(
    "spec",
    [
        "kmeans",
        "knn:divergence=chi2",
        "kmeans:summary=mid,smoothing=good-turing",
        "gaussian:scale=2.5",
        "frechet",
        "mmd",
        "transport-linear",
        "transport-barycentric:scale=2",
    ],
)
def test_a_method_is_read_as_it_is_written(spec):
    assert parse_method(spec).spec == spec


@pytest.mark.parametrize("name", PRESETS)
def test_presets_can_be_written_and_read(name):
    methods = PRESETS[name]
    assert len(set(methods)) == len(methods) >= 3
    assert [parse_method(method.spec) for method in methods] == list(methods)
    assert len({method.title for method in methods}) == len(methods)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nonsense", "No estimator of that name"),
        ("kmeans:summary=nonsense", "No summary of that name"),
        ("kmeans:divergence=nonsense", "Unknown generator"),
        ("kmeans:smoothing=nonsense", "Unknown smoothing"),
        ("kmeans:nonsense=1", "cannot be read"),
        ("kmeans:scale=1,scale=2", "cannot be read"),
        ("kmeans:scale=many", "not a number"),
        ("kmeans:scale=-1", "positive number"),
        ("kmeans:summary=mid,scale=3", "summary=mauve or auc"),
        ("knn:smoothing=laplace", "no bins to smooth"),
        ("kmeans:summary=auc,divergence=chi2", "divergence itself"),
        ("kmeans:divergence=fi-chi2-printed", "has no frontier"),
        ("frechet:summary=mid", "takes no summary"),
        ("frechet:scale=2", "takes no scale"),
        ("transport-linear:summary=mid,scale=2", "takes no summary\\."),
        ("transport-linear:scale=-2", "positive number"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(spec, message):
    with pytest.raises(InputError, match=message):
        parse_method(spec)


def test_the_default_is_mauve_as_published():
    assert Method().spec == "kmeans"
    assert float(Method().value(P, Q)) == float(mauve(P, Q, 5.0))
    assert float(Method("knn").value(P, Q)) == float(mauve(P, Q, 10.0))
    assert float(Method(scale=2.0).value(P, Q)) == float(mauve(P, Q, 2.0))


@pytest.mark.parametrize(
    ("method", "value"),
    [
        (Method(summary="frontier-integral"), frontier_integral(P, Q)),
        (Method(summary="mid"), mid_point(P, Q)),
        (Method(summary="jensen-shannon"), mid_point(P, Q)),
        (Method(summary="divergence"), kl_divergence(P, Q)),
        (Method(summary="backward-kl"), kl_divergence(Q, P)),
        (Method(summary="exponentiated-kl"), np.exp(kl_divergence(P, Q))),
        (Method(summary="auc"), 1 - mauve(P, Q, 5.0)),
        (Method(divergence="total-variation", summary="divergence"), 0.3),
        (Method(divergence="chi2", summary="divergence"), ((P - Q) ** 2 / Q).sum()),
    ],
)
def test_a_method_is_its_summary_of_its_divergence(method, value):
    assert float(method.value(P, Q)) == pytest.approx(float(value), rel=1e-12)


def test_every_summary_says_which_way_is_closer():
    near = 0.9 * P + 0.1 * Q
    for name in SUMMARIES:
        method = Method(summary=name)
        sign = 1 if method.higher_is_closer else -1
        assert sign * method.value(P, near) > sign * method.value(P, Q)
        assert method.bounds[0] <= method.value(P, Q) <= method.bounds[1]


def test_estimators_without_a_frontier_have_no_value_on_histograms():
    for name, kind in ESTIMATORS.items():
        if kind.scale is not None:
            continue
        with pytest.raises(InputError, match="does not work on histograms"):
            Method(name, scale=kind.own_scale).value(P, Q)
        with pytest.raises(InputError, match="no frontier of its own") if kind.own_scale is None else nullcontext():
            Method(name).area(displacement_frontier(0.1))


def test_the_area_under_a_transport_frontier_grows_as_the_cost_falls():
    for scale in (None, 2.0):
        method = Method("transport-barycentric", scale=scale)
        assert method.higher_is_closer
        assert method.bounds == (0.0, 1.0)
        areas = [method.area(displacement_frontier(cost)) for cost in (0.0, 0.1, 1.0, 4.0)]
        # With x = exp(-c l^2 C), y = exp(-c (1 - l)^2 C): no cost is the whole square, and the area falls with c C.
        assert areas[0] == 1.0
        assert sorted(areas, reverse=True) == areas
        assert len(set(areas)) == len(areas)
    one, other = (Method("transport-linear", scale=scale) for scale in (2.5, 5.0))
    assert one.area(displacement_frontier(0.4)) == pytest.approx(other.area(displacement_frontier(0.2)), rel=1e-12)
    assert other.area(displacement_frontier(0.2)) == Method("transport-linear").area(displacement_frontier(0.2))
    assert one.title.endswith("c = 2.5")
