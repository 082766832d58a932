"""One text more in a run's space: the clusters of the core, neighbours as a plain search finds them."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.analyses.frozen_clusters import SharedEncoder, TextSpace, cosine_distance, freeze_clusters
from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.runs import Run
from tests.synthetic import make_run
from tests.tiny_models import make_gpt2


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


@pytest.mark.slow
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


def test_the_usual_distance_is_the_median_of_the_nearest(space: TextSpace, features: dict[str, np.ndarray]) -> None:
    rows = features[HUMAN].astype(np.float64)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    distances = 1 - unit @ unit.T
    np.fill_diagonal(distances, np.inf)
    assert space.usual_distance() == pytest.approx(np.median(distances.min(axis=1)), abs=1e-6)


def test_cosine_distance() -> None:
    one, other = np.array([1, 0], np.float32), np.array([0, 3], np.float32)
    assert cosine_distance(one, one) == 0
    assert cosine_distance(one, other) == pytest.approx(1)
    assert cosine_distance(one, -one) == pytest.approx(2)


def test_the_shared_encoder_says_what_was_read(tmp_path) -> None:
    encoder = SharedEncoder(EncoderConfig(str(make_gpt2(tmp_path / "tiny")), max_tokens=5))
    assert not encoder.loaded
    short, long = encoder.encode("The fox."), encoder.encode("The quick brown fox jumps over the lazy dog.")
    assert encoder.loaded
    assert (short.cut, long.cut, long.tokens) == (False, True, 5)
    assert np.array_equal(short.vector, encoder.encode("The fox.").vector)
    assert not np.array_equal(short.vector, long.vector)
