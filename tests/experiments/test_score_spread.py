"""Standard deviations of scores over texts, and worst cases by them: plain reimplementations of both."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from mauve_core.analyses.human_ranking import correlations, rank, run_indicators, score_sds_over_texts
from mauve_core.analyses.measure_terms import Measurements, Row, Value, group_of
from mauve_core.analyses.method_scores import CompareMethodsTask, methods_run
from mauve_core.analyses.methods import parse_method
from mauve_core.base.config import HUMAN
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.runs import Run, RunStore
from mauve_core.runs.ratings import RatingStore, pair_plan
from mauve_core.stats.scores import SCORES, score_counts
from tests.repeated import store_repeated
from tests.synthetic import make_run

pytestmark = pytest.mark.integration

OWN = ("kmeans", "kmeans:smoothing=krichevsky-trofimov", "kmeans:summary=frontier-integral", "kmeans:summary=mid")


@pytest.fixture
def run(own_home: Path) -> Run:
    return make_run(own_home, n=60, seeds=2, projection=False)


def sds_by_hand(run: Run, name: str) -> dict[str, float]:
    """Delete-m jackknife for unequal m (Busing et al. 1999, equations 8 and 9), text by text; of each score."""
    human = [str(each) for each in run.corpora[HUMAN].ids]
    own = [each.partition("#")[0] for each in run.corpora[name].ids]
    codes = run.comparison.generations.get(name, np.zeros(len(own), dtype=int))
    candidate, generations = run.comparison.candidate(name), sorted(set(codes.tolist()))
    group = dict(zip([*human, *own], group_of([*human, *own]).tolist(), strict=True))

    def values(without: int | None) -> dict[str, float]:
        found = []
        for generation, part in itertools.product(generations, candidate.partitions):
            p, q = [0] * part.k, [0] * part.k
            for text, label in zip(human, part.labels[HUMAN].tolist(), strict=True):
                p[label] += group[text] != without
            for text, code, label in zip(own, codes.tolist(), part.labels[name].tolist(), strict=True):
                q[label] += code == generation and group[text] != without
            found.append(score_counts(p, q, scale=run.comparison.config.score.scale))
        return {score: sum(float(each[score]) for each in found) / len(found) for score in SCORES}

    groups = sorted(set(group.values()))
    counts = {g: sum(group[t] == g for t in human) + sum(group[t] == g for t in own) / len(generations) for g in groups}
    n, of_all = sum(counts.values()), values(None)
    h = {g: n / counts[g] for g in groups}
    of_others, sds = {g: values(g) for g in groups}, {}
    for score, whole in of_all.items():
        without = {g: of_others[g][score] for g in groups}
        centre = len(groups) * whole - sum((1 - counts[g] / n) * without[g] for g in groups)
        pseudo = {g: h[g] * whole - (h[g] - 1) * without[g] for g in groups}
        sds[score] = math.sqrt(sum((pseudo[g] - centre) ** 2 / (h[g] - 1) for g in groups) / len(groups))
    return sds


def test_the_deviation_is_the_jackknife_of_the_measures_groups(run: Run) -> None:
    found = score_sds_over_texts(run)
    assert list(found) == list(SCORES)
    for name in ("close", "shifted", "collapsed"):
        assert {score: found[score][name] for score in SCORES} == pytest.approx(sds_by_hand(run, name), rel=1e-9)
        assert min(found[score][name] for score in SCORES) > 0


def test_it_is_what_methods_show_for_the_same_score(run: Run) -> None:
    table, found = methods_run(run, [parse_method(spec) for spec in OWN]), score_sds_over_texts(run)
    for score, result in zip(SCORES, table.results, strict=True):
        assert found[score] == pytest.approx({name: each.sd_texts for name, each in result.scores.items()}, rel=1e-9)


@pytest.mark.usefixtures("own_home")
def test_a_prompt_is_left_out_in_all_generations() -> None:
    run = store_repeated("Spread")
    found = score_sds_over_texts(run)
    for name in ("close", "shifted"):
        assert {score: found[score][name] for score in SCORES} == pytest.approx(sds_by_hand(run, name), rel=1e-9)


def test_few_texts_have_no_deviation(own_home: Path) -> None:
    few = make_run(own_home, name="few", n=39, seeds=2, projection=False)
    assert score_sds_over_texts(few) == {score: {} for score in SCORES}
    assert not run_indicators(few)[0]["MAUVE"].sds


def spearman_by_hand(a: list[float], b: list[float]) -> float:
    """Pearson's correlation of mean ranks."""

    def ranks(values: list[float]) -> list[float]:
        return [sum(v < w for v in values) + (sum(v == w for v in values) + 1) / 2 for w in values]

    x, y = ranks(a), ranks(b)
    mean = (len(a) + 1) / 2
    top = sum((i - mean) * (j - mean) for i, j in zip(x, y, strict=True))
    size = math.sqrt(sum((i - mean) ** 2 for i in x) * sum((j - mean) ** 2 for j in y))
    return top / size if size else math.nan


def worst_by_hand(values: list[float], sds: list[float], people: list[float]) -> float:
    """JMLR 2023, equation 30: the least correlation over every choice of signs."""
    signs = itertools.product((-1, 1), repeat=len(values))
    moved = ([v + s * sd for v, s, sd in zip(values, chosen, sds, strict=True)] for chosen in signs)
    return min(rho for a in moved if not math.isnan(rho := spearman_by_hand(a, people)))


def test_every_worst_case_is_equation_30_over_texts(run: Run) -> None:
    gaps = {"close": Value(0.1, 0.02), "shifted": Value(0.3, 0.05), "collapsed": Value(0.2, 0.15)}
    rows = tuple(Row("zipf", name, Value(1.0 + gap.value), Value(1.0), gap) for name, gap in gaps.items())
    RunStore().attach(run.id, "measures", dataclass_to_json(Measurements(rows, {})))
    CompareMethodsTask(run.id, ("kmeans", "kmeans:divergence=chi2", "gaussian"), 1).compute()
    store, plan = RatingStore(run.ratings_path), pair_plan(run.corpora, rater="ann")
    order = ["close", "collapsed", HUMAN, "shifted"]
    for index in range(24):
        pair = plan[index]
        better = order.index(pair.left) < order.index(pair.right)
        store.append(pair.ratings("ann", {"human-like": "slightly A" if better != (index // 6 == 3) else "tie"}, 30.0))
    indicators, problems = run_indicators(run)
    assert not problems
    assert {each.over for each in indicators.values()} == {"texts"}
    ranking = rank(store.list(), list(run.corpora), "human-like", corpora=run.corpora)
    people = {player.name: player.score for player in ranking.players}
    names = [candidate.name for candidate in run.comparison.candidates]
    found = {each.indicator: each for each in correlations(ranking, indicators)}
    assert len(found) == len(SCORES) + 1 + 2
    by_hand = {name: sds_by_hand(run, name) for name in names}
    for title, each in found.items():
        own = indicators[title]
        sign = 1 if own.higher_is_closer else -1
        values = [sign * own.values[name] for name in names]
        if title in {each.title for each in SCORES.values()}:
            score = next(score for score, each in SCORES.items() if each.title == title)
            sds = [by_hand[name][score] for name in names]
        else:
            sds = [own.sds.get(name, 0.0) for name in names]
        assert each.worst is not None
        assert each.worst.value == pytest.approx(worst_by_hand(values, sds, [people[name] for name in names]))
        assert each.over == "texts"
