"""The result of a comparison over shards: scores with their spread, and everything that they were made from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from mauve_core.base.config import EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import Count, NotNegative, Within, dataclass_to_json
from mauve_core.scoring.result import Difference, Scores

# What the fields of a row hold.
PARTS = ("text", "prompt", "id")


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
    fields : tuple of (str or None), or None
        Of ``PARTS``, None for no field; None for features.
    """

    name: str
    shards: Annotated[int, Within(1)]
    n: Count
    left_out: Mapping[str, Count]
    cut: Count
    tokens: Count
    digest: str
    fields: tuple[str | None, ...] | None = None


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
    no_interval : str
        Why groups of prompts support neither an interval, which then is the whole range, nor a test; empty if they do.
    """

    name: str
    k: Annotated[int, Within(2)]
    components: Annotated[int, Within(1)]
    explained: Annotated[float, Within(0, 1)]
    sampled: Annotated[int, Within(1)]
    iterations: tuple[Count, ...]
    objectives: tuple[NotNegative, ...]
    counts: str
    scores: Scores
    no_interval: str = ""


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
    tasks: Count
    done_before: Count
    seconds: NotNegative
    peak_bytes: Count


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
    differences : tuple of Difference
        Of every two candidates of like size (``mauve_core.scoring.grouped``).
    texts_missing : str or None
        Why texts of clusters could not be read, which come last.
    """

    sides: tuple[ShardedSide, ...]
    candidates: tuple[ShardedCandidate, ...]
    encoder: EncoderConfig | None
    score: ScoreConfig
    engine: str
    passes: tuple[Pass, ...]
    differences: tuple[Difference, ...] = ()
    texts_missing: str | None = None

    def __getitem__(self, name: str) -> ShardedCandidate:
        return {candidate.name: candidate for candidate in self.candidates}[name]

    def difference(self, score: str, one: str, other: str) -> Difference | None:
        """The test of two candidates under a score, seen from ``one``; None if their sizes are too unlike."""
        for found in self.differences:
            if found.score == score and {found.first, found.second} == {one, other}:
                return found.seen_from(one)
        return None

    def __post_init__(self) -> None:
        if [side.name for side in self.sides[1:]] != [candidate.name for candidate in self.candidates]:
            raise InputError("Sides and candidates over shards do not belong together")

    def digest(self) -> str:
        """SHA-256 of sides, settings, histograms and scores: equal on every engine, however often it was resumed."""
        circumstances = ("engine", "passes", "texts_missing")
        decided = {name: value for name, value in dataclass_to_json(self).items() if name not in circumstances}
        return hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()
