"""A small comparison put together by hand from its records: nothing is computed, so every value is known beforehand."""

from __future__ import annotations

import dataclasses
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.scoring.result import (
    OTHER_HALF,
    Candidate,
    Comparison,
    Difference,
    Estimate,
    LikeForLike,
    Partition,
    SeedSpread,
    Source,
)
from mauve_core.stats.scores import SCORES
from mauve_core.texts import Corpus, corpus_from_texts

# Texts of each source; one name is awkward on purpose.
N = {HUMAN: 7, "grün & <b>": 5, "b": 6}

K, SEEDS, DIMENSION = 3, 2, 4


def spread(mean: float, sd: float | None = None) -> SeedSpread:
    """Values with that mean and standard deviation, four of five beyond a mean near an end of [0, 1]; one without."""
    if sd is None:
        return SeedSpread.of((mean,))
    apart = (1 if mean > 0.5 else -1) * sd / np.sqrt(5)
    return SeedSpread.of((mean + apart,) * 4 + (mean - 4 * apart,))


def estimate(mean: float, low: float, high: float, *, sd: float | None = 0.01) -> Estimate:
    spread = SeedSpread.of((mean - (sd or 0) / np.sqrt(SEEDS), mean + (sd or 0) / np.sqrt(SEEDS)))
    return Estimate(spread.mean, sd and spread.sd, low, high, spread.values)


def make_corpora() -> dict[str, Corpus]:
    return {
        name: corpus_from_texts(
            [f"Text {i} of {name}: ünï\ncödé \u202e" for i in range(n)],
            name=name,
            ids=[f"{name}/{i}" for i in range(n)],
            prompts=[f"prompt {i}" for i in range(n)],
            metadata={"topic": ["x" if i % 2 else "y" for i in range(n)], "length": list(range(n))},
        )
        for name, n in N.items()
    }


def make_features() -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(5)
    return {name: rng.normal(size=(n, DIMENSION)).astype(np.float32) for name, n in N.items()}


def make_comparison(**scores: dict[str, Estimate]) -> Comparison:
    """Two candidates; ``scores`` (by position: first=, second=) replaces some of their estimates."""
    rng = np.random.default_rng(3)
    corpora = make_corpora()
    sources = [
        Source(name, n, f"/data/{name}.jsonl", corpora[name].digest, f"key-{name}", None, 0, (f"note on {name}",))
        for name, n in N.items()
    ]

    def partition(kind: str, seed: int, names: list[str]) -> Partition:
        labels = {name: rng.integers(K, size=N[name]).astype(np.int32) for name in names}
        return Partition(kind, seed, K, float(rng.random()), labels)  # type: ignore[arg-type]

    def estimates(shift: float) -> dict[str, Estimate]:
        apart = 0.1 * rng.random(SEEDS)[0] * np.array([-1, 1])
        mean = 0.1 + 0.2 + shift  # not a short decimal: it must come back bit for bit all the same
        low, high = np.nextafter(mean, 0), np.nextafter(mean, 1)
        whole, half = (SeedSpread.of(each + apart) for each in (mean, mean / 2))
        found = {s: Estimate(whole.mean, whole.sd, low, high, whole.values) for s in SCORES}
        return {**found, "mid": Estimate(half.mean, half.sd, low / 2, high / 2, half.values)}  # no more than log 2

    names = list(N)
    candidates = []
    for position, source, replaced in zip(("first", "second"), sources[1:], (0.0, 0.4), strict=True):
        pairwise = tuple(partition("pairwise", seed, [HUMAN, source.name]) for seed in range(SEEDS))
        chosen = {**estimates(replaced), **scores.get(position, {})}
        candidates.append(Candidate(source, chosen, estimates(replaced), pairwise))
    made = Comparison(
        human=sources[0],
        candidates=tuple(candidates),
        joint=tuple(partition("joint", seed, names) for seed in range(SEEDS)),
        config=CompareConfig(encoder=None, score=ScoreConfig(seeds=SEEDS)),
        warnings=("Fewer than 1,000 texts",),
        environment={"device": "cpu", "seconds": {"clustering": 0.1}},
        projection=rng.normal(size=(sum(N.values()), 2)).astype(np.float32),
        halves=halves(sources[0]),
        map_fitted=sum(N.values()) - 1,
    )
    return dataclasses.replace(made, differences=differences_of(made))


def with_like_for_like(comparison: Comparison, **means: float) -> Comparison:
    """With scores at the size of the halves for the candidates at those positions (first=, second=)."""
    found = []
    for position, candidate in zip(("first", "second"), comparison.candidates, strict=True):
        if position in means:
            mean = means[position]
            scores = {score: estimate(mean, mean - 0.05, mean + 0.05) for score in SCORES}
            found.append(LikeForLike(candidate.name, 3, 2, scores))
    return dataclasses.replace(comparison, like_for_like=tuple(found))


def halves(human: Source) -> Candidate:
    """The human texts against themselves, three a side."""
    labels = {HUMAN: np.array([0, 1, 1], np.int32), OTHER_HALF: np.array([1, 1, 0], np.int32)}
    parts = tuple(Partition("pairwise", seed, 2, 0.5 + seed, labels) for seed in range(SEEDS))
    scores = {score: estimate(0.6, 0.55, 0.65) for score in SCORES}
    return Candidate(dataclasses.replace(human, name=OTHER_HALF, n=3), scores, {}, parts)


def with_tests(comparison: Comparison, *, p_adjusted: float = 0.03) -> Comparison:
    """The same with the prompt of each text, and tested differences of the candidates."""
    prompts = {name: np.arange(n, dtype=np.int32)[::-1] // 2 for name, n in N.items()}
    differences = differences_of(comparison, p_adjusted)
    return dataclasses.replace(comparison, prompts=prompts, prompts_by="prompts", differences=differences)


def untested(comparison: Comparison) -> Comparison:
    """The same as the leaderboard of two runs has it: intervals decide ties."""
    return dataclasses.replace(comparison, differences=())


def differences_of(comparison: Comparison, p_adjusted: float = 0.03) -> tuple[Difference, ...]:
    """Tests of every two candidates under every score."""
    names = [candidate.name for candidate in comparison.candidates]
    found = []
    for (first, second), score in product(combinations(names, 2), SCORES):
        one, other = (comparison.candidate(name).scores[score].mean for name in (first, second))
        difference = float(one - other)
        low, high = float(np.nextafter(difference, -1)), float(np.nextafter(difference, 1))
        found.append(Difference(score, first, second, difference, low, high, 0.01, p_adjusted, 0.2, True, 3))
    return tuple(found)
