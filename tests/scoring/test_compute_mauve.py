"""compute_mauve: the peer's arguments, the peer's result, and the peer's scores within the peer's own spread."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError, ModelUnavailableError
from mauve_core.clusters.k_means import kmeans
from mauve_core.clusters.reduction import reduce_features
from mauve_core.encoders import Encoder, encode
from mauve_core.scoring import compute_mauve as module
from mauve_core.scoring.compute_mauve import MauveResult, compute_mauve
from mauve_core.stats.scores import score_counts
from tests.tiny_models import SENTENCES, make_gpt2

SEEDS = 10
# Texts of a side, just enough for no warning.
SIDE = 100
SCORES = ("mauve", "mauve_star", "frontier_integral", "frontier_integral_star")
Cloud = Callable[[], tuple[np.ndarray, np.ndarray]]


@pytest.fixture(scope="module")
def peer() -> Any:
    pytest.importorskip("mauve", reason="mauve-text is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what its imports say is not ours to judge
        return importlib.import_module("mauve.compute_mauve")


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_gpt2(tmp_path_factory.mktemp("models") / "tiny-gpt2"))


@pytest.fixture(scope="module")
def texts() -> list[str]:
    words = " ".join(SENTENCES).split()
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(words, size=size)) for size in rng.integers(3, 20, size=2 * SIDE)]


def isotropic() -> tuple[np.ndarray, np.ndarray]:
    """600 rows a side in 64 dimensions; the candidate's centre lies 0.3 standard deviations away in each."""
    rng = np.random.default_rng(1)
    return (rng.normal(size=(600, 64)) + 0.3).astype(np.float32), (rng.normal(size=(600, 64))).astype(np.float32)


def anisotropic() -> tuple[np.ndarray, np.ndarray]:
    """800 rows a side as language models make them: one common direction, a falling spectrum, uneven topics.

    The candidate writes some topics too often and spreads less within each.
    """
    rng = np.random.default_rng(2)
    spectrum = np.sqrt(1 / np.arange(1, 65))
    common, topics = 3 * rng.normal(size=64) * spectrum, 1.5 * rng.normal(size=(40, 64)) * spectrum
    shares = rng.dirichlet(np.ones(40))
    tilted = shares**1.5 / (shares**1.5).sum()
    sides = []
    for weights, spread in ((shares, 0.7), (tilted, 0.6)):
        topic = rng.choice(40, size=800, p=weights)
        sides.append((common + topics[topic] + spread * rng.normal(size=(800, 64)) * spectrum).astype(np.float32))
    return sides[0], sides[1]


class TestResult:
    def test_fields_are_consistent(self) -> None:
        p, q = isotropic()
        result = compute_mauve(p_features=p, q_features=q[:500])
        assert isinstance(result, MauveResult)
        assert result.num_buckets == result.p_hist.size == result.q_hist.size == 50
        p_counts, q_counts = result.p_hist * 600, result.q_hist * 500
        np.testing.assert_allclose(p_counts, np.rint(p_counts), atol=1e-9)
        np.testing.assert_allclose(q_counts, np.rint(q_counts), atol=1e-9)
        plain = score_counts(np.rint(p_counts), np.rint(q_counts))
        star = score_counts(np.rint(p_counts), np.rint(q_counts), smoothing="krichevsky-trofimov")
        # The same functions of the same counts.
        assert result.mauve == pytest.approx(float(plain["mauve"]), rel=1e-12)
        assert result.mauve_star == pytest.approx(float(plain["mauve_star"]), rel=1e-12)
        assert result.frontier_integral == pytest.approx(float(plain["frontier_integral"]), rel=1e-12)
        assert result.frontier_integral_star == pytest.approx(float(star["frontier_integral"]), rel=1e-12)

    def test_curve_runs_from_the_candidates_end_to_the_human_end(self) -> None:
        p, q = isotropic()
        result = compute_mauve(p_features=p, q_features=q, divergence_curve_discretization_size=9)
        curve = result.divergence_curve
        assert curve.shape == (11, 2)
        np.testing.assert_array_equal(curve[[0, -1]], [[1, 0], [0, 1]])
        assert np.all(np.diff(curve[:, 0]) <= 0)
        assert np.all(np.diff(curve[:, 1]) >= 0)
        area = ((curve[:-1, 0] - curve[1:, 0]) * (curve[:-1, 1] + curve[1:, 1])).sum() / 2
        assert result.mauve == pytest.approx(area, rel=1e-12)

    def test_p_is_the_human_side(self) -> None:
        # The candidate never leaves one spot that humans visit too: no type I error to speak of, much of type II.
        rng = np.random.default_rng(0)
        q = np.tile([0.0, 0.0, 10.0], (100, 1)) + 1e-3 * rng.normal(size=(100, 3))
        p = np.concatenate([q[:20], np.tile([0.0, 10.0, 0.0], (80, 1)) + 1e-3 * rng.normal(size=(80, 3))])
        result = compute_mauve(p_features=p, q_features=q, num_buckets=2)
        assert sorted(result.q_hist) == [0.0, 1.0]
        np.testing.assert_allclose(sorted(result.p_hist), [0.2, 0.8])
        # At weight 1 - 1e-6 R is P: x = exp(-5 KL(Q || P)) = 0.2^5; at weight 1e-6 y = exp(-5 KL(P || Q)) = ~0.
        assert result.divergence_curve[-2, 0] == pytest.approx(0.2**5, rel=1e-4)
        assert result.divergence_curve[1, 1] < 1e-15

    def test_equal_seeds_repeat_and_other_seeds_differ(self) -> None:
        p, q = isotropic()
        first, again, other = (compute_mauve(p_features=p, q_features=q, seed=seed) for seed in (25, 25, 26))
        assert first.mauve == again.mauve
        np.testing.assert_array_equal(first.p_hist, again.p_hist)
        assert first.mauve != other.mauve

    def test_components_of_fewer_rows(self) -> None:
        p, q = anisotropic()
        everything, enough, fewer = (
            compute_mauve(p_features=p, q_features=q, pca_max_data=most) for most in (-1, 1600, 50)
        )
        assert everything.mauve == enough.mauve
        assert everything.mauve != fewer.mauve


class TestArguments:
    def test_names_order_and_defaults_are_the_peers(self, peer: Any) -> None:
        ours, theirs = (inspect.signature(f).parameters for f in (compute_mauve, peer.compute_mauve))
        assert list(ours) == list(theirs)
        assert [p.default for p in ours.values()] == [p.default for p in theirs.values()]

    def test_result_has_every_name_of_the_peers(self, peer: Any) -> None:
        p, q = isotropic()
        theirs = vars(peer.compute_mauve(p_features=p[:SIDE], q_features=q[:SIDE]))
        ours = compute_mauve(p_features=p[:SIDE], q_features=q[:SIDE])
        for name, value in theirs.items():
            assert np.shape(getattr(ours, name)) == np.shape(value)

    def test_lists_and_tensors_are_features_too(self) -> None:
        p, q = (side[:SIDE] for side in isotropic())
        expected = compute_mauve(p_features=p, q_features=q)
        for convert in (np.ndarray.tolist, torch.tensor):
            assert compute_mauve(p_features=convert(p), q_features=convert(q)).mauve == expected.mauve

    def test_use_float64_changes_nothing_for_features(self) -> None:
        p, q = (side[:SIDE] for side in isotropic())
        assert compute_mauve(p, q, use_float64=True).mauve == compute_mauve(p, q).mauve

    def test_features_win_over_text_and_a_warning_says_so(self) -> None:
        p, q = (side[:SIDE] for side in isotropic())
        with pytest.warns(UserWarning, match="p_features is used; p_text is ignored"):
            result = compute_mauve(p_features=p, q_features=q, p_text=["never read"])
        assert result.mauve == compute_mauve(p_features=p, q_features=q).mauve

    @pytest.mark.parametrize(("n", "m"), [(99, 600), (600, 20), (99, 99)])
    def test_few_texts_are_warned_of(self, n: int, m: int) -> None:
        p, q = isotropic()
        said = rf"p has {n} texts and q has {m}: the scores are not reliable, .* 100 per side .* use 1,000 or more"
        with pytest.warns(UserWarning, match=said) as caught:
            assert 0 < compute_mauve(p_features=p[:n], q_features=q[:m]).mauve < 1
        assert [warning.filename for warning in caught] == [__file__]

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"p_features": None}, r"Side p is missing.*p_features, p_tokens, p_text"),
            ({"q_features": None}, "Side q is missing"),
            ({"q_features": np.ones((20, 3))}, r"different dimensions.*4 and 3"),
            ({"p_features": np.full((20, 4), np.nan)}, "p_features hold values that are not finite"),
            ({"q_features": np.zeros((20, 4))}, "q_features hold rows of zeros"),
            ({"p_features": np.ones(4)}, "p_features do not form a table"),
            ({"num_buckets": 1}, "number of clusters"),
            ({"num_buckets": "7"}, "number of clusters"),
            ({"num_buckets": 41}, "Too few different texts"),
            ({"kmeans_num_redo": 0}, "restarts"),
            ({"kmeans_max_iter": 0}, "iterations"),
            ({"kmeans_explained_var": 0}, "share of variance"),
            ({"divergence_curve_discretization_size": 1}, "number of mixture weights"),
            ({"mauve_scaling_factor": 0}, "scale"),
            ({"seed": -1}, "seed"),
            ({"pca_max_data": 0}, "pca_max_data"),
            ({"device_id": -2}, "device_id"),
            ({"batch_size": 0}, "batch_size"),
            ({"max_text_length": 0}, "max_tokens"),
        ],
    )
    def test_what_cannot_be_used_is_refused(self, change: dict[str, Any], said: str) -> None:
        rng = np.random.default_rng(0)
        usable = {"p_features": rng.normal(size=(20, 4)), "q_features": rng.normal(size=(20, 4))}
        with pytest.raises(InputError, match=said):
            compute_mauve(**{**usable, **change})

    @pytest.mark.slow
    def test_features_need_neither_torch_nor_transformers(self) -> None:
        code = (
            "import sys, numpy as np; from mauve_core.scoring.compute_mauve import compute_mauve;"
            "x = np.random.default_rng(0).normal(size=(200, 4)); compute_mauve(x[:100], x[100:]);"
            "sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode == 0


class TestTextsAndTokens:
    @pytest.mark.slow
    def test_texts_are_encoded_by_their_last_token(self, gpt2: str, texts: list[str]) -> None:
        options = {"featurize_model_name": gpt2, "max_text_length": 12, "num_buckets": 5}
        config = EncoderConfig(gpt2, pooling="last", max_tokens=12)
        p, q = (encode(side, config, device="cpu").array for side in (texts[:SIDE], texts[SIDE:]))
        expected = compute_mauve(p_features=p, q_features=q, num_buckets=5)
        # One batch at a time or eight: the features agree to rounding, so clusters and scores do too.
        for batch_size in (1, 8):
            found = compute_mauve(p_text=texts[:SIDE], q_text=texts[SIDE:], batch_size=batch_size, **options)
            assert found.mauve == pytest.approx(expected.mauve, abs=1e-12)
            np.testing.assert_array_equal(found.p_hist, expected.p_hist)

    def test_tokens_are_the_texts_tokens(self, gpt2: str, texts: list[str]) -> None:
        tokenizer = AutoTokenizer.from_pretrained(gpt2)
        options = {"featurize_model_name": gpt2, "num_buckets": 5}
        expected = compute_mauve(p_text=texts[:SIDE], q_text=texts[SIDE:], **options)
        lists = [tokenizer(text)["input_ids"] for text in texts]
        tensors = [tokenizer(text, return_tensors="pt")["input_ids"] for text in texts]
        for rows in (lists, tensors):
            found = compute_mauve(p_tokens=rows[:SIDE], q_tokens=rows[SIDE:], **options)
            assert found.mauve == pytest.approx(expected.mauve, abs=1e-12)

    def test_sides_may_come_in_different_forms(self, gpt2: str, texts: list[str]) -> None:
        q = encode(texts[SIDE:], EncoderConfig(gpt2, pooling="last"), device="cpu").array
        options = {"featurize_model_name": gpt2, "num_buckets": 5}
        expected = compute_mauve(p_text=texts[:SIDE], q_text=texts[SIDE:], **options)
        assert compute_mauve(p_text=texts[:SIDE], q_features=q, **options).mauve == pytest.approx(expected.mauve)

    @pytest.mark.slow
    def test_the_same_texts_score_as_the_peer_scores_our_features(self, peer: Any, gpt2: str, texts: list[str]) -> None:
        theirs = peer.get_features_from_input(None, None, texts, gpt2, 1024, -1, "texts", 1)
        ours = encode(texts, EncoderConfig(gpt2, pooling="last"), device="cpu").array
        from_theirs = compute_mauve(p_features=theirs[:SIDE], q_features=theirs[SIDE:], num_buckets=5)
        from_ours = compute_mauve(p_features=ours[:SIDE], q_features=ours[SIDE:], num_buckets=5)
        assert from_ours.mauve == pytest.approx(from_theirs.mauve, abs=1e-12)

    def test_progress_only_when_asked_for(
        self, gpt2: str, texts: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        options = {"featurize_model_name": gpt2, "num_buckets": 5}
        compute_mauve(p_text=texts[:SIDE], q_text=texts[SIDE:], **options)
        assert "Encoding" not in "".join(capsys.readouterr())
        compute_mauve(p_text=texts[:SIDE], q_text=texts[SIDE:], verbose=True, **options)
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "Encoding tokens" in captured.err

    def test_an_encoder_that_nobody_named_is_told_once(
        self, gpt2: str, texts: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = []

        def tiny(config: EncoderConfig, **options: Any) -> Encoder:
            asked.append(config.model)
            return Encoder(dataclasses.replace(config, model=gpt2), **options)

        monkeypatch.setattr(module, "Encoder", tiny)
        module._tell_default_encoder.cache_clear()
        sides = {"p_text": texts[:SIDE], "q_text": texts[SIDE:]}
        features = np.random.default_rng(0).normal(size=(2 * SIDE, 4))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            compute_mauve(features[:SIDE], features[SIDE:])
            compute_mauve(**sides, featurize_model_name=gpt2, num_buckets=5)
            compute_mauve(**sides, featurize_model_name="gpt2-large", num_buckets=5)
            assert not told
            compute_mauve(**sides, num_buckets=5)
            compute_mauve(p_tokens=[[1, 2, 3]] * SIDE, q_text=texts[SIDE:], num_buckets=5)
        assert asked == [gpt2, *["gpt2-large"] * 3]
        (warning,) = told
        assert "gpt2-large" in str(warning.message)
        assert "smollm2-135m" in str(warning.message)
        assert warning.filename == __file__

    def test_float64_and_unknown_models_are_refused(self, gpt2: str, texts: list[str]) -> None:
        with pytest.raises(InputError, match="float64"):
            compute_mauve(p_text=texts[:SIDE], q_text=texts[SIDE:], featurize_model_name=gpt2, use_float64=True)
        with pytest.raises(ModelUnavailableError):
            compute_mauve(p_text=texts[:SIDE], q_text=texts[SIDE:], featurize_model_name="no/such-model")


def peer_objective(printed: str) -> float:
    """The best k-means objective of all restarts, from what the peer prints about its iterations."""
    return min(float(number) for number in re.findall(r"objective=([0-9.eE+]+)", printed))


@pytest.mark.slow
@pytest.mark.parametrize("cloud", [isotropic, anisotropic])
def test_means_over_seeds_lie_within_the_peers_spread(
    peer: Any, cloud: Cloud, capfd: pytest.CaptureFixture[str]
) -> None:
    p, q = cloud()
    scores: dict[str, list[list[float]]] = {"ours": [], "peer": []}
    objectives: dict[str, list[float]] = {"ours": [], "peer": []}
    reduced = reduce_features(np.concatenate([q, p])).array
    for seed in range(SEEDS):
        capfd.readouterr()
        theirs = peer.compute_mauve(p_features=p, q_features=q, seed=seed, verbose=True)
        objectives["peer"].append(peer_objective(capfd.readouterr().out))
        ours = compute_mauve(p_features=p, q_features=q, seed=seed)
        # The same starts as inside compute_mauve, which spawns its k-means seed as the first of two.
        start = np.random.SeedSequence(seed).spawn(2)[0]
        objectives["ours"].append(kmeans(reduced, ours.num_buckets, seed=start).objective)
        for name, result in (("ours", ours), ("peer", theirs)):
            scores[name].append([getattr(result, score) for score in SCORES])
    mean, spread = ({name: f(np.array(v)) for name, v in scores.items()} for f in (column_means, column_spreads))
    goal = {name: float(np.mean(values)) for name, values in objectives.items()}
    with capfd.disabled():
        sys.stdout.write(f"\n{cloud.__name__}: objectives {goal}, means {mean}, standard deviations {spread}\n")
    # Both reduce to the same space, where our starts must not be worse than the peer's.
    assert 0.9 * goal["peer"] < goal["ours"] < 1.005 * goal["peer"]
    assert np.all(np.abs(mean["ours"] - mean["peer"]) <= spread["peer"]), (mean, spread, goal)


def column_means(values: np.ndarray) -> np.ndarray:
    return values.mean(axis=0)


def column_spreads(values: np.ndarray) -> np.ndarray:
    return values.std(axis=0, ddof=1)
