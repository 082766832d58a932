"""One text more in a run's space: the clusters of the core, neighbours as a plain search finds them."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.base.config import HUMAN
from mauve_core.experiments.robustness.frozen import freeze_clusters
from mauve_core.experiments.robustness.text_space import TextSpace, cosine_distance
from mauve_core.store import Run
from tests.synthetic import make_run


@pytest.fixture(scope="module")
def stored_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("stored"), n=60, seeds=1, projection=False)


@pytest.fixture(scope="module")
def features(stored_run: Run) -> dict[str, np.ndarray]:
    return {name: np.asarray(stored_run.features(name)) for name in stored_run.corpora}


@pytest.fixture(scope="module")
def space(stored_run: Run, features: dict[str, np.ndarray]) -> TextSpace:
    comparison = stored_run.comparison
    return TextSpace(features, comparison.joint[0], comparison.config.score)


def test_the_nearest_cluster_is_that_of_the_frozen_clusters(
    space: TextSpace, features: dict[str, np.ndarray], stored_run: Run
) -> None:
    comparison = stored_run.comparison
    strange = np.random.default_rng(3).normal(size=(50, features[HUMAN].shape[1])).astype(np.float32)
    for new in (strange, features["shifted"]):
        clusters = freeze_clusters(comparison.joint[0], features, comparison.config.score)
        assert space.clusters(list(new)) == clusters.nearest(new).tolist()


@pytest.mark.parametrize("side", [HUMAN, "model"])
def test_neighbours_are_those_of_a_plain_search(space: TextSpace, features: dict[str, np.ndarray], side: str) -> None:
    vector = features[HUMAN][4]
    names = [name for name in features if (name == HUMAN) == (side == HUMAN)]
    every = [(cosine_distance(vector, row), name, place) for name in names for place, row in enumerate(features[name])]
    found = space.nearest(vector, side, 6)
    # 1e-6: float32 products of vectors of length one.
    assert [item.distance for item in found] == pytest.approx([item[0] for item in sorted(every)[:6]], abs=1e-6)
    where = {(name, place): distance for distance, name, place in every}
    assert all(where[item.source, item.row] == pytest.approx(item.distance, abs=1e-6) for item in found)


def test_a_text_can_be_left_out(space: TextSpace, features: dict[str, np.ndarray]) -> None:
    vector = features[HUMAN][4]
    assert (space.nearest(vector, HUMAN, 1)[0].row, space.nearest(vector, HUMAN, 1)[0].source) == (4, HUMAN)
    rest = space.nearest(vector, HUMAN, 3, exclude=(HUMAN, 4))
    assert len(rest) == 3
    assert 4 not in [item.row for item in rest]
    assert len(space.nearest(vector, HUMAN, 10**6, exclude=(HUMAN, 4))) == len(features[HUMAN]) - 1
