"""The papers' printed figures, and their correlation tables recomputed from them."""

from mauve_core.experiments.published.agreement import (
    OUTCOMES,
    Agreement,
    ColumnAgreement,
    Outcome,
    agreements,
    as_dict,
    column_agreements,
    notes,
)
from mauve_core.experiments.published.tables import (
    DOMAINS,
    PAPERS,
    PUBLISHED_COLUMNS,
    REFERENCES,
    TABLES,
    Domain,
    Paper,
    PublishedColumn,
    Reference,
    Table,
    settings,
    table,
)

__all__ = [
    "DOMAINS",
    "OUTCOMES",
    "PAPERS",
    "PUBLISHED_COLUMNS",
    "REFERENCES",
    "TABLES",
    "Agreement",
    "ColumnAgreement",
    "Domain",
    "Outcome",
    "Paper",
    "PublishedColumn",
    "Reference",
    "Table",
    "agreements",
    "as_dict",
    "column_agreements",
    "notes",
    "settings",
    "table",
]
