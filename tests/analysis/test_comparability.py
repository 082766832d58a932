"""What makes scores of two runs incomparable, setting by setting, and the one leaderboard of those that are."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from mauve_core.analyses.comparability import Difference, differences, one_leaderboard, require_comparable
from mauve_core.base.config import CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.scoring.result import Comparison, Partition
from mauve_core.scoring.serialization import to_json
from mauve_core.scoring.tables import standings
from mauve_core.texts.normalizing_steps import Change
from tests.handmade import estimate, make_comparison

ENCODER = EncoderConfig("gpt2-large")


def encoded(**changes: Any) -> Comparison:
    """The handmade comparison as if an encoder had made its features."""
    comparison = make_comparison()
    return dataclasses.replace(comparison, config=CompareConfig(dataclasses.replace(ENCODER, **changes)))


def with_score(**changes: Any) -> Comparison:
    comparison = encoded()
    score = dataclasses.replace(comparison.config.score, **changes)
    return dataclasses.replace(comparison, config=dataclasses.replace(comparison.config, score=score))


def with_human(comparison: Comparison, **changes: Any) -> Comparison:
    return dataclasses.replace(comparison, human=dataclasses.replace(comparison.human, **changes))


def only(left: Comparison, right: Comparison) -> Difference:
    (found,) = differences(left, right)
    return found


def test_nothing_differs_from_itself() -> None:
    assert differences(encoded(), encoded()) == ()
    assert differences(make_comparison(), make_comparison()) == ()
    require_comparable(encoded(), encoded())


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("model", "gpt2", "Encoder: gpt2-large and gpt2"),
        ("revision", "abc", "Encoder revision: default and abc"),
        ("pooling", "mean", "Pooling: auto and mean"),
        ("layer", -2, "Layer: -1 and -2"),
        ("dtype", "bfloat16", "Encoder precision: float32 and bfloat16"),
        ("with_prompt", True, "Prompts encoded: no and yes"),
    ],
)
def test_settings_of_the_encoder_count(field: str, value: object, words: str) -> None:
    other = with_human(encoded(**{field: value}), features_key="other")
    found = only(encoded(), other)
    assert found.counts
    assert str(found) == words
    with pytest.raises(InputError, match=r"cannot be ranked together.*" + words.split(":")[0]):
        require_comparable(encoded(), other)


def test_the_same_features_from_a_model_that_was_moved_do_not_count() -> None:
    found = only(encoded(), encoded(model="/models/gpt2-large"))
    assert not found.counts
    assert found.reason == "the features are the same"
    assert only(encoded(), encoded(with_prompt=True)).counts, "human texts may have empty prompts where models' do not"


def test_other_weights_behind_one_name_count() -> None:
    found = only(encoded(), with_human(encoded(), features_key="other"))
    assert found.counts
    assert "weights" in found.reason
    given = make_comparison()
    assert only(given, with_human(given, features_key="other")).setting == "Features of the human texts"


def test_given_features_are_comparable_with_themselves_alone() -> None:
    found = [item for item in differences(make_comparison(), encoded()) if item.setting == "Encoder"]
    assert [(item.left, item.right, item.counts) for item in found] == [("features given", "gpt2-large", True)]


def test_the_length_of_the_cut_counts_where_a_text_was_cut() -> None:
    shorter = with_human(encoded(max_tokens=256), features_key="other")
    assert str(only(encoded(), shorter)) == "Maximum text length: 1,024 tokens and 256 tokens"
    assert not only(encoded(), shorter).counts
    assert only(encoded(), with_human(shorter, cut=1)).counts
    assert only(with_human(shorter, cut=1), encoded()).counts


@pytest.mark.parametrize(
    ("field", "value", "counts"),
    [
        ("scale", 3.0, True),
        ("explained_variance", 0.8, True),
        ("unit_rows", "after", True),
        ("max_iterations", 5, True),
        ("confidence", 0.9, True),
        ("restarts", 5, False),
        ("seeds", 3, False),
        ("seed", 1, False),
        ("bootstrap", 200, False),
    ],
)
def test_settings_of_the_scores(field: str, value: float | str, counts: bool) -> None:
    assert only(encoded(), with_score(**{field: value})).counts is counts


def test_every_setting_is_decided_on() -> None:
    """A setting that is new to the configuration must be said to count or not; k and max_tokens are looked up."""
    from mauve_core.analyses import comparability as module

    decided = {row[0] for row in (*module._ENCODER, *module._SCORE)} | {"k", "max_tokens"}
    fields = {item.name for kind in (EncoderConfig, ScoreConfig) for item in dataclasses.fields(kind)}
    assert fields == decided


def test_k_counts_as_it_came_out() -> None:
    assert differences(with_score(k=3), with_score(k=None)) == (), "both have the three clusters of the records"
    left, right = encoded(), encoded()
    first = right.candidates[0]
    finer = tuple(Partition(p.kind, p.seed, 4, p.objective, p.labels) for p in first.partitions)
    right = dataclasses.replace(right, candidates=(dataclasses.replace(first, partitions=finer), *right.candidates[1:]))
    assert str(only(left, right)) == "Clusters k: 3 and 3, 4"
    assert only(left, right).counts


def test_texts_and_their_number_count() -> None:
    found = differences(encoded(), with_human(encoded(), digest="0" * 64, n=8))
    assert [(item.setting, item.counts) for item in found] == [("Human texts", True), ("Number of human texts", True)]
    other = encoded()
    source = dataclasses.replace(other.candidates[0].source, n=50)
    other = dataclasses.replace(
        other, candidates=(dataclasses.replace(other.candidates[0], source=source), *other.candidates[1:])
    )
    assert str(only(encoded(), other)) == "Texts per candidate: 5, 6 and 6, 50"


def test_sizes_so_close_that_no_score_moves_do_not_count() -> None:
    def sized(n: int, k: int, own_k: int | None = None) -> Comparison:
        comparison = with_score(k=own_k)
        (first, *_) = comparison.candidates
        parts = tuple(Partition(p.kind, p.seed, k, p.objective, p.labels) for p in first.partitions)
        source = dataclasses.replace(first.source, n=n)
        return dataclasses.replace(
            comparison, candidates=(dataclasses.replace(first, source=source, partitions=parts),)
        )

    found = differences(sized(994, 99), sized(1000, 100))
    assert [(each.setting, each.counts) for each in found] == [("Texts per candidate", False), ("Clusters k", False)]
    require_comparable(sized(994, 99), sized(1000, 100))
    assert all(each.counts for each in differences(sized(900, 90), sized(1000, 100)))
    chosen = differences(sized(994, 99, 99), sized(1000, 100, 100))
    assert [each.counts for each in chosen if each.setting == "Clusters k"] == [True]


def test_normalization_counts_even_if_the_human_texts_stayed() -> None:
    other = with_human(encoded(), normalized=(Change("quotes", 0, 7), Change("words:9", 0, 7)))
    found = only(encoded(), other)
    assert str(found) == "Normalization of texts: none and quotes, length of 9 words"
    assert found.counts
    with pytest.raises(InputError, match="Normalization of texts"):
        require_comparable(encoded(), other)
    twice = with_human(encoded(), normalized=(*(other.human.normalized or ()), Change("quotes", 0, 7)))
    assert differences(other, twice) == ()


def test_circumstances_are_told_and_not_counted() -> None:
    left = dataclasses.replace(encoded(), environment={"device": "cpu", "versions": {"numpy": "2.0", "torch": "2"}})
    right = dataclasses.replace(encoded(), environment={"device": "cuda", "versions": {"numpy": "2.1"}})
    right = dataclasses.replace(right, config=dataclasses.replace(right.config, projection=False))
    found = differences(left, right)
    assert [str(item) for item in found] == [
        "Map: yes and no",
        "Device: cpu and cuda",
        "numpy version: 2.0 and 2.1",
        "torch version: 2 and not used",
    ]
    assert not any(item.counts for item in found)
    require_comparable(left, right)


def test_the_refusal_names_each_and_what_counts_comes_first() -> None:
    other = with_score(scale=3.0, seeds=7, k=9, confidence=0.9)
    assert [item.counts for item in differences(encoded(), other)] == [True, True, False]
    with pytest.raises(
        InputError, match=r"Scaling constant c: 5 and 3; Confidence level of the intervals: 0\.95 and 0\.9"
    ) as e:
        one_leaderboard(encoded(), other, ("a", "b"))
    assert "seeds" not in str(e.value)


def test_one_leaderboard_ranks_all_candidates_by_the_rule_of_one_run() -> None:
    """By hand: 0.9 of the right run is alone, 0.7 and 0.65 overlap across runs, 0.2 is last."""
    scores = {
        "left": {"first": {"mauve": estimate(0.7, 0.6, 0.8)}, "second": {"mauve": estimate(0.2, 0.1, 0.3)}},
        "right": {"first": {"mauve": estimate(0.65, 0.5, 0.75)}, "second": {"mauve": estimate(0.9, 0.85, 0.95)}},
    }
    left, right = make_comparison(**scores["left"]), make_comparison(**scores["right"])
    board = one_leaderboard(left, right, ("one", "two"))
    awkward = left.candidates[0].name
    assert [(item.rank, item.tied, item.candidate.name) for item in standings(board)] == [
        (1, False, "b · two"),
        (2, True, f"{awkward} · one"),
        (2, True, f"{awkward} · two"),
        (4, False, "b · one"),
    ]
    assert len(to_json(board)["candidates"]) == 4
    with pytest.raises(InputError, match="same title"):
        one_leaderboard(left, right, ("one", "one"))
