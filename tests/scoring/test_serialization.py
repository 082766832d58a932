"""A comparison as JSON values and arrays: it comes back equal, and damaged ones are refused."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import from_json
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.serialization import (
    CONTENTS,
    GROUPS,
    PROMPTS,
    ComparisonRecord,
    arrays_of_comparison,
    comparison_from_record,
    record_of_comparison,
)
from tests.handmade import N, make_comparison, with_tests
from tests.mutations import Place, swapped


@pytest.fixture
def comparison() -> Comparison:
    """With units: two texts of a source are of one group, and all of those that end a source are equal."""
    tested = with_tests(make_comparison())
    contents = {name: np.append(np.arange(1, n) + 10 * place, 0) for place, (name, n) in enumerate(N.items())}
    return dataclasses.replace(
        tested,
        groups={name: np.arange(n, dtype=np.int32) // 2 + 10 * place for place, (name, n) in enumerate(N.items())},
        contents={name: own.astype(np.int32) for name, own in contents.items()},
    )


def written(comparison: Comparison) -> dict[str, Any]:
    """The record as it is read from a file."""
    values: dict[str, Any] = json.loads(json.dumps(record_of_comparison(comparison), allow_nan=False))
    return values


def read(record: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Comparison:
    return comparison_from_record(from_json(ComparisonRecord, record, "run"), arrays)


def test_prompts_and_differences_come_back_equal(comparison: Comparison) -> None:
    arrays = arrays_of_comparison(comparison)
    for key in (PROMPTS, GROUPS, CONTENTS):
        assert arrays[key].dtype == np.int32
        assert arrays[key].shape == (sum(N.values()),)
    found = read(written(comparison), arrays)
    assert found.differences == comparison.differences
    assert comparison.prompts is not None
    assert found.prompts is not None
    assert list(found.prompts) == [HUMAN, *(candidate.name for candidate in comparison.candidates)]
    for own, expected in (
        (found.prompts, comparison.prompts),
        (found.groups, comparison.groups),
        (found.contents, comparison.contents),
        (found.units(*N), comparison.units(*N)),
    ):
        for name, codes in expected.items():
            np.testing.assert_array_equal(own[name], codes)
            assert own[name].dtype == codes.dtype
    assert record_of_comparison(found) == record_of_comparison(comparison)


def test_a_comparison_stored_without_units_opens_and_its_prompts_are_units(comparison: Comparison) -> None:
    record, arrays = written(comparison), arrays_of_comparison(comparison)
    del record["units"], arrays[GROUPS], arrays[CONTENTS]
    found = read(record, arrays)
    assert (found.groups, found.contents) == ({}, {})
    assert found.prompts is not None
    units = found.units(*N)
    pairs = np.concatenate([np.stack([found.prompts[name], units[name]]) for name in N], axis=1)
    assert np.unique(pairs, axis=1).shape[1] == len({*pairs[0].tolist()}) == len({*pairs[1].tolist()})
    alone = dataclasses.replace(found, prompts=None, prompts_by=None).units(*N)
    assert np.concatenate([*alone.values()]).tolist() == list(range(sum(N.values())))


def test_a_single_candidate_comes_back() -> None:
    comparison = make_comparison()
    comparison = dataclasses.replace(comparison, candidates=comparison.candidates[:1], joint=(), differences=())
    comparison = dataclasses.replace(comparison, projection=None, map_fitted=None)
    arrays = arrays_of_comparison(comparison)
    assert PROMPTS not in arrays
    found = read(written(comparison), arrays)
    assert (found.prompts, found.prompts_by, found.differences) == (None, None, ())


def test_candidates_without_tests_are_refused(comparison: Comparison) -> None:
    with pytest.raises(InputError, match="not those of every two candidates"):
        read(written(dataclasses.replace(comparison, differences=())), arrays_of_comparison(comparison))


@pytest.mark.parametrize(
    "change",
    [
        lambda codes: codes[:-1],
        lambda codes: np.append(codes, np.int32(0)),
        lambda codes: codes[:, np.newaxis],
        lambda codes: codes[:0],
        lambda codes: codes.astype(np.int64),
        lambda codes: codes.astype(np.float32),
        lambda codes: np.where(codes == 3, np.int32(-1), codes),
    ],
    ids=["too short", "too long", "a column", "empty", "int64", "float32", "negative"],
)
def test_damaged_prompts_and_units_are_refused(comparison: Comparison, change: Any) -> None:
    arrays = arrays_of_comparison(comparison)
    for key in (PROMPTS, GROUPS, CONTENTS):
        with pytest.raises(ValueError, match=f"{key} of shape"):
            read(written(comparison), {**arrays, key: change(arrays[key])})


@pytest.mark.parametrize("key", [PROMPTS, GROUPS, CONTENTS])
def test_prompts_and_units_that_are_missing_are_refused(comparison: Comparison, key: str) -> None:
    arrays = arrays_of_comparison(comparison)
    del arrays[key]
    with pytest.raises(KeyError, match=key):
        read(written(comparison), arrays)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("first", "nobody"),
        ("first", HUMAN),
        ("second", "grün & <b>"),  # the first itself
        ("score", "mauve_star"),  # another score of the same pair is there already
        ("p_value", -0.01),
        ("p_adjusted", 1.5),
        ("p_adjusted", float("nan")),
        ("difference", float("inf")),
        ("low", None),
        ("p_alike", "0.1"),
        ("paired", 1),
        ("n", 2.5),
    ],
)
def test_damaged_differences_are_refused(comparison: Comparison, field: str, value: object) -> None:
    record = swapped(record_of_comparison(comparison), ("differences", 0, field), value)
    with pytest.raises(InputError):
        read(record, arrays_of_comparison(comparison))


@pytest.mark.parametrize("change", [lambda rows: rows[1:], lambda rows: [*rows, rows[0]]])
def test_every_pair_is_tested_once_under_every_score(comparison: Comparison, change: Any) -> None:
    record = written(comparison)
    place: Place = ("differences",)
    with pytest.raises(InputError, match="every two candidates"):
        read(swapped(record, place, change(record["differences"])), arrays_of_comparison(comparison))
