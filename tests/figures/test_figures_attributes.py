"""The table of pure clusters, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mauve_core.base.errors import InputError
from mauve_core.findings.clusters import purest_clusters, wilson_interval


def test_pure_clusters_by_hand() -> None:
    labels = np.array([0] * 10 + [1] * 10 + [2] + [3] * 3)
    cells = np.array(["a"] * 9 + ["b"] + ["b"] * 6 + ["a"] * 4 + ["c"] + [None] * 3, dtype=object)
    table = purest_clusters(labels, 5, cells).set_index("cluster")
    # Cluster 2 is pure, but of one text; 3 has no value; 4 has no text.
    assert table.index.tolist() == [0, 1, 2]
    assert table["value"].tolist() == ["a", "b", "c"]
    assert table["count"].tolist() == [9, 6, 1]
    assert table["n"].tolist() == [10, 10, 1]
    assert table["share"].tolist() == [0.9, 0.6, 1.0]
    assert table["of_all"].tolist() == pytest.approx([13 / 21, 7 / 21, 1 / 21])
    for _, row in table.iterrows():
        low, high = wilson_interval(int(row["count"]), int(row["n"]))
        assert (row["low"], row["high"]) == (low, high)


def test_a_tie_goes_to_the_value_that_more_texts_have() -> None:
    cells = np.array(["a", "b", "b", "b"], dtype=object)
    table = purest_clusters([0, 0, 1, 1], 2, cells)
    assert table.set_index("cluster")["value"].to_dict() == {0: "b", 1: "b"}


def test_values_of_several_types_are_text() -> None:
    table = purest_clusters([0, 0, 1], 2, np.array([True, True, False], dtype=object))
    assert table["value"].tolist() == ["True", "False"]


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="do not match"):
        purest_clusters([0, 1], 2, np.array(["a"], dtype=object))
    with pytest.raises(InputError, match="No text has a value"):
        purest_clusters([0], 1, np.array([None], dtype=object))
