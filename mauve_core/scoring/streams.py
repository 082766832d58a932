"""Derive a run's random streams from one seed: one per purpose, so that no stream depends on what another draws."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.random import SeedSequence

from mauve_core.base.config import ScoreConfig

# Append only: a purpose's position decides what it draws, and with it every score of the same seed.
_PURPOSES = (
    "clustering",
    "bootstrap",
    "projection",
    "subsets",
    "methods",
    "permutations",
    "halves",
    "probes",
    "attributes",
    "pairs",
    "exchange",
    "gap",
    "correction",
    "gate",
    "findings",
    "diversity",
    "differences",
)


def stream(seed: int, purpose: str) -> SeedSequence:
    """Return the seed sequence of one of the purposes above."""
    return SeedSequence(seed).spawn(len(_PURPOSES))[_PURPOSES.index(purpose)]


@dataclass(frozen=True)
class HalfSeeds:
    """Streams of human vs. human and its like: ``cut`` splits the human texts, ``texts`` draws those of a candidate.

    ``clustering`` and ``texts`` have one entry per k-means seed.
    """

    cut: SeedSequence
    clustering: tuple[SeedSequence, ...]
    resampling: SeedSequence
    texts: tuple[SeedSequence, ...]


def half_seeds(score: ScoreConfig) -> HalfSeeds:
    """Return these streams under the run's seed."""
    cut, clustering, resampling, texts = stream(score.seed, "halves").spawn(4)
    return HalfSeeds(cut, tuple(clustering.spawn(score.seeds)), resampling, tuple(texts.spawn(score.seeds)))
