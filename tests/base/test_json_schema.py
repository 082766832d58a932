"""Schemas of annotations: what they allow is what the codec writes, and what it refuses to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import As, Extended, Share, Within, dataclass_to_json, from_json
from mauve_core.base.json_schema import json_schema


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
    ("word", "c"),
    ("number", True),
    ("pair", [1, "x", 2]),
    ("estimate", {**GOOD["estimate"], "unknown": 1}),
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
