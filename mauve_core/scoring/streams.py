"""One seed to the random streams of a run: one for each purpose, so that none depends on what another draws."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.random import SeedSequence

from mauve_core.base.config import ScoreConfig

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
)


def stream(seed: int, purpose: str) -> SeedSequence:
    """The seed sequence of a purpose, one of those above, from the one seed."""
    return SeedSequence(seed).spawn(len(_PURPOSES))[_PURPOSES.index(purpose)]


@dataclass(frozen=True)
class HalfSeeds:
    """Streams of the comparison of the human texts with themselves.

    Attributes
    ----------
    cut : SeedSequence
        Of which text falls into which half.
    clustering : tuple of SeedSequence
        A k-means seed each.
    resampling : SeedSequence
    """

    cut: SeedSequence
    clustering: tuple[SeedSequence, ...]
    resampling: SeedSequence


def half_seeds(score: ScoreConfig) -> HalfSeeds:
    """Those that follow from the one seed."""
    cut, clustering, resampling = stream(score.seed, "halves").spawn(3)
    return HalfSeeds(cut, tuple(clustering.spawn(score.seeds)), resampling)
