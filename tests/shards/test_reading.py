"""Further texts of a cluster over all texts: page by page beside a plain sort over all rows in memory."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.shards import cluster_texts
from mauve_core.shards.cluster_texts import RANDOM, chosen_clusters, rows_of_cluster, texts_of_cluster
from mauve_core.shards.clustering import labels_path
from mauve_core.shards.comparison import kept_clusters
from mauve_core.shards.encoding import mixed
from mauve_core.shards.places import DamagedError
from mauve_core.shards.plan import Plan, Work, plan_of
from mauve_core.shards.texts import digests_of
from tests.sharded import SCORE, carried_out, made_texts, written_texts
from tests.word_files import by_topic

pytestmark = pytest.mark.integration

N = 900
# Texts of the model side that stand twice, with the same id and prompt.
TWICE = 40

SHARDS = (1, 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reading")


@pytest.fixture(scope="module")
def planned(folder: Path) -> Callable[[int], Plan]:
    """Plans of the same texts in any number of shards."""
    words, rows = by_topic(folder / "words.txt"), made_texts(N)
    rows["model"] += rows["model"][:TWICE]

    def plan(shards: int) -> Plan:
        if not (folder / f"in-{shards}").exists():
            written_texts(folder / f"in-{shards}", rows, shards)
        human, model = (folder / f"in-{shards}" / name for name in (HUMAN, "model"))
        score = dataclasses.replace(SCORE, k=5)
        return plan_of(human, {"model": model}, encoder=EncoderConfig(str(words)), score=score)

    return plan


@pytest.fixture(scope="module")
def done(planned: Callable[[int], Plan], folder: Path) -> Callable[[int], Work]:
    """Finished comparisons of these texts."""

    def work(shards: int) -> Work:
        carried_out(planned(shards), folder / f"work-{shards}")
        return Work.open(folder / f"work-{shards}")

    return work


def in_order(work: Work, source: str, seed: int, cluster: int) -> list[str]:
    """Ids of a side of a cluster in the order of their numbers, each once: all rows are read and sorted in memory."""
    rows = [json.loads(line) for shard in work.plan.sides[source] for line in Path(shard).read_text().splitlines()]
    ids, prompts = (digests_of(tuple(row[field] for row in rows)) for field in ("id", "prompt"))
    numbers = mixed(ids ^ mixed(prompts ^ mixed(np.array([work.plan.score.seed], dtype=np.uint64))))
    shards = range(len(work.plan.sides[source]))
    labels = np.concatenate([np.load(labels_path(work, "model", source, index))[seed] for index in shards])
    own = sorted(np.flatnonzero(labels == cluster).tolist(), key=lambda row: (numbers[row], row))
    return list(dict.fromkeys(rows[row]["id"] for row in own))


def test_pages_are_the_whole_order_without_repeats(done: Callable[[int], Work]) -> None:
    work = done(3)
    seed, clusters = kept_clusters(work, "model")
    sizes, twice = [], 0
    for cluster in clusters[:3]:
        for source, kept in ((HUMAN, cluster.human), ("model", cluster.model)):
            expected = in_order(work, source, seed, cluster.number)
            pages = [
                texts_of_cluster(work, "model", source, cluster.number, first, 60)
                for first in range(0, len(expected) + 60, 60)
            ]
            texts = [text for page in pages for text in page]
            assert [text.id for text in texts] == expected
            assert tuple(texts[:RANDOM]) == kept.random
            assert [len(page) for page in pages[:-2]] == [60] * (len(pages) - 2)
            assert pages[-1] == ()
            sizes.append(len(texts))
            twice += kept.n - len(texts)
    assert max(sizes) > 2 * RANDOM
    assert twice


def test_pages_do_not_depend_on_the_shards(done: Callable[[int], Work]) -> None:
    first, *others = (
        [texts_of_cluster(work, "model", "model", each.number, 130, 20) for each in kept_clusters(work, "model")[1]]
        for work in map(done, SHARDS)
    )
    assert any(len(page) == 20 for page in first)
    assert all(other == first for other in others)


def test_rows_are_looked_at_in_blocks(done: Callable[[int], Work], monkeypatch: pytest.MonkeyPatch) -> None:
    work = done(3)
    number = largest(work)
    whole = rows_of_cluster(work, "model", "model", number, 70)
    monkeypatch.setattr(cluster_texts, "ROWS_AT_ONCE", 37)
    for one, other in zip(whole, rows_of_cluster(work, "model", "model", number, 70), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(whole.row) == 70


def largest(work: Work) -> int:
    """The number of the cluster with most of the model's texts."""
    return max(chosen_clusters(work, "model").clusters, key=lambda each: each[2])[0]


def test_a_shard_that_has_vanished_or_changed_is_named(planned: Callable[[int], Plan], tmp_path: Path) -> None:
    plan = planned(4)
    carried_out(plan, tmp_path / "work")
    work = Work.open(tmp_path / "work")
    number = largest(work)
    shard = Path(plan.sides["model"][1])
    content = shard.read_text()
    shard.unlink()
    with pytest.raises(InputError, match="cannot be read") as vanished:
        texts_of_cluster(work, "model", "model", number, 0, 60)
    shard.write_text(content + content)
    with pytest.raises(InputError, match="was written anew") as changed:
        texts_of_cluster(work, "model", "model", number, 0, 60)
    assert all(str(shard) in str(each.value) for each in (vanished, changed))


def test_a_work_folder_that_is_not_complete_is_said(done: Callable[[int], Work], tmp_path: Path) -> None:
    work = done(3)
    number = largest(work)
    shutil.copytree(work.root, tmp_path / "work")
    for path in (tmp_path / "work").glob("encoded/*.npz"):
        path.write_bytes(path.read_bytes()[:40])
    own = Work.open(tmp_path / "work")
    with pytest.raises(DamagedError, match=r"encoded/.*\.npz is damaged or missing: .* repeat the command") as caught:
        texts_of_cluster(own, "model", "model", number, 20, 20)
    assert str(own.root) in str(caught.value)
