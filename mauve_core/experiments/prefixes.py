"""Features of a run's texts cut at several lengths, with the run's own features where nothing is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.encoders import PrefixEncoder, feature_key
from mauve_core.encoders.features import FeatureStore
from mauve_core.runs import Run


@dataclass(frozen=True)
class RunPrefixes:
    """The texts of a run, to be cut and encoded with the run's own settings; InputError if it has no encoder.

    Attributes
    ----------
    run : Run
    store : FeatureStore
    device : str
        Device of the encoder.
    progress : callable
        May raise CancelledError.
    """

    run: Run
    store: FeatureStore
    device: str = "auto"
    progress: Progress = silent

    def __post_init__(self) -> None:
        if self.run.comparison.config.encoder is None:
            raise InputError(
                f"Run {self.run.id} was made from given features, so its texts cannot be cut and encoded again",
                allowed="a run with an encoder",
            )

    @cached_property
    def tokens(self) -> dict[str, NDArray[np.int32]]:
        """(n,) tokens of the texts of every source as the run has them, special ones included."""
        return {
            name: self._encoder.token_lengths(texts, store=self.store, progress=self.progress)
            for name, texts in self._texts.items()
        }

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest text."""
        return max(int(lengths.max()) for lengths in self.tokens.values())

    def features(self, name: str, lengths: Sequence[int]) -> dict[int, NDArray[np.float32]]:
        """(n, d) features of one source's texts, cut at each of ``lengths`` tokens.

        At a length that cuts none of its texts they are the run's own. No text becomes longer than the run has it.
        """
        texts, longest = self._texts[name], int(self.tokens[name].max())
        source = next(source for source in self.run.comparison.sources if source.name == name)
        own = self.run.features(name)
        reached = {length: min(length, longest) for length in lengths}
        arrays: dict[int, NDArray[np.float32]] = {}
        if own is not None and feature_key(texts, self._encoder.config) == source.features_key:
            arrays[longest] = own
        missing = sorted(set(reached.values()) - arrays.keys())

        def tell(stage: str, done: int, total: int) -> None:
            self.progress(f"{stage} of {name}", done, total)

        if missing:
            found = self._encoder.encode_prefixes(texts, missing, store=self.store, progress=tell)
            arrays |= {length: features.array for length, features in found.items()}
        return {length: arrays[place] for length, place in reached.items()}

    def notes(self, lengths: Sequence[int]) -> list[str]:
        """How many texts each of ``lengths`` cuts, and what counts as a token."""
        tokens = np.concatenate(list(self.tokens.values()))
        reached = ", ".join(f"{int((tokens >= length).sum()):,} at {length}" for length in lengths)
        with_prompt = self._encoder.config.with_prompt
        return [
            f"Of {len(tokens):,} texts on all sides, the numbers with at least that many tokens: {reached}. The others "
            "are used whole.",
            "Tokens are the encoder's, including special ones"
            + ("; prompt and text are counted together, the prompt first." if with_prompt else "."),
        ]

    @cached_property
    def _encoder(self) -> PrefixEncoder:
        config = self.run.comparison.config.encoder
        if config is None:
            raise TypeError("checked before")
        return PrefixEncoder(config, device=self.device)

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        with_prompt = self._encoder.config.with_prompt
        return {name: list(corpus.encoder_inputs(with_prompt)) for name, corpus in self.run.corpora.items()}
