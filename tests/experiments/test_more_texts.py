"""Where further texts of a run's clusters over all texts are found: by a note of this machine, never by the run."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from mauve_core.analyses.over_shards import (
    CandidateOverAll,
    SideOverAll,
    clusters_over_all,
    find_work,
    may_have_more,
    store_sample,
    stored_clusters_over_all,
    stored_over_shards,
)
from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import StorageError
from mauve_core.base.files import PARTS
from mauve_core.runs import Run
from mauve_core.shards.cluster_texts import RANDOM, texts_of_cluster
from mauve_core.shards.plan import (
    MOST_BYTES,
    NOTES,
    Note,
    Plan,
    ShardedComparison,
    Work,
    notes_of,
    notes_path,
    plan_of,
    take_note,
)
from tests.sharded import SCORE, carried_out, made_texts, written_texts
from tests.word_files import by_topic

pytestmark = pytest.mark.integration


class Stored(NamedTuple):
    """A run, where it was made, and what it keeps of all texts."""

    run: Run
    work: Work
    found: ShardedComparison
    own: CandidateOverAll


def kept_by(run: Run) -> tuple[ShardedComparison, CandidateOverAll]:
    found, clusters = stored_over_shards(run), stored_clusters_over_all(run)
    assert found is not None
    assert clusters is not None
    return found, clusters["model"]


@pytest.fixture
def planned(tmp_path: Path) -> Callable[..., Plan]:
    places = written_texts(tmp_path / "in", made_texts(), 2)
    encoder = EncoderConfig(str(by_topic(tmp_path / "words.txt")))

    def plan(seed: int = 0, model: str = "model") -> Plan:
        score = dataclasses.replace(SCORE, k=4, seed=seed)
        return plan_of(places[HUMAN], {model: places["model"]}, encoder=encoder, score=score, run_texts=60)

    return plan


@pytest.fixture
def stored(planned: Callable[..., Plan], tmp_path: Path) -> Stored:
    carried_out(planned(), tmp_path / "work")
    work = Work.open(tmp_path / "work")
    run = store_sample(
        "over shards", work, carried_out(work.plan, work.folder), clusters_over_all(work), projection=False
    )
    return Stored(run, work, *kept_by(run))


def test_a_stored_run_finds_its_work_folder_and_names_none(stored: Stored, own_home: Path) -> None:
    work = find_work(stored.found, stored.own)
    assert isinstance(work, Work)
    assert work.folder == stored.work.folder
    cluster = stored.own.clusters[0]
    for source, side in ((HUMAN, cluster.human), ("model", cluster.model)):
        assert texts_of_cluster(work, "model", source, cluster.number, 0, len(side.random)) == side.random
    assert NOTES in PARTS
    assert notes_path(stored.found).parent == own_home / NOTES
    assert notes_path(stored.found).stat().st_mode & 0o077 == 0
    documents = [path.read_bytes() for path in stored.run.path.rglob("*.json")]
    assert not any(str(stored.work.root).encode() in document for document in documents)


def test_a_note_that_leads_to_another_comparison_is_not_followed(
    stored: Stored, planned: Callable[..., Plan], tmp_path: Path
) -> None:
    other: dict[str, object] = {"seed": 1}
    carried_out(planned(**other), tmp_path / "other")
    take_note(Work.open(tmp_path / "other"), stored.found, stored.run.id)
    found = find_work(stored.found, stored.own)
    assert isinstance(found, Work)  # the note before it still holds
    assert found.folder == stored.work.folder
    shutil.rmtree(stored.work.root)
    found = find_work(stored.found, stored.own)
    assert isinstance(found, str)
    assert f"{Work.open(tmp_path / 'other').folder} is the work folder of another comparison" in found


def test_clusters_that_are_not_those_of_the_comparison_are_not_looked_up(stored: Stored) -> None:
    """As where a run was changed and kept the scores of another."""
    first, *others = stored.own.clusters
    number = dataclasses.replace(first, number=max(each.number for each in stored.own.clusters) + 1)
    count = dataclasses.replace(first, human=dataclasses.replace(first.human, n=first.human.n + 1))
    for clusters in ((number, *others), (count, *others), tuple(others)):
        assert isinstance(find_work(stored.found, dataclasses.replace(stored.own, clusters=clusters)), str)
    assert isinstance(find_work(stored.found, dataclasses.replace(stored.own, seed=1 - stored.own.seed)), str)
    fewer = tuple(dataclasses.replace(side, n=side.n - 1) for side in stored.found.sides)
    assert notes_of(dataclasses.replace(stored.found, sides=fewer)) == ()


def test_a_damaged_note_or_work_folder_is_said(stored: Stored) -> None:
    for content in (
        "",
        "{}",
        "[3]",
        '[{"folder": "/tmp"}]',
        '[{"folder": 3, "run": "a"}]',
        '[{"folder": "relative", "run": "a"}]',
        "[" * 5000,
        json.dumps([{"folder": "/" * MOST_BYTES, "run": "a"}]),
    ):
        notes_path(stored.found).write_text(content)
        with pytest.raises(StorageError, match=r"The note .* of a work folder cannot be read") as caught:
            find_work(stored.found, stored.own)
        assert "Remove it, then repeat the command" in str(caught.value)
        take_note(stored.work, stored.found, stored.run.id)
        assert notes_of(stored.found) == (Note(stored.work.folder, stored.run.id),)
    chosen, plan = stored.work.folder / "partitions/00001/chosen.npz", stored.work.folder / "plan.json"
    for path, damage in ((chosen, b"PK"), (plan, b"{}")):
        path.write_bytes(damage)
        found = find_work(stored.found, stored.own)
        assert isinstance(found, str)
        assert "More texts cannot be read: " in found


@pytest.mark.parametrize(
    ("n", "sampled", "kept", "more"),
    [(0, 0, 0, False), (1, 1, 1, False), (20, 20, 20, False), (21, 21, 20, True), (900, 20, 20, False),
     (900, 21, 20, True), (900, RANDOM, 20, True), (900, 0, 0, False)],
)  # fmt: skip
def test_equal_texts_are_not_promised(n: int, sampled: int, kept: int, more: bool) -> None:
    text = (None,) * kept
    assert may_have_more(SideOverAll(n, 1.0, sampled, (), text, ())) == more  # type: ignore[arg-type]
