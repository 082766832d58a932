"""Empty clusters against a plain loop over the labels, and what is shown of them."""

from __future__ import annotations

import dataclasses
import statistics

import numpy as np
import pytest

from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.tables import EMPTY_CLUSTERS_COLUMNS, empty_cluster_rows, empty_clusters, empty_clusters_json
from tests.handmade import make_comparison


def with_labels(*labels: tuple[list[int], list[int]], k: int = 6) -> Comparison:
    """The first candidate alone, with these labels of the human texts and its own under each seed."""
    comparison = make_comparison()
    first = comparison.candidates[0]
    source = dataclasses.replace(first.source, n=len(labels[0][1]))
    parts = tuple(
        dataclasses.replace(
            first.partitions[0],
            seed=seed,
            k=k,
            labels={HUMAN: np.array(human, dtype=np.int32), first.name: np.array(model, dtype=np.int32)},
        )
        for seed, (human, model) in enumerate(labels)
    )
    return dataclasses.replace(comparison, candidates=(dataclasses.replace(first, source=source, partitions=parts),))


def test_every_candidate_has_the_numbers_of_a_plain_loop() -> None:
    comparison = make_comparison()
    found = empty_clusters(comparison)
    assert [each.candidate for each in found] == [candidate.name for candidate in comparison.candidates]
    for each, candidate in zip(found, comparison.candidates, strict=True):
        for side, numbers in ((HUMAN, each.human), (candidate.name, each.model)):
            loop = []
            for part in candidate.partitions:
                labels = list(part.labels[side])
                loop.append(sum(1 for cluster in range(part.k) if cluster not in labels))
            assert numbers.values == tuple(loop)
        assert each.both.values == tuple(map(sum, zip(each.human.values, each.model.values, strict=True)))


def test_numbers_known_beforehand() -> None:
    """The human side lacks 4 and 2 of 6 clusters, the candidate 5 and 3."""
    (found,) = empty_clusters(with_labels(([0, 1, 1], [5, 5, 5]), ([0, 1, 2, 3], [5, 4, 3])))
    assert (found.k, found.human.values, found.model.values, found.both.values) == (6, (4, 2), (5, 3), (9, 5))
    assert found.human.sd == pytest.approx(statistics.stdev([4, 2]))
    assert found.both.mean == 7


def test_each_generation_has_a_histogram_of_its_own() -> None:
    """All texts together lack 3 of 6 clusters, the first generation 4 and the second 5."""
    comparison = with_labels(([0, 1, 2, 3, 4, 5], [0, 1, 1, 3, 3, 3]))
    name = comparison.candidates[0].name
    own = dataclasses.replace(comparison, generations={name: np.array([0, 0, 0, 1, 1, 1], dtype=np.int32)})
    assert empty_clusters(comparison)[0].model.values == (3,)
    assert empty_clusters(own)[0].model.values == (4.5,)
    assert empty_clusters(own)[0].human.values == (0,)


def test_rows_and_json() -> None:
    comparison = with_labels(([0, 1, 1], [5, 5, 5]), ([0, 1, 2, 3], [5, 4, 3]))
    (row,) = empty_cluster_rows(comparison)
    assert len(row) == len(EMPTY_CLUSTERS_COLUMNS)
    assert [with_plain_spaces(cell) for cell in row[1:]] == [
        "6",
        "3.0 ± 1.4 (50.0%)",
        "4.0 ± 1.4 (66.7%)",
        "7.0 ± 2.8 (58.3%)",
    ]
    (record,) = empty_clusters_json(comparison)
    assert record["model"] == {"mean": 4.0, "sd": pytest.approx(2**0.5), "share": pytest.approx(2 / 3)}
    assert record["both"]["share"] == pytest.approx(7 / 12)
    assert empty_clusters_json(with_labels(([0], [0])))[0]["human"] == {"mean": 5.0, "sd": None, "share": 5 / 6}


def test_rows_stand_in_order_of_rank() -> None:
    assert [row[0] for row in empty_cluster_rows(make_comparison())] == ["b", "grün & <b>"], "b has the higher MAUVE"
