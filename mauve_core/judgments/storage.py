"""Ratings on disk: one SQLite file per run, safe with several writers; a pair's answers are stored all or none.

A transaction is on disk when it returns (write-ahead log, synchronous=FULL). Submitted pairs are numbered, so that the
last one can be undone; imported ratings have no number and stay.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mauve_core.base.errors import InputError, StorageError, words_of
from mauve_core.base.files import private_opener, require_regular_database, storage_errors
from mauve_core.judgments.plan import Pair
from mauve_core.judgments.ratings import PairKey, Rating, pair_key

# Version of the tables, stored as the file's user_version; a file of another version is refused.
FORMAT = 1

# Timeout for waiting on another writer.
WAIT_S = 30

_Rows = list[Any]

_FIELDS = tuple(item.name for item in fields(Rating))
_COLUMNS = ", ".join(f'"{name}"' for name in _FIELDS)
_SCHEMA = f"""
CREATE TABLE ratings ({_COLUMNS}, pair TEXT NOT NULL, submitted INTEGER, UNIQUE (rater, pair, question));
CREATE TABLE skips (rater TEXT NOT NULL, pair TEXT NOT NULL, created TEXT NOT NULL, submitted INTEGER NOT NULL,
                    UNIQUE (rater, pair));
PRAGMA user_version = {FORMAT};
"""
_INSERT = f"INSERT INTO ratings ({_COLUMNS}, pair, submitted) VALUES ({', '.join('?' * (len(_FIELDS) + 2))})"
_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_NEXT = (
    "SELECT 1 + max(coalesce((SELECT max(submitted) FROM ratings), 0), coalesce((SELECT max(submitted) FROM skips), 0))"
)


@dataclass(frozen=True)
class RaterCounts:
    """One rater's counts: pairs rated, pairs skipped, answers, and ties among the answers."""

    pairs: int
    skipped: int
    ratings: int
    ties: int


@dataclass(frozen=True)
class Counts:
    """Counts of a file: pairs rated, pairs skipped, answers, ties, and the same by rater (in alphabetical order)."""

    pairs: int
    skipped: int
    ratings: int
    ties: int
    raters: Mapping[str, RaterCounts]


@dataclass(frozen=True)
class Imported:
    """Counts of imported ratings: added, present already, and present with another answer (which stayed)."""

    added: int
    repeated: int
    differing: int


class RatingStore:
    """The ratings of one run, in one SQLite file that the first rating creates.

    Every method raises StorageError if the disk refuses or the file is damaged.

    Parameters
    ----------
    path : Path
        ``Run.ratings_path``.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    def append(self, ratings: Iterable[Rating]) -> None:
        """Store the answers of one rater on one pair, all or none; they are on disk when this returns.

        Raises
        ------
        InputError
            There is no answer, there are several raters or pairs or a question twice, or the rater has rated the pair
            before (in another window): nothing is stored.
        """
        answers = tuple(ratings)
        if len({(rating.rater, rating.key) for rating in answers}) != 1 or not answers[0].rater:
            raise InputError("The answers are not all by one rater on one pair", received=f"{len(answers)} answers")
        if len({rating.question for rating in answers}) != len(answers):
            raise InputError("A question is answered twice", allowed="one answer to each question")
        rater, pair = answers[0].rater, _encoded(answers[0].key)
        with self._writing() as connection:
            if connection.execute("SELECT 1 FROM ratings WHERE rater = ? AND pair = ?", (rater, pair)).fetchone():
                raise InputError(
                    f"{rater} has already rated this pair; the earlier answers are kept",
                    todo="Continue with the next pair, or undo the earlier answers first",
                )
            connection.execute("DELETE FROM skips WHERE rater = ? AND pair = ?", (rater, pair))
            (number,) = connection.execute(_NEXT).fetchone()
            connection.executemany(_INSERT, [(*_values(rating), pair, number) for rating in answers])

    def skip(self, rater: str, pair: Pair) -> None:
        """Record that the rater skipped this pair, so that it is not shown again; repeating this has no effect."""
        created = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self._writing() as connection:
            (number,) = connection.execute(_NEXT).fetchone()
            row = (rater, _encoded(pair.key), created, number)
            connection.execute("INSERT OR IGNORE INTO skips VALUES (?, ?, ?, ?)", row)

    def undo(self, rater: str) -> PairKey | None:
        """Undo the rater's last submitted pair, rated or skipped; imported ratings cannot be undone.

        Returns
        -------
        PairKey or None
            The pair; None if the rater has submitted none.
        """
        if not self.path.exists():
            return None
        with self._writing() as connection:
            last = connection.execute(
                "SELECT submitted, pair FROM (SELECT rater, submitted, pair FROM ratings UNION ALL "
                "SELECT rater, submitted, pair FROM skips) WHERE rater = ? ORDER BY submitted DESC LIMIT 1",
                (rater,),
            ).fetchone()
            if last is None or last[0] is None:  # imported ratings come last: they have no number
                return None
            for table in ("ratings", "skips"):
                connection.execute(f"DELETE FROM {table} WHERE rater = ? AND submitted = ?", (rater, last[0]))
            return _decoded(last[1])

    def add_missing(self, ratings: Iterable[Rating]) -> Imported:
        """Store imported ratings, all or none. A rating is present already if its rater has answered the same question
        on the same two texts for the same prompt; the present one stays."""
        added = repeated = differing = 0
        with self._writing() as connection:
            for rating in ratings:
                pair = _encoded(rating.key)
                existing = connection.execute(
                    'SELECT "left", option FROM ratings WHERE rater = ? AND pair = ? AND question = ?',
                    (rating.rater, pair, rating.question),
                ).fetchone()
                if existing is None:
                    connection.execute("DELETE FROM skips WHERE rater = ? AND pair = ?", (rating.rater, pair))
                    connection.execute(_INSERT, (*_values(rating), pair, None))
                    added += 1
                elif existing[1] == (rating.option if existing[0] == rating.left else rating.mirrored.option):
                    repeated += 1
                else:
                    differing += 1
        return Imported(added, repeated, differing)

    def list(self) -> tuple[Rating, ...]:
        """All ratings in order of arrival; empty before the first one."""
        rows = self._rows(f"SELECT {_COLUMNS} FROM ratings ORDER BY rowid")
        try:
            return tuple(Rating(*row) for row in rows)
        except (InputError, TypeError) as error:
            raise self._damaged(error) from error

    def seen(self, rater: str) -> frozenset[PairKey]:
        """The pairs that the rater has rated or skipped."""
        rows = self._rows(
            "SELECT pair FROM ratings WHERE rater = ?1 UNION SELECT pair FROM skips WHERE rater = ?1", rater
        )
        return frozenset(_decoded(pair) for (pair,) in rows)

    def counts(self) -> Counts:
        """Pairs, skips, answers and ties, overall and by rater."""
        rows = self._rows(
            "SELECT rater, count(DISTINCT pair), sum(skipped), sum(NOT skipped), sum(option = 'tie') FROM "
            "(SELECT rater, pair, option, 0 AS skipped FROM ratings UNION ALL SELECT rater, pair, '', 1 FROM skips) "
            "GROUP BY rater ORDER BY rater"
        )
        raters = {rater: RaterCounts(pairs - skipped, skipped, *rest) for rater, pairs, skipped, *rest in rows}
        pairs, skipped, ratings, ties = (
            sum(getattr(counts, item.name) for counts in raters.values()) for item in fields(RaterCounts)
        )
        return Counts(pairs, skipped, ratings, ties, raters)

    def copy_to(self, target: Path) -> None:
        """Copy a consistent state of the file, including its write-ahead log, while others rate.

        Raises
        ------
        StorageError
            The file is damaged, or the disk refuses; the message says what to do.
        """
        self.check()
        with self._connected() as connection:
            _make_private(target)
            with closing(sqlite3.connect(target)) as copy:
                connection.backup(copy)

    def check(self) -> None:
        """Read all of a file from elsewhere.

        Raises
        ------
        StorageError
            The file is damaged, or its tables are not those of this class (another file's triggers would run here).
        """
        with closing(sqlite3.connect(":memory:")) as own:
            own.executescript(_SCHEMA)
            wanted = set(own.execute(_OBJECTS))
        objects, sound = set(self._rows(_OBJECTS)), self._rows("PRAGMA quick_check")
        if objects != wanted or sound != [("ok",)]:
            raise self._damaged(ValueError("its tables are not those of a ratings file"))
        raters = {rating.rater for rating in self.list()}
        for rater in raters | {rater for (rater,) in self._rows("SELECT rater FROM skips")}:
            self.seen(rater)

    def _rows(self, query: str, *values: str) -> _Rows:
        if not self.path.exists():
            return []
        with self._connected() as connection:
            return connection.execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        if not self.path.parent.is_dir():
            raise StorageError(
                f"The folder {self.path.parent} no longer exists", todo="List the stored runs with: mauve-lens runs"
            )
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:  # a full disk has ended it already
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            require_regular_database(self.path)
        except ValueError as error:
            raise self._damaged(error) from error
        try:
            _make_private(self.path)
            with closing(sqlite3.connect(self.path, timeout=WAIT_S, isolation_level=None)) as connection:
                _use_write_ahead_log(connection)
                connection.execute("PRAGMA synchronous=FULL")
                self._check_format(connection)
                yield connection
        except sqlite3.OperationalError as error:
            todo = "Free some space, check the folder's permissions, or close the program that holds the file"
            raise StorageError(f"The ratings {self.path} cannot be used: {words_of(error)}", todo=todo) from error
        except sqlite3.Error as error:
            raise self._damaged(error) from error

    def _check_format(self, connection: sqlite3.Connection) -> None:
        """Create the tables of a new file; two concurrent openers do not both create them."""
        if connection.execute("PRAGMA user_version").fetchone()[0] == FORMAT:
            return
        connection.execute("BEGIN EXCLUSIVE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if version == 0 and empty:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
        connection.execute("COMMIT")
        if version not in (0, FORMAT) or not (empty or version):
            raise StorageError(
                f"The ratings {self.path} have a different layout",
                allowed=f"layout {FORMAT}",
                received=f"layout {version}",
                todo="Move the file elsewhere; the next rating creates a new one",
            )

    def _damaged(self, error: Exception) -> StorageError:
        todo = "Move it elsewhere and continue with a new one; recover what is readable with: sqlite3 FILE .recover"
        return StorageError(f"The ratings {self.path} are damaged: {words_of(error)}", todo=todo)


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Wait for whoever writes to a new file: SQLite itself waits for most locks, but not to change this mode."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _make_private(path: Path) -> None:
    """Create a missing file, empty and for its owner alone; SQLite would follow the umask."""
    if not path.exists():
        with storage_errors(path):
            os.close(private_opener(str(path), os.O_RDWR | os.O_CREAT))


def _values(rating: Rating) -> tuple[str | float | None, ...]:
    return tuple(getattr(rating, name) for name in _FIELDS)


def _encoded(key: PairKey) -> str:
    return json.dumps([key[0], sorted(key[1])], ensure_ascii=False)


def _decoded(text: str) -> PairKey:
    prompt_id, (one, other) = json.loads(text)
    return pair_key(prompt_id, tuple(one), tuple(other))
