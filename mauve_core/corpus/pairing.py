"""Which texts of several corpora belong to one prompt.

Two texts have the same prompt if both come with a prompt and the prompts are equal. Where no two corpora have an equal
prompt, equal ids decide; texts of a file without ids are numbered, so the first text of one such file then belongs to
the first of another. A pairing of texts that have nothing to do with each other makes no resample and no test wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mauve_core.corpus.corpus import Corpus


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

    by: Literal["prompts", "ids"]
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
    if all(corpus.prompts is not None for corpus in corpora.values()) and _have_common(by_prompt):
        return SharedPrompts("prompts", _codes(corpora, by_prompt))
    by_id = [corpus.ids for corpus in corpora.values()]
    return SharedPrompts("ids", _codes(corpora, by_id)) if _have_common(by_id) else None


def prompt_codes(corpora: Mapping[str, Corpus]) -> dict[str, NDArray[np.int32]]:
    """Number the prompts of corpora that have them: equal numbers, equal prompts; a blank prompt equals no other."""
    return _codes(corpora, [_prompt_keys(index, corpus) for index, corpus in enumerate(corpora.values())])


def _prompt_keys(index: int, corpus: Corpus) -> list[object]:
    prompts = corpus.prompts or ()
    return [prompt if prompt.strip() else (index, position) for position, prompt in enumerate(prompts)]


def _have_common(keys: Sequence[Sequence[object]]) -> bool:
    return any(count > 1 for count in Counter(key for side in keys for key in set(side)).values())


def _codes(corpora: Mapping[str, Corpus], keys: Sequence[Sequence[object]]) -> dict[str, NDArray[np.int32]]:
    number: dict[object, int] = {}
    return {
        name: np.array([number.setdefault(key, len(number)) for key in side], dtype=np.int32)
        for name, side in zip(corpora, keys, strict=True)
    }
