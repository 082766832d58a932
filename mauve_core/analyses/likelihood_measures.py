"""Text measures of a model's probabilities: perplexity of the texts, and human text under a decoder's distribution.

p is the scorer's next-token distribution after the decoder's truncation, and x the token that a person wrote; measures
of it do not read the candidate's texts (Martins et al. 2020, *Sparse Text Generation*, section 4; JMLR 2023, table
15). The scorer represents the model that wrote the candidate's texts.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from mauve_core.analyses.measure_inputs import Collection, MeasureContext, Positions
from mauve_core.analyses.measure_terms import Measure, Need, NotDefinedError, PlainMeasure, Rows, Terms
from mauve_core.base.errors import InputError
from mauve_core.base.progress import Progress, silent
from mauve_core.decoding.decoders import Decoder, parse_decoder


class Perplexity(PlainMeasure):
    """exp(sum of -log Q(token) / number of tokens), over all tokens of all texts, each text after its prompt."""

    name = "perplexity"
    title = "Generation perplexity"
    group = "likelihood"
    description = "How surprising the texts are, token by token, to the scoring model, each text read after its prompt."
    larger = "texts that the scoring model finds less likely"
    source = "Fan et al. 2018; JMLR 2023, section 6.3"
    needs = frozenset({"model", "words"})
    bounds = (1.0, float("inf"))

    def terms_of(self, texts: Collection, context: MeasureContext, progress: Progress = silent) -> Terms:
        return _PerplexityTerms(context.likelihoods(texts, progress))

    def settings(self, context: MeasureContext) -> dict[str, Any]:
        return {"scorer": context.scorer, "max_tokens": context.max_tokens}


class _PerplexityTerms(Terms):
    def __init__(self, losses: Positions) -> None:
        self._losses = losses
        self.note = losses.note

    def value(self, rows: Rows = None, human_rows: Rows = None) -> float:  # noqa: ARG002
        return math.exp(self._losses.of_texts(rows).mean())


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


class Sparsemax(TruncatedMeasure):
    """Mean over tokens of p(x) + (1 - sum of p squared) / 2: one minus the sparsemax loss of Martins et al."""

    name = "sparsemax"
    title = "Sparsemax score"
    group = "likelihood"
    description = (
        "How well the decoder's truncated distribution p fits {reference} text: the mean of p(x) + (1 - ||p||²)/2."
    )
    larger = "a decoder whose distribution fits {reference} text better"
    source = "Martins et al. 2020, equation 8; JMLR 2023, table 15"
    bounds = (0.0, 1.0)

    def of_tokens(
        self,
        p: NDArray[np.float64],
        squares: NDArray[np.float64],
        vocabulary: NDArray[np.float64],  # noqa: ARG002
    ) -> float:
        return float(np.mean(p + (1 - squares) / 2))


MOST = float(np.log(2))


class TokenJS(TruncatedMeasure):
    """Mean over tokens of JS(p, one-hot at x), in nats; 0 where p(x) = 1, log 2 where p(x) = 0."""

    name = "token-js"
    title = "Token JS"
    group = "likelihood"
    unit = "nats"
    description = (
        "The mean Jensen-Shannon divergence between the decoder's truncated distribution and the token that a person "
        "wrote."
    )
    larger = "a decoder whose distribution fits {reference} text worse"
    source = "Martins et al. 2020, equation 9; JMLR 2023, table 15"
    bounds = (0.0, MOST)

    def of_tokens(
        self,
        p: NDArray[np.float64],
        squares: NDArray[np.float64],  # noqa: ARG002
        vocabulary: NDArray[np.float64],  # noqa: ARG002
    ) -> float:
        return float(np.mean(js_to_one_hot(p)))


def js_to_one_hot(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """JS between a distribution and the one-hot at a word of probability p.

    Relative to the mean m of the two, the other words all have ratio 2 and contribute (1 - p) log 2 together; only p
    matters.
    """
    own = xlogy(p, p) - xlogy(p, (1 + p) / 2)
    divergence: NDArray[np.float64] = 0.5 * (own + (1 - p) * MOST - np.log((1 + p) / 2))
    return divergence


# With this value, greedy accuracy gives the published figures of greedy decoding (JMLR 2023, table 15).
EPSILON = 1e-5


class EpsilonPerplexity(TruncatedMeasure):
    """exp(-mean of log((p(x) + epsilon) / (1 + epsilon V))), where V is the vocabulary size."""

    name = "epsilon-perplexity"
    title = "ε-perplexity"
    group = "likelihood"
    description = (
        "The perplexity of {reference} text under the decoder's truncated distribution with ε = 1e-5 added to every "
        "probability."
    )
    larger = "a decoder whose distribution fits {reference} text worse"
    source = "Martins et al. 2020, equation 7; JMLR 2023, table 15"
    bounds = (1.0, float("inf"))

    def of_tokens(
        self,
        p: NDArray[np.float64],
        squares: NDArray[np.float64],  # noqa: ARG002
        vocabulary: NDArray[np.float64],
    ) -> float:
        return float(np.exp(-np.mean(np.log((p + EPSILON) / (1 + EPSILON * vocabulary)))))

    def settings(self, context: MeasureContext) -> dict[str, Any]:
        return {**super().settings(context), "epsilon": EPSILON}
