"""What clusters tell about columns and properties, with every spread; JSON out and in (ICLR 2023, section 6.1)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from mauve_core.attributes import CATEGORICAL, NUMERIC, Attribute, Repeated, ValuePurity
from mauve_core.errors import InputError
from mauve_core.reading import described

KINDS = ("category", "number", "surface")
"""What a column can be: text and truth values, numbers of the metadata, or a property of the texts."""

Line = tuple[str, str]
"""Column and kind: a column of metadata may be called like a property of texts."""


@dataclass(frozen=True)
class AttributeTable:
    """Every column at every number of clusters.

    Attributes
    ----------
    rows : tuple of Attribute
        A column after the other, each by growing k.
    settings : mapping
        What the numbers come from; plain JSON.
    notes : tuple of str
        What was left out, and why; what a reader must know.
    """

    rows: tuple[Attribute, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def ks(self) -> tuple[int, ...]:
        """Every number of clusters, growing."""
        return tuple(sorted({row.k for row in self.rows}))

    @property
    def lines(self) -> dict[Line, tuple[Attribute, ...]]:
        """The rows of each column by growing k, in the order of the columns."""
        found: dict[Line, list[Attribute]] = {}
        for row in self.rows:
            found.setdefault((row.column, row.kind), []).append(row)
        return {line: tuple(sorted(rows, key=lambda row: row.k)) for line, rows in found.items()}

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        rows = [dataclasses.asdict(row) for row in self.rows]
        return {"rows": rows, "settings": dict(self.settings), "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The table that ``as_dict`` wrote; InputError when it is none."""
        with described("table of attributes", values):
            rows = tuple(_attribute(row) for row in values["rows"])
            return cls(rows, dict(values["settings"]), tuple(map(str, values["notes"])))


def _attribute(values: Mapping[str, Any]) -> Attribute:
    kind = str(values["kind"])
    if kind not in KINDS:
        raise InputError("A column is of no known kind", allowed=", ".join(KINDS), received=repr(kind))
    names = CATEGORICAL if kind == "category" else NUMERIC
    return Attribute(
        column=str(values["column"]),
        kind=kind,
        k=int(values["k"]),
        n=int(values["n"]),
        missing=int(values["missing"]),
        scores={name: _repeated(values["scores"][name]) for name in names},
        by_value=tuple(_value(item) for item in values["by_value"]),
    )


def _value(values: Mapping[str, Any]) -> ValuePurity:
    found = _repeated(values["purity"])
    return ValuePurity(str(values["value"]), int(values["n"]), float(values["share"]), found)


def _repeated(values: Mapping[str, Any]) -> Repeated:
    sd = None if values["sd"] is None else float(values["sd"])
    return Repeated(float(values["mean"]), sd, tuple(float(value) for value in values["values"]))
