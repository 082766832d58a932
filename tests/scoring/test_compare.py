"""The pipeline as a whole: what it must be invariant to, what it must refuse, and that it keeps the way back."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.random import SeedSequence

from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import CancelledError, InputError
from mauve_core.clusters.k_means import kmeans
from mauve_core.clusters.projection import map_of
from mauve_core.clusters.reduction import reduce_features
from mauve_core.scoring.compare import compare
from mauve_core.scoring.estimates import TwoSides, basis_of_sides, estimates_of, rescored, score_basis
from mauve_core.scoring.partitioning import MIN_TEXTS, partitions
from mauve_core.scoring.result import OTHER_HALF, Partition
from mauve_core.scoring.streams import half_seeds
from mauve_core.stats.divergences import kl_divergence, probabilities
from mauve_core.stats.f_divergences import mauve_f
from mauve_core.stats.scores import SCORES, score_counts
from mauve_core.stats.units import each_alone
from mauve_core.texts import corpus_from_texts
from tests.resampled import sample_counts
from tests.synthetic import make_comparison_inputs, make_side

pytestmark = pytest.mark.integration

SCORE = ScoreConfig(seeds=3, restarts=2, bootstrap=200)
CONFIG = CompareConfig(encoder=None, score=SCORE, projection=False)


@pytest.fixture(scope="module")
def inputs():
    return make_comparison_inputs(n=160)


@pytest.fixture(scope="module")
def comparison(inputs):
    human, candidates, features = inputs
    return compare(human, candidates, CONFIG, features=features)


def test_the_nearer_candidate_scores_better_and_the_collapsed_one_worst(comparison):
    scores = {c.name: c.scores for c in comparison.candidates}
    for better, worse in (("close", "shifted"), ("shifted", "collapsed")):
        assert scores[better]["mauve"].mean > scores[worse]["mauve"].mean
        assert scores[better]["mauve_star"].mean > scores[worse]["mauve_star"].mean
        assert scores[better]["frontier_integral"].mean < scores[worse]["frontier_integral"].mean
        assert scores[better]["mid"].mean < scores[worse]["mid"].mean
    assert scores["shifted"]["mauve"].low > scores["collapsed"]["mauve"].high


def test_p_is_the_human_side(inputs):
    # The collapsed side lacks topics that the human side has: KL(P || Q) is infinite and KL(Q || P) is finite.
    human, candidates, features = inputs
    names = (HUMAN, "collapsed")
    result = compare(
        human, {"collapsed": candidates["collapsed"]}, CONFIG, features={name: features[name] for name in names}
    )
    counts = sample_counts(result)["collapsed"]
    p, q = counts.p[0] / counts.p[0].sum(), counts.q[0] / counts.q[0].sum()
    assert np.isinf(kl_divergence(p, q))
    assert p[q == 0].sum() > 0.4  # six of eight topics, less the clusters that mix


def test_scores_are_means_over_seeds_of_the_scores_of_the_histograms(comparison):
    for kind in ("pairwise", "joint"):
        for candidate in comparison.candidates:
            scores = candidate.scores if kind == "pairwise" else candidate.joint_scores
            parts = [comparison.partition(kind, candidate.name, seed) for seed in range(SCORE.seeds)]
            for seed, part in enumerate(parts):
                expected = score_counts(part.counts(HUMAN), part.counts(candidate.name))
                for name in SCORES:
                    assert scores[name].values[seed] == pytest.approx(float(expected[name]), abs=1e-12)
            for name in SCORES:
                assert scores[name].mean == pytest.approx(np.mean(scores[name].values), abs=1e-12)
                assert scores[name].sd == pytest.approx(np.std(scores[name].values, ddof=1), abs=1e-12)
                assert scores[name].low <= scores[name].mean <= scores[name].high


def test_every_text_has_a_cluster_and_sizes_add_up(comparison):
    for part in (*comparison.joint, *(p for c in comparison.candidates for p in c.partitions)):
        for source in comparison.sources:
            if source.name in part.labels:
                assert part.counts(source.name).sum() == source.n
                assert part.labels[source.name].shape == (source.n,)
    assert set(comparison.joint[0].labels) == {HUMAN, "close", "shifted", "collapsed"}
    assert set(comparison.candidates[0].partitions[0].labels) == {HUMAN, "close"}
    assert comparison.joint[0].k == 16  # max(2, round(160 / 10))


def test_the_human_halves_are_scored_like_a_candidate(comparison):
    halves = comparison.halves
    assert halves.source.n == 80
    assert halves.joint_scores == {}
    for seed, part in enumerate(halves.partitions):
        assert part.k == comparison.candidates[0].partitions[0].k // 2
        assert [part.counts(side).sum() for side in (HUMAN, OTHER_HALF)] == [80, 80]
        expected = score_counts(part.counts(HUMAN), part.counts(OTHER_HALF))
        for name in SCORES:
            assert halves.scores[name].values[seed] == pytest.approx(float(expected[name]), abs=1e-12)
            assert halves.scores[name].low <= halves.scores[name].mean <= halves.scores[name].high
    scores = {candidate.name: candidate.scores["mauve"] for candidate in comparison.candidates}
    assert halves.scores["mauve"].mean > scores["shifted"].mean
    assert halves.scores["mauve"].low > scores["collapsed"].high


def test_the_halves_are_disjoint_and_clustered_as_their_features_alone_would_be(inputs, comparison):
    human, _, features = inputs
    rows, half = features[HUMAN].copy(), dataclasses.replace(SCORE, k=8)
    rng = np.random.default_rng(half_seeds(SCORE).cut)
    for seed, other in zip(half_seeds(SCORE).clustering, comparison.halves.partitions, strict=True):
        order = rng.permutation(len(human))  # a split for each seed
        sides = {HUMAN: rows[sorted(order[:80])], OTHER_HALF: rows[sorted(order[80:])]}
        (one,) = partitions("pairwise", sides, [seed], half, lambda: None)
        assert all((one.labels[side] == other.labels[side]).all() for side in sides)


def test_a_rescored_comparison_rescores_its_halves(comparison):
    found = rescored(comparison, "pairwise", score_basis(comparison, "pairwise", "krichevsky-trofimov"), 2.0)
    for seed, part in enumerate(found.halves.partitions):
        p, q = (probabilities(part.counts(side), "krichevsky-trofimov") for side in (HUMAN, OTHER_HALF))
        expected = float(mauve_f(p, q, "kl", 2.0))
        assert found.halves.scores["mauve"].values[seed] == pytest.approx(expected, abs=1e-12)
    assert found.like_for_like == ()  # these hold for the run's own settings
    joint = rescored(comparison, "joint", score_basis(comparison, "joint", "none"), 2.0)
    assert joint.halves == comparison.halves


@pytest.mark.parametrize("alike", [False, True])
def test_human_texts_that_cannot_be_halved_are_said_to_be_so(alike):
    n = 160 if alike else 2 * MIN_TEXTS - 1
    human, candidates, features = make_comparison_inputs(n=n)
    features = {name: features[name] for name in (HUMAN, "close")}
    if alike:
        features[HUMAN] = np.repeat(features[HUMAN][:1], n, axis=0)
    result = compare(human, {"close": candidates["close"]}, CONFIG, features=features)
    assert result.halves is None
    said = "No human vs. human: " if alike else f"No human vs. human: {n} are too few"
    assert any(said in warning for warning in result.warnings)


def test_same_inputs_give_the_same_numbers_and_another_seed_gives_others(inputs, comparison):
    human, candidates, features = inputs
    again = compare(human, candidates, CONFIG, features=features)
    for first, second in zip(comparison.candidates, again.candidates, strict=True):
        assert first.scores == second.scores
        assert first.joint_scores == second.joint_scores
    other = dataclasses.replace(CONFIG, score=dataclasses.replace(SCORE, seed=1))
    close = {"close": candidates["close"]}
    changed = compare(human, close, other, features={name: features[name] for name in (HUMAN, "close")})
    assert changed.candidates[0].scores["mauve"].values != comparison.candidates[0].scores["mauve"].values


def test_a_candidate_equal_to_the_human_side_has_the_best_scores(inputs):
    human, _, features = inputs
    twin = dataclasses.replace(human, name="twin")
    result = compare(human, {"twin": twin}, CONFIG, features={HUMAN: features[HUMAN], "twin": features[HUMAN]})
    scores = result.candidates[0].scores
    # Equal texts fall into equal clusters, so the histograms are equal and the scores exact.
    assert scores["mauve"].values == scores["mauve_star"].values == (1.0, 1.0, 1.0)
    assert scores["frontier_integral"].values == scores["mid"].values == (0.0, 0.0, 0.0)
    assert any("verbatim" in warning for warning in result.warnings)


@pytest.mark.trial
def test_the_interval_covers_the_mean_score_of_other_texts_at_about_the_nominal_rate():
    # Truth: the mean score over many draws of the same size on a fixed partition (the topic itself is the cluster).
    rng = np.random.default_rng(3)
    p, q, n = np.full(8, 1 / 8), np.array([0.2, 0.2, 0.15, 0.15, 0.1, 0.1, 0.05, 0.05]), 400
    draws = score_counts(rng.multinomial(n, p, 4000), rng.multinomial(n, q, 4000))
    truth = {name: draws[name].mean() for name in SCORES}
    inside = dict.fromkeys(SCORES, 0)
    trials = 300
    for trial in range(trials):
        labels_p, labels_q = rng.choice(8, n, p=p), rng.choice(8, n, p=q)
        labels = {HUMAN: labels_p.astype(np.int32), "model": labels_q.astype(np.int32)}
        part, seed = Partition("pairwise", 0, 8, 0.0, labels), np.random.SeedSequence(trial)
        sides = TwoSides("model", (part,), each_alone(n, n), seed)
        estimates = estimates_of(basis_of_sides(sides, ScoreConfig(bootstrap=400), "none"), 5.0, 0.95)
        for name in SCORES:
            inside[name] += estimates[name].low <= truth[name] <= estimates[name].high
    # Binomial(300, 0.95) lies within 0.90 and 0.99 with probability over 0.999; the bootstrap's own error is small.
    for name in SCORES:
        assert 0.90 <= inside[name] / trials <= 0.99, (name, inside[name])


def test_progress_names_its_stages_and_may_cancel(inputs):
    human, candidates, features = inputs
    seen = []
    compare(human, candidates, CONFIG, features=features, progress=lambda *state: seen.append(state))
    assert ("clustering", 12, 12) in seen  # (1 joint + 3 pairwise) x 3 seeds
    assert ("clustering human halves", 12, 12) in seen  # the other half + 3 candidates
    assert ("scoring", 3, 3) in seen

    def cancel(stage, done, total):
        if stage == "clustering" and done == 2:
            raise CancelledError("stopped")

    with pytest.raises(CancelledError):
        compare(human, candidates, CONFIG, features=features, progress=cancel)


def test_warnings_say_what_the_papers_advise(inputs):
    human, candidates, features = inputs
    few = candidates["close"].take(np.arange(100))
    given = {HUMAN: features[HUMAN], "close": features["close"][:100]}
    config = dataclasses.replace(CONFIG, score=dataclasses.replace(SCORE, seeds=1))
    warnings = " ".join(compare(human, {"close": few}, config, features=given).warnings)
    assert "differ in size (human 160, close 100)" in warnings
    assert "100 texts per side are fewer than 1,000" in warnings
    assert "One k-means seed" in warnings


def test_texts_of_a_group_and_equal_texts_are_one_unit_of_the_sources_compared():
    human, candidates, features = make_comparison_inputs(n=120)
    close, shifted = candidates["close"], candidates["shifted"]
    own = {"prompts": tuple(f"its own {i // 5}" for i in range(120)), "ids": tuple(f"its own {i}" for i in range(120))}
    candidates["close"] = dataclasses.replace(close, **own)
    candidates["shifted"] = dataclasses.replace(shifted, texts=shifted.texts[:60] * 2)  # of prompts i and i + 60
    result = compare(human, candidates, CONFIG, features=features)

    def alike(codes):
        return [codes[HUMAN][i] == codes[HUMAN][i + 60] for i in range(60)]

    units = result.units(HUMAN, "close")
    assert np.unique(units[HUMAN]).size == 120
    assert [np.unique(units["close"][i : i + 5]).size for i in range(0, 120, 5)] == [1] * 24
    assert np.unique(units["close"]).size == 24
    units = result.units(HUMAN, "shifted")
    assert all(alike(units))
    np.testing.assert_array_equal(*units.values())  # by prompt
    for names in ((HUMAN, "close"), (HUMAN, "collapsed"), (HUMAN, "close", "collapsed")):  # none that repeats itself
        assert not any(alike(result.units(*names)))
    expected = {"close-shifted": (False, 84), "close-collapsed": (False, 144), "shifted-collapsed": (True, 60)}
    assert {f"{each.first}-{each.second}": (each.paired, each.n) for each in result.differences} == expected
    assert not any("no interval" in warning for warning in result.warnings)


def test_units_that_are_few_or_large_leave_the_whole_range_and_are_warned_of():
    human, candidates, features = make_comparison_inputs(n=60)
    ids = tuple(f"its own {i}" for i in range(60))
    for name, numbers in (("close", [i % 19 for i in range(60)]), ("shifted", [*[0] * 12, *range(48)])):
        prompts = tuple(f"its own {number}" for number in numbers)
        candidates[name] = dataclasses.replace(candidates[name], prompts=prompts, ids=ids)
    result = compare(human, candidates, CONFIG, features=features)
    warnings = [warning for warning in result.warnings if "no interval" in warning]
    leave_out = "Where texts of one prompt are independent, leave the prompts out: --prompt-field ''."
    assert warnings == [
        "close: no interval and no test: 19 independent units on a side; an interval needs 20. " + leave_out,
        "shifted: no interval and no test: one unit has 13 of 60 texts of a side; an interval needs at most a fifth. "
        + leave_out,
    ]
    for candidate in result.candidates:
        alike = result.at_size_of_halves(candidate.name)
        for scores in (candidate.scores, candidate.joint_scores, *([] if alike is None else [alike.scores])):
            whole = [(scores[name].low, scores[name].high) == SCORES[name].bounds for name in SCORES]
            assert whole == [candidate.name != "collapsed"] * len(SCORES)
    assert all(each.p_value == 1 for each in result.differences)  # each pair has one of the two
    assert result.halves.scores["mauve"].low > 0


def refuse(human, candidates, features, *words, config=CONFIG):
    with pytest.raises(InputError) as caught:
        compare(human, candidates, config, features=features)
    for word in words:
        assert word in str(caught.value)


def test_refuses_sides_that_cannot_be_clustered(inputs):
    human, candidates, features = inputs
    close = {"close": candidates["close"]}
    pair = {name: features[name] for name in (HUMAN, "close")}
    refuse(human, {}, {HUMAN: features[HUMAN]}, "at least one candidate")
    for n in (1, 3, MIN_TEXTS - 1):
        small = {**pair, "close": pair["close"][:n]}
        refuse(human, {"close": candidates["close"].take(np.arange(n))}, small, "too few texts", f"{n}")
    refuse(human, {"human": candidates["close"]}, pair, "cannot have this name")
    refuse(human, close, {HUMAN: pair[HUMAN]}, "for every side")
    refuse(human, close, {**pair, "close": pair["close"][:-1]}, "do not match", "(160, d)")
    refuse(human, close, {**pair, "close": pair["close"][:, :5]}, "different dimension", "human: 16", "close: 5")
    broken = pair["close"].copy()
    broken[7, 3] = np.nan
    refuse(human, close, {**pair, "close": broken}, "NaN", "t0007")
    broken = pair["close"].copy()
    broken[[2, 9]] = 0
    refuse(human, close, {**pair, "close": broken}, "features of 'close'", "rows of zeros", "2", "9")
    refuse(human, close, None, "mutually exclusive")
    refuse(human, close, pair, "mutually exclusive", config=dataclasses.replace(CONFIG, encoder=EncoderConfig()))
    equal = {name: np.ones((160, 4), dtype=np.float32) for name in pair}
    refuse(human, close, equal, "equal")


def test_refuses_more_clusters_than_distinct_texts(inputs):
    corpus, features = make_side("close", np.ones(8), 40, 8, 1)
    human = corpus_from_texts(list(corpus.texts), name=HUMAN)
    config = dataclasses.replace(CONFIG, score=dataclasses.replace(SCORE, k=60))
    refuse(human, {"close": corpus}, {HUMAN: features, "close": features}, "60", config=config)


def test_too_many_clusters_for_the_texts_are_warned_of(inputs, comparison):
    human, candidates, features = inputs
    config = dataclasses.replace(CONFIG, score=dataclasses.replace(SCORE, k=80, seeds=2))
    result = compare(human, {"close": candidates["close"]}, config, features={n: features[n] for n in (HUMAN, "close")})
    assert any("2.0 texts per cluster" in warning for warning in result.warnings)
    assert not any("per cluster:" in warning for warning in comparison.warnings)


@pytest.mark.slow
def test_a_large_map_is_fitted_on_some_texts_of_every_source_and_cluster(inputs, monkeypatch):
    human, candidates, features = inputs
    config = dataclasses.replace(CONFIG, score=dataclasses.replace(SCORE, seeds=1), projection=True)
    given = {name: features[name] for name in (HUMAN, "close")}
    whole = compare(human, {"close": candidates["close"]}, config, features=given)
    assert whole.map_fitted == len(whole.projection) == 320
    seen, strata = [], []

    def few(x, groups, **options):
        strata.append(groups)
        return map_of(x, groups, most=90, **options)

    monkeypatch.setattr("mauve_core.clusters.projection.map_of", few)
    large = compare(
        human, {"close": candidates["close"]}, config, features=given, progress=lambda *state: seen.append(state)
    )
    assert 60 < large.map_fitted <= 90
    assert large.projection.shape == (320, 2)
    assert np.isfinite(large.projection).all()
    labels = large.joint[0].labels
    groups = {(name, cluster) for name in given for cluster in labels[name]}
    assert len(np.unique(strata[0])) == len(groups)
    assert [state for state in seen if state[0] == "drawing the map"][-1] == ("drawing the map", 320, 320)


def test_what_is_known_of_the_sides_is_kept_and_must_be_of_these_texts(inputs, comparison):
    human, candidates, features = inputs
    known = {source.name: dataclasses.replace(source, tokens_median=9.0) for source in comparison.sources}
    config = dataclasses.replace(comparison.config, encoder=EncoderConfig("no-such-model"))
    again = compare(human, candidates, config, features=features, known=known)
    assert again.sources == tuple(known.values())
    assert again.config.encoder == EncoderConfig("no-such-model")
    assert [item.scores for item in again.candidates] == [item.scores for item in comparison.candidates]
    other = {**known, "close": dataclasses.replace(known["close"], digest="of other texts")}
    for wrong, given in ((other, features), ({HUMAN: known[HUMAN]}, features), (known, None)):
        with pytest.raises(InputError, match="is not of these texts"):
            compare(human, candidates, config, features=given, known=wrong)


def test_clusters_lie_in_the_space_of_the_order_that_was_asked_for() -> None:
    """Rows of very different lengths: k-means of rows scaled after the projection, side by side as in one table."""
    rng = np.random.default_rng(0)
    lengths = np.exp(rng.normal(size=(2, 80, 1)))
    sides = ((rng.normal(size=(2, 80, 12)) + 2) * lengths).astype(np.float32)
    features = {HUMAN: sides[0], "a": sides[1]}
    labels = {}
    for order in ("before", "after"):
        score = ScoreConfig(k=6, seeds=1, restarts=3, unit_rows=order)
        (found,) = partitions("pairwise", features, [SeedSequence(3)], score, lambda: None)
        labels[order] = np.concatenate([found.labels[HUMAN], found.labels["a"]])
        space = reduce_features(np.concatenate(list(features.values())), unit_rows=order).array
        expected = kmeans(space, 6, restarts=3, seed=SeedSequence(3)).labels
        assert (labels[order] == expected).mean() > 0.99  # sums of sides are added in another order
    assert (labels["before"] != labels["after"]).mean() > 0.1
