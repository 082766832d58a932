"""One entry in the registry makes a score: what shows, stores and tests scores has it, and older runs open without."""

from __future__ import annotations

import json

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from mauve_core import compare
from mauve_core.analyses.gap import prepare, what_if
from mauve_core.base.config import HUMAN
from mauve_core.base.json_codec import from_json
from mauve_core.base.json_schema import json_schema
from mauve_core.figures.leaderboard import leaderboard_frame, shown_table
from mauve_core.scoring.result import Comparison
from mauve_core.scoring.serialization import (
    ComparisonJson,
    ComparisonRecord,
    arrays_of_comparison,
    comparison_from_record,
    record_of_comparison,
    to_json,
)
from mauve_core.scoring.tables import to_table
from mauve_core.stats.scores import SCORES, Score
from mauve_core.stats.what_if import greedy

NAME, TITLE = "variation", "Total variation"


def compared() -> Comparison:
    rng = np.random.default_rng(0)
    texts = {name: [f"{name} {number}" for number in range(40)] for name in (HUMAN, "a", "b")}
    features = {name: rng.normal(place, size=(40, 4)) for place, name in enumerate(texts)}
    return compare(texts.pop(HUMAN), texts, features=features, seeds=2, draw_map=False)


def stored(comparison: Comparison) -> Comparison:
    record = json.loads(json.dumps(record_of_comparison(comparison)))
    return comparison_from_record(from_json(ComparisonRecord, record), arrays_of_comparison(comparison))


def shown(comparison: Comparison) -> list[bool]:
    """Whether the table, the JSON and the leaderboard have the score."""
    values = json.loads(json.dumps(to_json(comparison)))
    Draft202012Validator(json_schema(ComparisonJson)).validate(values)
    table = shown_table(leaderboard_frame(comparison, "pairwise"), str)
    found = [all(NAME in each for each in (*values["candidates"], values["halves"])), f"{TITLE} ↓" in table]
    return [*found, TITLE in to_table(comparison), f"{TITLE[0].lower()}{TITLE[1:]}: 0 is" in to_table(comparison)]


def test_one_entry_is_a_score(monkeypatch: pytest.MonkeyPatch) -> None:
    older = compared()
    about = "Total variation, 0 to 1; 0 is the closest."
    score = Score(TITLE, about, (0.0, 1.0), False, 0.05, lambda p, q: np.abs(p - q).sum(axis=-1) / 2)
    monkeypatch.setitem(SCORES, NAME, score)
    comparison = stored(compared())
    assert all(shown(comparison))
    kept, values = np.arange(40) % 2 == 0, []
    for part, found in zip(comparison["a"].partitions, comparison["a"][NAME].values, strict=True):
        p, q = (part.counts(side) / 40 for side in (HUMAN, "a"))
        assert found == pytest.approx(np.abs(p - q).sum() / 2)
        values.append(np.abs(p - np.bincount(part.labels["a"][kept], minlength=part.k) / 20).sum() / 2)
    tested = comparison.difference(NAME, "a", "b")
    assert tested is not None
    assert tested.low < tested.difference == pytest.approx(comparison["a"][NAME].mean - comparison["b"][NAME].mean)
    after = what_if(prepare(comparison, "a"), model=kept).after[NAME]
    assert after.values == pytest.approx(values)
    assert after.low < after.mean < after.high
    steps = greedy(p * 40, q * 40, score=NAME, steps=3)
    assert np.abs(p - q).sum() / 2 > steps[0].scores[NAME] > steps[1].scores[NAME]

    assert not any(shown(stored(older)))
    assert [each.score for each in stored(older).differences] == [name for name in SCORES if name != NAME]
