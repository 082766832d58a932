"""Candidates with several generations: a plain twin of their scores, intervals and tests, and what must not change.

Most comparisons are made by hand, as in ``test_differences``.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, CompareConfig
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import from_json
from mauve_core.scoring.compare import compare
from mauve_core.scoring.estimates import generation_sides, score_basis, scored, spreads_of
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.serialization import (
    GENERATIONS,
    ComparisonRecord,
    arrays_of_comparison,
    comparison_from_record,
    record_of_comparison,
)
from mauve_core.scoring.streams import stream
from mauve_core.stats.scores import SCORES, score_counts
from mauve_core.stats.units import Draws, generation_units, units_of
from tests.repeated import CONFIG, make_repeated_comparison, make_repeated_inputs
from tests.scoring.test_differences import (
    ROUNDING,
    SKEWED,
    UNIFORM,
    assert_close,
    comparison_of,
    differences_in,
    histogram,
    plain_twin,
    scored_by_hand,
)

pytestmark = pytest.mark.integration

PROMPTS = 30
GENERATION_OF = {
    "many": [g for g in range(3) for _ in range(PROMPTS)],
    "also": [g for _ in range(PROMPTS) for g in range(3)],  # the generations of a prompt one after the other
    "gaps": [g for g in range(3) for _ in range(PROMPTS - g)],  # generation g lacks the first g prompts
}
PROMPT_OF = {
    HUMAN: [*range(PROMPTS)],
    "many": [*range(PROMPTS)] * 3,
    "also": [prompt for prompt in range(PROMPTS) for _ in range(3)],
    "gaps": [prompt for g in range(3) for prompt in range(g, PROMPTS)],
    "once": [*range(PROMPTS)],
    "fewer": [*range(PROMPTS - 1, 5, -1)],
}


def made(names: Sequence[str], *, shares: Mapping[str, NDArray[np.float64]] | None = None,
         seed: int = 0) -> Comparison:  # fmt: skip
    """Some of the candidates above, not scored yet."""
    prompts = {name: PROMPT_OF[name] for name in (HUMAN, *names)}
    sizes = {name: len(own) for name, own in prompts.items()}
    shares = shares or {
        HUMAN: UNIFORM,
        "many": UNIFORM,
        "also": SKEWED,
        "gaps": SKEWED[::-1],
        "once": SKEWED,
        "fewer": UNIFORM,
    }
    comparison = comparison_of(sizes, shares, prompts=prompts, seed=seed)
    repeated = {name: np.array(GENERATION_OF[name], np.int32) for name in names if name in GENERATION_OF}
    candidates = []
    for each in comparison.candidates:
        counts = np.bincount(repeated.get(each.name, np.zeros(1, np.int32)))
        changed = {"generations": counts.size, "n_smallest": int(counts.min())} if counts.size > 1 else {}
        candidates.append(dataclasses.replace(each, source=dataclasses.replace(each.source, **changed)))
    return dataclasses.replace(comparison, candidates=tuple(candidates), generations=repeated)


def texts_of(name: str, generation: int) -> list[int]:
    return [i for i, own in enumerate(GENERATION_OF.get(name, [0] * len(PROMPT_OF[name]))) if own == generation]


def count_of(name: str) -> int:
    return 3 if name in GENERATION_OF else 1


def answered_by(name: str) -> list[list[int]]:
    """The prompts of each generation's texts."""
    return [[PROMPT_OF[name][i] for i in texts_of(name, g)] for g in range(count_of(name))]


def score_by_hand(comparison: Comparison, name: str) -> dict[str, NDArray[np.float64]]:
    """Each score as (generations, seeds), one histogram at a time."""
    table: dict[str, list[list[float]]] = {score: [] for score in SCORES}
    for generation in range(count_of(name)):
        rows: dict[str, list[float]] = {score: [] for score in SCORES}
        for part in comparison.candidate(name).partitions:
            p = histogram(part.labels[HUMAN], part.k, [1] * PROMPTS)
            times = [int(i in texts_of(name, generation)) for i in range(part.labels[name].size)]
            found = score_counts(p, histogram(part.labels[name], part.k, times), scale=comparison.config.score.scale)
            for score in SCORES:
                rows[score].append(float(found[score]))
        for score in SCORES:
            table[score].append(rows[score])
    return {score: np.array(rows) for score, rows in table.items()}


def replicates_by_hand(comparison: Comparison, name: str) -> dict[str, NDArray[np.float64]]:
    """Every score of each resample, averaged over seeds and generations, which take the same random numbers."""
    score, values = comparison.config.score, []
    units = generation_units(PROMPT_OF[HUMAN], answered_by(name))
    sides = generation_sides(comparison, "pairwise", name)
    for generation, (own, side) in enumerate(zip(units, sides, strict=True)):
        draws = Draws(own, score.bootstrap, np.random.default_rng(stream(score.seed, "bootstrap")))
        weights = draws.weights(side.exchange_rate(score.bootstrap))
        for part in comparison.candidate(name).partitions:
            labels = np.concatenate([part.labels[HUMAN], part.labels[name][texts_of(name, generation)]])
            p, q = ([histogram(labels, part.k, times) for times in on.tolist()] for on in weights)
            values.append(score_counts(p, q, scale=score.scale))
    return {each: np.mean([value[each] for value in values], axis=0) for each in SCORES}


@pytest.mark.parametrize("name", ["many", "also", "gaps", "once", "fewer"])
def test_scores_and_intervals_equal_a_plain_twin(name: str) -> None:
    comparison = scored(made([name]), {})
    tables, replicates = score_by_hand(comparison, name), replicates_by_hand(comparison, name)
    for score in SCORES:
        found, table = comparison.candidate(name).scores[score], tables[score]
        assert found.mean == pytest.approx(table.mean(), abs=ROUNDING)
        assert found.values == pytest.approx(table.mean(axis=0).tolist(), abs=ROUNDING)
        assert found.sd == pytest.approx(np.std(table.mean(axis=0), ddof=1), abs=ROUNDING)
        if count_of(name) == 1:
            assert (found.generations, found.generations_sd) == (None, None)
        else:
            assert found.generations == pytest.approx(table.mean(axis=1).tolist(), abs=ROUNDING)
            assert found.generations_sd == pytest.approx(np.std(table.mean(axis=1), ddof=1), abs=ROUNDING)
        tails = np.quantile(replicates[score], [0.025, 0.975]) - replicates[score].mean()
        sides = generation_sides(comparison, "pairwise", name)
        kept = 1 - np.mean([side.exchange_rate(comparison.config.score.bootstrap) for side in sides])
        over_seeds = kept**2 * table.mean(axis=0).var(ddof=1) / table.shape[1]
        tails *= np.sqrt(1 + over_seeds / replicates[score].var(ddof=1))
        expected = np.clip(table.mean() + tails, *SCORES[score].bounds)
        assert (found.low, found.high) == pytest.approx(expected.tolist(), abs=ROUNDING)


@pytest.mark.parametrize(
    ("first", "second"),
    [("many", "also"), ("many", "gaps"), ("many", "once"), ("once", "gaps"), ("once", "fewer"), ("fewer", "many")],
)
def test_differences_equal_a_plain_twin(first: str, second: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mauve_core.scoring.differences.PERMUTATIONS", 60)
    comparison = scored_by_hand(made([first, second]))
    assert_close(comparison.differences, plain_twin(comparison, 60))
    common = len({*PROMPT_OF[first]} & {*PROMPT_OF[second]})
    assert {(each.paired, each.n) for each in comparison.differences} == {(True, common)}


def test_generations_that_are_all_the_same_are_one() -> None:
    """Three copies of a candidate's labels have its scores and intervals, and no spread over generations."""
    comparison = made(["many", "once"])

    def copied(labels: Mapping[str, NDArray[np.int32]]) -> dict[str, NDArray[np.int32]]:
        return {name: np.tile(labels["once"], 3) if name == "many" else own for name, own in labels.items()}

    once = comparison.candidate("once").partitions
    many = [dataclasses.replace(part, labels=copied({**part.labels, "many": part.labels["once"]})) for part in once]
    alike = [dataclasses.replace(part, labels=copied(part.labels)) for part in comparison.joint]
    candidates = [
        dataclasses.replace(each, partitions=tuple(many)) if each.name == "many" else each
        for each in comparison.candidates
    ]
    comparison = scored(dataclasses.replace(comparison, candidates=tuple(candidates), joint=tuple(alike)), {})
    for kind in ("pairwise", "joint"):
        for score in SCORES:
            found, single = (comparison.candidate(name).estimate(score, kind) for name in ("many", "once"))
            assert found.generations_sd == pytest.approx(0, abs=ROUNDING)
            assert single.generations is None
            assert found.values == pytest.approx(single.values, abs=ROUNDING)
            assert (found.low, found.high) == pytest.approx((single.low, single.high), abs=ROUNDING)


def test_generations_draw_the_same_prompts_even_if_texts_are_missing() -> None:
    """Where resamples of the generations drew different prompts, their mean would vary too little."""
    comparison = made(["gaps"])
    units = comparison.generation_units("gaps")
    humans = [Draws(each, 200, np.random.default_rng(3)).weights(0.0)[0][:, :PROMPTS] for each in units]
    for other in humans[1:]:
        np.testing.assert_array_equal(humans[0], other)
    (alone,) = generation_units(PROMPT_OF[HUMAN], [PROMPT_OF["once"]])
    np.testing.assert_array_equal(alone.shared, units_of(PROMPT_OF[HUMAN], PROMPT_OF["once"]).shared)


def test_the_mean_of_generations_varies_less_than_one_of_them() -> None:
    comparison = made(["many"], shares={HUMAN: UNIFORM, "many": SKEWED})
    spread = spreads_of(score_basis(comparison, "pairwise", "none")["many"], 5.0)["mauve"]
    resampled = spread.resampled.reshape(len(spread.resampled), 3, -1).mean(axis=2)
    assert resampled.mean(axis=1).std() < 0.9 * resampled.std(axis=0).mean()


@pytest.mark.trial
@pytest.mark.parametrize(("first", "second"), [("many", "also"), ("many", "once")])
def test_the_test_holds_its_level(first: str, second: str) -> None:
    """Of 200 tests of equal sources, about ten have a p-value of at most 0.05, and 22 or more once in 2,000 times."""
    shares = {HUMAN: UNIFORM, first: SKEWED, second: SKEWED}
    rejected = np.zeros(2, dtype=np.int64)
    for seed in range(200):
        found = next(
            each for each in differences_in(made([first, second], shares=shares, seed=seed)) if each.score == "mauve"
        )
        rejected += [found.p_value <= 0.05, found.p_alike <= 0.05]
    assert (rejected < 22).all(), rejected


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return make_repeated_comparison()


def test_a_comparison_takes_k_from_one_generation(compared: Comparison) -> None:
    close, shifted = compared.candidate("close"), compared.candidate("shifted")
    assert (close.source.n, close.source.generations, close.source.n_scored) == (180, 3, 60)
    assert (shifted.source.n, shifted.source.generations, shifted.source.n_scored) == (60, 1, 60)
    assert {part.k for each in compared.candidates for part in each.partitions} == {6}
    assert not any("differ in size" in warning for warning in compared.warnings)
    assert len(close.scores["mauve"].generations or ()) == 3
    assert all(each.paired and each.n == 60 for each in compared.differences)


def test_k_follows_the_smallest_generation_not_all_texts() -> None:
    corpora, features = make_repeated_inputs()
    prompts = np.arange(len(corpora["close"])) // 3
    rows = np.flatnonzero((prompts < 40) | ((prompts == 40) & (corpora["close"].generation_codes == 0)))
    close, own = corpora["close"].take(rows), features["close"][rows]
    candidates = {"close": close, "shifted": corpora["shifted"]}
    given = {HUMAN: features[HUMAN], "close": own, "shifted": features["shifted"]}
    found = compare(corpora[HUMAN], candidates, CONFIG, features=given)
    assert (found.candidate("close").source.n, found.candidate("close").source.n_scored) == (121, 40)
    assert [each.partitions[0].k for each in found.candidates] == [4, 6]
    assert found.joint[0].k == 4


def test_a_comparison_with_generations_comes_back_equal(compared: Comparison) -> None:
    record, arrays = json.loads(json.dumps(record_of_comparison(compared))), arrays_of_comparison(compared)
    assert GENERATIONS in arrays
    found = comparison_from_record(from_json(ComparisonRecord, record), arrays)
    assert list(found.generations) == ["close"]
    np.testing.assert_array_equal(found.generations["close"], compared.generations["close"])
    assert json.loads(json.dumps(record_of_comparison(found))) == record
    for codes in (arrays[GENERATIONS] + 1, np.zeros_like(arrays[GENERATIONS]), arrays[GENERATIONS][:-1]):
        with pytest.raises(ValueError, match="generations"):
            comparison_from_record(from_json(ComparisonRecord, record), {**arrays, GENERATIONS: codes})
    record["candidates"][0]["scores"]["mauve"]["generations"] = [0.5]
    with pytest.raises(InputError, match="two numbers or more"):
        from_json(ComparisonRecord, record)


def test_a_generation_with_too_few_texts_is_refused() -> None:
    corpora, features = make_repeated_inputs()
    human, corpus, own = corpora[HUMAN], corpora["close"], features["close"]
    few = corpus.take(np.flatnonzero((corpus.generation_codes < 2) | (np.arange(len(corpus)) < 30)))
    with pytest.raises(InputError, match=r"A generation of 'close'.*at least 20 in each.*10"):
        compare(
            human,
            {"close": few},
            CompareConfig(encoder=None, projection=False),
            features={HUMAN: features[HUMAN], "close": own[: len(few)]},
        )
