"""The main reason of a candidate: which finding comes first, and what it needs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN
from mauve_core.base.words import TEXTS
from mauve_core.findings import precomputed
from mauve_core.findings.clusters import GapTest, cluster_table, with_intervals
from mauve_core.findings.precomputed import run_cluster_words, run_gap_test, run_main_reason, run_stability
from mauve_core.findings.why_cards import Reason, WhySource, main_reason
from mauve_core.texts.properties import PROPERTIES
from tests.synthetic import make_run

HUMANS, MODELS, K = 60, 60, 3
STABLE = ["noise", "stable", "noise"]
WORDS = [["none"], ["river", "a_b", "sea", "bank"], []]


def labels(in_human: int, in_model: int) -> NDArray[np.int32]:
    """Cluster 1 has so many texts of each side, and is the costliest; the others are spread alike."""
    sides = []
    for n, inside in ((HUMANS, in_human), (MODELS, in_model)):
        rest = np.arange(n - inside) % 2 * 2
        sides.append(np.concatenate([np.ones(inside), rest]).astype(np.int32))
    return np.concatenate(sides)


def source(own: NDArray[np.int32], **properties: NDArray[np.float64]) -> WhySource:
    flat = {name: np.full(own.size, 0.5) for name in PROPERTIES}
    return WhySource("m", ("",) * own.size, HUMANS, own, K, None, None, {**flat, **properties})


def table(own: NDArray[np.int32]) -> pd.DataFrame:
    counts = (np.bincount(part, minlength=K) for part in (own[:HUMANS], own[HUMANS:]))
    return with_intervals(cluster_table(*counts, 0.5), np.array([0.0, 0.4, 0.0]), np.array([0.1, 0.9, 0.1]))


def noise(own: NDArray[np.int32]) -> NDArray[np.float64]:
    return np.tile([0.0, 0.01, 0.02, 0.03], own.size)[: own.size]


def found(
    own: NDArray[np.int32], stability: list[str] | None = STABLE, **properties: NDArray[np.float64]
) -> Reason | None:
    return main_reason(table(own), source(own, **properties), stability, WORDS)


def test_a_property_of_the_sides_within_the_cluster_comes_first() -> None:
    own = labels(12, 40)
    model, inside = np.arange(own.size) >= HUMANS, own == 1
    distinct = np.where(model & inside, 0.44, 0.93) + noise(own)
    only = found(own, distinct=distinct)
    assert only is not None
    assert (only.where, only.cluster, only.direction) == ("cluster", 1, "adds")
    assert only.sentence(TEXTS) == "repeats itself: distinct-4 46% per text against 94% in the costliest cluster"
    assert (only.low, only.high) == (0.4, 0.9)
    assert only.share == pytest.approx(table(own)["cost_share"].max())
    assert (only.p, only.q) == (12 / 60, 40 / 60)


def test_of_two_properties_the_one_that_separates_better_is_named() -> None:
    own = labels(12, 40)
    model = np.arange(own.size) >= HUMANS
    distinct = np.where(model, 0.44, 0.93) + noise(own)
    shorter = np.where(model & (np.arange(own.size) % 12 != 0), 30.0, 90.0) + noise(own)
    for length, named in ((shorter, "distinct"), (np.where(model, 30.0, 90.0), "length")):
        reason = found(
            own, distinct=np.where(named == "length", np.where(shorter < 60, 0.4, 0.9), distinct), length=length
        )
        assert reason is not None
        assert (reason.where, reason.property_name) == ("cluster", named)


def test_over_all_texts_comes_second_and_needs_no_stable_cluster() -> None:
    own = labels(0, 20)
    model = np.arange(own.size) >= HUMANS
    truncated = (model & (np.arange(own.size) % 12 != 0)).astype(np.float64)
    for stability in (STABLE, ["noise"] * 3, None):
        reason = found(own, stability, truncated=truncated)
        assert reason is not None
        assert reason.where == "all"
        assert reason.sentence(TEXTS) == "ends mid-sentence: 92% of texts against 0%"


def test_what_all_texts_show_leads_to_the_costliest_cluster_that_shows_it() -> None:
    """Of cluster 0 the model writes nothing; its texts of cluster 1 end whole, those of cluster 2 do not."""
    own = labels(0, 10)
    own[HUMANS + 10 :] = 2
    model = np.arange(own.size) >= HUMANS
    reason = found(own, truncated=(model & (own == 2)).astype(np.float64), length=np.full(own.size, 50.0))
    assert reason is not None
    assert (reason.where, reason.cluster, reason.direction) == ("all", 2, "adds")
    assert reason.share == pytest.approx(table(own)["cost_share"].iloc[2])
    assert np.argsort(-table(own)["cost"].to_numpy()).tolist() == [0, 1, 2]
    everywhere = found(own, truncated=model.astype(np.float64))
    assert everywhere is not None
    assert everywhere.cluster == 1


def test_the_cluster_against_the_rest_comes_third() -> None:
    own = labels(0, 20)
    reason = found(own, length=np.where(own == 1, 30.0, 90.0) + noise(own))
    assert reason is not None
    assert reason.where == "rest"
    assert (
        reason.sentence(TEXTS) == "has more texts that are shorter: 30 words against 90 outside the costliest cluster"
    )
    missed = found(labels(20, 0), length=np.where(labels(20, 0) == 1, 30.0, 90.0) + noise(own))
    assert missed is not None
    assert missed.finding(TEXTS) == "has fewer texts that are shorter"


def test_words_come_last_and_at_most_three() -> None:
    reason = found(labels(3, 15))
    assert reason is not None
    assert (
        reason.sentence(TEXTS)
        == "has more texts like “river”, “a_b”, “sea”: 25% of its texts against 5% in the costliest cluster"
    )


def test_an_unstable_cluster_explains_nothing() -> None:
    own = labels(12, 40)
    model, inside = np.arange(own.size) >= HUMANS, own == 1
    distinct = np.where(model & inside, 0.44, 0.93) + noise(own)
    for stability in (["stable", "unsure", "stable"], None):
        assert found(own, stability, distinct=distinct) is None
        assert found(own, stability) is None


def test_a_difference_that_does_not_separate_by_itself_is_no_reason() -> None:
    """Half of the model's texts are short: an AUC of 1/4, which the interval leaves this side of 0.2."""
    own = labels(0, 20)
    model = np.arange(own.size) >= HUMANS
    short = np.where(model & (np.arange(own.size) % 2 == 0), 30.0, 90.0)
    reason = found(own, ["noise"] * 3, length=short)
    assert reason is None


def test_means_that_point_the_other_way_are_no_reason() -> None:
    """Nearly all of the model's texts are shorter, but one is so long that its mean is larger."""
    own = labels(0, 20)
    length = np.where(np.arange(own.size) >= HUMANS, 30.0, 90.0) + noise(own)
    assert found(own, ["noise"] * 3, length=length) is not None
    length[-1] = 1e6
    assert found(own, ["noise"] * 3, length=length) is None


def test_a_cluster_without_words_has_none() -> None:
    own = labels(3, 15)
    assert main_reason(table(own), source(own), STABLE, [[], [], []]) is None
    assert main_reason(table(own), source(own), STABLE, None) is None


@pytest.mark.trial
def test_of_a_run_it_is_about_what_the_pages_show(tmp_path: Path) -> None:
    run = make_run(tmp_path, projection=False)
    seed = run.comparison.median_seed("collapsed")
    reason = run_main_reason(run, "collapsed")
    assert reason is not None
    part = run.comparison.partition("pairwise", "collapsed", seed)
    own = cluster_table(part.counts(HUMAN), part.counts("collapsed"), 0.3)
    assert reason.cluster == int(own["cost"].to_numpy().argmax())
    assert reason.share == own["cost_share"].max()
    assert reason.low <= reason.share <= reason.high
    assert run_stability(run, "pairwise", "collapsed", seed).label[reason.cluster] == "stable"
    words = run_cluster_words(run, "pairwise", "collapsed", seed)[reason.cluster]
    assert reason.where == "words"
    assert reason.words == tuple(each.word for each in words[:3])


@pytest.mark.trial
def test_it_is_kept_and_a_gap_like_chance_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path, projection=False)
    assert not run_gap_test(run, "pairwise", "close").explains
    assert run_main_reason(run, "close") is None
    reason = run_main_reason(run, "collapsed")
    monkeypatch.setattr(precomputed, "main_reason", lambda *_: pytest.fail("computed again"))
    assert run_main_reason(run, "collapsed") == reason
    assert run_main_reason(run, "close") is None
    monkeypatch.undo()
    monkeypatch.setattr(precomputed, "run_gap_test", lambda *_: GapTest(0.1, 5, 499))
    elsewhere = dataclasses.replace(run, path=tmp_path / "elsewhere")
    assert reason is not None
    assert run_main_reason(elsewhere, "collapsed") is None
