"""Plan which pairs a rater sees, in which order and on which side.

JMLR 2023, appendix E.3: each pair of sources draws prompts without replacement. A plan consists of rounds; each round
has every pair of sources once, in random order. Wherever a rater stops, no pair of sources is more than one comparison
ahead of another that still has prompts. All pairs of sources use one random order of the prompts but start at
positions spread evenly over it. This makes a prompt return as late as possible, because a rater who meets a text
twice, against two others, learns its source.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import plural, verb
from mauve_core.judgments.ratings import PairKey, Rating, pair_key, text_digest
from mauve_core.texts import Corpus
from mauve_core.texts.pairing import column_of, counted_in

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
