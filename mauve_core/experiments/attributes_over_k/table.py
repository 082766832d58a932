"""What clusters tell about columns and properties, with every spread; JSON out and in (ICLR 2023, section 6.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from mauve_core.analysis.attributes import Attribute
from mauve_core.base.json_codec import from_json
from mauve_core.base.validation import As, Settings
from mauve_core.store import Run

ATTACHMENT = "attributes"
"""Name under which the table is kept beside a run."""

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
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
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


def stored_attributes(run: Run) -> AttributeTable | None:
    """The table kept beside the run; None when there is none, StorageError or InputError when it is damaged."""
    values = run.attachment(ATTACHMENT)
    return None if values is None else from_json(AttributeTable, values)
