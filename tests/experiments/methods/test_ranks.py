"""A score has one rank wherever it stands: k-means methods that are a run's scores rank as its leaderboard does."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest

from mauve_core.analyses.method_scores import (
    MethodResult,
    MethodScore,
    MethodTable,
    disagreements,
    method_standings,
    methods_run,
    score_of,
)
from mauve_core.analyses.methods import SUMMARIES, Method, parse_method
from mauve_core.base.errors import InputError
from mauve_core.figures.agreement import answer
from mauve_core.runs import Run
from mauve_core.scoring.tables import rank_label, standings
from mauve_core.stats.divergences import probabilities
from mauve_core.stats.f_divergences import GENERATORS
from mauve_core.stats.scores import SCORES
from tests.synthetic import make_untold_run

pytestmark = pytest.mark.integration

OWN = {
    "kmeans": "mauve",
    "kmeans:smoothing=krichevsky-trofimov": "mauve_star",
    "kmeans:summary=frontier-integral": "frontier_integral",
    "kmeans:summary=mid": "mid",
}
OTHERS = ("kmeans:divergence=chi2", "kmeans:scale=2", "gaussian")
SPECS = (*OWN, *OTHERS)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks")


@pytest.fixture(scope="module")
def run(home: Path) -> Run:
    return make_untold_run(home)


@pytest.fixture(autouse=True)
def stored(home: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAUVE_LENS_HOME", str(home))


@pytest.fixture(scope="module")
def table(run: Run) -> MethodTable:
    return methods_run(run, [parse_method(spec) for spec in SPECS], seeds=1)


def on_leaderboard(run: Run, score: str) -> dict[str, str]:
    return {each.candidate.name: rank_label(each.rank, each.tied) for each in standings(run.comparison, score)}


def labels(result: MethodResult, run: Run) -> dict[str, str]:
    return {each.candidate: each.label for each in method_standings(result, list(result.scores), run.comparison)}


def test_a_score_of_the_run_has_the_leaderboard_s_ranks_and_ties(run: Run, table: MethodTable) -> None:
    by_spec = {result.method.spec: result for result in table.results}
    for spec, score in OWN.items():
        assert labels(by_spec[spec], run) == on_leaderboard(run, score)
        assert set(labels(by_spec[spec], run).values()) == {"1="}
        by_interval = method_standings(by_spec[spec], table.candidates, None)
        assert len({each.rank for each in by_interval}) > 1  # so intervals would contradict the leaderboard
    for spec in OTHERS:
        assert method_standings(by_spec[spec], table.candidates, run.comparison) == method_standings(
            by_spec[spec], table.candidates, None
        )
    (first, *_) = method_standings(by_spec["kmeans"], table.candidates, run.comparison)
    assert (first.joined, first.as_leaderboard) == ("", True)


def test_a_score_without_intervals_has_no_question_mark(run: Run) -> None:
    names = [each.candidate.name for each in standings(run.comparison)]
    bare = MethodResult(Method(), {name: MethodScore(0.5, None, None, None, None, 60) for name in names}, None, 0.0)
    assert labels(bare, run) == on_leaderboard(run, "mauve")
    assert set(labels(dataclasses.replace(bare, method=Method("knn")), run).values()) == {"1?", "2?", "3?"}


def test_which_methods_are_scores_follows_from_their_values(run: Run) -> None:
    """Every method whose value is a score of the run's histograms, or 1 minus it, whatever the histograms."""
    rng = np.random.default_rng(3)
    counts = rng.poisson(4, size=(2, 6, 12)) * rng.integers(0, 2, size=(2, 6, 12)) + np.eye(2, 12, dtype=int)[:, None]
    scale = run.comparison.config.score.scale

    def values(method: Method) -> np.ndarray:
        p, q = (probabilities(side, method.smoothing) for side in counts)
        return np.asarray(method.value(p, q))

    scores = {score: values(parse_method(spec)) for spec, score in OWN.items()}
    found = 0
    for divergence, summary, smoothing, c in itertools.product(
        GENERATORS, SUMMARIES, ("none", "krichevsky-trofimov", "laplace"), (None, scale, 2.0)
    ):
        try:
            method = Method("kmeans", divergence, summary, smoothing, c)
        except InputError:
            continue
        own = values(method)
        same = [n for n, of in scores.items() if np.allclose(own, of, atol=1e-9) or np.allclose(own, 1 - of, atol=1e-9)]
        assert [score_of(method, run.comparison)] == (same or [None]), method.spec
        found += bool(same)
    assert found >= 2 * len(SCORES)


def test_other_clusters_and_pooled_generations_are_no_scores(run: Run) -> None:
    assert score_of(Method("knn"), run.comparison) is None
    assert score_of(Method(), None) is None
    first, *rest = run.comparison.candidates
    repeated = dataclasses.replace(first, source=dataclasses.replace(first.source, generations=2))
    assert score_of(Method(), dataclasses.replace(run.comparison, candidates=(repeated, *rest))) is None
    score = dataclasses.replace(run.comparison.config.score, scale=2.0)
    other = dataclasses.replace(run.comparison, config=dataclasses.replace(run.comparison.config, score=score))
    assert score_of(Method(), other) is None
    assert score_of(Method(scale=2.0), other) == "mauve"
    assert score_of(Method(summary="mid"), other) == "mid"


def test_what_the_leaderboard_does_not_tell_apart_no_disagreement_does(run: Run, table: MethodTable) -> None:
    first = table.results[0]
    against = MethodResult(
        Method("knn"),
        {name: dataclasses.replace(score, value=-score.value, low=-score.value - 0.001, high=-score.value + 0.001)
         for name, score in first.scores.items()},
        None,
        0.0,
    )  # fmt: skip
    both = MethodTable((first, against))
    assert not any(each.told_apart for each in disagreements(both, run.comparison))
    assert any(each.told_apart for each in disagreements(both, None))
    assert "does not depend on the method beyond the spread" in answer(both, run.comparison)
    assert answer(both, None).startswith("The ranking depends on the method. Of 1 method beside k-means · MAUVE: 1 ")


def scored(method: Method, *values: float, half_width: float | None = 0.01) -> MethodResult:
    scores = {
        name: MethodScore(
            v, None, None, *((None, None) if half_width is None else (v - half_width, v + half_width)), 60
        )
        for name, v in zip("abc", values, strict=True)
    }
    return MethodResult(method, scores, None, 0.0)


def test_the_answer_counts_how_methods_order_the_candidates() -> None:
    first = scored(Method(), 0.9, 0.8, 0.795)
    alike = scored(Method("kde"), 0.5, 0.4, 0.3)
    within = scored(Method("knn"), 0.9, 0.795, 0.8)
    apart = scored(Method("gaussian"), 0.7, 0.9, 0.8)
    unknown = scored(Method("classifier"), 0.1, 0.2, 0.3, half_width=None)
    assert answer(MethodTable((first,)), None) == ""
    assert answer(MethodTable((first, alike)), None) == (
        "The ranking does not depend on the method: all 2 give the same order."
    )
    assert answer(MethodTable((first, alike, within, unknown)), None) == (
        "The ranking does not depend on the method beyond the spread. Of 3 methods beside k-means · MAUVE: 1 gives "
        "the same order; 1 reverses only pairs that one of the two cannot tell apart; of 1 without "
        "intervals this is not known: Classifier · MAUVE."
    )
    assert answer(MethodTable((first, apart, alike)), None) == (
        "The ranking depends on the method. Of 2 methods beside k-means · MAUVE: 1 reverses pairs that both tell "
        "apart: Gaussian · MAUVE (b before a); 1 gives the same order."
    )
    assert answer(MethodTable((first, unknown)), None).startswith("Whether the ranking depends on the method is not")
