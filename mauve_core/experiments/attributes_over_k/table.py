"""What clusters capture of columns and properties, with every spread; JSON in and out (ICLR 2023, section 6.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from mauve_core.analysis.attributes import Attribute
from mauve_core.base.json_codec import from_json
from mauve_core.base.validation import As, Settings
from mauve_core.store import Run

ATTACHMENT = "attributes"
"""Attachment name of the table."""

Line = tuple[str, str]
"""Column and kind; a metadata column can share a text property's name."""


@dataclass(frozen=True)
class AttributeTable:
    """All columns at every number of clusters.

    Attributes
    ----------
    rows : tuple of Attribute
        Grouped by column, in ascending k.
    settings : mapping
        Inputs of the numbers, as plain JSON.
    notes : tuple of str
        Exclusions with reasons, and caveats.
    """

    rows: tuple[Attribute, ...]
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def ks(self) -> tuple[int, ...]:
        """All numbers of clusters, ascending."""
        return tuple(sorted({row.k for row in self.rows}))

    @property
    def lines(self) -> dict[Line, tuple[Attribute, ...]]:
        """Rows of each column in ascending k, in column order."""
        found: dict[Line, list[Attribute]] = {}
        for row in self.rows:
            found.setdefault((row.column, row.kind), []).append(row)
        return {line: tuple(sorted(rows, key=lambda row: row.k)) for line, rows in found.items()}


def stored_attributes(run: Run) -> AttributeTable | None:
    """The run's stored table, or None; StorageError or InputError if damaged."""
    values = run.attachment(ATTACHMENT)
    return None if values is None else from_json(AttributeTable, values)
