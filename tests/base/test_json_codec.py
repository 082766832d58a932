"""The codec: what a dataclass looks like in JSON, what is read back, and what is refused with which words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import (
    Extended,
    Holds,
    NotBlank,
    Within,
    Written,
    check_fields,
    dataclass_to_json,
    from_json,
)


@dataclass(frozen=True)
class Inner:
    name: NotBlank
    share: Annotated[float, Within(0, 1)] = 0.5


@dataclass(frozen=True, eq=False)
class OuterThing:
    kind: Literal["a", "b"]
    inner: Inner
    by_name: Mapping[str, tuple[Inner, ...]]
    labels: NDArray[np.int32]
    value: Extended
    even: Annotated[int, Holds(lambda number: number % 2 == 0, "an even number")]
    word: Annotated[complex, Written(str, str, complex)]
    notes: tuple[str, ...] = ()
    limit: int | None = None
    made: int = field(default=3, init=False)

    def __post_init__(self) -> None:
        check_fields(self)


VALUES: dict[str, Any] = {
    "kind": "a",
    "inner": {"name": "x", "share": 1},
    "by_name": {"one": [{"name": "y", "share": 0.25}], "two": []},
    "labels": [3, 0, 2],
    "value": "-inf",
    "even": 4,
    "word": "(1+2j)",
    "notes": ["n"],
    "limit": None,
}


def test_a_dataclass_reads_back_and_is_written_as_it_was() -> None:
    found = from_json(OuterThing, VALUES)
    assert (found.inner, found.by_name["one"]) == (Inner("x", 1), (Inner("y", 0.25),))
    assert (found.labels.dtype, found.labels.tolist()) == (np.int32, [3, 0, 2])
    assert (found.value, found.word, found.notes, found.made) == (-math.inf, 1 + 2j, ("n",), 3)
    assert json.dumps(dataclass_to_json(found)) == json.dumps(VALUES), (
        "order, whole numbers and all; nothing that is derived"
    )


def test_what_has_a_default_may_be_missing() -> None:
    assert from_json(Inner, {"name": "x"}) == Inner("x")
    found = from_json(OuterThing, {name: VALUES[name] for name in VALUES if name not in ("limit", "notes")})
    assert (found.limit, found.notes) == (None, ())


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"more": 1}, "The outer thing"),
        ({"inner": {"name": "x", "more": 1}}, "The entry inner of the outer thing"),
        ({"by_name": {"one": [{"name": "x", "more": 1}]}}, r"The entry by_name.one\[0\] of the outer thing"),
    ],
)
def test_unknown_entries_are_ignored_unless_reading_is_strict(change: dict[str, Any], place: str) -> None:
    values = {**VALUES, **change}
    assert "more" not in json.dumps(dataclass_to_json(from_json(OuterThing, values)))
    with pytest.raises(InputError, match=rf"^{place} cannot be used\. Allowed: the entries .*Received: 'more'"):
        from_json(OuterThing, values, strict=True)
    assert from_json(OuterThing, VALUES, strict=True).kind == "a"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "c"}, r"entry kind of the outer thing cannot be used\. Allowed: a, b\. Received: 'c'"),
        ({"inner": {"name": " "}}, r"entry inner\.name of .* Allowed: text"),
        ({"inner": {"name": "x", "share": 2}}, r"entry inner\.share of .* Allowed: a number from 0 to 1\. Received: 2"),
        ({"inner": {"title": "x"}}, r"entry inner of .* Allowed: the entries name\. .*'title'"),
        ({"by_name": {"one": [{}]}}, r"entry by_name\.one\[0\] of"),
        ({"labels": [2**40]}, r"whole numbers of int32"),
        ({"value": "nan"}, "Allowed: a finite number"),
        ({"value": math.nan}, "Allowed: a finite number"),
        ({"even": 3}, "Allowed: an even number"),
        ({"word": 5}, "entry word of .* Allowed: text"),
    ],
)
def test_what_is_refused_says_where_it_stands(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_json(OuterThing, {**VALUES, **change})


def test_the_message_says_what_the_caller_calls_it() -> None:
    with pytest.raises(InputError, match=r"^The line of a list cannot be used\. Allowed: an object"):
        from_json(Inner, [], "line of a list")


@pytest.mark.parametrize("wrong", [{"name": ""}, {"name": 3}, {"name": "x", "share": True}])
def test_a_dataclass_made_by_hand_checks_itself_in_the_same_way(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="entry") as said:
        check_fields(Inner(**wrong))
    with pytest.raises(InputError) as read:
        from_json(Inner, wrong)
    assert str(said.value) == str(read.value)
