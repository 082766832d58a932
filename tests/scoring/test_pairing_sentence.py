"""What is said about pairing: the rule that matched texts and how many prompts they share, or that they share none."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mauve_core.base.config import HUMAN
from mauve_core.base.json_codec import from_json
from mauve_core.reporting.paper import methods_paragraph
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.serialization import (
    ComparisonRecord,
    arrays_of_comparison,
    comparison_from_record,
    record_of_comparison,
    to_json,
)
from mauve_core.scoring.tables import pairing_sentence, to_table
from mauve_core.texts.pairing import MatchedBy
from tests.handmade import N, make_comparison, with_tests

NONE = "Human texts and candidates share no prompts: texts are resampled one by one."
FIRST, SECOND = list(N)[1:]


def matched(by: MatchedBy) -> Comparison:
    """By hand: human prompts 0 to 3, and each candidate 0 to 2."""
    return dataclasses.replace(with_tests(make_comparison()), prompts_by=by)


@pytest.mark.parametrize(
    ("by", "said", "methods"),
    [
        (
            "prompts",
            "Resampled by prompt: 3 prompts shared with the human texts, matched by equal prompts.",
            "prompts (3 prompts shared with the human texts, matched by equal prompts) drawn with replacement",
        ),
        ("ids", "Resampled by id: 3 ids shared with the human texts.", "ids (3 ids shared with the human texts) drawn"),
        (
            "rows",
            "Resampled by row: 3 rows of one file shared with the human texts.",
            "rows (3 rows of one file shared with the human texts) drawn",
        ),
    ],
)
def test_the_rule_and_the_number(by: MatchedBy, said: str, methods: str) -> None:
    comparison = matched(by)
    assert pairing_sentence(comparison) == said
    assert f"\n{said}\n" in to_table(comparison)
    assert methods in methods_paragraph(comparison)
    assert to_json(comparison)["pairing"] == {"by": by, "shared": {FIRST: 3, SECOND: 3}}


def test_candidates_may_share_different_numbers() -> None:
    comparison = matched("prompts")
    prompts = {**(comparison.prompts or {}), SECOND: np.array([3, 3, 9, 9, 8, 8], dtype=np.int32)}
    fewer = dataclasses.replace(comparison, prompts=prompts)
    assert pairing_sentence(fewer).startswith("Resampled by prompt: 1 to 3 prompts shared")
    assert [fewer.shared_prompts(name) for name in (FIRST, SECOND)] == [3, 1]
    alone = {**prompts, HUMAN: np.arange(100, 107, dtype=np.int32)}
    said = pairing_sentence(dataclasses.replace(comparison, prompts=alone))
    assert said == "Resampled by group: 7 groups of 7 human texts."
    assert "texts drawn with replacement" in methods_paragraph(dataclasses.replace(comparison, prompts=alone))


def test_without_prompts_texts_are_resampled_one_by_one_and_a_leaderboard_of_two_runs_says_nothing() -> None:
    comparison = with_tests(make_comparison())
    without = dataclasses.replace(comparison, prompts=None, prompts_by=None)
    assert pairing_sentence(without) == NONE
    assert to_json(without)["pairing"] is None
    of_two_runs = dataclasses.replace(without, differences=())
    assert pairing_sentence(of_two_runs) == ""
    assert "esampled" not in to_table(of_two_runs)


def test_the_rule_is_stored() -> None:
    comparison = matched("ids")
    record, arrays = record_of_comparison(comparison), arrays_of_comparison(comparison)
    assert comparison_from_record(from_json(ComparisonRecord, record), arrays).prompts_by == "ids"
