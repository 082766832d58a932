"""Run by Alembic: applies the revisions on the connection, and in the transaction, that ``database.py`` hands over.

``alembic -c`` is not needed: the program brings a database up to date when it first opens it.
"""

from __future__ import annotations

from alembic import context

from mauve_core.store.tables import METADATA, VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"], target_metadata=METADATA, version_table=VERSION_TABLE
)
context.run_migrations()
