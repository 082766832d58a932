"""A shard that is written anew under its old name is another one, and only it is encoded again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pyarrow.fs import FileInfo, FileSelector, FileType

from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.shards.comparison import compare_shards, encode_tasks
from mauve_core.shards.places import Stamp, require_unchanged, stamps_of
from mauve_core.shards.plan import Plan, ShardedComparison, Work, plan_of
from mauve_core.shards.tasks import carry_out
from tests.sharded import SCORE, Inline, carried_out, made_sides, made_texts, written_features, written_texts
from tests.tiny_models import make_gpt2
from tests.word_files import by_topic

pytestmark = pytest.mark.integration


def encoded(found: ShardedComparison) -> int:
    """Shards that were encoded, not found."""
    return next(one.tasks - one.done_before for one in found.passes if one.name == "encode")


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., Plan]:
    """The plan of the same places, whatever lies there now."""
    words = by_topic(tmp_path / "words.txt")
    places = written_texts(tmp_path / "in", made_texts(), 3)

    def planned(**settings: object) -> Plan:
        models = {"model": places["model"]}
        return plan_of(places[HUMAN], models, encoder=EncoderConfig(str(words)), score=SCORE, **settings)  # type: ignore[arg-type]

    return planned


def test_only_what_has_changed_is_encoded_again(plan: Callable[..., Plan], tmp_path: Path) -> None:
    first = carried_out(plan(), tmp_path / "work")
    assert encoded(first) == 6
    shard = Path(plan().sides["model"][1])
    lines = shard.read_text().splitlines()
    shard.write_text("\n".join(lines[:-40]) + "\n")
    second = carried_out(plan(), tmp_path / "work")
    assert encoded(second) == 1
    assert second["model"].counts != first["model"].counts
    assert second.digest() == carried_out(plan(), tmp_path / "anew").digest()


def test_other_settings_and_candidates_encode_nothing_again(plan: Callable[..., Plan], tmp_path: Path) -> None:
    first = plan()
    carried_out(first, tmp_path / "work")
    other = dataclasses.replace(first, score=dataclasses.replace(SCORE, k=9, seeds=3))
    found = carried_out(other, tmp_path / "work")
    assert (encoded(found), found["model"].k) == (0, 9)
    assert found.digest() == carried_out(other, tmp_path / "anew").digest()
    more = dataclasses.replace(first, sides={**first.sides, "again": first.sides["model"][:2]})
    found = carried_out(more, tmp_path / "work")
    assert encoded(found) == 0
    assert found.digest() == carried_out(more, tmp_path / "anew").digest()


def test_a_model_that_is_trained_further_in_its_folder_is_another_one(tmp_path: Path) -> None:
    places = written_texts(tmp_path / "in", made_texts(40), 2)
    digests = []
    for seed in (0, 1):
        model = str(make_gpt2(tmp_path / "gpt2", seed=seed))
        plan = plan_of(places[HUMAN], {"model": places["model"]}, encoder=EncoderConfig(model), score=SCORE)
        found = carried_out(plan, tmp_path / "work")
        assert encoded(found) == 4
        digests.append(found["model"].counts)
    assert digests[0] != digests[1]


def test_features_that_are_replaced_between_passes_are_refused(tmp_path: Path) -> None:
    places = written_features(tmp_path / "in", made_sides())
    plan = plan_of(places[HUMAN], {"model": places["model"]}, encoder=None, score=SCORE)
    shard = Path(plan.sides["model"][2])

    def replace(name: str, done: int, total: int) -> None:
        if (name, done) == ("encode", total):
            np.save(shard, np.load(shard)[:-1])

    with pytest.raises(InputError, match=rf"{shard} was written anew after the comparison had begun"):
        compare_shards(Work.begin(tmp_path / "work", plan), Inline(), progress=replace)


def test_texts_of_a_shard_that_is_written_anew_are_not_shown(plan: Callable[..., Plan], tmp_path: Path) -> None:
    """Although ids and prompts are the same."""
    own = plan()
    shard = Path(own.sides["model"][0])

    def replace(name: str, done: int, total: int) -> None:
        if (name, done) == ("label", total):
            shard.write_text(shard.read_text().replace('"text": "', '"text": "Anew '))

    found = compare_shards(Work.begin(tmp_path / "work", own), Inline(), progress=replace)
    assert f"{shard} was written anew" in found.texts_missing


def test_empty_shards_count_as_no_texts(plan: Callable[..., Plan], tmp_path: Path) -> None:
    """As engines write them that divide rows among tasks."""
    expected = carried_out(plan(), tmp_path / "work")
    folder = Path(plan().sides["model"][0]).parent
    (folder / "00-first.jsonl").write_text("")
    (folder / "99-last.jsonl").write_text('{"id": "1", "prompt": "p", "text": "  "}\n')
    found = carried_out(plan(), tmp_path / "work")
    assert encoded(found) == 2
    (side,) = found.sides[1:]
    assert (side.n, side.shards, sum(side.left_out.values())) == (240, 5, 1)
    assert found["model"].counts == expected["model"].counts
    assert not found.texts_missing


def test_empty_shards_of_features_count_as_no_rows(tmp_path: Path) -> None:
    places = written_features(tmp_path / "in", made_sides())
    sides = {"model": places["model"]}
    expected = carried_out(plan_of(places[HUMAN], sides, encoder=None, score=SCORE), tmp_path / "work")
    np.save(places["model"] / "99.npy", np.zeros((0, 8), np.float32))
    found = carried_out(plan_of(places[HUMAN], sides, encoder=None, score=SCORE), tmp_path / "work")
    assert found["model"].counts == expected["model"].counts


def test_fields_that_are_guessed_differently_are_refused(plan: Callable[..., Plan], tmp_path: Path) -> None:
    shard = Path(plan().sides["model"][1])
    shard.write_text(shard.read_text().replace('"prompt": ', '"note": '))
    with pytest.raises(InputError, match=r"Fields differ .* of 'model': .* 1 of 3 do not: .*text from text, no prompt"):
        carried_out(plan(), tmp_path / "work")
    work = Work.begin(tmp_path / "work", plan())
    Inline().run(work.folder, encode_tasks(work), lambda task, memory: None)  # as parts that look at their own shards
    with pytest.raises(InputError, match=r"guessed differently.*prompt from prompt, id from id; text from text, no "):
        carried_out(plan(), tmp_path / "work")


def test_a_shard_that_has_vanished(tmp_path: Path) -> None:
    shard = tmp_path / "a.jsonl"
    shard.write_text("{}")
    known = dict(zip([str(shard)], stamps_of([str(shard)]), strict=True))
    assert known[str(shard)].size == 2
    require_unchanged(str(shard), known)
    require_unchanged(str(shard), {})
    with pytest.raises(InputError, match="written anew"):
        require_unchanged(str(shard), {str(shard): Stamp(2, 0)})
    shard.unlink()
    with pytest.raises(InputError, match=r"a\.jsonl cannot be read"):
        require_unchanged(str(shard), known)
    with pytest.raises(InputError, match=r"a\.jsonl cannot be read"):
        stamps_of([str(shard)])


def test_times_of_objects_are_compared_in_whole_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A listing has fractions that the answer about one object lacks."""
    shard, second = "s3://bucket/a.parquet", 1_700_000_000 * 10**9

    class Store:
        changed = second

        def get_file_info(self, asked: FileSelector | str) -> FileInfo | list[FileInfo]:
            one = isinstance(asked, str)
            found = FileInfo(
                "bucket/a.parquet", FileType.File, size=7, mtime_ns=self.changed + (0 if one else 345 * 10**6)
            )
            return found if one else [found]

    store = Store()
    monkeypatch.setattr("mauve_core.shards.places.system_of", lambda where: (store, "bucket/a.parquet"))
    known = dict(zip([shard], stamps_of([shard]), strict=True))
    assert known[shard] == Stamp(7, second)
    require_unchanged(shard, known)
    store.changed += 10**9
    with pytest.raises(InputError, match="written anew"):
        require_unchanged(shard, known)


def test_what_another_comparison_has_encoded_meanwhile_stays(plan: Callable[..., Plan], tmp_path: Path) -> None:
    work = Work.begin(tmp_path / "work", plan())
    tasks = encode_tasks(work)
    Inline().run(work.folder, tasks, lambda task, memory: None)
    before = {path: path.stat().st_mtime_ns for path in (work.root / "encoded").iterdir()}
    for task in tasks:
        carry_out(str(work.folder), task.name, task.args)
    assert {path: path.stat().st_mtime_ns for path in (work.root / "encoded").iterdir()} == before
