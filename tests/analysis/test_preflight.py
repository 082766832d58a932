"""What format alone tells apart: planted differences are found, halves of one corpus are not, hostile sides pass."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from scipy.stats import mannwhitneyu

from mauve_core.base.config import HUMAN
from mauve_core.base.json_codec import dataclass_to_json, from_json
from mauve_core.findings.format_checks import (
    KINDS,
    LEAST_EFFECT,
    LEVEL,
    Preflight,
    format_measures,
    headline,
    preflight,
    to_text,
)
from mauve_core.texts import Corpus, corpus_from_texts
from mauve_core.texts.pairing import equalized
from tests.planted_formats import FOLLOWS, N, corpus, planted, prompts, texts

pytestmark = pytest.mark.integration


def flagged(found: Preflight) -> set[str]:
    return {row.kind for row in found.flagged}


def sides(human: Sequence[str], model: Sequence[str]) -> dict[str, Corpus]:
    return {HUMAN: raw("human", human), "model": raw("model", model)}


def raw(name: str, of: Sequence[str]) -> Corpus:
    """A corpus that no reading function would make: empty texts and surrogates stay."""
    frame = pd.DataFrame(index=pd.RangeIndex(len(of)))
    return Corpus(name, tuple(of), tuple(map(str, range(len(of)))), None, frame)


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_difference_is_found_and_no_other(kind: str) -> None:
    """Among 200 texts a side; an echoed prompt may bring its length and casing along."""
    found = preflight(planted(kind))
    assert kind in flagged(found)
    assert flagged(found) <= {kind, *FOLLOWS.get(kind, ())}
    assert KINDS[kind].title in to_text(found)


def test_nothing_planted_nothing_found() -> None:
    found = preflight(planted("none"))
    assert not found.flagged
    assert found.clean == 1
    assert headline(found) == "No difference of format was found in 12 kinds."
    assert len(found.rows) == 12


@pytest.mark.trial
@pytest.mark.slow
def test_random_halves_of_a_corpus_are_hardly_ever_flagged() -> None:
    """At most five of a hundred; the rule promises one."""
    whole, rng = corpus("whole", texts(2 * N, 3), prompts(2 * N)), np.random.default_rng(0)
    wrong = 0
    for _ in range(100):
        order = rng.permutation(2 * N)
        wrong += bool(preflight({HUMAN: whole.take(order[:N]), "model": whole.take(order[N:])}).flagged)
    assert wrong <= 5


@pytest.mark.trial
def test_repeated_prompts_do_not_look_like_differences() -> None:
    """Forty prompts a side, each continued ten times in a length of its own; without its prompts it is flagged."""
    rng = np.random.default_rng(4)
    wrong = {"prompts": 0, "none": 0}
    for _ in range(25):
        by_side: dict[str, Corpus] = {}
        for name in (HUMAN, "model"):
            lengths = np.repeat(rng.integers(5, 60, 40), 10)
            of = [f"It is{' a' * int(length)} {rng.random()}." for length in lengths]
            by_side[name] = corpus(name, of, [f"{name} {i // 10}" for i in range(400)])
        wrong["prompts"] += "length" in flagged(preflight(by_side))
        alone = {name: dataclasses.replace(side, prompts=None) for name, side in by_side.items()}
        wrong["none"] += "length" in flagged(preflight(alone))
    assert wrong["prompts"] <= 1
    assert wrong["none"] >= 5, "otherwise this tests nothing"


def test_one_prompt_for_all_texts_supports_no_flag() -> None:
    both = planted("leading_space")
    both = {name: dataclasses.replace(side, prompts=("Write.",) * N) for name, side in both.items()}
    (row,) = (row for row in preflight(both).rows if row.kind == "leading_space")
    assert (row.low, row.high, row.p, row.flagged) == (0, 1, 1, False)


def test_numbers_of_a_row_against_counts_and_scipy() -> None:
    both = planted("length")
    found = {row.kind: row for row in preflight(both).rows}
    words = {name: format_measures(side.texts).numbers["words"] for name, side in both.items()}
    row, test = found["length"], mannwhitneyu(words["model"], words[HUMAN], method="asymptotic")
    assert row.auc == pytest.approx(test.statistic / N**2)
    assert row.p == pytest.approx(12 * test.pvalue), "Holm's correction of the smallest of twelve"
    assert (row.human_value, row.candidate_value) == (np.median(words[HUMAN]), np.median(words["model"]))
    lead = found["leading_space"]
    shares = [sum(text[0].isspace() for text in both[name].texts) / N for name in (HUMAN, "model")]
    assert [lead.human_value, lead.candidate_value] == pytest.approx(shares)
    assert lead.auc == pytest.approx((1 + shares[1] - shares[0]) / 2)
    assert lead.summary == "share"


def test_a_difference_that_moves_no_score_is_not_flagged() -> None:
    """4 points among 2,000 texts are certain, and small."""
    human, model = texts(2000, 11), texts(2000, 12)
    human = [text.lstrip() for text in human]
    model = [f"{' ' if place % 25 == 0 else ''}{text.lstrip()}" for place, text in enumerate(model)]
    (row,) = (row for row in preflight(sides(human, model)).rows if row.kind == "leading_space")
    assert row.p < LEVEL
    assert abs(row.auc - 0.5) < LEAST_EFFECT
    assert not row.flagged


def test_excluded_empty_texts_count() -> None:
    model = corpus_from_texts([*texts(N, 2)[:150], *[" "] * 50], name="model")
    (row,) = preflight({HUMAN: corpus("human", texts(N, 1)), "model": model}).flagged
    assert (row.kind, row.candidate_value, row.candidate_n) == ("duplicates", 0.25, N)


def test_repetitions_are_counted_among_equally_many_texts() -> None:
    """Forty texts, each as probable: two thousand draws repeat nearly always, forty rarely."""
    pool, rng = texts(40, 5), np.random.default_rng(1)
    both = {HUMAN: raw("human", rng.choice(pool, 2000).tolist()), "model": raw("model", rng.choice(pool, 40).tolist())}
    (row,) = (row for row in preflight(both).rows if row.kind == "duplicates")
    assert (row.human_n, row.candidate_n) == (2000, 40), "what is told of a file is counted in all of it"
    assert row.human_value == pytest.approx(1960 / 2000)
    assert not row.flagged


def test_shares_of_a_file_are_those_before_texts_were_drawn() -> None:
    pool = texts(120, 5)
    both = equalized({HUMAN: corpus("human", texts(120, 6)), "model": raw("model", pool * 2)}, seed=0)
    for sides_of_run in (both, {HUMAN: both[HUMAN], "model": raw("model", pool * 2)}):
        (row,) = (row for row in preflight(sides_of_run).rows if row.kind == "duplicates")
        assert (row.human_n, row.candidate_n, row.candidate_value) == (120, 240, 0.5)
        assert row.flagged
        assert "in equally many texts" in to_text(Preflight((row,)))


def test_prompts_of_another_side_serve_by_id() -> None:
    both = planted("echo")
    both["model"] = dataclasses.replace(both["model"], prompts=None)
    assert "echo" in flagged(preflight(both))
    assert all(row.human_n == 0 for row in preflight(sides(["a"], ["b"])).rows if row.kind == "echo")


@pytest.mark.parametrize(
    ("human", "model"),
    [
        ([], []),
        ([], ["One text."]),
        (["One text."], ["Another text"]),
        (["Same."] * 200, ["Same."] * 200),
        (["\ud800 half a pair"] * 30, ["\ud800"] * 30),
        ([""] * 30, [" "] * 30),
        (["a" * 500_000] * 3, ["b " * 250_000] * 3),
    ],
)
def test_hostile_sides_give_numbers(human: list[str], model: list[str]) -> None:
    found = preflight(sides(human, model))
    assert len(found.rows) == 12
    again = from_json(Preflight, json.loads(json.dumps(dataclass_to_json(found), allow_nan=False)))
    assert again == found
    if min(len(human), len(model)) < 2 or human == model:
        assert not found.flagged


def test_without_candidates_there_is_nothing() -> None:
    assert preflight({HUMAN: raw("human", texts(5, 1))}).rows == ()


def test_the_furthest_candidate_stands_for_a_kind() -> None:
    both = planted("leading_space")
    both["all"] = corpus("all", [f" {text.lstrip()}" for text in both["model"].texts], prompts(N))
    found = preflight(both)
    assert [row.candidate for row in found.flagged] == ["all", "model"]
    assert found.clean == 0
    (line,) = to_text(found).splitlines()[1:]
    assert "all 200 of 200 (100%)" in line
    assert "and 1 more" in line
