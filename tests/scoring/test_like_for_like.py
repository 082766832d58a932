"""Human vs. human and every candidate in the place of one half, against a plain twin from features to intervals."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.scoring.compare import compare
from mauve_core.scoring.partitioning import partitions
from mauve_core.scoring.result import OTHER_HALF, Comparison, Estimate
from mauve_core.scoring.streams import Split, half_seeds, splits
from mauve_core.stats.scores import SCORES, score_counts
from mauve_core.stats.units import each_alone, units_of
from tests.scoring.test_intervals import PROMPTS, PlainTwin, with_prompts
from tests.synthetic import make_comparison_inputs

pytestmark = pytest.mark.integration

SCORE = ScoreConfig(seeds=2, bootstrap=100)
CONFIG = CompareConfig(encoder=None, score=SCORE, projection=False)
NAMES = ("close", "shifted")

Prompts = Mapping[str, Sequence[int]]


def plain_splits(sizes: Mapping[str, int], prompts: Prompts | None, score: ScoreConfig = SCORE) -> list[Split]:
    """One text at a time."""
    human, seeds = sizes[HUMAN], half_seeds(score)
    own = list(range(human)) if prompts is None else [int(code) for code in prompts[HUMAN]]
    theirs = [name for name in sizes if name != HUMAN]
    rng, orders, n = np.random.default_rng(seeds.cut), [], human // 2
    for _ in range(score.seeds):
        by_prompt: dict[int, list[int]] = {}
        for text in rng.permutation(human).tolist():
            by_prompt.setdefault(own[text], []).append(text)
        fronts = [sum(map(len, list(by_prompt.values())[:place])) for place in range(len(by_prompt))]
        n = min(n, max(min(front, human - front) for front in fronts))
        orders.append([text for texts in by_prompt.values() for text in texts])
    found = []
    for order, seed in zip(orders, seeds.texts, strict=True):
        one, other = order[:n], order[len(order) - n :]
        rows = {}
        for name in theirs:
            before: dict[int, int] = {}
            ranked = []
            for place, text in enumerate(np.random.default_rng(seed).permutation(sizes[name]).tolist()):
                code = int(prompts[name][text]) if prompts else -1
                if prompts and code in {own[each] for each in one}:
                    continue
                before[code] = before.get(code, -1) + (1 if prompts else 0)
                ranked.append((code not in {own[each] for each in other}, before[code], place, text))
            if len(ranked) >= 0.95 * n:
                rows[name] = np.array(sorted(text for *_, text in sorted(ranked)[:n]))
        found.append(Split(np.array(sorted(one)), np.array(sorted(other)), rows))
    return found


def drawn_splits(sizes: Mapping[str, int], codes: Mapping[str, np.ndarray] | None) -> tuple[Split, ...]:
    """Where a text has its prompt for a unit, or none has company."""
    if codes is None:
        units = each_alone(sizes[HUMAN], max(sizes.values()))
        codes = {name: units.p if name == HUMAN else units.q[:size] for name, size in sizes.items()}
    return splits(codes[HUMAN], {name: (codes[HUMAN], own) for name, own in codes.items() if name != HUMAN}, SCORE)


def assert_equal_splits(found: Sequence[Split], expected: Sequence[Split]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.one, other.one)
        np.testing.assert_array_equal(one.other, other.other)
        assert list(one.candidates) == list(other.candidates)
        for name, rows in one.candidates.items():
            np.testing.assert_array_equal(rows, other.candidates[name])


def coded(**prompts: Sequence[int]) -> tuple[dict[str, int], dict[str, np.ndarray]]:
    codes = {name: np.array(own, dtype=np.int32) for name, own in prompts.items()}
    return {name: own.size for name, own in codes.items()}, codes


STUDIES = {
    "all answer all": coded(human=range(40), a=range(40), b=range(39, -1, -1)),
    "one answers half": coded(human=range(41), a=range(40), b=range(0, 40, 2)),
    "some answers are missing": coded(human=range(90), a=range(88), b=range(60)),
    "several texts of a prompt": coded(human=[*range(10), *range(10), *[3] * 5], a=[*range(10)] * 3, b=[*range(5)] * 6),
    "prompts of their own": coded(human=range(30), a=[*range(15), *range(50, 75)], b=range(100, 140)),
    "disjoint prompts": coded(human=range(40), a=range(20), b=range(20, 40)),
}


@pytest.mark.parametrize("study", STUDIES)
def test_plain_twin_of_the_splits(study: str) -> None:
    sizes, codes = STUDIES[study]
    found = drawn_splits(sizes, codes)
    assert_equal_splits(found, plain_splits(sizes, codes))  # type: ignore[arg-type]
    assert_equal_splits(drawn_splits(sizes, None), plain_splits(sizes, None))
    for split in found:
        one, other = ({*codes[HUMAN][rows].tolist()} for rows in (split.one, split.other))
        assert not one & other
        for name, rows in split.candidates.items():
            assert 0.95 * split.one.size <= rows.size == np.unique(rows).size <= split.one.size == split.other.size
            assert not one & {*codes[name][rows].tolist()}


def test_every_candidate_answers_the_prompts_whose_place_it_takes() -> None:
    sizes, codes = STUDIES["all answer all"]
    found = drawn_splits(sizes, codes)
    assert len({tuple(split.one.tolist()) for split in found}) == SCORE.seeds
    for split in found:
        assert split.one.size == 20
        for name in ("a", "b"):
            assert sorted(codes[name][split.candidates[name]]) == sorted(codes[HUMAN][split.other])
    sizes, codes = STUDIES["some answers are missing"]
    for split in drawn_splits(sizes, codes):
        assert list(split.candidates) == ["a"]
        assert {*codes["a"][split.candidates["a"]].tolist()} == {*codes[HUMAN][split.other].tolist()} - {88, 89}
    # No prompt is answered by both, so either lacks about half of the prompts.
    sizes, codes = STUDIES["disjoint prompts"]
    assert all(split.candidates == {} for split in drawn_splits(sizes, codes))


def made(how: str) -> tuple[Comparison, dict[str, np.ndarray]]:
    human, candidates, features = make_comparison_inputs(n=60)
    candidates = {name: with_prompts(name, candidates[name], how) for name in NAMES}
    features = {name: features[name] for name in (HUMAN, *NAMES)}
    return compare(with_prompts(HUMAN, human, how), candidates, CONFIG, features=features), features


@pytest.mark.parametrize("how", PROMPTS)
def test_plain_twin_from_features_to_scores_and_intervals(how: str) -> None:
    comparison, features = made(how)
    sizes = dict.fromkeys(features, 60)
    prompts = None if comparison.prompts is None else {name: own.tolist() for name, own in comparison.prompts.items()}
    drawn = plain_splits(sizes, prompts)
    n = drawn[0].one.size
    assert n == {"shared": 30, "none": 30, "repeated": n}[how]
    k = max(2, round(n / (60 / comparison.candidates[0].partitions[0].k)))
    places = {OTHER_HALF: [(HUMAN, split.other) for split in drawn]}
    for name in NAMES:
        if all(name in split.candidates for split in drawn):
            places[name] = [(name, split.candidates[name]) for split in drawn]
    assert comparison.halves is not None
    assert [each.candidate for each in comparison.like_for_like] == [name for name in places if name != OTHER_HALF]
    for name, rows in places.items():
        parts, units = [], []
        for split, (source, own), seed in zip(drawn, rows, half_seeds(SCORE).clustering, strict=True):
            sides = {HUMAN: features[HUMAN][split.one], name: features[source][own]}
            codes = comparison.prompts
            units.append(each_alone(n, n) if codes is None else units_of(codes[HUMAN][split.one], codes[source][own]))
            parts += partitions("pairwise", sides, [seed], dataclasses.replace(SCORE, k=k), lambda: None)
        found: Mapping[str, Estimate] = comparison.halves.scores
        if name != OTHER_HALF:
            alike = comparison.at_size_of_halves(name)
            assert alike is not None
            assert (alike.n, alike.k) == (n, k)
            found = alike.scores
        deviations: dict[str, list[float]] = {score: [] for score in SCORES}
        values: dict[str, list[float]] = {score: [] for score in SCORES}
        for part, own_units in zip(parts, units, strict=True):
            twin = PlainTwin([part], name, own_units, SCORE, half_seeds(SCORE).resampling)
            replicates = twin.resampled(twin.rate, SCORE.bootstrap)
            own_scores = score_counts(part.counts(HUMAN), part.counts(name))
            drawn_scores = score_counts(replicates[:, 0, 0], replicates[:, 0, 1])
            for score in SCORES:
                values[score].append(float(own_scores[score]))
                deviations[score] += (drawn_scores[score] - drawn_scores[score].mean()).tolist()
        for score, highest in zip(SCORES, (1.0, 1.0, 1.0, math.log(2)), strict=True):
            mean = sum(values[score]) / len(values[score])
            assert found[score].values == pytest.approx(values[score], abs=1e-12)
            assert found[score].mean == pytest.approx(mean, abs=1e-12)
            assert found[score].sd == pytest.approx(np.std(values[score], ddof=1), abs=1e-12)
            low, high = mean + np.quantile(deviations[score], [0.025, 0.975])
            ends = (max(low, 0.0), min(high, highest))
            assert (found[score].low, found[score].high) == pytest.approx(ends, abs=1e-9)


def test_texts_of_one_prompt_cannot_be_halved() -> None:
    human, candidates, features = make_comparison_inputs(n=60)
    sides = {name: dataclasses.replace(side, prompts=("once",) * 60) for name, side in candidates.items()}
    comparison = compare(dataclasses.replace(human, prompts=("once",) * 60), sides, CONFIG, features=features)
    assert (comparison.halves, comparison.like_for_like) == (None, ())
    assert any(
        warning.startswith("No human vs. human: 60 are too few, or too alike") for warning in comparison.warnings
    )
