"""Tables of encoders put together by hand: scores and tests are what a test says they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations

from mauve_core.analyses.encoders import EncoderResult, EncoderTable
from mauve_core.analyses.positions import EncoderPositions, PositionTable
from mauve_core.base.config import EncoderConfig
from mauve_core.scoring.result import Difference, Estimate, SeedSpread
from mauve_core.stats.scores import SCORES


def result_of(
    model: str | None,
    means: Mapping[str, float],
    apart: Collection[frozenset[str]] = (),
    *,
    half: float = 0.01,
    ceiling: float | None = None,
    notes: tuple[str, ...] = (),
) -> EncoderResult:
    """Every score has these means, which lie in [0, 0.6]; ``apart`` are the pairs told apart."""

    def estimates(mean: float) -> dict[str, Estimate]:
        low, high = max(0.0, mean - half), mean + half
        spread = SeedSpread.of((mean - 0.008, mean + 0.008))
        return {score: Estimate(spread.mean, spread.sd, low, high, spread.values) for score in SCORES}

    differences = tuple(
        Difference(score, one, other, gap, gap, gap, 0.01, p, 0.2, True, 30)
        for one, other in combinations(means, 2)
        for gap, p in [(means[one] - means[other], 0.02 if frozenset((one, other)) in apart else 0.4)]
        for score in SCORES
    )
    encoder = None if model is None else EncoderConfig(model)
    scores = {name: estimates(mean) for name, mean in means.items()}
    own = None if ceiling is None else estimates(ceiling)
    return EncoderResult(encoder, scores, own, differences, 8, 20.0, 3, notes)


def pairs(*written: str) -> set[frozenset[str]]:
    """``pairs("ab", "bc")``: candidates of one letter."""
    return {frozenset(each) for each in written}


def example() -> EncoderTable:
    """Four candidates under three encoders.

    The second puts d before the three others, of which both tell a and d apart; the third ties all.
    """
    first = result_of("own", {"a": 0.5, "b": 0.4, "c": 0.3, "d": 0.2}, pairs("ad", "bd", "ac"), ceiling=0.55)
    second = result_of("/m/other", {"a": 0.35, "b": 0.31, "c": 0.3, "d": 0.4}, pairs("ad", "bc"), notes=("a note",))
    third = result_of("flat", dict.fromkeys("abcd", 0.4))
    return EncoderTable((first, second, third), {"run": "demo"}, ("x is left out: why.",))


def position_example() -> PositionTable:
    """One encoder reads mostly the end under both seeds, another under one of them."""

    def found(model: str, end: Collection[float]) -> EncoderPositions:
        parts = ((0.02, 0.03), (0.10, 0.12), tuple(end))
        return EncoderPositions(EncoderConfig(model), *(SeedSpread.of(part) for part in parts))

    return PositionTable((found("gpt2", (0.2, 0.3)), found("minilm", (0.05, 0.3))), 256, {}, ("A note.",))
