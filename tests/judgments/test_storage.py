"""Ratings stay: whole pairs, at once, with several writers, and damage is reported and never guessed around."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from mauve_core.base.config import QUESTIONS
from mauve_core.base.errors import InputError, StorageError
from mauve_core.runs import ratings
from mauve_core.runs.ratings import Imported, Pair, Rating, RatingStore
from tests.judgments.made_up import make_rating

PAIR = Pair(0, "p9", "Once upon", "human", "beam", "a time", "once upon upon")


@pytest.fixture
def store(tmp_path: Path) -> RatingStore:
    return RatingStore(tmp_path / "ratings.sqlite")


def answers(prompt_id: str = "p1", rater: str = "ann") -> list[Rating]:
    return [make_rating(rater, prompt_id, question=question) for question in QUESTIONS]


class TestAppend:
    def test_what_was_stored_comes_back(self, store: RatingStore) -> None:
        odd = make_rating("änn\u202e; DROP TABLE", "p'\"2", seconds=None, left="grün & <b>", option="tie")
        store.append(answers())
        store.append([odd])
        assert RatingStore(store.path).list() == (*answers(), odd)

    def test_nothing_is_there_before_the_first(self, store: RatingStore) -> None:
        assert store.list() == ()
        assert store.seen("ann") == frozenset()
        assert store.counts().pairs == 0
        assert store.undo("ann") is None
        assert not store.path.exists()

    @pytest.mark.slow
    def test_a_pair_is_on_the_disk_when_the_call_returns(self, store: RatingStore) -> None:
        script = (
            "import os, signal, sys; from pathlib import Path; from mauve_core.runs.ratings import RatingStore;"
            "from tests.judgments.test_storage import answers; RatingStore(Path(sys.argv[1])).append(answers());"
            "os.kill(os.getpid(), signal.SIGKILL)"
        )
        ended = subprocess.run([sys.executable, "-c", script, str(store.path)], check=False)
        assert ended.returncode < 0
        assert store.list() == tuple(answers())

    def test_commits_are_flushed_to_the_disk(self, store: RatingStore) -> None:
        store.append(answers())
        with store._connected() as connection:
            assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)

    def test_a_pair_is_stored_whole_or_not_at_all(self, store: RatingStore, monkeypatch: pytest.MonkeyPatch) -> None:
        store.append(answers("p0"))
        values = ratings._values
        monkeypatch.setattr(ratings, "_values", lambda r: values(r) if r.question != "sensible" else (object(),) * 10)
        with pytest.raises(StorageError):
            store.append(answers("p1"))
        monkeypatch.undo()
        assert store.list() == tuple(answers("p0"))

    def test_a_pair_is_rated_once_by_each_rater(self, store: RatingStore) -> None:
        store.append(answers())
        for again in (answers(), [rating.mirrored for rating in answers()]):
            with pytest.raises(InputError, match="already"):
                store.append(again)
        store.append(answers(rater="ben"))
        store.append([replace(rating, right_digest="0" * 16) for rating in answers()])
        assert len(store.list()) == 9

    @pytest.mark.parametrize(
        "given", [[], [make_rating("ann"), make_rating("ben")], [make_rating(""), make_rating("", question="x")]]
    )
    def test_only_one_pair_of_one_rater_at_a_time(self, store: RatingStore, given: list[Rating]) -> None:
        with pytest.raises(InputError, match="one rater on one pair"):
            store.append(given)

    def test_one_answer_to_a_question(self, store: RatingStore) -> None:
        with pytest.raises(InputError, match="twice"):
            store.append([make_rating(), make_rating(option="tie")])

    def test_a_writer_waits_for_another_that_is_making_the_file(self, store: RatingStore) -> None:
        store.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)) as other:
            other.execute("BEGIN IMMEDIATE")  # not in the write-ahead log yet: SQLite refuses to change that at once
            ended = threading.Timer(0.3, other.execute, ["ROLLBACK"])
            ended.start()
            store.append(answers("p0", "ann"))
            ended.join()
        assert set(store.counts().raters) == {"ann"}

    @pytest.mark.slow
    def test_many_writers_that_begin_at_once_lose_nothing(self, store: RatingStore) -> None:
        writers, pairs = 6, 8
        barrier, errors = threading.Barrier(writers), []

        def write(rater: str) -> None:
            barrier.wait()
            try:
                for pair in range(pairs):
                    RatingStore(store.path).append(answers(f"p{pair}", rater))
            except Exception as error:  # noqa: BLE001 (told below, in the thread that can)
                errors.append(error)

        threads = [threading.Thread(target=write, args=(f"r{i}",)) for i in range(writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        counts = store.counts()
        assert (counts.pairs, counts.ratings, len(counts.raters)) == (writers * pairs, 3 * writers * pairs, writers)


class TestSkipAndUndo:
    def test_a_skipped_pair_counts_as_seen_on_either_side(self, store: RatingStore) -> None:
        store.skip("ann", PAIR)
        store.skip("ann", PAIR)
        turned = Pair(5, "p9", "Once upon", "beam", "human", PAIR.right_text, PAIR.left_text)
        assert turned.key in store.seen("ann")
        assert PAIR.key not in store.seen("ben")
        assert (store.counts().skipped, store.counts().pairs, store.list()) == (1, 0, ())

    def test_rating_a_skipped_pair_after_all(self, store: RatingStore) -> None:
        store.skip("ann", PAIR)
        store.append(PAIR.ratings("ann", {"sensible": "tie"}))
        counts = store.counts()
        assert (counts.skipped, counts.pairs, counts.ties) == (0, 1, 1)
        assert counts.raters["ann"].pairs == 1

    def test_undo_takes_back_the_last_pair_of_that_rater(self, store: RatingStore) -> None:
        store.append(answers("p1"))
        store.skip("ann", PAIR)
        store.append(answers("p2"))
        store.append(answers("p2", rater="ben"))
        assert store.undo("ann") == answers("p2")[0].key
        assert store.undo("ann") == PAIR.key
        assert store.seen("ann") == {answers("p1")[0].key}
        assert store.undo("ann") == answers("p1")[0].key
        assert store.undo("ann") is None
        assert store.list() == tuple(answers("p2", rater="ben"))

    def test_imported_ratings_are_not_taken_back(self, store: RatingStore) -> None:
        store.add_missing(answers("p1"))
        assert store.undo("ann") is None
        store.append(answers("p2"))
        assert store.undo("ann") == answers("p2")[0].key
        assert store.undo("ann") is None
        assert store.list() == tuple(answers("p1"))


class TestImport:
    def test_twice_adds_nothing(self, store: RatingStore) -> None:
        assert store.add_missing(answers()) == Imported(3, 0, 0)
        assert store.add_missing([*answers(), *answers("p2")]) == Imported(3, 3, 0)
        assert len(store.list()) == 6

    def test_the_other_side_is_the_same_answer(self, store: RatingStore) -> None:
        store.add_missing(answers())
        assert store.add_missing([rating.mirrored for rating in answers()]) == Imported(0, 3, 0)

    def test_another_answer_is_told_and_does_not_replace(self, store: RatingStore) -> None:
        store.append(answers())
        changed = [replace(rating, option="tie") for rating in answers()]
        assert store.add_missing(changed) == Imported(0, 0, 3)
        assert store.list() == tuple(answers())

    def test_it_ends_a_skip(self, store: RatingStore) -> None:
        store.skip("ann", PAIR)
        store.add_missing(PAIR.ratings("ann", {"sensible": "tie"}))
        assert (store.counts().pairs, store.counts().skipped) == (1, 0)


class TestDamage:
    @pytest.mark.parametrize(
        "content", [b"not a database, whatever its name says" * 40, b"SQLite format 3\x00" + b"x" * 4096]
    )
    def test_a_file_that_is_no_database_is_told_and_kept(self, store: RatingStore, content: bytes) -> None:
        store.path.write_bytes(content)
        for call in (store.list, lambda: store.append(answers()), store.counts, lambda: store.undo("ann")):
            with pytest.raises(StorageError, match="ratings"):
                call()
        assert store.path.read_bytes() == content

    def test_a_row_that_is_no_rating_is_damage(self, store: RatingStore) -> None:
        store.append(answers())
        with closing(sqlite3.connect(store.path)) as connection, connection:
            connection.execute("UPDATE ratings SET option = 'best'")
        with pytest.raises(StorageError, match="damaged"):
            store.list()

    def test_a_run_that_was_deleted_meanwhile_is_not_brought_back(self, tmp_path: Path) -> None:
        with pytest.raises(StorageError, match="no longer exists"):
            RatingStore(tmp_path / "deleted" / "ratings.sqlite").append(answers())
        assert not (tmp_path / "deleted").exists()
