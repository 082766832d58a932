"""Schemas of annotations: what they allow is what the codec writes, and what it refuses to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import dataclass_to_json, from_json
from mauve_core.base.json_schema import descriptions, json_schema
from mauve_core.base.validation import As, Extended, Holds, Joined, Ranged, RangedByName, Share, Within


@dataclass(frozen=True)
class Estimate:
    """A number.

    Attributes
    ----------
    mean, low : float
        In nats (:func:`numpy.log`); ``low`` is
        never above. None of this is checked.
    values : tuple of float
    """

    mean: float
    low: float
    sd: float | None
    values: tuple[float, ...]


class Named(TypedDict, total=False):
    n: Annotated[int, Within(1)]


@dataclass(frozen=True)
class Everything:
    """One field of each kind."""

    share: Share
    extended: Extended
    word: Literal["a", "b"]
    number: int | None
    union: str | tuple[int, ...]
    pair: tuple[int, str]
    labels: NDArray[np.int32]
    estimate: Estimate
    by_name: Mapping[str, Estimate]
    settings: Annotated[Mapping[str, Any], As(Named)] = field(default_factory=dict)
    default: int = 0


GOOD = {
    "share": 0.5,
    "extended": "-inf",
    "word": "a",
    "number": None,
    "union": [1, 2],
    "pair": [1, "x"],
    "labels": [0, 1],
    "estimate": {"mean": 1.0, "low": 0.5, "sd": None, "values": [1.0]},
    "by_name": {"x": {"mean": 1.0, "low": 0.5, "sd": 0.1, "values": []}},
    "settings": {"n": 3, "other": [True]},
    "default": 2,
}

WRONG = [
    ("share", 1.5),
    ("share", "0.5"),
    ("extended", "nan"),
    ("word", "c"),
    ("number", 1.5),
    ("number", True),
    ("union", [1.5]),
    ("pair", [1]),
    ("pair", [1, "x", 2]),
    ("labels", [0.5]),
    ("estimate", {"mean": 1.0, "low": 0.5, "sd": None}),
    ("estimate", {**GOOD["estimate"], "unknown": 1}),  # type: ignore[dict-item]
    ("by_name", {"x": 1}),
    ("settings", {"n": 0}),
    ("unknown", 1),
]


def allows(kind: Any, values: object) -> bool:
    schema = json_schema(kind)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema).is_valid(values)


def test_what_the_codec_reads_and_writes_is_allowed() -> None:
    assert allows(Everything, GOOD)
    instance = from_json(Everything, GOOD)
    assert allows(Everything, dataclass_to_json(instance))


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_what_the_codec_refuses_is_not_allowed(name: str, value: object) -> None:
    values = {**GOOD, name: value}
    with pytest.raises(InputError):
        from_json(Everything, values, strict=True)
    assert not allows(Everything, values)


@pytest.mark.parametrize("name", GOOD)
def test_every_field_is_required(name: str) -> None:
    """Reading is more lenient: what has a default may be missing."""
    assert not allows(Everything, {other: each for other, each in GOOD.items() if other != name})


def test_descriptions_are_those_of_the_docstring_without_markup() -> None:
    said = "In nats (numpy.log); low is never above. None of this is checked."
    assert descriptions(Estimate) == {"mean": said, "low": said}
    (estimate,) = json_schema(list[Estimate])["$defs"].values()
    assert estimate["description"] == "A number."
    assert estimate["properties"]["low"] == {"type": "number", "description": said}
    assert "description" not in estimate["properties"]["sd"]


def test_ranges_of_estimates_leave_their_spread_out_and_are_rounded_outward() -> None:
    ranged = list[Annotated[Estimate, Ranged(0.0, np.log(2))]]
    good = {"mean": np.nextafter(np.log(2), 1), "low": 0.0, "sd": 5.0, "values": [0.1]}
    assert allows(ranged, [good])
    for name, value in (("mean", 0.7), ("low", -0.1), ("values", [0.7])):
        assert not allows(ranged, [{**good, name: value}])
    by_name = Annotated[Mapping[str, Estimate], RangedByName({"one": (0.0, 1.0)})]
    assert allows(by_name, {"one": good, "other": {**good, "mean": 5.0}})
    assert not allows(by_name, {"one": {**good, "mean": 5.0}})


class Less(TypedDict):
    """Less."""

    mean: Annotated[float, Holds(lambda _: True, "a number of mine")]
    more: NotRequired[str]


def test_joined_objects_have_the_fields_of_all_and_a_later_one_takes_precedence() -> None:
    schema = json_schema(Annotated[dict[str, Any], Joined(Estimate, Less)])
    assert list(schema["properties"]) == ["mean", "low", "sd", "values", "more"]
    assert schema["properties"]["mean"] == {"type": "number", "description": "Allowed: a number of mine."}
    assert (schema["required"], schema["description"]) == (["mean", "low", "sd", "values"], "Less.")


def test_what_has_no_schema_is_told() -> None:
    with pytest.raises(TypeError, match="No JSON schema for <class 'bytes'>"):
        json_schema(Sequence[bytes])
    here = Estimate

    def other() -> type:
        @dataclass
        class Estimate:
            mean: float

        return Estimate

    with pytest.raises(TypeError, match="Two classes in one schema are called Estimate"):
        json_schema(tuple[here, other()])  # type: ignore[misc]
