"""Collections whose texts end after their first tokens, and what measures read of them.

Everything is read of the whole texts once and then cut: the tokenizer's ids and the scorer's numbers for each token.
Features are those of texts that are cut before the encoder reads them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.progress import Progress, silent
from mauve_core.decoding.decoders import Decoder
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext, Tokens
from mauve_core.experiments.text_measures.positions import Positions


class CutContext(MeasureContext):
    """The context ``whole`` for collections whose texts end after ``length`` tokens; see :meth:`cut`."""

    def __init__(self, whole: MeasureContext, length: int) -> None:
        super().__init__(
            whole.scorer,
            tokenizer=whole.tokenizer,
            revision=whole.revision,
            tokenizer_revision=whole.tokenizer_revision,
            device=whole.device,
            max_tokens=whole.max_tokens,
            seed=whole.seed,
        )
        self._whole, self._length = whole, length
        self._whole_of: WeakKeyDictionary[Collection, Collection] = WeakKeyDictionary()

    def cut(self, texts: Collection, beginnings: Sequence[str], features: NDArray[np.floating] | None) -> Collection:
        """The collection with its texts cut.

        Parameters
        ----------
        texts : Collection
            The same object at every length: what is read of it is kept.
        beginnings, features : (n,) sequence of str, (n, d) array or None
            What is left of each text, and its features.
        """
        made = dataclasses.replace(texts, texts=tuple(beginnings), features=features)
        self._whole_of[made] = texts
        return made

    def tokens(self, texts: Collection, progress: Progress = silent) -> Tokens:
        whole = self._whole.tokens(self._whole_of[texts], progress)
        ids = [own[: self._length] for own in whole.by_text()]
        return Tokens(np.concatenate(ids), np.minimum(whole.lengths, self._length))

    def likelihoods(self, texts: Collection, progress: Progress = silent) -> Positions:
        return self._whole.likelihoods(self._whole_of[texts], progress).first(self._length)

    def truncated_by_all(
        self, texts: Collection, decoders: Sequence[Decoder], progress: Progress = silent
    ) -> list[Positions]:
        found = self._whole.truncated_by_all(self._whole_of[texts], decoders, progress)
        return [positions.first(self._length) for positions in found]
