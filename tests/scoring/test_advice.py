"""The advice appears where it applies, and nowhere else."""

from __future__ import annotations

import dataclasses

import pytest

from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.scoring.result import Source
from mauve_core.scoring.sides import advice, minor_advice
from mauve_core.texts import corpus_from_texts
from mauve_core.texts.pairing import equalized

N = 1000
CONFIG = CompareConfig(EncoderConfig("gpt2-large"), ScoreConfig())


def side(name, **changes):
    good = Source(name, N, "memory", "digest", "key", tokens_median=300.0, cut=0)
    return dataclasses.replace(good, **changes)


def corpus(name, prompt="one ", text="{} {}"):
    return corpus_from_texts([text.format(name, i) for i in range(4)], name=name, prompts=[prompt] * 4)


CORPORA = {HUMAN: corpus(HUMAN), "m": corpus("m")}


def test_good_inputs_need_no_advice():
    assert advice((side(HUMAN), side("m")), CORPORA, CONFIG) == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n": N + 51}, "differ in size (human 1,000, m 1,051)"),
        ({"tokens_median": 255.0}, "median of 255 tokens"),
        ({"cut": 7}, "7 of 1,000 of m"),
    ],
)
def test_each_side_is_looked_at(changes, words):
    (found,) = advice((side(HUMAN), side("m", **changes)), CORPORA, CONFIG)
    assert words in found


@pytest.mark.parametrize(
    ("n", "other", "k", "close"),
    [
        (1000, 999, None, True),
        (1000, 1050, None, True),
        (1000, 1050, 200, False),
        (60_000, 60_360, None, True),
        (60_000, 60_480, None, False),
        (120, 137, None, True),
        (120, 138, None, False),
    ],
)
def test_sizes_are_close_where_a_score_moves_by_a_tenth_of_half_its_interval(n, other, k, close):
    config = dataclasses.replace(CONFIG, score=ScoreConfig(k=k))
    found = advice((side(HUMAN, n=n), side("m", n=other)), CORPORA, config)
    assert any("differ in size" in sentence for sentence in found) is not close


def test_settings_are_looked_at():
    sides = (side(HUMAN), side("m"))
    for config, words in (
        (dataclasses.replace(CONFIG, score=ScoreConfig(seeds=1)), "no spread"),
        (dataclasses.replace(CONFIG, score=ScoreConfig(k=201)), "5.0 texts per cluster"),
        (dataclasses.replace(CONFIG, encoder=EncoderConfig("minilm")), "topics rather than style"),
        (dataclasses.replace(CONFIG, encoder=EncoderConfig("glove.6B.300d.txt")), "not word order"),
    ):
        (found,) = advice(sides, CORPORA, config)
        assert words in found
    assert advice(sides, CORPORA, dataclasses.replace(CONFIG, score=ScoreConfig(k=200))) == ()


@pytest.mark.parametrize(("n", "k", "said"), [(50_004, None, False), (60_000, None, True), (60_000, 1000, False)])
def test_fewer_clusters_than_a_tenth_of_many_texts_are_said(n, k, said):
    config = dataclasses.replace(CONFIG, score=ScoreConfig(k=k))
    found = advice((side(HUMAN, n=n), side("m", n=n)), CORPORA, config)
    assert [("k is 5,000, not a tenth of 60,000 texts" in sentence) for sentence in found] == [True] * said


def test_few_texts_and_texts_of_both_sides():
    few = (side(HUMAN, n=999), side("m", n=999))
    assert "999 texts per side" in advice(few, CORPORA, CONFIG)[0]
    same = {HUMAN: CORPORA[HUMAN], "m": CORPORA[HUMAN]}
    first, second = advice((side(HUMAN), side("m")), same, CONFIG)
    assert first.startswith("human and m hold the same texts")
    assert "verbatim" in second
    assert "4 of m" in second


def test_verbatim_texts_are_counted_before_equal_numbers_are_drawn():
    human = corpus_from_texts([f"text {i}" for i in range(200)], name=HUMAN)
    copies = corpus_from_texts(human.texts[:40], name="m", ids=[f"m{i}" for i in range(40)])
    drawn = equalized({HUMAN: human, "m": copies}, seed=0)
    found = advice((side(HUMAN), side("m")), drawn, CONFIG)
    assert "40 of m (of 40 before equal numbers were drawn)" in " ".join(found)


def test_sides_of_the_same_texts_in_any_order_are_said_first():
    turned = corpus_from_texts(CORPORA["m"].texts[::-1], name="n", prompts=["one "] * 4)
    corpora = {HUMAN: CORPORA[HUMAN], "m": CORPORA["m"], "n": turned}
    found = advice((side(HUMAN), side("m", n=2 * N), side("n")), corpora, CONFIG)
    assert found[0] == "m and n hold the same texts, so their score is meaningless: was one file given twice?"
    assert "differ in size" in found[1]


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ([f"request-{i}" for i in range(20)], "look like ids, numbers or paths, such as 'request-0'"),
        ([f"{i:040x}" for i in range(20)], "look like ids"),
        (["I cannot help with that."] * 12 + list("abcdefgh"), "12 of 20 texts are identical"),
    ],
)
def test_texts_that_are_none_are_said_first(texts, words):
    corpora = {HUMAN: CORPORA[HUMAN], "m": corpus_from_texts(texts, name="m")}
    found = advice((side(HUMAN), side("m", n=2 * N)), corpora, CONFIG)
    assert found[0].startswith("m: ")
    assert words in found[0]
    assert found[0].endswith("was the right field read?")


def test_prompts_that_run_into_their_texts_matter_only_when_they_are_encoded():
    joined = {HUMAN: CORPORA[HUMAN], "m": corpus("m", prompt="one")}
    sides = (side(HUMAN), side("m"))
    assert advice(sides, joined, CONFIG) == ()
    config = dataclasses.replace(CONFIG, encoder=EncoderConfig("gpt2-large", with_prompt=True))
    (found,) = advice(sides, joined, config)
    assert "4 of m" in found
    assert advice(sides, CORPORA, config) == ()


@pytest.mark.parametrize(
    ("sides", "config", "minor"),
    [
        ((side(HUMAN, n=999), side("m", n=999)), CONFIG, True),
        ((side(HUMAN), side("m", tokens_median=255.0)), CONFIG, True),
        ((side(HUMAN), side("m", cut=7)), CONFIG, True),
        ((side(HUMAN), side("m")), dataclasses.replace(CONFIG, score=ScoreConfig(seeds=1)), True),
        ((side(HUMAN), side("m")), dataclasses.replace(CONFIG, encoder=EncoderConfig("minilm")), True),
        ((side(HUMAN), side("m", n=2 * N)), CONFIG, False),
        ((side(HUMAN), side("m")), dataclasses.replace(CONFIG, score=ScoreConfig(k=201)), False),
    ],
)
def test_what_only_limits_the_scores_is_minor(sides, config, minor):
    (found,) = advice(sides, CORPORA, config)
    assert minor_advice(sides, config) == ((found,) if minor else ())
