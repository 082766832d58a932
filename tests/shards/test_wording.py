"""Phrases of clusters over all texts: beside plain counts over all texts in memory, however they are divided."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mauve_core.analysis.phrases import distinctive_of_counts, distinctive_phrases
from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.corpus.phrases import phrases_in
from mauve_core.corpus.text_properties import stop_words
from mauve_core.experiments.clusters_over_shards import clusters_over_all
from mauve_core.shards.clustering import labels_path
from mauve_core.shards.collecting import kept_clusters
from mauve_core.shards.compare import compare_shards, plan_of
from mauve_core.shards.keepsakes import MOST_CHARACTERS, RANDOM
from mauve_core.shards.plan import Plan, Work
from mauve_core.shards.wording import counted_folder, propose, proposed, total_path
from tests.sharded import SCORE, Inline, carried_out, made_texts, written_texts
from tests.word_files import by_topic

N = 2400
CANDIDATES = ("ours", "theirs")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wording")


@pytest.fixture(scope="module")
def planned(folder: Path) -> Callable[[int], Plan]:
    """Plans of the same texts in any number of shards, in which one candidate has a habit, and one repeats itself."""
    words, made = by_topic(folder / "words.txt"), made_texts(N)
    habit = [{**row, "text": f"{row['text']} Needless to say"} if n % 3 else row for n, row in enumerate(made["model"])]
    again = [{**row, "text": f"{row['text']} {row['text']}"} for row in made["model"]]
    rows = {HUMAN: made[HUMAN], "ours": habit, "theirs": again}

    def plan(shards: int) -> Plan:
        places = written_texts(folder / f"in-{shards}", rows, shards)
        others = {name: places[name] for name in CANDIDATES}
        return plan_of(places[HUMAN], others, encoder=EncoderConfig(str(words)), score=SCORE)

    return plan


@pytest.fixture(scope="module")
def done(planned: Callable[[int], Plan], folder: Path) -> Work:
    """A finished comparison of texts in three shards a side."""
    carried_out(planned(3), folder / "work")
    return Work.open(folder / "work")


def texts_of_cluster(work: Work, candidate: str, source: str, seed: int, number: int) -> list[str]:
    found = []
    for index, shard in enumerate(work.plan.sides[source]):
        labels = np.load(labels_path(work, candidate, source, index))[seed]
        lines = Path(shard).read_text().splitlines()
        found += [json.loads(line)["text"] for line, label in zip(lines, labels, strict=True) if label == number]
    return found


@pytest.mark.parametrize("candidate", CANDIDATES)
def test_counts_are_those_of_all_texts(done: Work, candidate: str) -> None:
    seed, clusters = kept_clusters(done, candidate)
    larger = 0
    for cluster in clusters:
        sides = [texts_of_cluster(done, candidate, source, seed, cluster.number) for source in (HUMAN, candidate)]
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
    seed, _ = kept_clusters(done, "ours")
    both = [one for one in clusters_over_all(done)["ours"].clusters if one.human.n and one.model.n]
    assert both
    for cluster in both:
        texts = texts_of_cluster(done, "ours", "ours", seed, cluster.number)
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
        sides = [texts_of_cluster(work, "model", source, seed, cluster.number) for source in (HUMAN, "model")]
        expected = distinctive_phrases(*sides, stop_words=stop_words())
        phrases, texts = cluster.phrases
        chosen = distinctive_of_counts(phrases, texts, (len(sides[0]), len(sides[1])), stop_words=stop_words())
        for own, (columns, described) in enumerate(zip(chosen, expected, strict=True)):
            assert [phrases[at] for at in columns] == [each.text for each in described]
            assert texts[own, columns].tolist() == [each.texts for each in described]
            assert texts[1 - own, columns].tolist() == [each.other_texts for each in described]
            found += len(columns)
    assert found


def test_texts_of_two_prompts_propose_a_phrase(done: Work, tmp_path: Path) -> None:
    work = Work.begin(tmp_path / "work", done.plan)
    human = [("one", "only here"), ("one", "only here"), ("two", "a garden")]
    model = [("one", "a garden"), ("id 7", "this garden"), ("id 8", "of mine")]
    propose(work, "ours", [[human, model], [[], []]])
    assert proposed(work, "ours") == [["garden"], []]


def test_the_first_whole_words_of_long_texts_propose_phrases(done: Work, tmp_path: Path) -> None:
    rows = {side: own[:60] for side, own in made_texts(N).items()}
    for row in rows["model"]:
        row["text"] += " again" * MOST_CHARACTERS + " at last"
    for row in rows[HUMAN]:
        row["text"] += "。常有" * MOST_CHARACTERS
    places = written_texts(tmp_path / "in", rows, 2)
    score = dataclasses.replace(SCORE, k=4)
    plan = plan_of(places[HUMAN], {"model": places["model"]}, encoder=done.plan.encoder, score=score)
    carried_out(plan, tmp_path / "work")
    _, clusters = kept_clusters(Work.open(tmp_path / "work"), "model")
    found = {phrase for cluster in clusters for phrase in cluster.phrases.phrases}
    assert "again again" in found
    assert {"at last", "again agai", "again ag", "again a"}.isdisjoint(found)
    assert "常有 常有" in found


def test_prompts_that_make_texts_alike_leave_fewer_phrases(done: Work) -> None:
    """With a design effect, differences as large are less sure."""
    texts, sizes = np.array([[60, 30], [30, 60]]), (400, 400)
    assert distinctive_of_counts(["a", "b"], texts, sizes) == ([0], [1])
    assert distinctive_of_counts(["a", "b"], texts, sizes, effects=(8.0, 8.0)) == ([], [])
    assert distinctive_of_counts([], np.zeros((2, 0), dtype=np.int64), sizes) == ([], [])


def test_phrases_do_not_depend_on_the_shards_or_on_workers(
    done: Work, planned: Callable[[int], Plan], folder: Path
) -> None:
    expected = [kept_clusters(done, name)[1] for name in CANDIDATES]
    carried_out(planned(7), folder / "seven")
    for name, clusters in zip(CANDIDATES, expected, strict=True):
        for one, other in zip(clusters, kept_clusters(Work.open(folder / "seven"), name)[1], strict=True):
            assert one.phrases.phrases == other.phrases.phrases
            np.testing.assert_array_equal(one.phrases.texts, other.phrases.texts)
    carried_out(done.plan, folder / "two", 2)
    assert clusters_over_all(Work.open(folder / "two")).digest() == clusters_over_all(done).digest()


def test_a_shard_that_vanishes_before_it_is_counted_leaves_texts_without_phrases(
    planned: Callable[[int], Plan], folder: Path, tmp_path: Path
) -> None:
    plan = planned(4)
    shard = Path(plan.sides["theirs"][3])

    def vanish(name: str, ready: int, total: int) -> None:
        if name == "fetch" and ready == total and shard.exists():
            shutil.move(shard, tmp_path / "away.jsonl")

    work = Work.begin(tmp_path / "work", plan)
    found = compare_shards(work, Inline(), progress=vanish)
    assert found.texts_missing.startswith(f"The shard {shard} cannot be read")
    for cluster in clusters_over_all(work)["ours"].clusters:
        assert cluster.human.random
        assert not cluster.model.phrases
    shutil.move(tmp_path / "away.jsonl", shard)
    again = carried_out(plan, tmp_path / "work")
    assert not again.texts_missing
    assert [(one.name, one.tasks - one.done_before) for one in again.passes if one.tasks > one.done_before] == [
        ("count", 1)
    ]


def test_counts_of_shards_go_when_they_are_added_up_and_nothing_is_counted_again(
    planned: Callable[[int], Plan], tmp_path: Path
) -> None:
    plan = planned(2)
    carried_out(plan, tmp_path / "work")
    work = Work.open(tmp_path / "work")
    expected = clusters_over_all(work).digest()
    assert not counted_folder(work).exists()
    again = carried_out(plan, tmp_path / "work")
    assert sum(one.tasks - one.done_before for one in again.passes) == 0
    total_path(work, "theirs").unlink()
    again = carried_out(plan, tmp_path / "work")
    assert [(one.name, one.tasks) for one in again.passes if one.tasks > one.done_before] == [("count", 6)]
    assert clusters_over_all(work).digest() == expected


def test_sides_that_are_equal_have_no_clusters_and_no_phrases(done: Work, tmp_path: Path) -> None:
    plan = dataclasses.replace(done.plan, sides={HUMAN: done.plan.sides[HUMAN], "same": done.plan.sides[HUMAN]})
    found = carried_out(plan, tmp_path / "work")
    assert not found.texts_missing
    assert clusters_over_all(Work.open(tmp_path / "work"))["same"].clusters == ()


def test_a_shard_that_is_another_one_is_not_counted(planned: Callable[[int], Plan], tmp_path: Path) -> None:
    plan = dataclasses.replace(planned(5), stamps={})
    carried_out(plan, tmp_path / "work")
    total_path(Work.open(tmp_path / "work"), "ours").unlink()
    shard = Path(plan.sides["ours"][2])
    kept = shard.read_text()
    for other in (kept.replace("Needless", "Needful"), kept + kept.splitlines()[0] + "\n", ""):
        shard.write_text(other)
        found = carried_out(plan, tmp_path / "work")
        assert f"{shard} is not the one that was encoded" in found.texts_missing
    shard.write_text(kept)
    assert not carried_out(plan, tmp_path / "work").texts_missing
