"""Which texts of several corpora belong to one prompt, and equal numbers of texts from sides of unequal sizes.

Two texts have the same prompt if both come with a prompt and the prompts are equal. Where a corpus and the first one,
the reference, have no equal prompt, equal ids decide, as far as texts came with them. Texts without ids are numbered by
line or position, and such a number says nothing of the texts of another corpus, so it equals no id and no other number.
The one exception are columns of one file: there, equal numbers are one row. Texts of one prompt in several generations
of a corpus have equal prompts, or ids that differ by the generation alone.

A score depends on how many texts each side has. To draw equally many, each text gets a random number that depends on
the seed, its prompt and its place among the side's texts of that prompt alone, and the texts with the lowest are drawn.
So sides that share prompts keep the same ones, all generations of a text stay together, and the draw of a side does not
depend on the order of its prompts. Source: bottom-k sampling with coordinated ranks (Cohen and Kaplan, PODC 2007).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import verb
from mauve_core.stats.units import connected, too_few
from mauve_core.texts.corpus import Corpus
from mauve_core.texts.generations import ids_of_prompts

# With fewer on a side, :func:`prompt_names` divides prompts.
LEAST_PROMPTS = 10

# A file, and the field of it that texts were read from.
Column = tuple[str, str]

# What is equal where texts belong to one prompt; ``rows`` are those of one file.
MatchedBy = Literal["prompts", "ids", "rows"]

# Of several corpora the first of these that matches any is named.
MATCHED: tuple[MatchedBy, ...] = get_args(MatchedBy)


@dataclass(frozen=True)
class SharedPrompts:
    """The prompt of each text.

    Attributes
    ----------
    by : {"prompts", "ids", "rows"}
        What is equal.
    codes : mapping of str to (n,) int32 array
        By corpus, the number of each text's prompt, from 0: equal numbers, equal prompts.
    """

    by: MatchedBy
    codes: Mapping[str, NDArray[np.int32]]

    def shared(self, one: str, other: str) -> int:
        """Number of prompts that two corpora have in common."""
        return int(np.intersect1d(self.codes[one], self.codes[other]).size)


@dataclass(frozen=True)
class Keys:
    """What tells the prompts of n texts apart.

    Attributes
    ----------
    ids : (n,) sequence of str
        Without generations: equal for texts of one prompt in several generations.
    prompts : (n,) sequence of str, or None
    generations : (n,) sequence
        Of each text; empty without several.
    numbered : bool
        Whether ids are numbers of lines or positions.
    column : (str, str) or None
        Where numbered texts come from; None if unknown.
    contents, groups : (n,) sequence of str, or None
        What is equal for equal texts, and the values of a field that groups them in place of the prompt.
    """

    ids: Sequence[str]
    prompts: Sequence[str] | None
    generations: Sequence[object] = ()
    numbered: bool = False
    column: Column | None = None
    contents: Sequence[str] | None = None
    groups: Sequence[str] | None = None


def keys_of(corpora: Mapping[str, Corpus]) -> dict[str, Keys]:
    """Return what tells the prompts of corpora apart."""
    return {
        name: Keys(
            _ids(corpus),
            corpus.prompts,
            corpus.generations,
            corpus.numbered,
            column_of(corpus),
            corpus.contents,
            corpus.groups,
        )
        for name, corpus in corpora.items()
    }


def column_of(corpus: Corpus) -> Column | None:
    """Return the file and field of the texts; None for texts from memory."""
    return None if corpus.fields is None or corpus.origin == "memory" else (corpus.origin, corpus.fields.text)


def shared_prompts(corpora: Mapping[str, Corpus]) -> SharedPrompts | None:
    """Match the texts of corpora by prompt; None if no two corpora have one in common.

    Equal prompts decide where a corpus and the first one have any; a blank prompt equals no other. Equal ids decide
    otherwise: a text then belongs to the prompt of the first corpus' text with its id.
    """
    codes, by = matching(keys_of(corpora))
    return None if by is None else SharedPrompts(by, codes)


def prompt_names(sides: Mapping[str, Keys]) -> dict[str, tuple[str, ...]]:
    """Name the prompt of each text by the rule of :func:`shared_prompts`: equal names, equal prompts.

    If a side has fewer than ``LEAST_PROMPTS`` prompts, too few to leave some of them out, each prompt is divided: the
    first text of it on one side belongs to the first of it on another, and so on. A prompt has the id of the first text
    that answers it, with primes if that is the name of another prompt: unless prompts are divided, a name depends only
    on the sides up to the first that has the prompt.
    """
    codes, by = matching(sides)
    codes = _codes(sides, _id_keys(sides.values())) if by is None else codes
    if min(np.unique(own).size for own in codes.values()) < LEAST_PROMPTS:
        codes = _codes(sides, [_turns(side, codes[name]) for name, side in sides.items()])
    return _named(sides, codes)


def _named(sides: Mapping[str, Keys], codes: Mapping[str, NDArray[np.integer]]) -> dict[str, tuple[str, ...]]:
    """Give each number the id of its first text, with primes if that is the name of another."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for side, own in zip(sides.values(), codes.values(), strict=True):
        for code, name in zip(own.tolist(), side.ids, strict=True):
            if code not in names:
                while name in taken:
                    name += "'"
                names[code] = name
                taken.add(name)
    return {side: tuple(names[code] for code in own.tolist()) for side, own in codes.items()}


def unit_names(sides: Mapping[str, Keys]) -> dict[str, tuple[str, ...]]:
    """Name the unit of each text (:mod:`mauve_core.stats.units`): equal names, one unit.

    The texts of a side that repeats itself so much that its units support no interval against the first side join no
    others' units. A unit has the id of its first text, with primes if that is the name of another.
    """
    groups = _grouped(sides)
    contents = _codes(sides, [side.contents or _each_alone(name, side) for name, side in sides.items()])
    reference, *others = sides
    alone = int(max(own.max() for own in contents.values())) + 1
    for name in others:
        if too_few(*_connected({side: groups[side] for side in (reference, name)}, contents).values()):
            contents[name] = np.arange(alone, alone + contents[name].size, dtype=np.int32)
            alone += contents[name].size
    return _named(sides, _connected(groups, contents))


def _each_alone(name: str, side: Keys) -> Sequence[object]:
    return [(name, place) for place in range(len(side.ids))]


def _connected(
    one: Mapping[str, NDArray[np.integer]], other: Mapping[str, NDArray[np.integer]]
) -> dict[str, NDArray[np.int64]]:
    """Number the components of texts that have an equal number of either kind."""
    codes = connected(*(np.concatenate([each[name] for name in one]) for each in (one, other)))
    return dict(zip(one, np.split(codes, np.cumsum([own.size for own in one.values()])[:-1]), strict=True))


def group_codes(corpora: Mapping[str, Corpus]) -> dict[str, NDArray[np.int32]]:
    """Number the group of each text, whether or not another corpus has it: that of its prompt, or of its group field.

    Equal numbers, equal groups, as :func:`shared_prompts` matches prompts; a text without either is a group.
    """
    return _grouped(keys_of(corpora))


def _grouped(sides: Mapping[str, Keys]) -> dict[str, NDArray[np.int32]]:
    sides = {name: side if side.groups is None else replace(side, prompts=side.groups) for name, side in sides.items()}
    prompts = _prompt_keys([side.prompts for side in sides.values()])
    own = [known or _each_alone(*side) for known, side in zip(prompts, sides.items(), strict=True)]
    # Where ids decide what two sides have in common, texts of one group are still one.
    together = _connected(matching(sides)[0], _codes(sides, own))
    return {name: codes.astype(np.int32) for name, codes in together.items()}


def content_codes(corpora: Mapping[str, Corpus]) -> dict[str, NDArray[np.int32]]:
    """Number the texts: equal numbers, equal texts or items."""
    return _codes(corpora, [corpus.contents for corpus in corpora.values()])


def units_among(corpora: Mapping[str, Corpus]) -> dict[str, NDArray[np.int64]]:
    """Number the units of some corpora (:mod:`mauve_core.stats.units`)."""
    return _connected(group_codes(corpora), content_codes(corpora))


def units_to_draw(corpora: Mapping[str, Corpus]) -> dict[str, NDArray[np.int64]]:
    """As :func:`units_among`, or each text alone where units of a side are too few for a test."""
    units = units_among(corpora)
    if not too_few(*units.values()):
        return units
    ends = np.cumsum([own.size for own in units.values()])
    return {name: np.arange(end - own.size, end) for (name, own), end in zip(units.items(), ends, strict=True)}


def prompts_of(corpora: Mapping[str, Corpus]) -> dict[str, tuple[str, ...]]:
    """Return the prompt of each text by corpus, empty where there is none.

    A corpus without prompts is looked up in those of the others, by id.
    """
    keys = dict(zip(corpora, _id_keys(keys_of(corpora).values()), strict=True))
    by_id: dict[object, str] = {}
    for name, corpus in corpora.items():
        for key, prompt in zip(keys[name], corpus.prompts or (), strict=False):
            by_id.setdefault(key, prompt)
    return {name: corpus.prompts or tuple(by_id.get(key, "") for key in keys[name]) for name, corpus in corpora.items()}


def matching(sides: Mapping[str, Keys]) -> tuple[dict[str, NDArray[np.int32]], MatchedBy | None]:
    """Number the prompt of each text, and return what is equal where two sides, or generations of one, have one.

    The first side is the reference: how another side is matched depends on these two alone.
    """
    known = list(sides.values())
    prompts, ids = _prompt_keys([side.prompts for side in known]), _id_keys(known)
    keys: list[Sequence[object]] = [
        own if side.prompts else its for side, own, its in zip(known, prompts, ids, strict=True)
    ]
    prompt_of = dict(zip(ids[0], keys[0], strict=True))
    by: list[MatchedBy] = []
    for place, side in enumerate(known[1:], start=1):
        if known[0].prompts and side.prompts and not {*prompts[0]}.isdisjoint(prompts[place]):
            by.append("prompts")
        elif not prompt_of.keys().isdisjoint(ids[place]):
            by.append("rows" if side.numbered else "ids")
            keys[place] = [prompt_of.get(key, key) for key in ids[place]]
    if not by and _have_common(known, keys):
        by.append("prompts" if any(side.prompts for side in known) else "ids")
    return _codes(sides, keys), min(by, key=MATCHED.index, default=None)


def _turns(side: Keys, codes: NDArray[np.int32]) -> list[object]:
    """Each text's prompt, and how many texts of it come before on that side, in the same generation."""
    before: Counter[object] = Counter()
    found: list[object] = []
    for code, generation in zip(codes.tolist(), side.generations or [""] * len(codes), strict=True):
        found.append((code, before[code, generation]))
        before[code, generation] += 1
    return found


def _prompt_keys(prompts: Iterable[Sequence[str] | None]) -> list[list[object]]:
    return [
        [prompt if prompt.strip() else (index, position) for position, prompt in enumerate(own or ())]
        for index, own in enumerate(prompts)
    ]


def _id_keys(sides: Iterable[Keys]) -> list[list[tuple[object, str]]]:
    known = list(sides)
    counted = counted_in([(side.numbered, side.column) for side in known])
    return [[(what, text_id) for text_id in side.ids] for side, what in zip(known, counted, strict=True)]


def counted_in(sides: Sequence[tuple[bool, Column | None]]) -> list[object]:
    """Return for each side, numbered or not and of a column, what its ids count: equal ids match where that is equal.

    None for ids that texts came with; of a number, the file if no two sides are of the same column of it, as rows of
    one file that were told apart by a field are; else the side alone.
    """
    of_column = Counter(column for numbered, column in sides if numbered and column)
    repeated = {column[0] for column, count in of_column.items() if count > 1}
    return [
        None if not numbered else column[0] if column and column[0] not in repeated else index
        for index, (numbered, column) in enumerate(sides)
    ]


def _ids(corpus: Corpus) -> Sequence[str]:
    return ids_of_prompts(corpus.ids, corpus.generations) if corpus.generations else corpus.ids


def _have_common(sides: Sequence[Keys], keys: Sequence[Sequence[object]]) -> bool:
    """Whether two sides, or two generations of one, have an equal key."""
    once = Counter(
        key
        for side, own in zip(sides, keys, strict=True)
        for key, _ in set(zip(own, side.generations or [""] * len(own), strict=True))
    )
    return any(count > 1 for count in once.values())


def _codes(sides: Mapping[str, object], keys: Sequence[Sequence[object]]) -> dict[str, NDArray[np.int32]]:
    number: dict[object, int] = {}
    return {
        name: np.array([number.setdefault(key, len(number)) for key in own], dtype=np.int32)
        for name, own in zip(sides, keys, strict=True)
    }


# A prompt, and how many texts of it come before on the same side, in the same generation.
Unit = tuple[str, int]


def equal_draws(corpora: Mapping[str, Corpus], seed: int, most: int | None = None) -> dict[str, NDArray[np.int64]]:
    """Return, by side, the positions of the texts that are drawn, in ascending order.

    Each side has as many as the smallest has texts, and at most ``most``; with generations, as many of each.
    """
    names = prompt_names(keys_of(corpora))
    units = {side: _units(names[side], corpora[side].generations) for side in corpora}
    least = min(len(set(own)) for own in units.values())
    least = least if most is None else min(least, most)
    drawn = {side: set(sorted(set(own), key=lambda unit: _rank(unit, seed))[:least]) for side, own in units.items()}
    return {
        side: np.array([index for index, unit in enumerate(own) if unit in drawn[side]], dtype=np.int64)
        for side, own in units.items()
    }


def equalized(corpora: Mapping[str, Corpus], seed: int) -> dict[str, Corpus]:
    """Return the corpora with what is drawn of each; a note says how much of a side that is."""
    return drawn(corpora, equal_draws(corpora, seed), seed)


def drawn(corpora: Mapping[str, Corpus], draws: Mapping[str, NDArray[np.int64]], seed: int) -> dict[str, Corpus]:
    """Return the texts of each side at these positions, with what is counted of all."""
    if all(draws[side].size == len(corpus) for side, corpus in corpora.items()):
        return dict(corpora)
    human = frozenset(corpora[HUMAN].contents) if HUMAN in corpora else None
    return {side: _drawn(corpus, draws[side], seed, human) for side, corpus in corpora.items()}


def _drawn(corpus: Corpus, positions: NDArray[np.int64], seed: int, human: frozenset[str] | None) -> Corpus:
    chosen = corpus.drawn(positions, None if human is None else sum(each in human for each in corpus.contents))
    if positions.size == len(corpus):
        return chosen
    note = (
        f"{positions.size:,} of {len(corpus):,} texts {verb(positions.size, 'was', 'were')} drawn, with seed {seed}, "
        "so that all sides have as many as the smallest."
    )
    return replace(chosen, notes=(*corpus.notes, note))


def _units(names: tuple[str, ...], generations: tuple[str, ...]) -> list[Unit]:
    before: Counter[tuple[str, str]] = Counter()
    units = []
    for name, generation in zip(names, generations or [""] * len(names), strict=True):
        units.append((name, before[name, generation]))
        before[name, generation] += 1
    return units


def _rank(unit: Unit, seed: int) -> bytes:
    name, turn = unit
    return hashlib.sha256(f"{seed} {turn} {name}".encode()).digest()
