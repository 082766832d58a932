"""The sample for the app: the same whatever the shards, and of the same prompts on both sides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mauve_core.analyses import over_shards
from mauve_core.analyses.over_shards import (
    clusters_over_all,
    over_all_rows,
    sample_sentence,
    store_sample,
    stored_over_shards,
)
from mauve_core.base.config import HUMAN
from mauve_core.shards.encoding import Keeper, SampledText, feature_rows, sample_of, texts_path
from mauve_core.shards.plan import Plan, Work
from mauve_core.shards.texts import id_of_text
from mauve_core.texts import Corpus
from mauve_core.texts.pairing import shared_prompts
from tests.sharded import carried_out

pytestmark = pytest.mark.integration


def sampled(plan: Plan, folder: Path, size: int) -> dict[str, list[SampledText]]:
    carried_out(plan, folder)
    return {source: sample_of(Work.open(folder), source, size) for source in plan.sources}


def test_the_sample_does_not_depend_on_the_shards(text_plan: Callable[..., Plan], tmp_path: Path) -> None:
    few, many = (sampled(text_plan(shards), tmp_path / str(shards), 50) for shards in (2, 5))
    for source in few:
        assert [text.id for text in few[source]] == [text.id for text in many[source]]
        assert len(few[source]) == 50


def test_a_digest_that_stands_for_an_id_pairs_nothing() -> None:
    def side(name: str, own_id: str) -> Corpus:
        return over_shards._corpus(name, [SampledText(0, 0, 0, own_id, "an equal text", None)], "shards")

    for own_id, paired in ((id_of_text("an equal text"), False), ("p1", True)):
        found = shared_prompts({name: side(name, own_id) for name in (HUMAN, "model")})
        assert (found is not None) == paired


def test_both_sides_keep_the_same_prompts(text_plan: Callable[..., Plan], tmp_path: Path) -> None:
    found = sampled(text_plan(3), tmp_path / "work", 60)
    human, model = ({text.prompt for text in found[source]} for source in (HUMAN, "model"))
    assert human == model
    assert len(human) == 60


def test_rows_of_the_sample_are_those_of_the_features(text_plan: Callable[..., Plan], tmp_path: Path) -> None:
    from mauve_core.encoders import encode

    plan = text_plan(3)
    texts = sampled(plan, tmp_path / "work", 30)[HUMAN]
    assert plan.encoder is not None
    expected = encode([text.text for text in texts], plan.encoder, device="cpu").array
    work = Work.open(tmp_path / "work")
    for text, row in zip(texts, expected, strict=True):
        with feature_rows(work, HUMAN, text.shard) as table:
            np.testing.assert_allclose(table.take(np.array([text.row]))[0], row, atol=1e-6)


def test_a_shard_that_kept_too_few_ends_the_sample(
    text_plan: Callable[..., Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond what a shard kept, its texts are unknown; the rest would over-represent the others."""
    whole = sampled(text_plan(3), tmp_path / "whole", 240)[HUMAN]
    monkeypatch.setattr("mauve_core.shards.encoding.texts_of_shard", lambda size, shards: size // shards)
    cut = sampled(text_plan(4, run_texts=80), tmp_path / "cut", 80)[HUMAN]
    assert len(cut) < 80
    assert [text.id for text in cut] == [text.id for text in whole[: len(cut)]]


def test_memory_of_a_keeper_is_bounded() -> None:
    keeper = Keeper(10, 5, 0)
    for block in range(20):
        ids = [f"{block}-{number}" for number in range(1000)]
        keeper.add(np.arange(block * 1000, block * 1000 + 1000, dtype=np.uint64), ids, None, ids)
    assert len(keeper._kept) == 10


def test_a_run_holds_the_sample_and_the_scores_over_all_texts(
    text_plan: Callable[..., Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = text_plan(3, run_texts=100)
    found = carried_out(plan, tmp_path / "work")
    work = Work.open(tmp_path / "work")
    run = store_sample("over shards", work, found, clusters_over_all(work), projection=False)
    assert len(run.corpora[HUMAN]) == 100
    assert run.comparison.prompts_by == "prompts"
    stored = stored_over_shards(run)
    assert stored is not None
    assert stored.digest() == found.digest()
    assert "100 of 240 texts" in sample_sentence(run, stored)
    columns, rows = over_all_rows(stored)
    assert len(columns) == len(rows[0])
    assert rows[0][:2] == ("model", "240")
    assert texts_path(Work.open(tmp_path / "work"), HUMAN, 0).exists()


def test_a_run_of_all_texts_has_the_scores_over_all_texts(
    text_plan: Callable[..., Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = carried_out(text_plan(3), tmp_path / "work")
    work = Work.open(tmp_path / "work")
    run = store_sample("all", work, found, clusters_over_all(work), projection=False)
    own = run.comparison.candidates[0].scores
    for name, score in found["model"].scores.items():
        assert own[name].values == pytest.approx(score.values, abs=1e-12)
    assert sample_sentence(run, found) == "This run shows all 240 texts a side."
