"""Human ratings of a run: the pairs that a rater sees, the answers as records, and one SQLite file that keeps them.

JMLR 2023, section 6.4 and appendix E.3: a rater reads a prompt and two continuations, A (left) and B (right), and
answers three questions with one of five options. Each pair of sources draws prompts without replacement. A plan
consists of rounds, each with every pair of sources once in random order, so wherever a rater stops, no pair is more
than one comparison ahead of another that still has prompts. All pairs use one random order of the prompts from starts
spread evenly over it: a prompt returns as late as possible, because a rater who meets a text twice learns its source.

A transaction is on disk when it returns (write-ahead log, synchronous=FULL), and a pair's answers are stored all or
none. Submitted pairs are numbered, so that the last one can be undone; imported ratings have no number and stay.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError, StorageError, words_of
from mauve_core.base.files import private_opener, require_regular_database, storage_errors
from mauve_core.base.formatting import plural, verb
from mauve_core.texts import Corpus
from mauve_core.texts.pairing import column_of, counted_in

# The answers, from left to right.
OPTIONS = ("definitely A", "slightly A", "tie", "slightly B", "definitely B")

# Hexadecimal digits of SHA-256 that identify a text: 64 bits; a million texts collide once in 40 million cases.
DIGEST_LENGTH = 16

# Identity of a pair for a rater: the prompt's id, and the two (source, digest of its text) in any order.
PairKey = tuple[str, frozenset[tuple[str, str]]]


@dataclass(frozen=True)
class Rating:
    """One answer of one rater to one question on one pair.

    Attributes
    ----------
    rater : str
        The rater's chosen name.
    prompt_id : str
        Id of the prompt that both texts continue.
    left, right : str
        Sources of the texts shown as A and as B.
    question : str
        A name of ``QUESTIONS``; ratings read from a table may have others.
    option : str
        One of ``OPTIONS``.
    created : str
        ISO 8601, UTC; empty if unknown.
    seconds : float or None
        From showing the pair to its answers, for all questions together; None if unknown.
    left_digest, right_digest : str
        :func:`text_digest` of the texts; empty if unknown.
    """

    rater: str
    prompt_id: str
    left: str
    right: str
    question: str
    option: str
    created: str
    seconds: float | None
    left_digest: str
    right_digest: str

    def __post_init__(self) -> None:
        if self.option not in OPTIONS:
            raise InputError("A rating has an unknown option", allowed=", ".join(OPTIONS), received=repr(self.option))
        if self.left == self.right:
            raise InputError("A rating compares a source with itself", allowed="two sources", received=repr(self.left))
        if self.seconds is not None and not 0 <= self.seconds < math.inf:
            raise InputError("A rating's seconds cannot be used", allowed="0 or more", received=repr(self.seconds))

    @property
    def key(self) -> PairKey:
        """Key of the rated pair, whichever side its texts were on."""
        return pair_key(self.prompt_id, (self.left, self.left_digest), (self.right, self.right_digest))

    @property
    def mirrored(self) -> Rating:
        """The same answer with the sides swapped."""
        return replace(
            self,
            left=self.right,
            right=self.left,
            left_digest=self.right_digest,
            right_digest=self.left_digest,
            option=OPTIONS[-1 - OPTIONS.index(self.option)],
        )


def text_digest(text: str) -> str:
    """The first 16 hexadecimal digits of the text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


def pair_key(prompt_id: str, one: tuple[str, str], other: tuple[str, str]) -> PairKey:
    """Key of a pair from its two (source, digest) in any order."""
    return prompt_id, frozenset((one, other))


def held(ratings: Iterable[Rating], corpora: Mapping[str, Corpus]) -> tuple[tuple[Rating, ...], int]:
    """The ratings whose two texts are among the corpora's, and the number of the others.

    A rating of a text that was replaced says nothing about the current texts. Rankings omit it; it is never deleted.
    """
    digests = {name: {text_digest(text) for text in corpus.texts} for name, corpus in corpora.items()}
    all_ratings = tuple(ratings)
    present = tuple(
        rating
        for rating in all_ratings
        if rating.left_digest in digests.get(rating.left, ()) and rating.right_digest in digests.get(rating.right, ())
    )
    return present, len(all_ratings) - len(present)


def with_digests(ratings: Iterable[Rating], corpora: Mapping[str, Corpus]) -> tuple[Rating, ...]:
    """Imported ratings, with each missing digest taken from the source's text whose id is the prompt's.

    Tables have no blanks around names. A source or an id of the corpora that has some is named as the corpora do.

    Raises
    ------
    InputError
        A rating without digests names a source or a prompt that the corpora do not have.
    """
    sources, ids = padded(corpora), padded(entry for corpus in corpora.values() for entry in corpus.ids)
    if sources or ids:
        ratings = [_renamed(rating, sources, ids) for rating in ratings]
    texts = {name: dict(zip(corpus.ids, corpus.texts, strict=True)) for name, corpus in corpora.items()}

    def digest(stored: str, source: str, prompt_id: str) -> str:
        if stored:
            return stored
        if prompt_id not in texts.get(source, ()):
            raise InputError(
                f"A rating names neither the digest of its text nor the id of a text of {source!r}",
                allowed=f"sources {', '.join(texts)}; ids of their texts as prompt_id",
                received=f"prompt_id {prompt_id!r}",
            )
        return text_digest(texts[source][prompt_id])

    return tuple(
        replace(
            rating,
            left_digest=digest(rating.left_digest, rating.left, rating.prompt_id),
            right_digest=digest(rating.right_digest, rating.right, rating.prompt_id),
        )
        for rating in ratings
    )


def padded(names: Iterable[str]) -> dict[str, str]:
    """The names with blanks around them, by what they are without; those alone that no other name equals then."""
    names = set(names)
    return {name.strip(): name for name in sorted(names) if name.strip() not in names}


def _renamed(rating: Rating, sources: Mapping[str, str], ids: Mapping[str, str]) -> Rating:
    left, right = (sources.get(name, name) for name in (rating.left, rating.right))
    return replace(rating, left=left, right=right, prompt_id=ids.get(rating.prompt_id, rating.prompt_id))


ABSENT = -1

_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Pair:
    """Two texts for one prompt, as shown to a rater.

    Attributes
    ----------
    index : int
        Position in the plan, from 0.
    prompt_id : str
        The id of both texts; a digest of the prompt if texts were matched by prompt.
    prompt : str
        Empty if the texts have none.
    left, right : str
        Sources of A and B. The rater must not see them.
    left_text, right_text : str
    """

    index: int
    prompt_id: str
    prompt: str
    left: str
    right: str
    left_text: str
    right_text: str

    @property
    def key(self) -> PairKey:
        """Identifies a pair the rater has seen before, on whichever side."""
        left, right = text_digest(self.left_text), text_digest(self.right_text)
        return pair_key(self.prompt_id, (self.left, left), (self.right, right))

    def ratings(self, rater: str, answers: Mapping[str, str], seconds: float | None = None) -> tuple[Rating, ...]:
        """The rater's answers, question -> option, as ratings made now; raises InputError for an unknown option."""
        created = datetime.now(UTC).isoformat(timespec="milliseconds")
        digests = text_digest(self.left_text), text_digest(self.right_text)
        return tuple(
            Rating(rater, self.prompt_id, self.left, self.right, question, option, created, seconds, *digests)
            for question, option in answers.items()
        )


@dataclass(frozen=True, eq=False)
class PairPlan:
    """A rater's pairs in order: ``plan[i]`` is a :class:`Pair`; ``len(plan)`` and ``plan.total`` count them.

    Attributes
    ----------
    rater : str
    sources : tuple of str
        Sources that occur in a pair.
    notes : tuple of str
        Sentences on how texts were matched and what was left out.
    """

    rater: str
    sources: tuple[str, ...]
    notes: tuple[str, ...]
    _matched: _Matched = field(repr=False)
    # (total, 3) left source, right source, prompt, as positions in ``_matched``.
    _order: _Ints = field(repr=False)

    @property
    def total(self) -> int:
        return len(self._order)

    def __len__(self) -> int:
        return self.total

    def __getitem__(self, index: int) -> Pair:
        left, right, prompt = (int(value) for value in self._order[index])
        matched = self._matched
        return Pair(
            index=index % self.total,
            prompt_id=matched.ids[prompt],
            prompt=matched.prompt(left, prompt) or matched.prompt(right, prompt),
            left=matched.names[left],
            right=matched.names[right],
            left_text=matched.text(left, prompt),
            right_text=matched.text(right, prompt),
        )

    def next_pair(self, seen: Collection[PairKey]) -> Pair | None:
        """The first pair that is not in ``seen`` (``RatingStore.seen(rater)``); None if all were seen."""
        return next((pair for pair in map(self.__getitem__, range(self.total)) if pair.key not in seen), None)


def pair_plan(
    corpora: Mapping[str, Corpus], *, rater: str, seed: int = 0, include_human: bool = True, min_words: int = 0
) -> PairPlan:
    """Make the rater's plan: the same for the same texts, rater and seed, in any order of ``corpora``.

    Texts belong to one prompt if they have the same id and, if both sides have prompts, the same prompt. If equal
    prompts match more texts than ids do, the prompt decides (its first texts together, its second ones, ...).

    Parameters
    ----------
    corpora : mapping of str to Corpus
        By source, including ``human``.
    rater : str
        Each rater has their own order.
    seed : int
    include_human : bool
        Whether the human texts take part.
    min_words : int
        Texts with fewer words, separated by white space, are left out and counted.

    Raises
    ------
    InputError
        Fewer than two sources share a prompt, or the rater has no name.
    """
    if not rater.strip():
        raise InputError("The rater's name is empty", allowed="any name or initials", received=repr(rater))
    names = sorted(name for name in corpora if include_human or name != HUMAN)
    chosen = [corpora[name] for name in names]
    candidates = [_by_id(names, chosen), _by_prompt(names, chosen)]
    short = [_without_short(matched, min_words) for matched in candidates]
    matched, left_out = max(zip(candidates, short, strict=True), key=lambda item: _joined(item[0]))
    usable, equal = _usable(matched)
    if not usable:
        raise InputError(
            "No two texts can be compared: fewer than two sources have a text for the same prompt",
            received=", ".join(f"{name} ({len(corpora[name])} texts)" for name in names) or "no source",
            todo="Use files whose ids identify the prompts, or choose the prompt field when you create the run; "
            "if texts were left out, allow shorter ones or include the human texts",
        )
    order = _ordered(usable, len(matched.ids), _streams(rater, seed))
    used = sorted({int(source) for source in order[:, :2].ravel()})
    notes = _notes(matched, left_out, min_words, equal, [names[source] for source in used])
    return PairPlan(rater, tuple(name for name in corpora if name in {names[i] for i in used}), notes, matched, order)


@dataclass(frozen=True)
class _Matched:
    """Texts by prompt: ``positions[source, prompt]`` is a position in the source's corpus, or ABSENT."""

    names: Sequence[str]
    corpora: Sequence[Corpus]
    ids: Sequence[str]
    positions: _Ints
    means: str

    def text(self, source: int, prompt: int) -> str:
        return self.corpora[source].texts[int(self.positions[source, prompt])]

    def prompt(self, source: int, prompt: int) -> str:
        prompts = self.corpora[source].prompts
        return "" if prompts is None else prompts[int(self.positions[source, prompt])]


def _by_id(names: Sequence[str], corpora: Sequence[Corpus]) -> _Matched:
    # A number of a line equals no id that a text came with; of several kinds, the ids that more texts have decide.
    counted = counted_in([(corpus.numbered, column_of(corpus)) for corpus in corpora])
    joint = [what for what, n in Counter(counted).items() if n > 1]
    texts = {what: sum(len(own) for own, its in zip(corpora, counted, strict=True) if its == what) for what in joint}
    most = max(joint, key=texts.__getitem__, default=0)
    chosen = [bool(joint) and what == most for what in counted]
    sides = [corpus.ids if its else [None] * len(corpus) for corpus, its in zip(corpora, chosen, strict=True)]
    ids = list(dict.fromkeys(entry for side in sides for entry in side if entry is not None))
    return _Matched(names, corpora, ids, _positions(sides, ids), "ids")


def _by_prompt(names: Sequence[str], corpora: Sequence[Corpus]) -> _Matched:
    keys: list[list[tuple[str, int] | None]] = []
    for corpus in corpora:
        seen: Counter[str] = Counter()
        keys.append([])
        for prompt in corpus.prompts or [""] * len(corpus):
            seen[prompt] += 1
            keys[-1].append((prompt, seen[prompt]) if prompt.strip() else None)  # without a prompt it goes with none
    found = list(dict.fromkeys(key for side in keys for key in side if key is not None))
    ids = [f"prompt-{text_digest(prompt)}" + (f"-{count}" if count > 1 else "") for prompt, count in found]
    return _Matched(names, corpora, ids, _positions(keys, found), "prompts")


def _positions(sides: Sequence[Sequence[object]], keys: Sequence[object]) -> _Ints:
    index_of = {key: index for index, key in enumerate(keys)}
    positions = np.full((len(sides), len(keys)), ABSENT, dtype=np.int64)
    for source, side in enumerate(sides):
        for position, key in enumerate(side):
            if key is not None:
                positions[source, index_of[key]] = position
    return positions


def _without_short(matched: _Matched, min_words: int) -> int:
    """Remove texts under ``min_words`` from the match; return their number."""
    before = int((matched.positions != ABSENT).sum())
    for source, prompt in np.argwhere(matched.positions != ABSENT) if min_words > 0 else ():
        if len(matched.text(source, prompt).split()) < min_words:
            matched.positions[source, prompt] = ABSENT
    return before - int((matched.positions != ABSENT).sum())


def _joined(matched: _Matched) -> int:
    return sum(len(prompts) for prompts in _shared(matched).values())


def _shared(matched: _Matched) -> dict[tuple[int, int], _Ints]:
    """For each pair of sources, the prompts for which both have a text."""
    codes: dict[str, int] = {}
    prompts = np.full(matched.positions.shape, ABSENT, dtype=np.int64)
    for source, prompt in np.argwhere(matched.positions != ABSENT):
        if matched.corpora[source].prompts is not None:
            prompts[source, prompt] = codes.setdefault(matched.prompt(source, prompt), len(codes))
    result = {}
    for one, two in combinations(range(len(matched.names)), 2):
        both = (matched.positions[one] != ABSENT) & (matched.positions[two] != ABSENT)
        agree = (prompts[one] == prompts[two]) | (prompts[one] == ABSENT) | (prompts[two] == ABSENT)
        result[one, two] = np.flatnonzero(both & agree)
    return result


def _usable(matched: _Matched) -> tuple[dict[tuple[int, int], _Ints], int]:
    """The shared prompts whose two texts differ, and the number of the others."""
    found, equal = {}, 0
    for (one, two), prompts in _shared(matched).items():
        differ = np.array([matched.text(one, p) != matched.text(two, p) for p in prompts], dtype=np.bool_)
        equal += int((~differ).sum())
        if differ.any():
            found[one, two] = prompts[differ]
    return found, equal


def _streams(rater: str, seed: int) -> list[np.random.Generator]:
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError("The seed cannot be used", allowed="a whole number of at least 0", received=repr(seed))
    name = int.from_bytes(hashlib.sha256(rater.encode()).digest())
    return [np.random.default_rng(child) for child in np.random.SeedSequence([seed, name]).spawn(3)]


def _ordered(pairs: Mapping[tuple[int, int], _Ints], prompts: int, streams: list[np.random.Generator]) -> _Ints:
    """(total, 3) left, right and prompt of each pair, in order."""
    for_prompts, for_rounds, for_sides = streams
    rank = np.empty(prompts, dtype=np.int64)
    rank[for_prompts.permutation(prompts)] = np.arange(prompts)
    begins = for_prompts.permutation(len(pairs)) * prompts // len(pairs)
    rows, rounds = [], []
    for (sources, shared), begin in zip(pairs.items(), begins, strict=True):
        turn = shared[np.argsort((rank[shared] - begin) % prompts)]
        rows.append(np.column_stack([np.tile(sources, (len(turn), 1)), turn]))
        rounds.append(np.arange(len(turn)))
    order = np.concatenate(rows)
    order = order[np.lexsort((for_rounds.random(len(order)), np.concatenate(rounds)))]
    swapped = for_sides.random(len(order)) < 0.5
    order[swapped, :2] = order[swapped, 1::-1]
    return order


def _notes(matched: _Matched, left_out: int, min_words: int, equal: int, used: Sequence[str]) -> tuple[str, ...]:
    present = [prompt for prompt in range(len(matched.ids)) if (matched.positions[:, prompt] != ABSENT).sum() > 1]
    notes = [f"Texts of {plural(len(present), 'prompt')} were matched by their {matched.means}."]
    if all(corpus.prompts is None for corpus in matched.corpora):
        notes.append("The texts have no prompts: raters compare texts with the same id without seeing a prompt.")
    if left_out:
        notes.append(
            f"{plural(left_out, 'text')} of fewer than {min_words} words {verb(left_out, 'was', 'were')} left out."
        )
    if equal:
        notes.append(f"{plural(equal, 'pair')} of identical texts {verb(equal, 'was', 'were')} left out.")
    alone = [name for name in matched.names if name not in used]
    if alone:
        notes.append(f"No text of {', '.join(alone)} shares a prompt with another source; it is not compared.")
    return tuple(notes)


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
