"""Scores of a run under several encoders, and how far the encoders agree; JSON in and out.

NeurIPS 2021, figure 5; JMLR 2023, section 7.5 and table 11; ICLR 2023, figures 5 to 12.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mauve_core.analysis.closest import SCORE, Elsewhere
from mauve_core.base.config import SCORE_BOUNDS, SCORES, EncoderConfig
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.base.json_codec import As, Count, NotNegative, RangedByName, Settings, Within, from_json
from mauve_core.encoders.catalogue import names_our_own
from mauve_core.experiments.encoders.request import encoder_titles
from mauve_core.runs import Run
from mauve_core.scoring.result import Difference, Scores
from mauve_core.scoring.tables import HIGHER_IS_CLOSER, shared_ranks
from mauve_core.stats.rank_correlation import spearman

# Attachment name of the table.
ATTACHMENT = "encoders"

# Fewest candidates for a rank correlation: two have only two orders.
FEWEST = 3


_Scores: TypeAlias = Annotated[Scores, RangedByName(SCORE_BOUNDS)]


@dataclass(frozen=True)
class EncoderResult:
    """All candidates under one encoder, from pairwise partitions.

    Attributes
    ----------
    encoder : EncoderConfig or None
        None for features that were given.
    scores : mapping of str to mapping of str to Estimate
        By candidate, then by score.
    ceiling : mapping of str to Estimate, or None
        Scores of one half of the human texts against the other; None if they could not be halved.
    differences : tuple of Difference
        Tests of every two candidates under every score.
    dimension : int or None
        Of the features; None if they were not kept.
    tokens_median : float or None
        Median length of the human texts in the encoder's tokens, after cutting; None if unknown.
    cut : int
        Texts of all sources that the encoder cut.
    notes : tuple of str
        What a reader of the features must know.
    """

    encoder: EncoderConfig | None
    scores: Mapping[str, _Scores]
    ceiling: _Scores | None
    differences: tuple[Difference, ...]
    dimension: Annotated[int, Within(1, 2**31)] | None = None
    tokens_median: NotNegative | None = None
    cut: Count = 0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.scores:
            raise InputError("An encoder has no candidates")
        tested = [(each.first, each.second, each.score) for each in self.differences if each.score in SCORES]
        if sorted(tested) != sorted((*pair, score) for pair in combinations(self.scores, 2) for score in SCORES):
            raise InputError("The tested differences are not those of every two candidates' scores")

    def closeness(self, score: str, names: Sequence[str]) -> NDArray[np.float64]:
        """(len(names),) means with signs such that larger is closer to the human texts."""
        sign = 1.0 if HIGHER_IS_CLOSER[score] else -1.0
        return sign * np.array([self.scores[name][score].mean for name in names])

    def told_apart(self, score: str, one: str, other: str) -> bool:
        """Whether the test tells two candidates apart."""
        return next(
            each.told_apart
            for each in self.differences
            if each.score == score and {each.first, each.second} == {one, other}
        )

    def ranks(self, score: str) -> dict[str, tuple[int, bool]]:
        """Rank of each candidate and whether it is shared, by the rule of the leaderboard; closest first."""
        names = list(self.scores)
        order = [names[index] for index in np.argsort(-self.closeness(score, names), kind="stable")]
        found = shared_ranks(order, lambda one, other: one == other or not self.told_apart(score, one, other))
        return dict(zip(order, found, strict=True))


@dataclass(frozen=True)
class Reversal:
    """Two candidates that two encoders order differently.

    Attributes
    ----------
    closer, farther : str
        Order of the first encoder; the second one has the opposite.
    told_apart : bool
        Whether the tests of both encoders tell the two apart; otherwise chance may explain the difference.
    """

    closer: str
    farther: str
    told_apart: bool


@dataclass(frozen=True)
class EncoderTable:
    """Several encoders on the candidates of a run; the first is the run's own.

    Attributes
    ----------
    results : tuple of EncoderResult
        By encoder.
    settings : mapping
        Inputs of the numbers, as plain JSON.
    notes : tuple of str
        What a reader of the table must know.
    """

    results: tuple[EncoderResult, ...]
    settings: Annotated[Mapping[str, Any], As(Settings)] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.results or any(set(each.scores) != set(self.candidates) for each in self.results):
            raise InputError("A table of encoders has no results, or results of different candidates")
        encoders = [each.encoder for each in self.results]
        if None in encoders[1:] or len(set(encoders)) < len(encoders):
            raise InputError("A table of encoders names one twice")

    @property
    def candidates(self) -> tuple[str, ...]:
        """Candidates in run order."""
        return tuple(self.results[0].scores)

    @property
    def titles(self) -> tuple[str, ...]:
        """A short name of each encoder; all differ."""
        return encoder_titles([result.encoder for result in self.results])

    def agreement(self, score: str) -> NDArray[np.float64]:
        """(encoders, encoders) Spearman correlations of the candidates' closeness by one score.

        nan if an encoder ties all candidates, or there are fewer than ``FEWEST``.
        """
        if len(self.candidates) < FEWEST:
            return np.full((len(self.results), len(self.results)), np.nan)
        rows = [result.closeness(score, self.candidates) for result in self.results]
        return np.array([[spearman(one, other) for other in rows] for one in rows])

    def reversals(self, score: str, one: int, other: int) -> tuple[Reversal, ...]:
        """Return the pairs of candidates that two encoders order differently, those that both tell apart first."""
        first, second = self.results[one], self.results[other]
        found = []
        for pair in combinations(self.candidates, 2):
            ours, theirs = (np.subtract(*each.closeness(score, pair)) for each in (first, second))
            if ours * theirs < 0:
                closer, farther = pair if ours > 0 else pair[::-1]
                apart = all(each.told_apart(score, closer, farther) for each in (first, second))
                found.append(Reversal(closer, farther, bool(apart)))
        return tuple(sorted(found, key=lambda item: not item.told_apart))


def stored_encoders(run: Run) -> EncoderTable | None:
    """The run's stored table, or None; StorageError or InputError if damaged or of another run."""
    values = run.attachment(ATTACHMENT)
    if values is None:
        return None
    table = from_json(EncoderTable, values)
    run.require_sources(table.candidates, "The table of encoders")
    return table


def elsewhere(run: Run) -> tuple[Elsewhere, ...]:
    """The run's candidates under the program's own encoders but the run's, as a verdict takes them; pages show damage.

    Each at its usual pooling and layer; what was not compared is left out.
    """
    try:
        table = stored_encoders(run)
    except MauveLensError:
        return ()
    own = run.comparison.config.encoder
    found = []
    for result in () if table is None else table.results[1:]:
        encoder = result.encoder
        if encoder is None or (own is not None and encoder.model == own.model) or not names_our_own(encoder.model):
            continue
        if (encoder.pooling, encoder.layer) == ("auto", -1):
            apart = {frozenset((each.first, each.second)) for each in result.differences if _tells(each)}
            found.append(Elsewhere(encoder.model, tuple(result.ranks(SCORE)), frozenset(apart)))
    return tuple(found)


def _tells(tested: Difference) -> bool:
    return tested.score == SCORE and tested.told_apart
