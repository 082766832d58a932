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
    MEASURES,
    PAPERS,
    REFERENCES,
    TABLES,
    Domain,
    Measure,
    Paper,
    Reference,
    Table,
    settings,
    table,
)

__all__ = [
    "DOMAINS",
    "MEASURES",
    "OUTCOMES",
    "PAPERS",
    "REFERENCES",
    "TABLES",
    "Agreement",
    "ColumnAgreement",
    "Domain",
    "Measure",
    "Outcome",
    "Paper",
    "Reference",
    "Table",
    "agreements",
    "as_dict",
    "column_agreements",
    "notes",
    "settings",
    "table",
]
