"""The catalogue's tables. Changes go through ``migrations``; a test holds that both agree.

Names carry a prefix, because a team's database may hold other things.
"""

from __future__ import annotations

import sqlalchemy as sa

HEAD = "0001"
"""The revision that these tables are; that of the last file in ``migrations/versions``."""

VERSION_TABLE = "mauve_version"
METADATA = sa.MetaData()

ROOTS = sa.Table(
    "mauve_roots",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("path", sa.Text, nullable=False),
)
"""Folders of runs, by the id in each; a row is locked by whoever changes runs there."""

RUNS = sa.Table(
    "mauve_runs",
    METADATA,
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
"""A line for each run; ``sign`` is what its folder looked like when the line was written."""
