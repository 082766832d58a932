"""Shared by measures of a decoder's distribution: the human text under the truncated model.

p is the scorer's next-token distribution after the decoder's truncation, and x the token that a person wrote; these
measures do not read the candidate's texts. Martins et al. 2020, *Sparse Text Generation*, section 4; JMLR 2023, table
15. The scorer represents the model that wrote the candidate's texts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.decoding.decoders import Decoder, parse_decoder
from mauve_core.experiments.text_measures.base import Measure, Need, NotDefinedError, Rows, Terms
from mauve_core.experiments.text_measures.collection import Collection
from mauve_core.experiments.text_measures.context import MeasureContext
from mauve_core.experiments.text_measures.positions import Positions


class TruncatedMeasure(Measure):
    """How well a decoder's distribution fits the human text; T(P) does not exist."""

    relational = True
    needs: ClassVar[frozenset[Need]] = frozenset({"model", "words"})
    reads_candidate = False

    @abstractmethod
    def of_tokens(self, p: NDArray[np.float64], squares: NDArray[np.float64], vocabulary: NDArray[np.float64]) -> float:
        """T from p(x), the sum of p squared and the vocabulary size at each token of the human text."""

    def prepare(
        self, candidates: Sequence[Collection], human: Collection, context: MeasureContext, progress: Progress
    ) -> None:
        """Score the human text once for the decoders of all candidates."""
        decoders = []
        for texts in candidates:
            with suppress(NotDefinedError):
                decoders.append(_decoder_of(texts))
        context.truncated_by_all(human, list({decoder.spec: decoder for decoder in decoders}.values()), progress)

    def terms(
        self, texts: Collection, human: Collection, context: MeasureContext, progress: Progress = silent
    ) -> Terms:
        decoder = _decoder_of(texts)
        positions = context.truncated(human, decoder, progress)
        how = f"P under {context.scorer}, truncated as {decoder.spec}; P has no decoder, so no T(P)"
        return _TruncatedTerms(self, positions, "; ".join(part for part in (how, positions.note) if part))

    def human_terms(self, human: Collection, context: MeasureContext, progress: Progress = silent) -> Terms | None:  # noqa: ARG002
        return None

    def settings(self, context: MeasureContext) -> dict[str, Any]:
        return {"scorer": context.scorer, "max_tokens": context.max_tokens}


class _TruncatedTerms(Terms):
    def __init__(self, measure: TruncatedMeasure, positions: Positions, note: str) -> None:
        self._measure, self._positions = measure, positions
        self.note = note

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:  # noqa: ARG002
        return self._measure.of_tokens(*self._positions.of_texts(human_rows).T)


def _decoder_of(texts: Collection) -> Decoder:
    if texts.decoder is None:
        raise NotDefinedError("the decoder of these texts is not known")
    try:
        decoder = parse_decoder(texts.decoder)
    except InputError as error:
        raise NotDefinedError(f"the decoder of these texts is not known ({error.wrong})") from error
    if not decoder.has_distribution:
        raise NotDefinedError(f"{decoder.spec} has no distribution over the next token")
    return decoder
