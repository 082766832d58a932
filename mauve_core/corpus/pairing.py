"""Which texts of several corpora belong to one prompt.

Two texts have the same prompt if both come with a prompt and the prompts are equal. Where no two corpora have an equal
prompt, equal ids decide; texts of a file without ids are numbered, so the first text of one such file then belongs to
the first of another. A pairing of texts that have nothing to do with each other makes no resample and no test wrong.

Texts of one prompt in several generations of a corpus have equal prompts, or ids that differ by the generation alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mauve_core.corpus.corpus import Corpus
from mauve_core.corpus.generations import ids_of_prompts

MatchedBy = Literal["prompts", "ids"]
"""What is equal where texts belong to one prompt."""


@dataclass(frozen=True)
class SharedPrompts:
    """The prompt of each text.

    Attributes
    ----------
    by : {"prompts", "ids"}
        What is equal.
    codes : mapping of str to (n,) int32 array
        By corpus, the number of each text's prompt, from 0: equal numbers, equal prompts.
    """

    by: MatchedBy
    codes: Mapping[str, NDArray[np.int32]]

    def shared(self, one: str, other: str) -> int:
        """Number of prompts that two corpora have in common."""
        return int(np.intersect1d(self.codes[one], self.codes[other]).size)


def shared_prompts(corpora: Mapping[str, Corpus]) -> SharedPrompts | None:
    """Match the texts of corpora by prompt; None if no two corpora have one in common.

    Prompts decide if every corpus has them and two corpora have an equal one; a blank prompt equals no other. Ids
    decide otherwise.
    """
    by_prompt = [_prompt_keys(index, corpus) for index, corpus in enumerate(corpora.values())]
    sides = list(corpora.values())
    if all(corpus.prompts is not None for corpus in sides) and _have_common(sides, by_prompt):
        return SharedPrompts("prompts", _codes(corpora, by_prompt))
    by_id = [_id_keys(corpus) for corpus in corpora.values()]
    return SharedPrompts("ids", _codes(corpora, by_id)) if _have_common(sides, by_id) else None


def prompt_codes(corpora: Mapping[str, Corpus]) -> dict[str, NDArray[np.int32]]:
    """Number the prompts of corpora that have them: equal numbers, equal prompts; a blank prompt equals no other."""
    return _codes(corpora, [_prompt_keys(index, corpus) for index, corpus in enumerate(corpora.values())])


def prompts_of(corpora: Mapping[str, Corpus]) -> dict[str, tuple[str, ...]]:
    """Return the prompt of each text by corpus, empty where there is none.

    A corpus without prompts is looked up in those of the others, by id.
    """
    by_id: dict[str, str] = {}
    for corpus in corpora.values():
        for text_id, prompt in zip(corpus.ids, corpus.prompts or (), strict=False):
            by_id.setdefault(text_id, prompt)
    return {
        name: corpus.prompts or tuple(by_id.get(text_id, "") for text_id in corpus.ids)
        for name, corpus in corpora.items()
    }


def _prompt_keys(index: int, corpus: Corpus) -> list[object]:
    prompts = corpus.prompts or ()
    return [prompt if prompt.strip() else (index, position) for position, prompt in enumerate(prompts)]


def _id_keys(corpus: Corpus) -> Sequence[str]:
    return ids_of_prompts(corpus.ids, corpus.generations) if corpus.generations else corpus.ids


def _have_common(corpora: Sequence[Corpus], keys: Sequence[Sequence[object]]) -> bool:
    """Whether two corpora, or two generations of one, have an equal key."""
    once = Counter(
        key
        for corpus, own in zip(corpora, keys, strict=True)
        for key, _ in set(zip(own, corpus.generations or [""] * len(own), strict=True))
    )
    return any(count > 1 for count in once.values())


def _codes(corpora: Mapping[str, Corpus], keys: Sequence[Sequence[object]]) -> dict[str, NDArray[np.int32]]:
    number: dict[object, int] = {}
    return {
        name: np.array([number.setdefault(key, len(number)) for key in side], dtype=np.int32)
        for name, side in zip(corpora, keys, strict=True)
    }
