"""Agreement of encoders from tables put together by hand, against plain loops."""

from __future__ import annotations

import dataclasses
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from mauve_core.analyses.attached_results import verdict
from mauve_core.analyses.encoders import ATTACHMENT, EncoderTable, Reversal, elsewhere
from mauve_core.base.config import CompareConfig, EncoderConfig
from mauve_core.base.json_codec import dataclass_to_json
from mauve_core.runs import RunStore
from mauve_core.scoring.tables import standings
from mauve_core.stats.scores import SCORES
from tests.encoder_tables import example, pairs, result_of
from tests.synthetic import make_run

NAMES = tuple("abcd")


def by_loops(one, other):
    """Spearman's correlation without ties: 1 - 6 sum d^2 / (n (n^2 - 1))."""

    def ranks(values):
        return [1 + sum(each < value for each in values) for value in values]

    n = len(one)
    squared = sum((a - b) ** 2 for a, b in zip(ranks(one), ranks(other), strict=True))
    return 1 - 6 * squared / (n * (n * n - 1))


def values_of(result, score):
    sign = 1 if SCORES[score].higher_is_closer else -1
    return [sign * result.scores[name][score].mean for name in NAMES]


@pytest.mark.parametrize("score", SCORES)
def test_agreement_is_spearmans_correlation_of_every_two_encoders(score):
    table = example()
    found = table.agreement(score)
    expected = by_loops(values_of(table.results[0], score), values_of(table.results[1], score))
    assert found[0, 1] == found[1, 0] == pytest.approx(expected)
    assert np.allclose(np.diag(found)[:2], 1)
    assert np.isnan(found[2]).all()
    assert np.isnan(found[:, 2]).all()


def test_the_verdict_says_what_the_programs_other_encoders_tell_apart(tmp_path):
    run = make_run(tmp_path, n=100, seeds=2, projection=False)
    assert verdict(run).encoders is None
    near, between, far = (each.candidate.name for each in standings(run.comparison))
    own = result_of(None, {near: 0.5, between: 0.3, far: 0.1})

    def said(*others):
        values = dataclass_to_json(EncoderTable((own, *others)))
        RunStore(tmp_path / "runs").attach(run.id, ATTACHMENT, values)
        return str(verdict(run).encoders)

    apart = [frozenset((near, far)), frozenset((between, far))]
    tied = result_of("minilm", {near: 0.3, between: 0.35, far: 0.1}, apart)
    assert said(tied) == f"Under minilm, too, {between} and {near} are tied for closest."
    every = [*apart, frozenset((near, between))]
    clear = result_of("smollm2-135m", {near: 0.1, between: 0.35, far: 0.2}, every)
    assert said(tied, clear).endswith(f"tied for closest. Under smollm2-135m, {between} is closest instead.")
    mean = dataclasses.replace(clear, encoder=EncoderConfig("smollm2-135m", pooling="mean"))
    theirs = dataclasses.replace(clear, encoder=EncoderConfig("/m/other"))
    assert said(mean, theirs) == "None", "neither is how the program's own encoders are used"
    RunStore(tmp_path / "runs").attach(run.id, ATTACHMENT, {"results": 3})
    assert verdict(run).encoders is None, "the page of encoders shows the damage"


def test_the_runs_own_encoder_is_none_of_the_others():
    table = EncoderTable((result_of("minilm", {"a": 0.1, "b": 0.2}), result_of("smollm2-135m", {"a": 0.2, "b": 0.1})))
    config = CompareConfig(encoder="minilm")
    run = SimpleNamespace(attachment=lambda _: dataclass_to_json(table), require_sources=lambda *_: None)
    run.comparison = SimpleNamespace(config=config)
    assert [each.encoder for each in elsewhere(run)] == ["smollm2-135m"]


def test_two_candidates_have_no_correlation():
    table = EncoderTable((result_of("x", {"a": 0.1, "b": 0.2}), result_of("y", {"a": 0.2, "b": 0.1})))
    assert np.isnan(table.agreement("mauve")).all()
    assert len(table.reversals("mauve", 0, 1)) == 1


@pytest.mark.parametrize("score", SCORES)
def test_reversals_are_the_pairs_in_opposite_orders(score):
    table = example()
    first, second, _ = table.results
    expected = set()
    for one, other in combinations(NAMES, 2):
        ours, theirs = ([values_of(each, score)[NAMES.index(x)] for x in (one, other)] for each in (first, second))
        if (ours[0] > ours[1]) != (theirs[0] > theirs[1]):
            closer, farther = (one, other) if ours[0] > ours[1] else (other, one)
            expected.add((closer, farther, {one, other} == {"a", "d"}))
    found = table.reversals(score, 0, 1)
    assert {(each.closer, each.farther, each.told_apart) for each in found} == expected
    assert len(found) == len(expected)
    assert found[0].told_apart
    assert {(each.farther, each.closer) for each in table.reversals(score, 1, 0)} == {
        (each.closer, each.farther) for each in found
    }
    assert table.reversals(score, 0, 2) == ()


def test_what_only_one_encoder_tells_apart_is_no_contradiction():
    first = example().results[0]
    only_ours = result_of("other", {"a": 0.35, "b": 0.31, "c": 0.3, "d": 0.4}, pairs("bc"))
    found = EncoderTable((first, only_ours)).reversals("mauve", 0, 1)
    assert Reversal("a", "d", told_apart=False) in found
    assert not any(each.told_apart for each in found)


def test_ranks_are_shared_unless_the_first_of_a_group_is_told_apart():
    first = example().results[0]
    assert first.ranks("mauve") == {"a": (1, True), "b": (1, True), "c": (3, True), "d": (3, True)}
    # The closest by the frontier integral has the smallest value.
    assert list(first.ranks("frontier_integral")) == ["d", "c", "b", "a"]
