"""Shares in clusters over all texts: intervals by the formula of Wilson."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from mauve_core.analyses.over_shards import CandidateOverAll, cluster_of, cluster_sentence, phrase_shares, share_table
from mauve_core.base.formatting import percent_with_interval
from mauve_core.findings.clusters import ADDS, MISSES
from mauve_core.shards.plan import ShardedComparison
from tests.mutations import clusters_over_shards_example, over_shards_example
from tests.synthetic import make_run


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[ShardedComparison, CandidateOverAll]:
    run = make_run(tmp_path_factory.mktemp("shares"), n=40, seeds=2, projection=False)
    return over_shards_example(run), clusters_over_shards_example(run).candidates[0]


def at_size(found: ShardedComparison, candidate: CandidateOverAll, n: int) -> pd.DataFrame:
    """The table of the same shares of more texts."""
    sides = tuple(dataclasses.replace(side, n=n) for side in found.sides)
    clusters = []
    for cluster in candidate.clusters:
        human, model = (
            dataclasses.replace(side, n=side.n * n // 40, effect=2.0) for side in (cluster.human, cluster.model)
        )
        clusters.append(dataclasses.replace(cluster, human=human, model=model))
    return share_table(
        dataclasses.replace(found, sides=sides), dataclasses.replace(candidate, clusters=tuple(clusters))
    )


def test_intervals_hold_for_all_clusters_of_both_sides(example: tuple[ShardedComparison, CandidateOverAll]) -> None:
    found, candidate = example
    table = at_size(found, candidate, 4000)
    k = found[candidate.name].k
    z = norm.ppf(1 - 0.05 / (2 * k) / 2)
    for name, share in (("human", "p"), ("model", "q")):
        n = 4000 / 2
        x = table[name] / 4000
        centre = (x + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(x * (1 - x) / n + z**2 / (4 * n**2))
        np.testing.assert_allclose(table[share], x)
        np.testing.assert_allclose(table[f"{share}_low"], centre - half)
        np.testing.assert_allclose(table[f"{share}_high"], centre + half)
    assert table["direction"].tolist() == [ADDS, MISSES]


def test_intervals_that_overlap_are_said_to(example: tuple[ShardedComparison, CandidateOverAll]) -> None:
    found, candidate = example
    assert cluster_sentence(share_table(found, candidate), "ours").count("(these intervals overlap)") == 2
    many = cluster_sentence(at_size(found, candidate, 4000), "ours")
    assert "overlap" not in many
    assert many.startswith("ours over-produces “rain, cloud” most: 30.0%")
    assert "; it under-produces “bread, milk” most: 17.5%" in many


def test_one_direction_or_none(example: tuple[ShardedComparison, CandidateOverAll]) -> None:
    found, candidate = example
    table = share_table(found, candidate)
    assert cluster_sentence(table[1:], "ours").startswith("ours under-produces “bread, milk” most")
    assert cluster_sentence(table[:0], "ours") == ""
    none = dataclasses.replace(candidate, clusters=())
    assert share_table(found, none).empty
    assert cluster_of(none, 3) is None


def test_shares_of_phrases_are_those_of_all_texts_of_a_side(
    example: tuple[ShardedComparison, CandidateOverAll],
) -> None:
    cluster = example[1].clusters[0]
    (phrase, own, other), *more = phrase_shares(cluster, cluster.human)
    assert (phrase, more) == ("weather", [])
    z, n, x = norm.ppf(0.975), 12 / 1.2, 3 / 12
    centre = (x + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(x * (1 - x) / n + z**2 / (4 * n**2))
    assert other == percent_with_interval(x, centre - half, centre + half)
    assert own.startswith("100%")
    (rain,) = phrase_shares(cluster, cluster.model)
    assert [cell.split("%")[0] for cell in rain] == ["rain", "33", "0"]
    assert phrase_shares(cluster, dataclasses.replace(cluster.human, phrases=())) == []
