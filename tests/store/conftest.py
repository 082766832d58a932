"""Every test of the store runs twice: with the catalogue in SQLite, and on a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from mauve_core.store import RunStore
from mauve_core.store.database import CATALOGUE, DATABASE_VARIABLE, _engine, database_url
from tests import postgres as postgresql
from tests.conftest import missing

NO_POSTGRESQL = "THE STORE WAS TESTED WITH SQLITE ALONE: no PostgreSQL found (apt-get install postgresql)"


@pytest.fixture(scope="session")
def postgres(pytestconfig: pytest.Config) -> Iterator[str]:
    """The URL of an empty database; where PostgreSQL is not installed, tests are skipped, but not in CI."""
    binaries = postgresql.programs()
    if binaries is None:
        missing(pytestconfig, NO_POSTGRESQL)
    with postgresql.server(binaries) as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The kind of database that the environment names; PostgreSQL's is one for all tests, as for many homes."""
    kind: str = request.param
    if kind == "postgresql":
        monkeypatch.setenv(DATABASE_VARIABLE, request.getfixturevalue("postgres"))
    url = database_url(tmp_path)
    yield kind
    if kind == "postgresql":
        _engine(url).dispose()


@pytest.fixture
def store(database: str, tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs")


@pytest.fixture
def forget(store: RunStore, database: str) -> Callable[[], None]:
    """Empties the index."""

    def emptied() -> None:
        if database == "sqlite":
            for path in store.root.glob(f"{CATALOGUE}*"):
                path.unlink()
        else:
            with _engine(database_url(store.root)).begin() as connection:
                connection.execute(sa.text("DELETE FROM mauve_roots"))

    return emptied
