"""Roots and runs; the table of the hand-made catalogue goes, as its lines are made again from the folders."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":  # elsewhere a table of that name is not ours
        op.execute("DROP TABLE IF EXISTS runs")
    op.create_table(
        "mauve_roots",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("path", sa.Text, nullable=False),
    )
    op.create_table(
        "mauve_runs",
        sa.Column("root", sa.String(32), sa.ForeignKey("mauve_roots.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("id", sa.String(80), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("human", sa.Text, nullable=False),
        sa.Column("candidates", sa.JSON, nullable=False),
        sa.Column("n", sa.BigInteger, nullable=False),
        sa.Column("encoder", sa.Text),
        sa.Column("tags", sa.JSON, nullable=False),
        sa.Column("notes", sa.Text, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("sign", sa.Text, nullable=False),
    )
