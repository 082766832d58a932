"""Clusters learned on other texts: plain loops, and which texts serve."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mauve_core.analyses.attributes_over_k import OtherTexts, attributes_run, encoded_texts, texts_of_run, usual_ks
from mauve_core.base.config import ATTRIBUTE_SPLITS as SPLITS
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.clusters.k_means import kmeans
from mauve_core.runs import Run
from mauve_core.scoring.streams import stream
from mauve_core.stats.attributes import draw_halves
from mauve_core.texts import corpus_from_texts
from mauve_core.texts.normalizing import normalize
from tests.synthetic import make_run, make_side
from tests.word_runs import encoded_run

pytestmark = pytest.mark.integration

N, SEEDS = 80, 2


@pytest.fixture
def run(own_home: Path) -> Run:
    return make_run(own_home, n=N, seeds=SEEDS, projection=False, names=("close",))


@pytest.fixture
def encoded(own_home: Path) -> Run:
    """A run with an encoder: word vectors by topic."""
    return encoded_run(own_home, "encoded")


def others(n: int = 70, seed: int = 99) -> OtherTexts:
    corpus, features = make_side("elsewhere", np.array([5.0, 1, 1, 1, 3, 1, 1, 0.1]), n, 16, seed)
    return OtherTexts("elsewhere", corpus, features)


def plain_space(features: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and principal components of unit rows that keep a share of their variance."""
    rows = np.array([row / np.linalg.norm(row) for row in features.astype(float)])
    mean = rows.mean(axis=0)
    _, singular, axes = np.linalg.svd(rows - mean, full_matrices=False)
    kept, total, count = 0.0, float((singular**2).sum()), 0
    while kept / total < share - 1e-12:
        kept += float(singular[count] ** 2)
        count += 1
    axes = axes[:count].T
    signs = [-1.0 if axis[np.abs(axis).argmax()] < 0 else 1.0 for axis in axes.T]
    return mean, axes * signs


def plain_accuracies(run: Run, other: OtherTexts, k: int, source: str) -> list[float]:
    """Of each seed and split, by loops (ICLR 2023, section 6.1)."""
    score = run.comparison.config.score
    mean, axes = plain_space(other.features, score.explained_variance)

    def coordinates(features: Any) -> np.ndarray:
        unit = [row / np.linalg.norm(row) for row in np.asarray(features, dtype=float)]
        return np.array([(row - mean) @ axes for row in unit])

    own, values = coordinates(run.features(source)), list(run.corpora[source].metadata["topic"])
    seed = stream(score.seed, "attributes")
    halves = draw_halves(np.array(run.corpora[source].ids), SPLITS, np.random.default_rng(seed))
    found = []
    for child in stream(score.seed, "attributes").spawn(score.seeds):
        rows = coordinates(other.features).astype(np.float32)
        learned = kmeans(rows, k, restarts=score.restarts, max_iterations=score.max_iterations, seed=child)
        centers = [rows[learned.labels == c].astype(float).mean(axis=0) for c in range(k)]
        labels = [min(range(k), key=lambda c, x=x: float(((x - centers[c]) ** 2).sum())) for x in own]
        for train in halves:
            everywhere = Counter(value for value, seen in zip(values, train, strict=True) if seen)
            order = {
                value: place
                for place, (value, _) in enumerate(sorted(Counter(values).items(), key=lambda i: (-i[1], i[0])))
            }
            common = min(everywhere, key=lambda value: (-everywhere[value], order[value]))
            right = 0
            for label, value, seen in zip(labels, values, train, strict=True):
                if seen:
                    continue
                inside = Counter(
                    v for v, own_label, t in zip(values, labels, train, strict=True) if t and own_label == label
                )
                guess = min(inside, key=lambda v: (-inside[v], order[v])) if inside else common
                right += guess == value
            found.append(right / int((~train).sum()))
    return found


def line(rows: tuple[Any, ...], column: str) -> dict[int, Any]:
    return {row.k: row for row in rows if row.column == column}


@pytest.mark.trial
def test_default_settings_against_plain_loops(run: Run) -> None:
    other = others()
    table = attributes_run(run, others=other)
    assert tuple(sorted({row.k for row in table.other_rows})) == table.ks == usual_ks(run)
    for k, row in line(table.other_rows, "topic").items():
        expected = plain_accuracies(run, other, k, HUMAN)
        assert row.scores["accuracy"].values == pytest.approx(expected, abs=1e-12)
        assert row.scores["accuracy"].mean == pytest.approx(np.mean(expected), abs=1e-12)
        assert row.scores["accuracy"].sd == pytest.approx(np.std(expected, ddof=1), abs=1e-12)
        assert len(expected) == SEEDS * SPLITS


def test_a_candidates_texts_in_other_clusters_against_plain_loops(run: Run) -> None:
    other = others()
    table = attributes_run(run, [6], ["topic"], source="close", candidate="close", others=other)
    (row,) = table.other_rows
    assert row.scores["accuracy"].values == pytest.approx(plain_accuracies(run, other, 6, "close"), abs=1e-12)


def test_the_runs_own_numbers_and_the_baseline_stay(run: Run) -> None:
    alone, both = attributes_run(run, [4, 8]), attributes_run(run, [4, 8], others=others())
    assert both.rows == alone.rows
    assert (alone.other_rows, alone.clusters_from) == ((), "")
    for k, row in line(both.other_rows, "topic").items():
        assert row.scores["baseline"] == line(both.rows, "topic")[k].scores["baseline"]
        assert row.scores["accuracy"] != line(both.rows, "topic")[k].scores["accuracy"]
    assert both.clusters_from == "elsewhere"
    assert both.settings["clusters_from"]["n"] == 70


@pytest.mark.trial
def test_clusters_of_texts_without_topics_know_less_of_them(run: Run) -> None:
    one_topic, features = make_side("flat", np.array([1.0] + [1e-12] * 7), 200, 16, 3)
    table = attributes_run(run, [8], ["topic"], others=OtherTexts("flat", one_topic, features))
    own, other = (line(rows, "topic")[8].scores["accuracy"].mean for rows in (table.rows, table.other_rows))
    assert other < own - 0.2


@pytest.mark.trial
def test_ks_that_the_other_texts_do_not_permit_are_left_out_and_said(run: Run) -> None:
    table = attributes_run(run, [4, 30], ["topic"], others=others(25))
    assert table.ks == (4, 30)
    assert {row.k for row in table.other_rows} == {4}
    assert any(note.startswith("k = 30 is left out for clusters of elsewhere") for note in table.notes)
    with pytest.raises(InputError, match="could not be clustered"):
        attributes_run(run, [30], ["topic"], others=others(25))
    with pytest.raises(InputError, match="Too few texts"):
        attributes_run(run, [4], others=others(10))


@pytest.mark.trial
def test_shared_texts_are_said_and_another_width_is_refused(run: Run) -> None:
    own = OtherTexts("same", run.corpora[HUMAN], np.asarray(run.features(HUMAN)))
    assert any(f"{N} of the {N} texts of same are among" in note for note in attributes_run(run, [4], others=own).notes)
    narrow = others()
    with pytest.raises(InputError, match="do not fit together"):
        attributes_run(run, [4], others=dataclasses.replace(narrow, features=narrow.features[:, :3]))


@pytest.mark.trial
def test_another_length_and_the_same_texts_are_refused(encoded: Run, own_home: Path) -> None:
    short = encoded_run(own_home, "short", seed=50, max_tokens=5)
    with pytest.raises(InputError, match="max_tokens 1024 and 5"):
        texts_of_run(encoded, short)
    other = encoded_run(own_home, "other", seed=50)
    assert texts_of_run(encoded, other).title == other.id
    with pytest.raises(InputError, match="are those of run"):
        texts_of_run(encoded, encoded)


def test_a_file_is_normalized_and_encoded_as_the_run_is(encoded: Run, own_home: Path) -> None:
    other = encoded_run(own_home, "other", seed=50)
    expected = texts_of_run(encoded, other)
    found = encoded_texts(encoded, other.corpora[HUMAN], "file")
    np.testing.assert_array_equal(found.features, expected.features)
    by_run, by_file = (attributes_run(encoded, [3], ["topic"], others=each) for each in (expected, found))
    assert by_run.other_rows == by_file.other_rows


def test_texts_of_a_corpus_with_another_normalization_are_refused(encoded: Run, own_home: Path) -> None:
    other = encoded_run(own_home, "other", seed=50)
    human = dataclasses.replace(other.comparison.human, normalized=corpus_normalized())
    changed = dataclasses.replace(other, comparison=dataclasses.replace(other.comparison, human=human))
    with pytest.raises(InputError, match="normalization none and "):
        texts_of_run(encoded, changed)


def corpus_normalized() -> Any:
    corpus = corpus_from_texts(["a  b", "c\nd"], name=HUMAN)
    return normalize({HUMAN: corpus}, ["line-breaks"])[HUMAN].normalized
