"""The result of a comparison over shards: scores with their spread, and everything that they were made from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mauve_core.base.config import EncoderConfig, ScoreConfig
from mauve_core.scoring.spread import Estimate


@dataclass(frozen=True)
class ShardedSide:
    """One side.

    Attributes
    ----------
    name : str
    shards : int
    n : int
        Texts that count.
    left_out : mapping of str to int
        Other rows by reason.
    cut, tokens : int
        Texts that the encoder cut, and tokens that it read.
    digest : str
        SHA-256 of the shards' digests in their order.
    """

    name: str
    shards: int
    n: int
    left_out: Mapping[str, int]
    cut: int
    tokens: int
    digest: str


@dataclass(frozen=True)
class ShardedCandidate:
    """One candidate.

    Attributes
    ----------
    name : str
    k : int
        Clusters of the pairwise partition.
    components : int
        Principal components.
    explained : float
        Their share of the variance.
    sampled : int
        Rows on which k-means started; all of them if there are no more.
    iterations : tuple of int
        Lloyd iterations over all rows by seed.
    objectives : tuple of float
        Sum of squared distances to the centers by seed, before the last centers moved.
    counts : str
        SHA-256 of the histograms of both sides under every seed.
    scores : mapping of str to Estimate
        MAUVE, MAUVE*, frontier integral and mid-point.
    """

    name: str
    k: int
    components: int
    explained: float
    sampled: int
    iterations: tuple[int, ...]
    objectives: tuple[float, ...]
    counts: str
    scores: Mapping[str, Estimate]


@dataclass(frozen=True)
class Pass:
    """What one pass took.

    Attributes
    ----------
    name : str
    tasks : int
        Tasks of the pass; those that were done before do not count for the seconds.
    done_before : int
    seconds : float
    peak_bytes : int
        Most memory of a worker so far.
    """

    name: str
    tasks: int
    done_before: int
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class ShardedComparison:
    """Scores of candidates whose texts lie in shards.

    Attributes
    ----------
    sides : tuple of ShardedSide
        The human side first.
    candidates : tuple of ShardedCandidate
    encoder : EncoderConfig or None
    score : ScoreConfig
    engine : str
    passes : tuple of Pass
    """

    sides: tuple[ShardedSide, ...]
    candidates: tuple[ShardedCandidate, ...]
    encoder: EncoderConfig | None
    score: ScoreConfig
    engine: str
    passes: tuple[Pass, ...]

    def __getitem__(self, name: str) -> ShardedCandidate:
        return {candidate.name: candidate for candidate in self.candidates}[name]

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            **self._decided(),
            "digest": self.digest(),
            "engine": self.engine,
            "passes": [vars(one) for one in self.passes],
        }

    def digest(self) -> str:
        """SHA-256 of sides, settings, histograms and scores: equal on every engine, however often it was resumed."""
        return hashlib.sha256(json.dumps(self._decided(), sort_keys=True).encode()).hexdigest()

    def _decided(self) -> dict[str, Any]:
        return {
            "sides": [{**vars(side), "left_out": dict(side.left_out)} for side in self.sides],
            "candidates": [
                {**vars(one), "scores": {name: vars(score) for name, score in one.scores.items()}}
                for one in self.candidates
            ],
            "encoder": None if self.encoder is None else self.encoder.as_dict(),
            "score": self.score.as_dict(),
        }
