"""JSON Schemas (draft 2020-12) of what we write, from the annotations that :mod:`mauve_core.base.json_codec` checks.

A dataclass or TypedDict becomes an object that has its fields and no others; what its docstring says of a field under
``Attributes`` becomes that field's description. A schema therefore needs no second list of fields.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np

from mauve_core.base.json_codec import As, Holds, Joined, Named, Ranged, RangedByName, Within, Written

Schema: TypeAlias = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_LEAVES: dict[Any, str] = {float: "number", int: "integer", str: "string", bool: "boolean", type(None): "null"}

# Fields of an estimate that have the range of its score.
_IN_RANGE = ("mean", "low", "high", "values", "generations")

# Ends of the ranges of estimates have ten decimals, rounded outward: the mean of five times ln 2 may be above ln 2 by
# its last digit.
_PLACES = 10**10

# Names and indented text of an entry of numpydoc.
_ENTRY = re.compile(r"^(\w+(?:, \w+)*) : .+\n((?:(?: .*)?\n)*)", re.MULTILINE)


def json_schema(kind: Any) -> Schema:
    """Return the schema of the JSON values that an annotation stands for.

    Parameters
    ----------
    kind : type or annotation
        Of these: None, bool, int, float, str, Literal, unions, tuples, lists, sequences, mappings with text as keys,
        rows of numbers (NumPy), dataclasses as :func:`dataclass_to_json` writes them, TypedDict, Any, and the markers
        of :mod:`mauve_core.base.json_codec`.

    Returns
    -------
    dict
        With ``$schema``, and with ``$defs`` for the dataclasses and TypedDicts in it. It says nothing of conditions
        between fields, such as that an interval holds its mean.

    Raises
    ------
    TypeError
        An annotation is none of these, or two classes in it share a name.
    """
    maker = _Maker()
    schema = maker.of(kind, root=True)
    definitions = {name: maker.found[name][1] for name in sorted(maker.found)}
    return {"$schema": DIALECT, **schema, **({"$defs": definitions} if definitions else {})}


@dataclass
class _Maker:
    """Makes schemas; ``found`` has the classes that were met, by name, with their schemas. While it ``is_open``,
    objects may have other fields than those of their TypedDict."""

    found: dict[str, tuple[type, Schema]] = field(default_factory=dict)
    is_open: bool = False

    def of(self, kind: Any, *, root: bool = False) -> Schema:
        origin, arguments = get_origin(kind), get_args(kind)
        if kind is Any or kind is object:
            return {}
        if origin is Annotated:
            return self._annotated(arguments[0], arguments[1:])
        if origin in (Union, types.UnionType):
            return self._any_of(arguments)
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin in (tuple, list, Sequence):
            return self._array(origin, arguments)
        if origin in (dict, Mapping):
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if origin is np.ndarray:
            (dtype,) = get_args(arguments[1])
            return {"type": "array", "items": self.of(int if issubclass(dtype, np.integer) else float)}
        if is_typeddict(kind) or dataclasses.is_dataclass(kind):
            return self.object_of([kind]) if root else self._reference(kind)
        if kind not in _LEAVES:
            raise TypeError(f"No JSON schema for {kind!r}")
        return {"type": _LEAVES[kind]}

    def _annotated(self, kind: Any, markers: Sequence[Any]) -> Schema:
        for mark in markers:
            if isinstance(mark, Written):
                return self.of(mark.kind)
            if isinstance(mark, As):
                return dataclasses.replace(self, is_open=True).of(mark.kind)
            if isinstance(mark, Joined):
                kinds = [kind if isinstance(kind, type) else kind() for kind in mark.kinds]
                return self.object_of(kinds) if len(kinds) > 1 else self._reference(kinds[0])
        schema = self.of(kind)
        for mark in markers:
            if isinstance(mark, Within):
                schema |= _range(mark.low, mark.high)
            elif isinstance(mark, Holds):
                schema |= {"description": f"Allowed: {mark.allowed}."}
            elif isinstance(mark, Named):
                schema = {"enum": list(mark.names)}
            elif isinstance(mark, Ranged):
                schema = self._ranged(schema, mark)
            elif isinstance(mark, RangedByName):
                entry = schema["additionalProperties"]
                own = {name: self._ranged(entry, Ranged(*ends)) for name, ends in mark.bounds.items()}
                schema = {"type": "object", "properties": own, "additionalProperties": entry}
        return schema

    def _ranged(self, reference: Schema, mark: Ranged) -> Schema:
        """Add the range to a reference to an estimate."""
        limits = _range(_rounded(mark.low, math.floor), _rounded(mark.high, math.ceil))
        _, target = self.found[reference["$ref"].rpartition("/")[2]]
        own = {name: each for name, each in target["properties"].items() if name in _IN_RANGE}
        return {
            **reference,
            "properties": {
                name: limits if each.get("type") == "number" else {"items": limits} for name, each in own.items()
            },
        }

    def _any_of(self, kinds: Sequence[Any]) -> Schema:
        schemas = [self.of(kind) for kind in kinds]
        if all(set(each) == {"type"} for each in schemas):
            return {"type": [each["type"] for each in schemas]}
        return {"anyOf": schemas}

    def _array(self, origin: Any, arguments: Sequence[Any]) -> Schema:
        if origin is tuple and arguments[-1] is not Ellipsis:
            size = len(arguments)
            items = {"prefixItems": [*map(self.of, arguments)], "items": False}
            return {"type": "array", **items, "minItems": size, "maxItems": size}
        return {"type": "array", "items": self.of(arguments[0])}

    def _reference(self, kind: type) -> Schema:
        name = kind.__name__.lstrip("_").removesuffix("Json")
        if name not in self.found:
            self.found[name] = (kind, {})  # first, for a class that holds itself
            self.found[name] = (kind, self.object_of([kind]))
        elif self.found[name][0] is not kind:
            raise TypeError(f"Two classes in one schema are called {name}: {self.found[name][0]!r} and {kind!r}")
        return {"$ref": f"#/$defs/{name}"}

    def object_of(self, kinds: Sequence[type]) -> Schema:
        """Return an object with the fields of all classes, of which the last one says what it is."""
        properties: dict[str, Schema] = {}
        required: dict[str, bool] = {}
        for kind in kinds:
            described = descriptions(kind)
            for name, annotation, always in _fields(kind):
                schema = self.of(annotation)
                about = " ".join(filter(None, (described.get(name), schema.get("description"))))
                properties[name] = {**schema, **({"description": about} if about else {})}
                required[name] = always
        summary = _summary(kinds[-1])
        needed = [name for name, always in required.items() if always]
        return {
            **({"description": summary} if summary else {}),
            "type": "object",
            "properties": properties,
            "required": needed,
            "additionalProperties": self.is_open and is_typeddict(kinds[-1]),
        }


def _range(low: float, high: float) -> Schema:
    return {name: end for name, end in (("minimum", low), ("maximum", high)) if math.isfinite(end)}


def _rounded(end: float, outward: Callable[[float], int]) -> float:
    return outward(end * _PLACES) / _PLACES if math.isfinite(end) else end


def descriptions(kind: type) -> dict[str, str]:
    """What the docstrings of a class, and of those that it inherits from, say of each field; without markup."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        _, _, entries = inspect.cleandoc(each.__doc__ or "").partition("Attributes\n----------\n")
        for match in _ENTRY.finditer(f"{entries}\n"):
            text = _plain(match[2])
            found |= {name: text for name in match[1].split(", ") if text}
    return found


def _summary(kind: type) -> str:
    doc = inspect.cleandoc(kind.__doc__ or "")
    return "" if doc.startswith(f"{kind.__name__}(") else _plain(doc.partition("\n\n")[0])


def _plain(text: str) -> str:
    """Documentation as text of one line without markup, in words of JSON."""
    without_roles = re.sub(r":\w+:`~?([^`]+)`", r"\1", text)
    return " ".join(re.sub(r"\bNone\b(?! of)", "null", without_roles.replace("``", "")).split())


def _fields(kind: type) -> Iterator[tuple[str, Any, bool]]:
    """Name and annotation of each field, and whether it is always written; those of a dataclass are."""
    hints = get_type_hints(kind, include_extras=True)
    if dataclasses.is_dataclass(kind):
        yield from ((item.name, hints[item.name], True) for item in dataclasses.fields(kind) if item.init)
        return
    for name, hint in hints.items():
        # Not __required_keys__ alone: it cannot read annotations that are kept as text.
        optional = get_origin(hint) is NotRequired or name not in kind.__required_keys__  # type: ignore[attr-defined]
        yield name, get_args(hint)[0] if get_origin(hint) in (NotRequired, Required) else hint, not optional
