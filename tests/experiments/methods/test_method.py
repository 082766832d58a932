"""Methods as they are written, and the ones that are refused."""

from __future__ import annotations

import itertools
from contextlib import nullcontext

import numpy as np
import pytest

from mauve_core.analyses.methods import ESTIMATORS, PRESETS, SUMMARIES, Method, parse_method
from mauve_core.base.config import ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.estimators.ratios import LogRatios
from mauve_core.estimators.transport import displacement_frontier
from mauve_core.stats.divergences import REFERENCE_WEIGHTS, Frontier, frontier_integral, kl_divergence, mauve, mid_point
from mauve_core.stats.resampling import Corrected

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])


@pytest.mark.parametrize(
    "spec",
    [
        "kmeans",
        "knn:divergence=chi2",
        "kmeans:summary=mid,smoothing=good-turing",
        "gaussian:scale=2.5",
        "kmeans:correction=bootstrap",
        "lattice:summary=frontier-integral,correction=bootstrap",
        "drmm:scale=2,correction=bootstrap",
        "knn:expectation=other",
        "kde:divergence=chi2,summary=mid,expectation=other",
        "direct:expectation=own",
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
        ("kmeans:scale=-1", "0.001 to 1000"),
        ("kmeans:summary=mid,scale=3", "summary=mauve or auc"),
        ("knn:smoothing=laplace", "no bins to smooth"),
        ("kmeans:summary=auc,divergence=chi2", "divergence itself"),
        ("kmeans:divergence=fi-chi2-printed", "has no frontier"),
        ("knn:expectation=nonsense", "No expectation of that name"),
        ("kmeans:expectation=other", "kmeans takes no such expectation\\. Allowed: kmeans without expectation"),
        ("drmm:expectation=other", "takes no such expectation"),
        ("strings:expectation=other", "takes no such expectation"),
        ("knn:expectation=own", "Allowed: union, other"),
        ("direct:expectation=other", "Allowed: union, own"),
        ("frechet:expectation=other", "takes no expectation"),
        ("direct:expectation=own,divergence=chi2", "does not go with these parts"),
        ("direct:expectation=own,summary=frontier-integral", "does not go with these parts"),
        ("kmeans:correction=nonsense", "No correction of that name"),
        ("knn:correction=bootstrap", "knn has no bins whose counts could be corrected"),
        ("frechet:correction=bootstrap", "takes no correction"),
        ("kmeans:correction=bootstrap,smoothing=laplace", "smoothing=none, and summary=mauve, frontier-integral, mid"),
        ("kmeans:correction=bootstrap,divergence=chi2", "Allowed: divergence=kl"),
        ("kmeans:correction=bootstrap,summary=auc", "Received: divergence=kl, smoothing=none, summary=auc"),
        ("frechet:summary=mid", "takes no summary"),
        ("frechet:scale=2", "takes no scale"),
        ("transport-linear:summary=mid,scale=2", "takes no summary\\."),
        ("transport-linear:scale=-2", "0.001 to 1000"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(spec, message):
    with pytest.raises(InputError, match=message):
        parse_method(spec)


def test_the_default_is_mauve_as_published():
    assert Method().spec == "kmeans"
    assert ScoreConfig().scale == 5.0
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


def test_expectations_agree_on_samples_that_repeat_every_atom_as_often_as_it_is_probable():
    q = np.array([0.1, 0.3, 0.6])  # not the mirror image of P
    logs = np.log(P / q)
    ratios = LogRatios(*(np.repeat(logs, np.rint(10 * side).astype(int)) for side in (P, q)))
    for estimator in ("knn", "direct"):
        for name in SUMMARIES:
            for expectation in ESTIMATORS[estimator].expectations:
                if (name, expectation) == ("frontier-integral", "own"):
                    continue
                method = Method(estimator, summary=name, expectation=expectation)
                truth = float(method.value(P, q))
                assert method.ratio_value(ratios) == pytest.approx(truth, rel=1e-9), (name, expectation)


def test_the_scale_and_the_divergence_count_with_every_expectation():
    ratios = LogRatios(np.array([0.5, 1.0, -0.2]), np.array([-1.0, 0.3]))
    for parts in ({"scale": 3.0}, {"divergence": "chi2"}, {"summary": "auc", "scale": 3.0}):
        values = {Method("kde", expectation=name, **parts).ratio_value(ratios) for name in ("union", "other")}
        plain = {Method("kde", expectation=name).ratio_value(ratios) for name in ("union", "other")}
        assert len(values | plain) == 4


def test_negative_means_over_a_sides_own_sample_count_as_none():
    """At weight 1/2 a mean is that of -log((1 + exp(-log ratio)) / 2): of P above 0 here, of Q below."""
    ratios = LogRatios(np.array([1.0, 2.0]), np.array([0.5]))
    mid, whole = (Method("direct", summary=name, expectation="own").ratio_value(ratios) for name in ("mid", "mauve"))
    own = [-np.log((1 + np.exp(-log)) / 2) for log in ratios.at_p]
    assert mid == pytest.approx(np.mean(own) / 2, rel=1e-12)
    assert whole == pytest.approx(1.0, abs=1e-5)  # from (1, 0) up to (1, 1), and from there to (0, 1)


def test_estimators_without_ratios_have_no_value_on_them():
    with pytest.raises(InputError, match="does not work on histograms"):
        Method("frechet").ratio_value(LogRatios(np.zeros(2), np.zeros(2)))


def test_the_estimators_of_the_papers_are_compared_by_both_expectations():
    found = {(method.estimator, method.expectation) for method in PRESETS["estimators"]}
    names = ("knn", "kde", "classifier", "gaussian")
    assert found == {("kmeans", "union"), *((name, how) for name in names for how in ("union", "other"))}


def test_the_preset_of_iclr_has_its_five_divergences_on_clusters_and_on_strings():
    five = ["forward-kl", "backward-kl", "exponentiated-kl", "jensen-shannon", "auc"]
    first, *others = PRESETS["iclr"]
    assert first == Method()
    found = {name: [m.summary for m in others if m.estimator == name] for name in ("kmeans", "strings")}
    assert found == {"kmeans": five, "strings": five}
    assert {m.smoothing for m in others if m.estimator == "kmeans"} == {"laplace"}


def test_a_corrected_method_summarizes_corrected_errors_and_nothing_else():
    errors = np.linspace(0.1, 0.4, 25)
    found = Corrected(Frontier(REFERENCE_WEIGHTS, errors, errors[::-1]), np.float64(0.3), np.float64(0.2))
    for scale in (2.0, 5.0):
        x, y = np.exp(-scale * errors), np.exp(-scale * errors[::-1])
        points = [(1.0, 0.0), *zip(x, y, strict=True), (0.0, 1.0)]
        area = sum((a - c) * (b + d) / 2 for (a, b), (c, d) in itertools.pairwise(points))
        method = Method(correction="bootstrap", scale=None if scale == 5.0 else scale)
        assert method.corrected_value(found) == pytest.approx(area, rel=1e-12)
    assert Method(summary="frontier-integral", correction="bootstrap").corrected_value(found) == 0.3
    assert Method(summary="mid", correction="bootstrap").corrected_value(found) == 0.2
    with pytest.raises(InputError, match="takes the errors as they are"):
        Method().corrected_value(found)
    with pytest.raises(InputError, match="kmeans:correction=bootstrap does not work on histograms"):
        Method(correction="bootstrap").value(P, Q)
