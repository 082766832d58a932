"""What clusters capture of columns and properties, with every spread; JSON in and out (ICLR 2023, section 6.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from mauve_core.analysis.attributes import Attribute
from mauve_core.base.json_codec import As, Settings, from_json
from mauve_core.runs import Run

# Attachment name of the table.
ATTACHMENT = "attributes"

# Title of the run's own clusters beside those of other texts.
OWN = "this run"

# Column and kind; a metadata column can share a text property's name.
Line = tuple[str, str]


@dataclass(frozen=True)
class AttributeTable:
    """All columns at every number of clusters.

    Attributes
    ----------
    rows : tuple of Attribute
        Grouped by column, in ascending k.
    foreign : tuple of Attribute or None
        The same from clusters that were learned on other texts, if any.
    settings : mapping
        Inputs of the numbers, as plain JSON.
    notes : tuple of str
        Exclusions with reasons, and caveats.
    """

    rows: tuple[Attribute, ...]
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    foreign: tuple[Attribute, ...] | None = None

    @property
    def ks(self) -> tuple[int, ...]:
        """All numbers of clusters, ascending."""
        return tuple(sorted({row.k for row in self.rows}))

    @property
    def other_rows(self) -> tuple[Attribute, ...]:
        """The rows of ``foreign``; empty without any."""
        return self.foreign or ()

    @property
    def clusters_from(self) -> str:
        """Where the other texts come from; empty without any."""
        return str(self.settings.get("clusters_from", {}).get("title", ""))

    @property
    def lines(self) -> dict[Line, tuple[Attribute, ...]]:
        """Rows of each column in ascending k, in column order."""
        return _by_line(self.rows)

    @property
    def other_lines(self) -> dict[Line, tuple[Attribute, ...]]:
        """The same of ``other_rows``."""
        return _by_line(self.other_rows)


def _by_line(rows: Iterable[Attribute]) -> dict[Line, tuple[Attribute, ...]]:
    found: dict[Line, list[Attribute]] = {}
    for row in rows:
        found.setdefault((row.column, row.kind), []).append(row)
    return {line: tuple(sorted(rows, key=lambda row: row.k)) for line, rows in found.items()}


def stored_attributes(run: Run) -> AttributeTable | None:
    """The run's stored table, or None; StorageError or InputError if damaged."""
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    return from_json(AttributeTable, values)
