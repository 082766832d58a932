"""Damaged shards: named together before anything is encoded, or when all others are encoded."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import InputError, StorageError
from mauve_core.shards import checking, failures
from mauve_core.shards.checking import require_readable
from mauve_core.shards.compare import compare_shards, encode_tasks, plan_of
from mauve_core.shards.engines import engine_for
from mauve_core.shards.failures import REPAIR, Failures, ShardError, error_of
from mauve_core.shards.plan import Plan, Work
from mauve_core.shards.tasks import Task, remaining
from mauve_core.shards.texts import Named
from tests.sharded import SCORE, Inline, carried_out, made_sides, made_texts, written_features
from tests.word_files import by_topic

SHARDS = 6


@pytest.fixture
def planned(tmp_path: Path) -> Callable[..., Plan]:
    """Plans of texts in six shards of each side, as they are now."""
    words = by_topic(tmp_path / "words.txt")
    for name, rows in made_texts(120).items():
        (tmp_path / name).mkdir()
        for index, places in enumerate(np.array_split(np.arange(len(rows)), SHARDS)):
            some = [rows[place] for place in places]
            path = tmp_path / name / f"{index:02}"
            if index % 2:
                pq.write_table(pa.Table.from_pylist(some), path.with_suffix(".parquet"))
            else:
                lines = pa.Table.from_pylist(some).to_pandas().to_json(orient="records", lines=True)
                path.with_suffix(".jsonl").write_text(lines)

    def plan(**settings: Any) -> Plan:
        models = {"model": tmp_path / "model"}
        return plan_of(tmp_path / HUMAN, models, encoder=EncoderConfig(str(words)), score=SCORE, **settings)

    return plan


def break_last_line(path: Path) -> Callable[[], None]:
    """Damage what only a reader of the whole shard finds; return what repairs it."""
    whole = path.read_text()
    path.write_text(f'{whole}{{"text": "half')
    return lambda: path.write_text(whole) and None


def begun(work: Work) -> list[Path]:
    return list((work.root / "encoded").glob("*")) if (work.root / "encoded").exists() else []


def test_one_error_names_all_damaged_shards_before_anything_is_encoded(
    planned: Callable[..., Plan], tmp_path: Path
) -> None:
    broken, cut, gone = tmp_path / "human/02.jsonl", tmp_path / "model/01.parquet", tmp_path / "model/04.jsonl"
    broken.write_text("{" + broken.read_text())
    cut.write_bytes(cut.read_bytes()[:-20])
    plan = planned()
    gone.unlink()
    work = Work.begin(tmp_path / "work", plan)
    with pytest.raises(InputError) as caught:
        compare_shards(work, Inline())
    said, _, rest = str(caught.value).partition("[Errno 2] No such file or directory: ")  # long names are cut in it
    assert said == (
        f"3 of 12 shards cannot be used: Line 1 of {broken} is not valid JSON: Expecting property name enclosed in "
        f"double quotes at character 2. {cut} is not a Parquet file, or is damaged (received: it does not end like a "
        f"Parquet file). The shard {gone} cannot be read: "
    )
    assert rest.endswith(f". Allowed: one object per line. {REPAIR}.")
    assert not begun(work)


def test_shards_that_a_manifest_names_in_vain_are_named_together(planned: Callable[..., Plan], tmp_path: Path) -> None:
    planned()
    (tmp_path / "all.manifest").write_text("human/00.jsonl\nhuman/one.jsonl\nhuman/two.jsonl\n")
    with pytest.raises(InputError, match=r"^2 of 9 shards cannot be used: .*one\.jsonl.*two\.jsonl"):
        plan_of(tmp_path / "all.manifest", {"model": tmp_path / "model"}, encoder=EncoderConfig("glove"))


def test_ten_of_many_damaged_shards_are_named(
    planned: Callable[..., Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in sorted((*(tmp_path / HUMAN).iterdir(), *(tmp_path / "model").iterdir()))[1:]:
        path.write_bytes(b"neither")
    work = Work.begin(tmp_path / "work", planned())
    with pytest.raises(InputError, match=r"^11 of 12 shards cannot be used: .*\. And 1 more\. Allowed: ") as caught:
        require_readable(work, encode_tasks(work))
    assert str(caught.value).count(str(tmp_path)) == 10
    monkeypatch.setattr(failures, "MOST_IN_VAIN", 3)
    with pytest.raises(
        InputError, match=r"^8 of 12 shards cannot be used, among them all of 'model' that were tried, so no others"
    ):
        require_readable(work, encode_tasks(work))


def test_a_field_that_no_shard_has_ends_the_pass_early(
    planned: Callable[..., Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "MOST_IN_VAIN", 2)
    work = Work.begin(tmp_path / "work", planned(named={"model": Named(text="answer")}))
    for look in (lambda: require_readable(work, encode_tasks(work)), lambda: run_inline(work)):
        with pytest.raises(InputError, match=r"^2 of 12 .*no field named 'answer'.*Allowed: 'id', 'prompt', 'text'"):
            look()
    assert len(remaining(encode_tasks(work))) >= SHARDS


def run_inline(work: Work) -> None:
    Inline().run(work.folder, encode_tasks(work), lambda task, memory: None)


def test_shards_are_looked_at_once_and_encoded_ones_not_at_all(
    planned: Callable[..., Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    whole = checking.layout_of
    monkeypatch.setattr(checking, "layout_of", lambda shard: looked.append(shard) or whole(shard))
    plan = planned()
    work = Work.begin(tmp_path / "work", plan)
    tasks = encode_tasks(work)
    Inline().run(work.folder, tasks[:4], lambda task, memory: None)
    require_readable(work, tasks)
    compare_shards(work, Inline())
    assert sorted(looked) == sorted([*plan.sides[HUMAN], *plan.sides["model"]][4:])
    compare_shards(Work.begin(tmp_path / "work", plan), Inline())
    assert len(looked) == 8


def test_a_look_reads_little(planned: Callable[..., Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of shards with the fields of others, only the footer or the first line."""
    first_rows = []
    whole = checking.require_usable
    monkeypatch.setattr(checking, "require_usable", lambda *args: first_rows.append(args) or whole(*args))
    monkeypatch.setattr(checking, "AT_ONCE", 1)
    work = Work.begin(tmp_path / "work", planned())
    require_readable(work, encode_tasks(work))
    assert [Path(shard).suffix for shard, _ in first_rows] == [".jsonl", ".parquet"]


def test_what_encoding_takes_is_not_refused(planned: Callable[..., Plan], tmp_path: Path) -> None:
    (tmp_path / "model/90.jsonl").write_text("")
    (tmp_path / "model/91.jsonl").write_text('{"id": "1", "prompt": "p"}\n' + (tmp_path / "model/00.jsonl").read_text())
    pq.write_table(pa.table({"id": pa.array([], pa.string())}), tmp_path / "model/92.parquet")
    found = carried_out(planned(named={"model": Named(text="text")}), tmp_path / "work")
    assert found.sides[1].n == 140


def test_features_that_are_cut_off(tmp_path: Path) -> None:
    places = written_features(tmp_path / "in", made_sides(), 3)
    for name in ("00.npy", "02.npy"):
        path = places["model"] / name
        path.write_bytes(path.read_bytes()[:-1])
    plan = plan_of(places[HUMAN], {"model": places["model"]}, encoder=None, score=SCORE)
    work = Work.begin(tmp_path / "work", plan)
    with pytest.raises(InputError, match=r"^2 of 6 .*00\.npy cannot be read as an array\. .*02\.npy cannot") as caught:
        compare_shards(work, Inline())
    assert caught.value.allowed == "a .npy file of numbers"
    assert not begun(work)


@pytest.fixture(params=["inline", "local", "ray"])
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "ray" and find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    made = Inline() if request.param == "inline" else engine_for(request.param, 1)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.timeout(240)
def test_all_other_shards_are_encoded_before_damaged_ones_end_the_pass(
    planned: Callable[..., Plan],
    tmp_path: Path,
    engine: Any,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checking, "require_usable", lambda *_: None)  # first rows are all rows of these small shards
    expected = carried_out(planned(), tmp_path / "undisturbed")
    names = [tmp_path / "human/00.jsonl", tmp_path / "model/02.jsonl"]
    repairs = [break_last_line(path) for path in names]
    work, done = Work.begin(tmp_path / "work", planned()), []
    with pytest.raises(InputError, match=r"^2 of 12 shards cannot be used: Line 21 of") as caught:
        compare_shards(work, engine, progress=lambda name, *counts: done.append((name, *counts)))
    assert str(caught.value).endswith(f" {REPAIR}.")
    for path in names:
        assert str(caught.value).count(str(path)) == 1
    assert done[-1] == ("encode", 10, 12)
    assert [Path(work.plan.sides[task.args[0]][task.args[1]]) for task in remaining(encode_tasks(work))] == names
    if not isinstance(engine, Inline):
        assert caplog.text.count("A shard cannot be used, others go on: Line 21 of") == 2
    repairs[0]()
    with pytest.raises(InputError) as caught:
        compare_shards(Work.begin(tmp_path / "work", planned()), engine)
    location = f"Line 21 of {names[1]}"
    assert str(caught.value).startswith(f"{location} is not valid JSON: Unterminated string starting at character 10.")
    repairs[1]()
    found = compare_shards(Work.begin(tmp_path / "work", planned()), engine)
    assert next(one for one in found.passes if one.name == "encode").done_before == 11
    assert found["model"].counts == expected["model"].counts


def test_texts_that_cannot_be_encoded_stop_no_other_shard(planned: Callable[..., Plan], tmp_path: Path) -> None:
    names = [tmp_path / "human/02.jsonl", tmp_path / "model/04.jsonl"]
    for path in names:
        with path.open("a") as lines:
            lines.write('{"id": "x", "prompt": "p", "text": "of unknown words"}\n')
    work = Work.begin(tmp_path / "work", planned())
    with pytest.raises(InputError, match=r"^2 of 12 .*has no vector for any word in text 20") as caught:
        compare_shards(work, Inline())
    assert all(f"Texts of the shard {path} cannot be encoded: " in str(caught.value) for path in names)
    assert caught.value.todo == "Leave these texts out, or add content to them"
    assert len(remaining(encode_tasks(work))) == 2


@pytest.mark.timeout(240)
def test_what_is_not_about_one_shard_ends_the_pass(planned: Callable[..., Plan], tmp_path: Path, engine: Any) -> None:
    plan = planned()
    assert plan.encoder is not None
    encoder = dataclasses.replace(plan.encoder, model=str(tmp_path / "none.txt"))
    work, done = Work.begin(tmp_path / "work", dataclasses.replace(plan, encoder=encoder)), []
    with pytest.raises(InputError, match=r"none\.txt") as caught:
        engine.run(work.folder, encode_tasks(work), lambda task, memory: done.append(task))
    assert not isinstance(caught.value, ShardError)
    assert "shards cannot be used" not in str(caught.value)
    assert not done


def task_of(side: str, index: int) -> Task:
    return Task("encode", (side, index, "cpu"), Path(f"{side}-{index}"), f"shard {index}")


def test_a_success_in_between_keeps_a_side_going() -> None:
    found = Failures(100)
    for index in range(failures.MOST_IN_VAIN):
        assert not found.stopped
        found.add(task_of("model", index), ShardError(f"Shard {index}"))
    assert found.stopped
    found.succeeded(task_of("human", 0))
    assert found.stopped
    found.succeeded(task_of("model", 99))  # it was carried out meanwhile
    assert not found.stopped
    with pytest.raises(InputError, match=r"^20 of 100 shards cannot be used: Shard 0\. .*Shard 9\. And 10 more\. "):
        found.raise_any()


def test_an_error_of_another_kind_is_raised_alone() -> None:
    found = Failures(100)
    full = StorageError("The disk is full")
    for error in (ShardError("One"), full, ShardError("Two"), MemoryError()):
        found.add(task_of("model", 0), error)
    assert found.stopped
    with pytest.raises(StorageError) as caught:
        found.raise_any()
    assert caught.value is full


def test_what_to_do_is_said_once_if_it_is_the_same_for_all() -> None:
    install = "Install it: pip install backports.zstd"
    same = [InputError(f"{name} needs a package", todo=install) for name in ("a.zst", "b.zst")]
    assert str(error_of(same, 9)) == (
        f"2 of 9 shards cannot be used: a.zst needs a package. b.zst needs a package. {install}."
    )
    assert error_of([*same, InputError("c.jsonl is damaged")], 9).todo == REPAIR
    assert error_of(same[:1], 9) is same[0]


def test_the_error_of_a_shard_keeps_its_words() -> None:
    long = InputError("This is wrong", allowed="that", received="a " * 500, todo="Do so")
    same = ShardError.of(long)
    assert (str(same), same.received, same.todo) == (str(long), long.received, long.todo)
