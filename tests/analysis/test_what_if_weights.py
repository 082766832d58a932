"""What a what-if changes: the chosen texts and no other, and by as much as the action says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mauve_core.analyses.selection import (
    ACTIONS,
    MISSING,
    Groups,
    groups_of_clusters,
    one_group,
    slice_mask,
    slice_values,
    weights_of,
)
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.scoring.result import Partition

PART = Partition(
    "joint",
    0,
    4,
    0.0,
    {
        HUMAN: np.array([0, 0, 0, 1, 2, 2, 3, 3], np.int32),
        "m": np.array([0, 1, 1, 1, 1, 2, 2, 2], np.int32),
        "other": np.array([3], np.int32),
    },
)
HUMANS, MODELS = PART.labels[HUMAN], PART.labels["m"]


def test_clusters_are_groups_of_their_own() -> None:
    groups = groups_of_clusters(PART, "m", [2, 1])
    assert groups.count == 2
    assert set(groups.labels) == {HUMAN, "m"}
    np.testing.assert_array_equal(groups.chosen("m"), np.isin(MODELS, [1, 2]))
    np.testing.assert_array_equal(groups.sizes(HUMAN), [2, 1, 5])
    np.testing.assert_array_equal(groups.sizes("m"), [3, 4, 1])
    with pytest.raises(InputError, match="No cluster"):
        groups_of_clusters(PART, "m", [4])


@pytest.mark.parametrize(("side", "changed"), [("model", {"m"}), ("human", {HUMAN}), ("both", {HUMAN, "m"})])
def test_dropping_and_weighting_change_the_chosen_texts_of_that_side(side: str, changed: set[str]) -> None:
    groups = groups_of_clusters(PART, "m", [1, 3])
    for action, factor, counts in (("drop", 7.0, 0.0), ("weight", 2.5, 2.5)):
        weights = weights_of(groups, "m", action, side, factor)
        assert set(weights) == changed
        for source, each in weights.items():
            np.testing.assert_array_equal(each, np.where(np.isin(PART.labels[source], [1, 3]), counts, 1.0))


def test_a_cap_thins_only_groups_with_more_than_the_human_share() -> None:
    weights = weights_of(groups_of_clusters(PART, "m", [0, 1]), "m", "cap", "both")
    assert set(weights) == {"m"}
    # Cluster 0: 3 of 8 human texts, 1 of the model's 8, so nothing to thin; cluster 1: 1 of 8 and 4 of 8.
    np.testing.assert_allclose(weights["m"], [1, 0.25, 0.25, 0.25, 0.25, 1, 1, 1])


def test_matching_gives_every_group_the_human_share() -> None:
    weights = weights_of(groups_of_clusters(PART, "m", [0, 1]), "m", "match")["m"]
    shares = np.bincount(MODELS, weights=weights, minlength=4) / weights.sum()
    np.testing.assert_allclose(shares[:2], [3 / 8, 1 / 8])
    assert weights.sum() == pytest.approx(8)
    with pytest.raises(InputError, match="no text in one of the groups"):
        weights_of(groups_of_clusters(PART, "m", [3]), "m", "match")


def test_one_group_is_matched_as_a_whole() -> None:
    groups = one_group("m", HUMANS == 0, np.isin(MODELS, [0, 1]))
    weights = weights_of(groups, "m", "match")["m"]
    assert set(np.unique(weights)) == {3 / 8 / (5 / 8), 5 / 8 / (3 / 8)}
    assert weights[groups.chosen("m")].sum() / weights.sum() == pytest.approx(3 / 8)


@given(st.sets(st.integers(0, 3)), st.sampled_from(ACTIONS), st.floats(0, 100))
def test_what_is_not_chosen_keeps_its_proportions(clusters: set[int], action: str, factor: float) -> None:
    groups = groups_of_clusters(PART, "m", sorted(clusters))
    try:
        weights = weights_of(groups, "m", action, "model", factor)["m"]
    except InputError:
        assert action == "match"
        return
    assert (weights >= 0).all()
    assert len(set(weights[~groups.chosen("m")])) <= 1
    if action != "match":
        assert (weights[~groups.chosen("m")] == 1).all()


def test_unknown_actions_and_sides_are_refused() -> None:
    groups = Groups(1, {HUMAN: np.array([0]), "m": np.array([1])})
    with pytest.raises(InputError, match="No action"):
        weights_of(groups, "m", "delete")
    with pytest.raises(InputError, match="No side"):
        weights_of(groups, "m", "drop", "left")


def test_a_slice_is_a_value_as_text_gaps_included() -> None:
    human = pd.DataFrame({"topic": ["a", "b", None, "b"], "year": pd.Series([1, 2, None, 2], dtype="Int64")})
    model = pd.DataFrame({"topic": ["c", "b"]})
    assert slice_values(human, model, "topic") == ["b", MISSING, "a", "c"]
    assert slice_values(human, model, "year") == ["2", MISSING, "1"]
    np.testing.assert_array_equal(slice_mask(human, "topic", "b"), [False, True, False, True])
    np.testing.assert_array_equal(slice_mask(human, "year", "2"), [False, True, False, True])
    np.testing.assert_array_equal(slice_mask(human, "year", MISSING), [False, False, True, False])
    np.testing.assert_array_equal(slice_mask(model, "year", "2"), [False, False])
