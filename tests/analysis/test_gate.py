"""The gate from corpora to findings: clusters and quotes against counts by hand, equal sizes, useless prompts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from mauve_core.analyses.gate import QUOTED, GateResult, findings_of, run_gate
from mauve_core.base.config import HUMAN, CompareConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.scoring.gate import BASELINE, CANDIDATE
from mauve_core.scoring.gate_rule import GateRule
from mauve_core.scoring.result import Partition
from mauve_core.stats.divergences import frontier_integral
from mauve_core.texts import Corpus, corpus_from_texts
from tests.synthetic import make_comparison_inputs

CONFIG = CompareConfig(encoder=None, score=ScoreConfig(seeds=2), projection=False)


def gate(baseline: str, candidate: str, **options: object) -> GateResult:
    human, others, features = make_comparison_inputs()
    own = {HUMAN: features[HUMAN], BASELINE: features[baseline], CANDIDATE: features[candidate]}
    return run_gate(human, others[baseline], others[candidate], CONFIG, features=own, **options)  # type: ignore[arg-type]


def test_a_candidate_that_knows_two_topics_fails_and_the_clusters_say_why():
    result = gate("close", "collapsed")
    assert result.verdict == "fail"
    assert 1 <= len(result.findings) <= 3
    more = [each.candidate_cost - each.baseline_cost for each in result.findings]
    assert more == sorted(more, reverse=True)
    assert min(more) > 0
    for finding in result.findings:
        assert finding.quoted == ("candidate" if finding.adds else "reference")
        assert finding.adds == (finding.candidate > finding.reference)
        assert ("collapsed" in finding.text) == finding.adds  # a synthetic text names its side
        if finding.adds:
            assert any(topic in finding.text for topic in ("river", "engine"))


def test_the_other_way_round_passes_and_explains_nothing():
    result = gate("collapsed", "close")
    assert result.verdict == "pass"
    assert result.findings == ()
    assert result.paired_by == "prompts"
    assert result.texts == {"reference": 160, "baseline": 160, "candidate": 160}


def test_a_margin_beyond_the_difference_passes():
    difference = gate("close", "collapsed").tests[0].difference
    assert gate("close", "collapsed", rule=GateRule(margin=min(difference + 0.2, 1.0))).verdict == "pass"


def test_the_same_seed_gives_the_same_numbers():
    assert gate("close", "shifted").tests == gate("close", "shifted").tests


def test_a_larger_baseline_is_cut_to_the_size_of_the_candidate_and_that_is_told():
    human, others, features = make_comparison_inputs()
    shifted = others["shifted"]
    few = corpus_from_texts(list(shifted.texts[:90]), name="few", prompts=list((shifted.prompts or ())[:90]))
    own = {HUMAN: features[HUMAN], BASELINE: features["close"], CANDIDATE: features["shifted"][:90]}
    result = run_gate(human, others["close"], few, CONFIG, features=own)
    assert result.tests[0].n == 90
    assert result.k == 9
    assert result.notes[0].startswith("Of 160 texts of the baseline, 90 are taken")


def test_one_prompt_for_all_texts_supports_no_test():
    human, others, features = make_comparison_inputs()
    same = [
        corpus_from_texts(list(side.texts), name=side.name, prompts=["Write a story"] * len(side))
        for side in (human, others["close"], others["shifted"])
    ]
    own = {HUMAN: features[HUMAN], BASELINE: features["close"], CANDIDATE: features["shifted"]}
    with pytest.raises(InputError, match=r"support no test.*1 independent units on a side.*--prompt-field"):
        run_gate(*same, CONFIG, features=own)


def test_several_measures_are_each_tested_at_a_part_of_the_level():
    result = gate("close", "shifted", measures=["mauve", "mid"])
    for test in result.tests:
        assert test.alpha == 0.025
        reach = t.ppf(0.975, test.groups - 1) * test.sd
        assert (test.low, test.high) == pytest.approx((test.difference - reach, test.difference + reach))


def test_an_unknown_measure_is_told_before_the_work():
    with pytest.raises(InputError, match="at most once"):
        gate("close", "shifted", measures=["length"])


def test_findings_by_hand():
    """Two clusters: all of the candidate's texts and a quarter of the others' are in the first."""
    labels = {
        HUMAN: np.array([0, 1, 1, 1], np.int32),
        BASELINE: np.array([0, 1, 1, 1], np.int32),
        CANDIDATE: np.array([0, 0, 0, 0], np.int32),
    }
    features = {name: np.arange(5.0)[::-1, np.newaxis] for name in labels}
    corpora = {
        name: corpus_from_texts(
            [f"{name}  {i}\n" + "x" * 300 for i in range(5)], name=name, ids=[f"{name}{i}" for i in range(5)]
        )
        for name in labels
    }
    rows = {name: np.arange(4, 0, -1) for name in labels}  # the label of each side's last text comes first
    found = findings_of([Partition("joint", 0, 2, 1.0, labels)], corpora, features, rows)
    p, q = np.array([0.25, 0.75]), np.array([1.0, 0.0])
    assert sum(each.candidate_cost for each in found) == pytest.approx(float(frontier_integral(p, q)))
    by_cluster = {each.cluster: each for each in found}
    assert set(by_cluster) == {0, 1}
    first, second = by_cluster[0], by_cluster[1]
    assert (first.reference, first.baseline, first.candidate, first.baseline_cost) == (0.25, 0.25, 1.0, 0.0)
    assert (first.adds, first.quoted, first.text_id) == (True, "candidate", "candidate3")  # the center is at 1
    assert (second.adds, second.quoted, second.text_id) == (False, "reference", "human2")
    assert first.text.startswith("candidate 3 xxx")
    assert len(first.text) == QUOTED
    assert first.text.endswith("…")


def test_few_texts_are_an_error_before_any_work():
    few: list[Corpus] = [corpus_from_texts([f"text {i}" for i in range(5)], name=name) for name in "abc"]
    with pytest.raises(InputError, match="too few texts"):
        run_gate(*few, CONFIG, features=dict.fromkeys((HUMAN, BASELINE, CANDIDATE), np.ones((5, 3))))
