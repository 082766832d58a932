"""What is kept beside a run is what would be found out again, bit for bit; damage is survived."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest

from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.errors import InputError, StorageError
from mauve_core.encoders import text_kind
from mauve_core.findings import precomputed
from mauve_core.findings.clusters import assess_stability, exchange_rate, gap_test, repartition
from mauve_core.findings.distinctive_words import count_words, joined
from mauve_core.findings.precomputed import (
    DERIVED,
    derive,
    run_basis,
    run_cluster_words,
    run_exchange_rate,
    run_gap_test,
    run_properties,
    run_repartition,
    run_sampling_advice,
    run_stability,
    run_words,
)
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.estimates import ScoreBasis, score_basis
from mauve_core.stats.sampling_error import recommend_texts
from mauve_core.stats.stability import Stability
from mauve_core.texts.properties import PROPERTIES, text_properties
from tests.synthetic import make_run

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def derived(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of which everything is kept."""
    run = make_run(tmp_path_factory.mktemp("derived"), n=60, seeds=2, projection=False)
    everything_kept(run)
    return run


def everything_kept(run: Run) -> None:
    derive(run)
    for smoothing in precomputed.KEPT_SMOOTHINGS:
        run_basis(run, "pairwise", smoothing)
        run_basis(run, "joint", smoothing)


@pytest.fixture
def run(derived: Run, tmp_path: Path) -> Run:
    """A copy of it, of which nothing is in memory yet."""
    shutil.copytree(derived.path.parent, tmp_path / "home" / "runs")
    return RunStore(tmp_path / "home" / "runs").load(derived.id)


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of it may be found out again."""

    def refuse(*_: object) -> None:
        raise AssertionError("it was found out again")

    for name in (
        "score_basis",
        "item_words",
        "assess_stability",
        "gap_test",
        "exchange_rate",
        "repartition",
        "recommend_texts",
        "merged",
    ):
        monkeypatch.setattr(precomputed, name, refuse)
    monkeypatch.setattr(text_kind, "text_properties", refuse)


def assert_equal_bases(found: dict[str, ScoreBasis], expected: dict[str, ScoreBasis]) -> None:
    assert found.keys() == expected.keys()
    for name, basis in expected.items():
        for score, spread in basis.parts.items():
            np.testing.assert_array_equal(found[name].parts[score].values, spread.values)
            np.testing.assert_array_equal(found[name].parts[score].resampled, spread.resampled)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("kind", ["pairwise", "joint"])
@pytest.mark.parametrize("smoothing", precomputed.KEPT_SMOOTHINGS)
def test_a_kept_basis_is_the_basis(run: Run, kind: PartitionKind, smoothing: str) -> None:
    again = RunStore(run.path.parent).load(run.id)
    assert_equal_bases(run_basis(again, kind, smoothing), score_basis(run.comparison, kind, smoothing))  # type: ignore[arg-type]


@pytest.mark.usefixtures("no_work")
def test_kept_words_of_clusters_are_those_of_their_texts(run: Run) -> None:
    for name in ("close", "shifted", "collapsed"):
        part = run.comparison.partition("pairwise", name)
        words = count_words([*run.corpora[HUMAN].texts, *run.corpora[name].texts])
        labels = np.concatenate([part.labels[HUMAN], part.labels[name]])
        found = run_cluster_words(run, "pairwise", name, part.seed)
        assert found == words.by_group(labels, part.k, top=12, min_texts=2)


@pytest.mark.usefixtures("no_work")
def test_kept_words_joined_are_those_of_both_sides(run: Run) -> None:
    found = joined(run_words(run, HUMAN), run_words(run, "shifted"))
    texts = [*run.corpora[HUMAN].texts, *run.corpora["shifted"].texts]
    expected = count_words(texts)
    assert found.vocabulary.tolist() == expected.vocabulary.tolist()
    assert (found.matrix != expected.matrix).nnz == 0
    labels = np.arange(len(texts)) % 3
    assert found.by_group(labels, 3) == expected.by_group(labels, 3)


@pytest.mark.usefixtures("no_work")
def test_kept_properties_are_those_of_the_texts(run: Run) -> None:
    expected = text_properties(run.corpora["close"].texts)
    found = run_properties(run, "close")
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)


@pytest.mark.usefixtures("no_work")
def test_kept_trust_and_partitions_of_other_k_are_those_found_out(run: Run) -> None:
    others = run_repartition(run, "close", "pairwise")
    assert others
    for found, part in zip(others, repartition(run, "close", "pairwise"), strict=True):
        assert (found.kind, found.seed, found.k, found.objective) == (part.kind, part.seed, part.k, part.objective)
        assert found.labels.keys() == part.labels.keys()
        for name, labels in part.labels.items():
            np.testing.assert_array_equal(found.labels[name], labels)
            assert found.labels[name].dtype == labels.dtype
    seed = run.comparison.median_seed("close")
    expected = assess_stability(run.comparison, "close", "pairwise", seed, others=others)
    kept = run_stability(run, "pairwise", "close", seed)
    for field in dataclasses.fields(Stability):
        np.testing.assert_array_equal(getattr(kept, field.name), getattr(expected, field.name))
    assert kept.notes == expected.notes


@pytest.mark.usefixtures("no_work")
def test_the_kept_test_of_the_gap_and_exchange_rate_are_those_found_out(run: Run) -> None:
    for name in ("close", "shifted"):
        assert run_gap_test(run, "pairwise", name) == gap_test(run.comparison, "pairwise", name)
        assert run_exchange_rate(run, "pairwise", name) == exchange_rate(run.comparison, "pairwise", name)
    assert run_gap_test(run, "pairwise", "close") != run_gap_test(run, "pairwise", "shifted")


def test_a_damaged_file_is_made_again(run: Run) -> None:
    shutil.rmtree(run.path / DERIVED)
    expected = run_properties(run, HUMAN)
    path = next((run.path / DERIVED).glob("properties-*.npz"))
    whole = path.read_bytes()
    path.write_bytes(b"PK\x03\x04 half a file")
    np.testing.assert_array_equal(run_properties(run, HUMAN)["length"], expected["length"])
    assert len(path.read_bytes()) == len(whole)


@pytest.mark.trial
def test_a_file_of_another_run_or_item_is_made_again(run: Run, tmp_path: Path) -> None:
    other = make_run(tmp_path / "home", name="other", n=50, seeds=2, projection=False)
    everything_kept(other)
    names, others = (sorted(path.name for path in (each.path / DERIVED).iterdir()) for each in (run, other))
    whole = {name: (run.path / DERIVED / name).read_bytes() for name in names}
    for name, their_name in zip(names, others, strict=True):  # names with a seed differ: each run has its own medians
        shutil.copyfile(other.path / DERIVED / their_name, run.path / DERIVED / name)
    again = RunStore(run.path.parent).load(run.id)
    everything_kept(again)
    assert {name: (run.path / DERIVED / name).read_bytes() for name in names} == whole
    for name, next_one in zip(names, [*names[1:], names[0]], strict=True):
        (run.path / DERIVED / name).write_bytes(whole[next_one])
    everything_kept(again)
    assert {name: (run.path / DERIVED / name).read_bytes() for name in names} == whole


def test_both_advices_name_one_error_at_the_run_s_own_size(run: Run) -> None:
    for name in ("close", "shifted"):
        texts, clusters = run_sampling_advice(run, name)
        own = texts.curve.n.tolist().index(texts.n)
        assert texts.curve.mean[own] == clusters.curve.mean[clusters.curve.k.tolist().index(texts.k)]


def test_kept_sampling_advice_is_the_advice(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(run.path / DERIVED)
    monkeypatch.setattr(precomputed, "SAMPLED_CELLS", 1000)
    first = run_sampling_advice(run, "close")
    monkeypatch.setattr(precomputed, "recommend_texts", None)  # what is kept is read
    part = run.comparison.partition("pairwise", "close")
    p, q = part.counts(HUMAN), part.counts("close")
    draws = max(1000 // part.k, 100)
    expected = recommend_texts(p, q, replicates=draws, seed=run.comparison.config.score.seed)
    for found in (first, run_sampling_advice(run, "close")):
        assert_equal_fields(found[0], expected)
        assert_equal_fields(found[1], first[1])
        assert found[1].curve.k.tolist() == sorted(found[1].curve.k.tolist())
        assert isinstance(found[1].k, int)
        assert isinstance(found[1].reason, str)


def assert_equal_fields(found: object, expected: object) -> None:
    assert type(found) is type(expected)
    for field in dataclasses.fields(expected):  # type: ignore[arg-type]
        one, two = getattr(found, field.name), getattr(expected, field.name)
        if dataclasses.is_dataclass(two):
            assert_equal_fields(one, two)
        else:
            assert type(one) is type(two), field.name
            np.testing.assert_array_equal(one, two)


def test_pairwise_partitions_of_other_k_are_kept_for_each_candidate(run: Run) -> None:
    shutil.rmtree(run.path / DERIVED)
    found = {name: run_repartition(run, name, "pairwise") for name in ("close", "shifted")}
    for name, parts in found.items():
        assert [part.labels.keys() for part in parts] == [{HUMAN, name}] * len(parts)
        again = run_repartition(run, name, "pairwise")
        for one, two in zip(parts, again, strict=True):
            np.testing.assert_array_equal(one.labels[name], two.labels[name])
    assert len(list((run.path / DERIVED).glob("other-partitions-pairwise-*.npz"))) == 2


def test_a_file_of_another_format_is_made_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run_properties(run, HUMAN)
    monkeypatch.setattr(precomputed, "FORMAT", precomputed.FORMAT + 1)
    monkeypatch.setattr(text_kind, "text_properties", lambda texts: dict.fromkeys(PROPERTIES, np.zeros(len(texts))))
    assert not run_properties(run, HUMAN)["length"].any()


def test_a_home_that_refuses_keeps_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise StorageError("No space")

    shutil.rmtree(run.path / DERIVED)
    monkeypatch.setattr(precomputed, "write_atomically", refuse)
    assert run_properties(run, HUMAN)["length"].all()
    assert not (run.path / DERIVED).exists()


def test_an_unknown_source_is_refused(run: Run) -> None:
    with pytest.raises(InputError, match="No source"):
        run_words(run, "other")
