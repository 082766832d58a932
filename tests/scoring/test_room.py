"""What a comparison would take in memory is counted before it begins, and does not grow with its resamples."""

from __future__ import annotations

import dataclasses
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from mauve_core import compute_mauve
from mauve_core.analyses.gap import prepare
from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.clusters import features, k_means
from mauve_core.clusters.k_means import kmeans
from mauve_core.clusters.reduction import reduce_features
from mauve_core.encoders.external_features import features_of, open_features
from mauve_core.scoring import estimates
from mauve_core.scoring.compare import compare
from mauve_core.scoring.estimates import resamples, rescored, score_basis, two_sides
from mauve_core.scoring.result import Comparison, Partition
from mauve_core.scoring.sides import require_room
from mauve_core.stats import units
from mauve_core.stats.divergences import reference_weights
from mauve_core.stats.units import BLOCK_BYTES
from mauve_core.texts import corpus_from_texts, limits
from tests.handmade import make_comparison
from tests.resampled import sample_counts
from tests.scoring.test_differences import any_units
from tests.synthetic import make_comparison_inputs

MB = 2**20


def with_resamples(count: int) -> Comparison:
    comparison = make_comparison()
    score = dataclasses.replace(comparison.config.score, bootstrap=count)
    return dataclasses.replace(comparison, config=dataclasses.replace(comparison.config, score=score))


@pytest.mark.parametrize("kind", ["pairwise", "joint"])
def test_blocks_of_resamples_give_the_same_digits(kind, monkeypatch):
    any_units(monkeypatch)
    comparison = with_resamples(101)
    basis = score_basis(comparison, kind, "none")
    monkeypatch.setattr(estimates, "COUNT_BYTES", 2000)
    monkeypatch.setattr(estimates, "CURVES_AT_ONCE", 7)
    for name, counts in sample_counts(comparison, kind).items():
        blocks = list(estimates.count_blocks(two_sides(comparison, kind, name), comparison.config.score))
        assert len(blocks) > 5
        for block in blocks:
            assert 8 * (block.p_resampled.size + block.q_resampled.size) <= 2000
        for side in ("p", "q"):
            drawn = np.concatenate([getattr(block, f"{side}_resampled") for block in blocks])
            np.testing.assert_array_equal(drawn, getattr(counts, f"{side}_resampled"))
            assert all(np.array_equal(getattr(block, side), getattr(counts, side)) for block in blocks)
    found = score_basis(comparison, kind, "none")
    assert set(found) == set(basis)
    one, other = (rescored(comparison, kind, each, 5.0) for each in (basis, found))
    for before, after in zip(one.candidates, other.candidates, strict=True):
        assert (before.scores, before.joint_scores) == (after.scores, after.joint_scores)


@pytest.mark.slow
def test_memory_does_not_grow_with_resamples_but_for_their_frontiers(monkeypatch):
    monkeypatch.setattr(estimates, "COUNT_BYTES", MB)
    comparison = with_resamples(40_000)
    score = comparison.config.score
    kept = score.bootstrap * score.seeds * len(comparison.candidates) * (2 * 25 + 2) * 8
    tracemalloc.start()
    try:
        rescored(comparison, "joint", score_basis(comparison, "joint", "krichevsky-trofimov"), 5.0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * kept + 60 * MB, f"{peak / MB:.0f} MB, of which frontiers {kept / MB:.0f}"


@pytest.mark.slow
@pytest.mark.parametrize("most_bytes", [1, 10_000])
def test_blocks_of_draws_give_the_same_rate_and_resamples(most_bytes, monkeypatch):
    comparison = with_resamples(101)
    sides = two_sides(comparison, "joint", "b")
    rate, drawn = sides.exchange_rate(101), resamples(comparison, "b")
    assert 0 < rate < 1
    monkeypatch.setattr(units, "BLOCK_BYTES", most_bytes)
    assert sides.exchange_rate(101) == rate
    for source, weights in resamples(comparison, "b").items():
        np.testing.assert_array_equal(weights, drawn[source])


@pytest.mark.slow
@pytest.mark.trial
def test_memory_of_many_texts_is_that_of_a_block_of_draws():
    # All 200 resamples that find the rate would take 440 MB, all 500 that a what-if draws 1,100 MB.
    n, k = 20_000, 100
    rng = np.random.default_rng(0)
    labels = {name: rng.integers(0, k, n).astype(np.int32) for name in (HUMAN, "b")}
    comparison = with_resamples(500)
    comparison = dataclasses.replace(
        comparison,
        human=dataclasses.replace(comparison.human, n=n),
        candidates=tuple(
            dataclasses.replace(each, source=dataclasses.replace(each.source, n=n)) for each in comparison.candidates
        ),
        joint=(Partition("joint", 0, k, 0.0, labels),),
        prompts={source.name: np.arange(n, dtype=np.int32) for source in comparison.sources},
    )
    sides = two_sides(comparison, "joint", "b")
    for work, kept in ((lambda: sides.exchange_rate(500), 0), (lambda: resamples(comparison, "b"), 500 * 2 * n * 4)):
        tracemalloc.start()
        try:
            work()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        # A block holds its random numbers, the texts they draw and the table of weights.
        assert peak < kept + 4 * BLOCK_BYTES, f"{peak / MB:.0f} MB, of which kept {kept / MB:.0f}"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"bootstrap": 1_000_000}, f"bootstrap of 1,000,000.*1,000,000 x 5 x 2.*{limits.RESAMPLES_VARIABLE}"),
        ({"bootstrap": 1000, "seeds": 1000}, limits.RESAMPLES_VARIABLE),
    ],
)
def test_resamples_that_fill_the_memory_are_refused_at_once(settings, said):
    human, candidates, _ = make_comparison_inputs(n=40)
    features = dict.fromkeys((HUMAN, *candidates), "no such file")
    config = CompareConfig(encoder=None, score=ScoreConfig(**settings))
    with pytest.raises(InputError, match=said):
        compare(human, dict(list(candidates.items())[:2]), config, features=features)


def test_labels_and_what_ifs_are_counted_too(monkeypatch):
    monkeypatch.setenv(limits.LABELS_VARIABLE, "940")  # joint 52, pairwise 50 + 22, both 52, halves 3 x 4; five seeds
    require_room(ScoreConfig(), [20, 30, 2])
    with pytest.raises(InputError, match=rf"Allowed: at most 940 .*Received: 985.*{limits.LABELS_VARIABLE}"):
        require_room(ScoreConfig(), [20, 30, 3])
    monkeypatch.setattr("mauve_core.analyses.gap.MOST_CELLS", 1000)
    with pytest.raises(InputError, match="What-ifs with"):
        prepare(make_comparison(), make_comparison().candidates[0].name)


def test_many_restarts_are_compared_a_few_at_a_time(monkeypatch):
    x = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    expected = kmeans(x, 20, restarts=9, seed=3)
    monkeypatch.setattr(k_means, "RESTARTS_AT_ONCE", 2)
    found = kmeans(x, 20, restarts=9, seed=3)
    assert found.objectives == expected.objectives
    np.testing.assert_array_equal(found.labels, expected.labels)


def wide_file(path: Path, rows: int, columns: int) -> Path:
    """As large as its header says, as far as the disk knows."""
    header = f"{{'descr': '<f2', 'fortran_order': False, 'shape': ({rows}, {columns}), }}".ljust(117) + "\n"
    with path.open("wb") as stream:
        stream.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        stream.truncate(stream.tell() + rows * columns * 2)
    return path


def test_twenty_million_columns_are_refused_before_they_are_read(tmp_path, monkeypatch):
    corpus = corpus_from_texts([f"text {i}" for i in range(20)], name="q")
    path = wide_file(tmp_path / "x.npy", 20, 20_000_000)
    said = rf"too many columns.*8,192.*20,000,000.*{features.COLUMNS_VARIABLE}"
    with pytest.raises(InputError, match=rf"x\.npy.*{said}"):
        features_of("q", corpus, path)
    array = open_features(path)
    for refuse in (lambda: compute_mauve(p_features=array, q_features=array), lambda: reduce_features(array)):
        with pytest.raises(InputError, match=said):
            refuse()
    monkeypatch.setenv(features.COLUMNS_VARIABLE, "20000000")
    assert features_of("q", corpus, path).shape == (20, 20_000_000)
    monkeypatch.setenv(features.COLUMNS_VARIABLE, "many")
    with pytest.raises(InputError, match="is not a valid limit"):
        features_of("q", corpus, path)


def test_blocks_are_bounded_by_bytes(monkeypatch):
    table = features.Stacked([np.arange(60.0).reshape(20, 3)])
    monkeypatch.setattr(features, "BLOCK_BYTES", 50)
    blocks = list(table.blocks())
    assert {len(rows) for _, rows in blocks} == {4}
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in blocks]), np.asarray(table))


def test_settings_without_an_end():
    with pytest.raises(InputError, match="setting k cannot be used"):
        ScoreConfig(k=100_001)
    with pytest.raises(InputError, match="too many mixture weights"):
        reference_weights(10**9)
