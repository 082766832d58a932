"""Clusterings and divergences that users bring: equal to ours where they are ours, and checked where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.random import SeedSequence
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans

from mauve_core import Comparison, RunStore, compare, figure, to_json
from mauve_core.analyses.data_frames import clusters, pairs, scores
from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.clusters.k_means import kmeans
from mauve_core.scoring import partitioning
from mauve_core.scoring.estimates import divergence
from mauve_core.scoring.settings import labels_by, sum_of_squares
from mauve_core.scoring.tables import to_table
from mauve_core.stats.divergences import frontier_integral, mid_point
from mauve_core.stats.scores import SCORES

N, K = 90, 6
SETTINGS: dict[str, Any] = {
    "config": CompareConfig(encoder=None, score=ScoreConfig(k=K, seeds=3, bootstrap=100), projection=False),
    "progress": "none",
}


def sides() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    names = (HUMAN, "close", "far")
    features = {name: rng.normal(shift, size=(N, 5)) for name, shift in zip(names, (0, 0.1, 0.8), strict=True)}
    texts = {name: [f"{name} text {i}" for i in range(N)] for name in names}
    return {"human": texts[HUMAN], "candidates": {name: texts[name] for name in names[1:]}, "features": features}


@pytest.fixture(scope="module")
def plain() -> Comparison:
    return compare(**sides(), **SETTINGS)


@pytest.mark.slow
def test_our_own_kmeans_gives_our_own_scores(plain: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    """The function gets the features that k-means gets; with the seed's own stream, all numbers are equal."""
    streams: dict[int, SeedSequence] = {}
    by_number = labels_by

    def noted(clustering: Any, features: Any, k: int, seed: SeedSequence) -> Any:
        streams[int(seed.generate_state(1)[0])] = seed
        return by_number(clustering, features, k, seed)

    def ours(features: Any, k: int, seed: int) -> Any:
        score = plain.config.score
        found = kmeans(features, k, restarts=score.restarts, max_iterations=score.max_iterations, seed=streams[seed])
        return found.labels

    monkeypatch.setattr(partitioning, "labels_by", noted)
    own = compare(**sides(), **SETTINGS, clustering=ours)
    assert scores(own).equals(scores(plain))
    assert pairs(own).equals(pairs(plain))
    for one, other in zip(own.joint, plain.joint, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=1e-6)
    assert "Clusters are those of" in own.warnings[-1]
    assert "ours" in own.warnings[-1]


@pytest.mark.slow
def test_objects_of_scikit_learn_get_k_and_the_seed() -> None:
    kinds = KMeans(n_clusters=2, n_init=1), AgglomerativeClustering(linkage="ward")
    objectives = []
    for kind in kinds:
        found = compare(**sides(), **SETTINGS, clustering=kind)
        assert {partition.k for partition in found.joint} == {K}
        assert found["far"]["mauve"].mean < found["close"]["mauve"].mean
        assert str(kind).split("(")[0] in found.warnings[-1]
        objectives.append(len({partition.objective for partition in found.joint}))
    assert kinds[0].n_clusters == 2  # the caller's own object stays as it was
    assert objectives[0] > objectives[1] == 1  # k-means alone has a seed


def test_such_a_comparison_is_shown_but_not_stored() -> None:
    found = compare(**sides(), **SETTINGS, clustering=AgglomerativeClustering())
    assert "AgglomerativeClustering" in to_table(found)
    assert to_json(found)["environment"]["clustered_by"] == "AgglomerativeClustering()"
    assert figure(found, "leaderboard").data
    assert len(clusters(found, "far")) == K
    with pytest.raises(InputError, match="clusters are not those of k-means cannot be stored"):
        RunStore().save("own", found, {})


@pytest.mark.parametrize(
    ("clustering", "wrong"),
    [
        (lambda x, _k, _s: np.zeros(len(x), int), "another number of clusters. Allowed: exactly k = 6.*Received: 1"),
        (lambda x, k, _s: np.arange(len(x)) % (k + 1), "Received: 7"),
        (lambda x, k, _s: np.arange(len(x)) % k - 1, "negative labels.*Received: -1"),
        (lambda x, k, _s: (np.arange(len(x)) % k) / 2, "something else than labels.*float64"),
        (lambda x, _k, _s: np.zeros(3, int), r"Received: int64 array of shape \(3,\)"),
        (lambda *_: None, "something else than labels"),
        (DBSCAN(eps=0.01), "negative labels|another number"),
        (KMeans, "Received: the class KMeans"),
        (5, "Received: int"),
    ],
)
def test_what_is_no_clustering(clustering: Any, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        compare(**sides(), **SETTINGS, clustering=clustering)


def test_what_a_clustering_raises_passes_through() -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("theirs")

    with pytest.raises(ZeroDivisionError, match="theirs"):
        compare(**sides(), **SETTINGS, clustering=broken)


def test_the_objective_is_that_of_kmeans() -> None:
    points = np.random.default_rng(1).normal(size=(200, 4)).astype(np.float32)
    found = kmeans(points, 7, seed=SeedSequence(0))
    assert sum_of_squares(points, found.labels, 7) == pytest.approx(found.objective, rel=1e-6)


@pytest.mark.parametrize("kind", ["pairwise", "joint"])
@pytest.mark.parametrize("score", ["mid", "frontier_integral"])
def test_a_divergence_of_ours_has_our_own_spread(plain: Comparison, kind: Any, score: str) -> None:
    def ours(p: Any, q: Any) -> float:
        return float({"mid": mid_point, "frontier_integral": frontier_integral}[score](p, q))

    found = divergence(plain, ours, kind=kind, bounds=SCORES[score].bounds)
    for candidate in plain.candidates:
        wanted = (candidate.scores if kind == "pairwise" else candidate.joint_scores)[score]
        own = found[candidate.name]
        assert own.values == pytest.approx(wanted.values, rel=1e-9)
        assert (own.mean, own.sd) == pytest.approx((wanted.mean, wanted.sd), rel=1e-9)
        assert (own.low, own.high) == pytest.approx((wanted.low, wanted.high), rel=1e-9)


def test_a_divergence_by_hand(plain: Comparison) -> None:
    def hellinger(p: Any, q: Any) -> float:
        return float(np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2))

    found = divergence(plain, hellinger, smoothing="laplace")
    for candidate in plain.candidates:
        by_hand = []
        for partition in candidate.partitions:
            p, q = (
                (np.bincount(partition.labels[name], minlength=K) + 1) / (N + K) for name in (HUMAN, candidate.name)
            )
            by_hand.append(hellinger(p, q))
        own = found[candidate.name]
        assert own.values == pytest.approx(by_hand)
        assert own.low < own.mean < own.high
    assert found["far"].low > found["close"].high


@pytest.mark.parametrize(
    ("function", "wrong"),
    [
        (lambda _p, _q: np.inf, "not finite.*Received: inf.*Smooth the histograms"),
        (lambda _p, _q: np.nan, "not finite"),
        (lambda _p, _q: -0.5, r"out of its bounds. Allowed: 0 to inf. Received: -0.5.*bounds=\(low, high\)"),
        (lambda p, _q: p, "returned no number.*ndarray"),
        (lambda _p, _q: None, "returned no number.*NoneType"),
    ],
)
def test_what_is_no_divergence(plain: Comparison, function: Any, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        divergence(plain, function)
    with pytest.raises(InputError, match="Unknown smoothing"):
        divergence(plain, function, smoothing="kt")


def test_the_histograms_are_the_callers_to_change(plain: Comparison) -> None:
    def spoils(p: Any, q: Any) -> float:
        p[:], q[:] = 0, 0
        return 0.0

    assert divergence(plain, spoils)["far"].values == (0.0, 0.0, 0.0)
    assert divergence(plain, lambda p, q: p.sum() + q.sum())["far"].mean == pytest.approx(2)
