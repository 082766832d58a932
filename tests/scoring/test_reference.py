"""What is said and shown of human vs. human and of scores like for like, from a comparison put together by hand."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from numpy.typing import NDArray

from mauve_core.analyses.comparability import one_leaderboard
from mauve_core.base.config import HUMAN
from mauve_core.base.json_codec import from_json
from mauve_core.figures.leaderboard import leaderboard_frame, like_for_like_rows
from mauve_core.reporting.paper import latex_table, markdown_table
from mauve_core.reporting.score_sections import leaderboard_section
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.serialization import (
    ComparisonRecord,
    arrays_of_comparison,
    comparison_from_record,
    record_of_comparison,
    to_json,
)
from mauve_core.scoring.tables import like_for_like_sentence, reference_sentences, to_table
from mauve_core.stats.scores import SCORES
from mauve_core.texts.pairing import MatchedBy
from tests.handmade import estimate, make_comparison, with_like_for_like

FIRST, SECOND = "grün & <b>", "b"


def passing(alike: float) -> Comparison:
    """The second candidate has 0.65 with all texts; human vs. human has 0.6 (0.55 to 0.65)."""
    comparison = make_comparison(second={"mauve": estimate(0.65, 0.6, 0.7)}, first={"mauve": estimate(0.3, 0.2, 0.4)})
    return with_like_for_like(comparison, first=0.2, second=alike)


@pytest.mark.parametrize(
    ("alike", "said"),
    [
        (0.4, "like for like it does not (0.400)."),
        (0.5, "like for like it does not (0.500), though the intervals overlap."),
        (0.6, "like for like it does, too (0.600)."),
    ],
)
def test_a_candidate_that_reaches_human_vs_human_is_named_with_what_it_does_like_for_like(
    alike: float, said: str
) -> None:
    found = reference_sentences(passing(alike))
    assert found.startswith(
        "Human vs. human: one random part of the human texts against another, 3 texts per side in 2"
    )
    assert f"With all its texts, {SECOND} reaches human vs. human (0.650 against 0.600); {said}" in found
    assert FIRST not in found
    for table in (to_table(passing(alike)).replace("\n", " "), markdown_table(passing(alike)).replace("\\", "")):
        assert said in table
    assert "reaches human vs. human" in latex_table(passing(alike))
    assert "reaches human vs. human" not in latex_table(passing(alike), "joint")


def test_shared_prompts_are_named_where_a_candidate_reaches_human_vs_human_with_them_alone() -> None:
    reason = "A likely reason: candidates share the human texts' prompts; two halves of the human texts do not."
    answers = {HUMAN: np.arange(7, dtype=np.int32), FIRST: np.arange(5, dtype=np.int32)}
    shared = answers | {SECOND: np.arange(6, dtype=np.int32)}
    others = answers | {SECOND: np.arange(7, 13, dtype=np.int32)}

    def said(alike: float, prompts: dict[str, NDArray[np.int32]], by: MatchedBy = "prompts") -> str:
        return reference_sentences(dataclasses.replace(passing(alike), prompts=prompts, prompts_by=by))

    assert said(0.4, shared).endswith(f"like for like it does not (0.400). {reason}")
    assert reason not in said(0.6, shared), "it reaches human vs. human without them, too"
    assert reason not in said(0.4, others), "only the other candidate shares any"
    assert reason not in said(0.4, shared, "ids"), "nothing is known of their prompts"
    assert reason not in reference_sentences(passing(0.4))


def test_no_one_is_named_who_stays_below_or_has_no_score_like_for_like() -> None:
    low = make_comparison(second={"mauve": estimate(0.59, 0.5, 0.7)}, first={"mauve": estimate(0.3, 0.2, 0.4)})
    assert "reaches" not in reference_sentences(with_like_for_like(low, first=0.9, second=0.9))
    assert "reaches" not in reference_sentences(dataclasses.replace(passing(0.5), like_for_like=()))
    assert reference_sentences(dataclasses.replace(passing(0.5), halves=None)) == ""
    assert like_for_like_sentence(make_comparison()) == ""


def test_the_column_stands_beside_the_rows_of_its_candidates() -> None:
    comparison = with_like_for_like(passing(0.5), second=0.5)
    title, *lines = to_table(comparison).split("\n\n")[0].splitlines()
    assert title.endswith("  MAUVE at n = 3")
    ends = [line.split("  ")[-1].strip() for line in lines]
    assert ends[0] == "0.500 ± 0.010"
    assert ends[1] == "0.450 to 0.550"
    assert ends[2] == "–"
    assert ends[-2:] == ["0.600 ± 0.010", "0.550 to 0.650"]
    assert "MAUVE at n = 3: like for like" in to_table(comparison)
    assert "MAUVE at n" not in to_table(make_comparison())


def test_the_json_holds_every_score() -> None:
    first, second = to_json(with_like_for_like(make_comparison(), second=0.5))["candidates"]
    assert first["like_for_like"] is None
    expected = {"mean": 0.5, "sd": 0.01, "low": 0.45, "high": 0.55}
    found = second["like_for_like"]
    assert (found["n"], found["k"]) == (3, 2)
    assert {score: found[score] for score in SCORES} == {score: pytest.approx(expected) for score in SCORES}


def test_the_frame_and_the_rows_have_the_candidates_in_order_of_rank_and_human_vs_human() -> None:
    comparison = with_like_for_like(passing(0.5), second=0.5)
    frame = leaderboard_frame(comparison, "pairwise").set_index("candidate")
    assert frame["like_for_like"].tolist()[::2] == [0.5, 0.6]
    assert frame.loc[FIRST, [f"like_for_like{end}" for end in ("", "_sd", "_low", "_high")]].isna().all()
    assert frame.loc[SECOND, "like_for_like_low"] == pytest.approx(0.45)
    assert "like_for_like" not in leaderboard_frame(comparison, "joint")
    assert "like_for_like" not in leaderboard_frame(make_comparison(), "pairwise")
    columns, rows = like_for_like_rows(comparison)
    assert columns == ("Candidate", "n", "MAUVE, all texts", "MAUVE at n = 3")
    rows = [tuple(cell.replace("\u00a0", " ") for cell in row) for row in rows]
    assert rows[0] == (SECOND, "6", "0.650 ± 0.010\n0.600 to 0.700", "0.500 ± 0.010\n0.450 to 0.550")
    assert rows[1][-1] == "–"
    assert rows[2] == ("human vs. human", "3", "–", "0.600 ± 0.010\n0.550 to 0.650")
    assert like_for_like_rows(make_comparison()) == ((), [])


def test_the_report_has_the_table_folded() -> None:
    titles = [getattr(block, "title", "") for block in leaderboard_section(passing(0.5)).blocks]
    assert "Like for like with human vs. human" in titles
    without = leaderboard_section(make_comparison()).blocks
    assert not any(getattr(block, "title", "").startswith("Like for like") for block in without)


def stored_again(comparison: Comparison) -> Comparison:
    record = json.loads(json.dumps(record_of_comparison(comparison)))
    return comparison_from_record(from_json(ComparisonRecord, record), arrays_of_comparison(comparison))


def test_stored_scores_come_back() -> None:
    comparison = with_like_for_like(make_comparison(), first=0.4, second=0.5)
    assert stored_again(comparison).like_for_like == comparison.like_for_like
    assert stored_again(make_comparison()).like_for_like == ()


def test_the_leaderboard_of_two_runs_has_none() -> None:
    comparison = with_like_for_like(make_comparison(), first=0.4, second=0.5)
    joined = one_leaderboard(comparison, comparison, ("A", "B"))
    assert joined.like_for_like == ()
    assert joined.halves == comparison.halves
