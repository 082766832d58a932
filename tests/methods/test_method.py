"""Methods as they are written, and the ones that are refused."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.errors import InputError
from mauve_core.methods import ESTIMATORS, PRESETS, SUMMARIES, Method, parse_method
from mauve_core.numerics.divergences import frontier_integral, kl_divergence, mid_point
from mauve_core.numerics.frontier import mauve

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
        ("kmeans:divergence=nonsense", "No generator of that name"),
        ("kmeans:smoothing=nonsense", "No smoothing of that name"),
        ("kmeans:nonsense=1", "cannot be read"),
        ("kmeans:scale=1,scale=2", "cannot be read"),
        ("kmeans:scale=many", "not a number"),
        ("kmeans:scale=-1", "positive number"),
        ("kmeans:summary=mid,scale=3", "summary=mauve or auc"),
        ("knn:smoothing=laplace", "no bins to smooth"),
        ("kmeans:summary=auc,divergence=chi2", "divergence itself"),
        ("kmeans:divergence=fi-chi2-printed", "has no frontier"),
        ("frechet:summary=mid", "takes no summary"),
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
        if kind.scale is None:
            with pytest.raises(InputError, match="does not work on histograms"):
                Method(name).value(P, Q)
