"""Clusters over all texts: beside plain counts and sorts over all rows in memory, however texts are divided."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from mauve_core.analyses.over_shards import clusters_over_all
from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.findings.distinctive_words import distinctive_of_counts, distinctive_phrases
from mauve_core.shards.cluster_texts import MOST_CHARACTERS, NEAREST, RANDOM, Rows, propose, proposed, total_path
from mauve_core.shards.clustering import centers_of, coordinates_path, labels_path, read_state
from mauve_core.shards.comparison import (
    KeptCluster,
    KeptSide,
    compare_shards,
    design_effects,
    encode_tasks,
    kept_clusters,
)
from mauve_core.shards.encoding import mixed
from mauve_core.shards.plan import Plan, Work, plan_of
from mauve_core.shards.tasks import remaining
from mauve_core.shards.texts import Named, Tally, digests_of, texts_at, texts_of
from mauve_core.texts.properties import phrases_in, stop_words
from tests.sharded import SCORE, Inline, MadeUp, carried_out, made_texts, written_texts
from tests.word_files import by_topic

pytestmark = pytest.mark.integration

# Texts of a side: clusters then have more than are drawn.
N = 2400


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("many")


@pytest.fixture(scope="module")
def planned(folder: Path) -> Callable[[int], Plan]:
    """Plans of the same texts, of which the model's have a habit, in any number of shards."""
    words, rows = by_topic(folder / "words.txt"), made_texts(N)
    for row in rows["model"][::2]:
        row["text"] += " Needless to say"

    def plan(shards: int) -> Plan:
        places = written_texts(folder / f"in-{shards}", rows, shards)
        encoder = EncoderConfig(str(words))
        return plan_of(places[HUMAN], {"model": places["model"]}, encoder=encoder, score=SCORE)

    return plan


@pytest.fixture(scope="module")
def done(planned: Callable[[int], Plan], folder: Path) -> Work:
    """A finished comparison of texts in three shards a side."""
    plan = planned(3)
    carried_out(plan, folder / "work")
    return Work.open(folder / "work")


def rows_of(plan: Plan, source: str) -> list[dict[str, str]]:
    return [json.loads(line) for shard in plan.sides[source] for line in Path(shard).read_text().splitlines()]


def in_memory(work: Work, source: str, seed: int) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.float64]]:
    """Coordinates of all rows of a side, the cluster of each by brute force, and its squared distance to the center."""
    state = read_state(work, "model")
    assert state is not None
    centers = centers_of(work, "model", state.iteration)[seed]
    x = np.concatenate(
        [np.load(coordinates_path(work, "model", source, index)) for index in range(len(work.plan.sides[source]))]
    )
    away = ((x[:, np.newaxis].astype(np.float64) - centers) ** 2).sum(axis=2)
    return x, away.argmin(axis=1), away.min(axis=1)


def sides_of(cluster: KeptCluster) -> tuple[tuple[str, KeptSide], ...]:
    return (HUMAN, cluster.human), ("model", cluster.model)


def test_counts_and_order_are_those_of_all_rows(done: Work) -> None:
    seed, clusters = kept_clusters(done, "model")
    counts = [np.bincount(in_memory(done, source, seed)[1], minlength=12) for source in (HUMAN, "model")]
    assert [[cluster.human.n, cluster.model.n] for cluster in clusters] == [
        [int(side[cluster.number]) for side in counts] for cluster in clusters
    ]
    p, q = (side / N for side in counts)
    with np.errstate(all="ignore"):
        between = np.where(p == q, p, p * q / (p - q) * np.log(p / q))
    terms = (p + q) / 2 - np.where((p == 0) | (q == 0), 0, between)
    assert len(clusters) == np.count_nonzero(p != q)
    assert [cluster.number for cluster in clusters] == np.argsort(-terms, kind="stable")[: len(clusters)].tolist()
    shown = carried_out(done.plan, done.folder)["model"].scores["mauve"].values
    assert shown[seed] == sorted(shown)[(len(shown) - 1) // 2]


def test_nearest_texts_are_those_of_a_sort(done: Work) -> None:
    seed, clusters = kept_clusters(done, "model")
    for source in (HUMAN, "model"):
        rows = rows_of(done.plan, source)
        _, labels, away = in_memory(done, source, seed)
        for cluster in clusters:
            kept = dict(sides_of(cluster))[source]
            own = np.flatnonzero(labels == cluster.number)
            nearest = sorted(away[own])[:NEAREST]
            distance_of = dict(zip((rows[row]["id"] for row in own), away[own], strict=True))
            assert [distance_of[text.id] for text in kept.nearest] == pytest.approx(nearest, abs=1e-6)
            texts = {row["id"]: (row["prompt"], row["text"]) for row in rows}
            assert all(texts[text.id] == (text.prompt, text.text) for text in (*kept.nearest, *kept.random))


def test_random_texts_are_those_with_the_lowest_numbers(done: Work) -> None:
    seed, clusters = kept_clusters(done, "model")
    key = mixed(np.array([SCORE.seed], dtype=np.uint64))
    most = 0
    for source in (HUMAN, "model"):
        rows = rows_of(done.plan, source)
        ids, prompts = (digests_of(tuple(row[field] for row in rows)) for field in ("id", "prompt"))
        numbers = mixed(ids ^ mixed(prompts ^ key))
        labels = in_memory(done, source, seed)[1]
        for cluster in clusters:
            own = np.flatnonzero(labels == cluster.number)
            expected = own[np.argsort(numbers[own])][:RANDOM]
            kept = dict(sides_of(cluster))[source]
            assert [text.id for text in kept.random] == [rows[row]["id"] for row in expected]
            most = max(most, len(own))
    assert most > 2 * RANDOM


def test_every_row_is_as_likely_as_any_other() -> None:
    """Over many seeds, each of 300 rows is drawn as often as others; so are the rows of each shard."""
    ids = digests_of(tuple(f"text {number}" for number in range(300)))
    prompts = digests_of(tuple(f"prompt {number // 3}" for number in range(300)))
    times, draws, size = np.zeros(300), 600, 60
    for seed in range(draws):
        numbers = mixed(ids ^ mixed(prompts ^ mixed(np.array([seed], dtype=np.uint64))))
        zeros = np.zeros(300, dtype=np.int64)
        rows = Rows(zeros, np.zeros(300), numbers, zeros, np.arange(300))
        times[Rows.none().with_more(rows, size, nearest=False).row] += 1
    expected = draws * size / 300
    statistic = ((times - expected) ** 2).sum() / (expected * (1 - size / 300))
    assert chi2.ppf(1e-4, 299) < statistic < chi2.ppf(1 - 1e-4, 299)


def test_rows_that_no_number_tells_apart_are_kept_once() -> None:
    """A text that stands a thousand times would otherwise be all that is read."""
    numbers = np.array([5, 5, 5, 9, 9, 7], dtype=np.uint64)
    shards, row = np.array([1, 0, 0, 0, 0, 0]), np.array([0, 4, 3, 1, 2, 6])
    rows = Rows(np.zeros(6, dtype=np.int64), np.array([2.0, 2, 2, 1, 0.5, 3]), numbers, shards, row)
    random = Rows.none().with_more(rows, 2, nearest=False)
    assert list(zip(random.shard, random.row, strict=True)) == [(0, 3), (0, 6)]
    nearest = Rows.none().with_more(rows, 3, nearest=True)
    assert list(zip(nearest.shard, nearest.row, strict=True)) == [(0, 2), (0, 3), (0, 6)]


def test_the_first_rows_do_not_depend_on_who_comes_first() -> None:
    rng = np.random.default_rng(0)
    n = 500
    rows = Rows(
        rng.integers(0, 4, n),
        rng.random(n),
        rng.integers(0, 300, n).astype(np.uint64),
        rng.integers(0, 9, n),
        np.arange(n),
    )
    for nearest in (False, True):
        whole = Rows.none().with_more(rows, 7, nearest=nearest)
        apart = Rows.none()
        for part in np.array_split(rng.permutation(n), 11):
            apart = apart.with_more(Rows.none().with_more(rows.at(part), 7, nearest=nearest), 7, nearest=nearest)
        for one, other in zip(whole, apart, strict=True):
            np.testing.assert_array_equal(one, other)
        assert np.bincount(whole.place).tolist() == [7] * 4


def test_random_texts_do_not_depend_on_the_shards(done: Work, planned: Callable[[int], Plan], folder: Path) -> None:
    carried_out(planned(7), folder / "seven")
    (seed, ours), (other_seed, theirs) = (kept_clusters(work, "model") for work in (done, Work.open(folder / "seven")))
    assert seed == other_seed
    for one, other in zip(ours, theirs, strict=True):
        assert one.number == other.number
        for (_, mine), (_, yours) in zip(sides_of(one), sides_of(other), strict=True):
            assert (mine.n, mine.effect, mine.random) == (yours.n, yours.effect, yours.random)
        assert one.phrases.phrases == other.phrases.phrases
        np.testing.assert_array_equal(one.phrases.texts, other.phrases.texts)


@pytest.mark.trial
def test_what_is_kept_is_equal_for_any_number_of_workers_and_parts(
    done: Work, planned: Callable[[int], Plan], tmp_path: Path
) -> None:
    expected = clusters_over_all(done).digest()
    for workers in (1, 2):
        carried_out(done.plan, tmp_path / str(workers), workers)
        assert clusters_over_all(Work.open(tmp_path / str(workers))).digest() == expected
    for part in ((1, 2), (0, 2)):
        work = Work.begin(tmp_path / "parts", done.plan)
        Inline(part[0]).run(work.folder, remaining(encode_tasks(work, part=part)), lambda task, memory: None)
    carried_out(done.plan, tmp_path / "parts")
    assert clusters_over_all(Work.open(tmp_path / "parts")).digest() == expected


def test_what_is_finished_is_not_read_again(done: Work, tmp_path: Path) -> None:
    lost = "partitions/00001/kept/00001/00002.json"
    shutil.copytree(done.root, tmp_path / "work")
    expected = clusters_over_all(done).digest()
    next((tmp_path / "work").glob(f"*/*/{lost}")).unlink()
    again = carried_out(done.plan, tmp_path / "work")
    assert sum(one.tasks - one.done_before for one in again.passes) == 1
    work = Work.open(tmp_path / "work")
    assert clusters_over_all(work).digest() == expected
    total_path(work, "model").unlink()
    again = carried_out(done.plan, tmp_path / "work")
    assert {one.name for one in again.passes if one.tasks > one.done_before} == {"count"}
    assert clusters_over_all(work).digest() == expected


def test_a_shard_that_has_vanished_is_named_and_nothing_is_lost(
    planned: Callable[[int], Plan], done: Work, folder: Path, tmp_path: Path
) -> None:
    plan = planned(4)
    shard = Path(plan.sides["model"][2])

    def vanish(name: str, ready: int, total: int) -> None:
        if name == "label" and ready == total and shard.exists():
            shard.rename(tmp_path / "away.jsonl")

    work = Work.begin(tmp_path / "work", plan)
    found = compare_shards(work, Inline(), progress=vanish)
    assert found.texts_missing.startswith(f"The shard {shard} cannot be read")
    for ours, theirs in zip(kept_clusters(done, "model")[1], kept_clusters(work, "model")[1], strict=True):
        assert (ours.number, ours.human.n, ours.model.n) == (theirs.number, theirs.human.n, theirs.model.n)
        assert theirs.human.random == theirs.human.nearest == theirs.model.random == ()
    shutil.move(tmp_path / "away.jsonl", shard)
    again = carried_out(plan, tmp_path / "work")
    assert not again.texts_missing
    assert again.digest() == found.digest()
    assert [one.name for one in again.passes if one.tasks > one.done_before] == ["fetch", "count"]
    ours, theirs = (kept_clusters(work, "model")[1] for work in (done, Work.open(tmp_path / "work")))
    assert [one.human.random for one in ours] == [one.human.random for one in theirs]


def test_texts_of_a_shard_that_is_another_one_are_not_taken(planned: Callable[[int], Plan], tmp_path: Path) -> None:
    plan = dataclasses.replace(planned(5), stamps={})
    carried_out(plan, tmp_path / "work")
    shutil.rmtree(Work.open(tmp_path / "work").folder / "fetched")
    shard = Path(plan.sides[HUMAN][1])
    lines = shard.read_text().splitlines()
    shard.write_text("".join(f"{line}\n" for line in [lines[0], *lines]))
    found = carried_out(plan, tmp_path / "work")
    assert f"{shard} is not the one that was encoded" in found.texts_missing


def test_rows_that_are_left_out_do_not_shift_the_others(tmp_path: Path) -> None:
    """Rows are counted as when they were encoded: without those that have no text."""
    sides = made_texts()
    for rows in sides.values():
        for place in range(0, len(rows), 7):
            rows.insert(place, {"id": f"none-{place}", "prompt": "Nothing.", "text": "  "})
    places = written_texts(tmp_path / "in", sides, 2)
    encoder = EncoderConfig(str(by_topic(tmp_path / "words.txt")))
    plan = plan_of(places[HUMAN], {"model": places["model"]}, encoder=encoder, score=SCORE)
    found = carried_out(plan, tmp_path / "work")
    assert found.sides[0].left_out
    clusters = kept_clusters(Work.open(tmp_path / "work"), "model")[1]
    texts = {row["id"]: row["text"] for rows in sides.values() for row in rows}
    kept = [text for cluster in clusters for _, side in sides_of(cluster) for text in (*side.nearest, *side.random)]
    assert all(texts[text.id] == text.text for text in kept)
    assert sum(len(side.random) for cluster in clusters for _, side in sides_of(cluster)) == 480


def parquet(path: Path, n: int, group: int, empty: int | None = None) -> Path:
    rows = [{"id": f"{row}", "prompt": f"Prompt {row}", "text": f"Text {row}"} for row in range(n)]
    if empty is not None:
        rows[empty]["text"] = ""
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=group)
    return path


@pytest.mark.parametrize("group", [50, 3000])
@pytest.mark.parametrize("empty", [None, 1])
def test_texts_at_rows_are_those_that_a_whole_shard_gives(tmp_path: Path, group: int, empty: int | None) -> None:
    shard = str(parquet(tmp_path / "a.parquet", 5000, group, empty))
    tally = Tally()
    ids = [one for found in texts_of(shard, Named(), tally) for one in found.ids]
    rng = np.random.default_rng(group)
    for rows in ([0], [4998], [0, 1023, 1024, 2999, 3000], sorted(rng.choice(4999, 40, replace=False).tolist())):
        found = texts_at(shard, Named(), rows, complete=not tally.left_out)
        assert [found[row].id for row in rows] == [ids[row] for row in rows]
        assert [found[row].text for row in rows] == [f"Text {ids[row]}" for row in rows]
    assert not texts_at(shard, Named(), [5000], complete=not tally.left_out)


def test_long_texts_are_cut_and_say_so(tmp_path: Path) -> None:
    sides = made_texts(60)
    for row in sides["model"]:
        row["text"] += " word" * MOST_CHARACTERS
        row["prompt"] *= 1000
    places = written_texts(tmp_path / "in", sides, 2)
    encoder = EncoderConfig(str(by_topic(tmp_path / "words.txt")))
    score = dataclasses.replace(SCORE, k=4)
    carried_out(plan_of(places[HUMAN], {"model": places["model"]}, encoder=encoder, score=score), tmp_path / "work")
    for cluster in kept_clusters(Work.open(tmp_path / "work"), "model")[1]:
        for text in cluster.model.random:
            assert (len(text.text), len(text.prompt or ""), text.cut) == (MOST_CHARACTERS, MOST_CHARACTERS, True)
        assert not any(text.cut for text in cluster.human.random)


def test_prompts_that_make_texts_alike_widen_intervals() -> None:
    """Beside resampled groups: five equal texts of each prompt have five times the variance."""
    rng = np.random.default_rng(3)
    counts = np.zeros((400, 3), dtype=np.int64)
    counts[np.arange(400), rng.integers(0, 2, 400)] = rng.integers(3, 8, 400)
    drawn = counts[rng.integers(0, 400, (4000, 400))].sum(axis=1)
    shares = drawn / drawn.sum(axis=1, keepdims=True)
    share = counts.sum(axis=0) / counts.sum()
    alone = share * (1 - share) / counts.sum()
    effects = design_effects(counts)
    assert effects[:2] == pytest.approx(shares.var(axis=0)[:2] / alone[:2], rel=0.1)
    assert 4 < effects[0] < 7
    assert effects[2] == 1
    singles = np.eye(3, dtype=np.int64)[rng.integers(0, 3, 900)]
    assert design_effects(singles) == pytest.approx(np.ones(3), abs=0.01)


def test_features_give_counts_without_texts(made_up: MadeUp, tmp_path: Path) -> None:
    found = made_up.compared(tmp_path / "work")
    assert {"keep", "fetch", "count"}.isdisjoint(one.name for one in found.passes)
    clusters = clusters_over_all(Work.open(tmp_path / "work"))
    own = clusters["model"].clusters
    assert sum(cluster.human.n for cluster in own) == found.sides[0].n
    assert not any(cluster.human.sampled or cluster.model.phrases for cluster in own)
    assert own[0].name == f"cluster {own[0].number}"


# Phrases


def texts_of_cluster(work: Work, source: str, seed: int, number: int) -> list[str]:
    """Texts of a side of a cluster, by the labels of all rows."""
    shards = range(len(work.plan.sides[source]))
    labels = np.concatenate([np.load(labels_path(work, "model", source, index))[seed] for index in shards])
    return [row["text"] for row, label in zip(rows_of(work.plan, source), labels, strict=True) if label == number]


def test_counts_of_phrases_are_those_of_all_texts(done: Work) -> None:
    seed, clusters = kept_clusters(done, "model")
    larger = 0
    for cluster in clusters:
        sides = [texts_of_cluster(done, source, seed, cluster.number) for source in (HUMAN, "model")]
        assert [len(side) for side in sides] == [cluster.human.n, cluster.model.n]
        random = [[text.text for text in side.random] for side in (cluster.human, cluster.model)]
        having = [Counter(phrase for text in side for phrase in phrases_in(text)) for side in random]
        phrases, texts = cluster.phrases
        assert phrases == sorted(phrase for phrase in {*having[0], *having[1]} if max(h[phrase] for h in having) >= 2)
        for side, counts in zip(sides, texts, strict=True):
            every = Counter(phrase for text in side for phrase in phrases_in(text))
            assert counts.tolist() == [every[phrase] for phrase in phrases]
        larger += max(map(len, sides)) > 2 * RANDOM
    assert larger


def test_phrases_that_are_shown_tell_the_sides_apart(done: Work) -> None:
    """In all clusters of both sides: the habit, with the number of all texts that have it."""
    seed, _ = kept_clusters(done, "model")
    both = [one for one in clusters_over_all(done)["model"].clusters if one.human.n and one.model.n]
    assert both
    for cluster in both:
        texts = texts_of_cluster(done, "model", seed, cluster.number)
        (shown,) = [phrase for phrase in cluster.model.phrases if phrase.text == "needless to say"]
        assert (shown.human, shown.model) == (0, sum("Needless to say" in text for text in texts))


def test_a_cluster_whose_texts_are_all_read_has_the_phrases_of_a_comparison_in_memory(
    done: Work, tmp_path: Path
) -> None:
    rows = {side: own[:300] for side, own in made_texts(N).items()}
    for number, row in enumerate(rows["model"]):
        row["text"] += " after all" * (number % 2)
    places = written_texts(tmp_path / "in", rows, 2)
    plan = plan_of(places[HUMAN], {"model": places["model"]}, encoder=done.plan.encoder, score=SCORE)
    carried_out(plan, tmp_path / "work")
    work, found = Work.open(tmp_path / "work"), 0
    seed, clusters = kept_clusters(work, "model")
    for cluster in clusters:
        if not 0 < min(cluster.human.n, cluster.model.n) <= max(cluster.human.n, cluster.model.n) <= RANDOM:
            continue
        sides = [texts_of_cluster(work, source, seed, cluster.number) for source in (HUMAN, "model")]
        expected = distinctive_phrases(*sides, stop_words=stop_words())
        phrases, texts = cluster.phrases
        chosen = distinctive_of_counts(phrases, texts, (len(sides[0]), len(sides[1])), stop_words=stop_words())
        for own, (columns, described) in enumerate(zip(chosen, expected, strict=True)):
            assert [phrases[at] for at in columns] == [each.text for each in described]
            assert texts[own, columns].tolist() == [each.texts for each in described]
            assert texts[1 - own, columns].tolist() == [each.other_texts for each in described]
            found += len(columns)
    assert found


def test_prompts_that_make_texts_alike_leave_fewer_phrases() -> None:
    """With a design effect, differences as large are less sure."""
    texts, sizes = np.array([[60, 30], [30, 60]]), (400, 400)
    assert distinctive_of_counts(["a", "b"], texts, sizes) == ([0], [1])
    assert distinctive_of_counts(["a", "b"], texts, sizes, effects=(8.0, 8.0)) == ([], [])
    assert distinctive_of_counts([], np.zeros((2, 0), dtype=np.int64), sizes) == ([], [])


def test_texts_of_two_prompts_propose_a_phrase(done: Work, tmp_path: Path) -> None:
    work = Work.begin(tmp_path / "work", done.plan)
    human = [("one", "only here"), ("one", "only here"), ("two", "a garden")]
    model = [("one", "a garden"), ("id 7", "this garden"), ("id 8", "of mine")]
    propose(work, "model", [[human, model], [[], []]])
    assert proposed(work, "model") == [["garden"], []]


def test_sides_that_are_equal_have_no_clusters_and_a_score_of_one(done: Work, tmp_path: Path) -> None:
    plan = dataclasses.replace(done.plan, sides={HUMAN: done.plan.sides[HUMAN], "same": done.plan.sides[HUMAN]})
    found = carried_out(plan, tmp_path / "work")
    assert not found.texts_missing
    assert found["same"].scores["mauve"].mean == 1
    assert next(each.tasks for each in found.passes if each.name == "encode") == len(done.plan.sides[HUMAN])
    assert clusters_over_all(Work.open(tmp_path / "work"))["same"].clusters == ()
