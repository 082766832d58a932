"""Damaged shards: named together before anything is encoded, or when all others are encoded."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import InputError, StorageError
from mauve_core.clusters.k_means import too_few
from mauve_core.encoders.tokenizing import NoFeaturesError
from mauve_core.shards import encoding, passes, timing
from mauve_core.shards.comparison import compare_shards, encode_tasks
from mauve_core.shards.engines import MOST_IN_VAIN, Failures, engine_for
from mauve_core.shards.passes import require_enough_rows
from mauve_core.shards.places import REPAIR, DamagedError, ShardError
from mauve_core.shards.plan import Plan, Work, plan_of
from mauve_core.shards.tasks import Task, remaining
from mauve_core.shards.texts import Named
from mauve_core.shards.timing import lines_until
from tests.sharded import SCORE, Inline, MadeUp, carried_out, made_sides, made_texts, written_features
from tests.word_files import by_topic

pytestmark = pytest.mark.integration

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


def test_shards_with_other_fields_are_named_before_anything_is_encoded(
    planned: Callable[..., Plan], tmp_path: Path
) -> None:
    names = tmp_path / "model/02.jsonl", tmp_path / "model/04.jsonl"
    for path in names:
        path.write_text(path.read_text().replace('"prompt"', '"note"'))
    work = Work.begin(tmp_path / "work", planned())
    with pytest.raises(InputError) as caught:
        compare_shards(work, Inline())
    said = str(caught.value)
    usual = "text from text, prompt from prompt, id from id"
    assert said.startswith(f"Fields differ between shards of 'model': most have {usual}, and 2 of 6 do not:")
    assert all(f"{path} has text from text, no prompt, id from id" in said for path in names)
    assert not begun(work)


def test_shards_that_a_manifest_names_in_vain_are_named_together(planned: Callable[..., Plan], tmp_path: Path) -> None:
    planned()
    (tmp_path / "all.manifest").write_text("human/00.jsonl\nhuman/one.jsonl\nhuman/two.jsonl\n")
    with pytest.raises(InputError, match=r"^2 of 9 shards cannot be used: .*one\.jsonl.*two\.jsonl"):
        plan_of(tmp_path / "all.manifest", {"model": tmp_path / "model"}, encoder=EncoderConfig("glove"))


def test_what_encoding_takes_is_not_refused(planned: Callable[..., Plan], tmp_path: Path) -> None:
    (tmp_path / "model/90.jsonl").write_text("")
    (tmp_path / "model/91.jsonl").write_text('{"id": "1", "prompt": "p"}\n' + (tmp_path / "model/00.jsonl").read_text())
    pq.write_table(pa.table({"id": pa.array([], pa.string())}), tmp_path / "model/92.parquet")
    found = carried_out(planned(named={"model": Named(text="text")}), tmp_path / "work")
    assert found.sides[1].n == 140


@pytest.mark.parametrize("names", ["*.parquet", "*"])
def test_fewer_rows_than_clusters_are_refused_before_anything_is_encoded(
    planned: Callable[..., Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: str
) -> None:
    planned()
    encoder, sides = EncoderConfig(str(tmp_path / "words.txt")), {"model": tmp_path / "model" / names}

    def work(k: int) -> Work:
        score = dataclasses.replace(SCORE, k=k)
        plan = plan_of(tmp_path / "human" / names, sides, encoder=encoder, score=score)
        return Work.begin(tmp_path / f"work-{k}", plan)

    rows = 240 if names == "*" else 120
    with pytest.raises(InputError) as caught:
        compare_shards(work(rows + 1), Inline())
    assert str(caught.value) == str(too_few(rows, rows + 1, at_most=True))
    assert not begun(work(rows + 1))
    require_enough_rows(work(rows))
    part = work(rows + 1)
    Inline().run(part.folder, encode_tasks(part, part=(0, 2)), lambda *_: None)
    with pytest.raises(InputError, match=f"at most {rows} that can be told apart"):
        require_enough_rows(part)  # whatever was encoded, and by which part
    monkeypatch.setattr(passes, "COUNTED_BYTES", 100)
    other = work(rows + 2)
    if names == "*.parquet":
        with pytest.raises(InputError, match="Too few different texts"):
            require_enough_rows(other)
    else:
        require_enough_rows(other)  # it would take more reading to say so


def test_more_clusters_than_sampled_rows_and_fewer_rows_of_features(made_up: MadeUp, tmp_path: Path) -> None:
    for change, rows in (({"sample_rows": 500}, 500), ({}, 1200)):
        plan = dataclasses.replace(made_up.plan, score=dataclasses.replace(SCORE, k=rows + 1), **change)
        work = Work.begin(tmp_path / str(rows), plan)
        with pytest.raises(InputError, match=f"at most {rows} that can be told apart"):
            compare_shards(work, Inline())
        assert not begun(work)


def test_lines_are_counted_until_there_are_enough(planned: Callable[..., Plan], tmp_path: Path) -> None:
    path = str(tmp_path / "human/00.jsonl")
    planned()
    assert lines_until(path, math.inf, 10**6) == (20, Path(path).stat().st_size)
    Path(path).write_text(Path(path).read_text().rstrip("\n"))
    assert lines_until(path, math.inf, 10**6)[0] == 20
    assert lines_until(path, 5, 10**6)[0] >= 5
    assert lines_until(path, 21, 10)[0] == math.inf


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


def with_header(header: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04",
        b"\x93NUMPY",
        with_header("{'descr': ("),
        with_header('{"descr": """'),
        with_header("  1\n 2\n"),
        with_header("{[]: 1}"),
        with_header(f"{'-' * 3000}1"),
    ],
    ids=["empty", "archive", "magic", "open", "string", "indented", "unhashable", "nested"],
)
@pytest.mark.filterwarnings("ignore:Reading `.npy`")
def test_files_that_are_no_arrays(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "00.npy"
    path.write_bytes(content)
    for read in (lambda: encoding.table_of(str(path)), lambda: timing.header_of(BytesIO(content), str(path))):
        with pytest.raises(InputError, match=r"^The shard .*00\.npy cannot be read as an array\. Allowed: "):
            read()


@pytest.fixture(params=["local", pytest.param("ray", marks=[pytest.mark.trial, pytest.mark.rare])])
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "ray" and find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    made = engine_for(request.param, 1)
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
    monkeypatch.setattr(passes, "first_fields", lambda *_: ())  # first rows are all rows of these small shards
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


def test_refused_texts_are_counted_from_the_first_of_their_shard(
    planned: Callable[..., Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "TEXTS_AT_ONCE", 8)
    path = tmp_path / "human/02.jsonl"
    path.write_text(path.read_text() + '{"id": "odd one", "prompt": "p", "text": "of unknown words"}\n')
    work = Work.begin(tmp_path / "work", planned())
    with pytest.raises(ShardError, match=r"has no vector for any word in text 20 \(counted from 0\)\. ") as caught:
        compare_shards(work, Inline())
    assert caught.value.received == "the id odd one"
    assert str(caught.value).startswith(f"Texts of the shard {path} cannot be encoded: ")


def test_features_that_are_not_finite_stop_all_shards(
    planned: Callable[..., Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They tell of a broken device rather than of texts, and it would break the others, too."""

    def encode(*_: object) -> None:
        raise NoFeaturesError.of([3], "The model's features are not finite for")

    monkeypatch.setattr(encoding.Encoder, "encode", encode)
    work = Work.begin(tmp_path / "work", planned())
    with pytest.raises(InputError, match=r"^Texts of the shard \S+ cannot .* are not finite for text 3 ") as caught:
        compare_shards(work, Inline())
    assert not isinstance(caught.value, ShardError)


@pytest.mark.timeout(240)
def test_what_is_not_about_one_shard_ends_the_pass(planned: Callable[..., Plan], tmp_path: Path) -> None:
    plan = planned()
    assert plan.encoder is not None
    encoder = dataclasses.replace(plan.encoder, model=str(tmp_path / "none.txt"))
    work, done = Work.begin(tmp_path / "work", dataclasses.replace(plan, encoder=encoder)), []
    with pytest.raises(InputError, match=r"none\.txt") as caught:
        Inline().run(work.folder, encode_tasks(work), lambda task, memory: done.append(task))
    assert not isinstance(caught.value, ShardError)
    assert "shards cannot be used" not in str(caught.value)
    assert not done


def task_of(side: str, index: int) -> Task:
    return Task("encode", (side, index, "cpu"), Path(f"{side}-{index}"), f"shard {index}")


def test_a_success_in_between_keeps_a_side_going() -> None:
    tasks = [task_of("model", index) for index in range(100)]
    found = Failures(tasks, tasks)
    fail(found, "model", MOST_IN_VAIN)
    assert found.stopped
    found.succeeded(task_of("human", 0))
    assert found.stopped
    found.succeeded(task_of("model", 99))  # it was carried out meanwhile
    assert not found.stopped
    with pytest.raises(InputError, match=r"^20 of 100 shards cannot be used: Shard 0\. .*Shard 9\. And 10 more\. "):
        found.raise_any()


def fail(found: Failures, side: str, count: int) -> None:
    for index in range(count):
        assert not found.stopped
        found.add(task_of(side, index), ShardError(f"Shard {index}"))


def test_many_failures_in_a_row_end_what_went_well_before() -> None:
    """A store that refuses by now, such as after a token has expired, would let each of the others fail, too."""
    tasks = [task_of(side, index) for side in ("human", "model") for index in range(100)]
    found = Failures(tasks, tasks)
    fail(found, "model", 5)
    found.succeeded(task_of("model", 50))
    fail(found, "model", MOST_IN_VAIN - 1)
    found.succeeded(task_of("human", 50))
    fail(found, "model", 1)
    assert found.stopped
    with pytest.raises(
        InputError,
        match=r"^25 of 200 shards cannot be used, among them the last 20 of 'model' that were tried, so no others",
    ):
        found.raise_any()


def test_shards_that_were_finished_before_keep_a_side_going_until_one_more_is() -> None:
    tasks = [task_of("model", index) for index in range(100)]
    found = Failures(tasks, tasks[:-1])
    fail(found, "model", 3 * MOST_IN_VAIN)
    assert not found.stopped
    found.succeeded(task_of("model", 90))
    fail(found, "model", MOST_IN_VAIN)
    assert found.stopped


def test_damage_of_the_work_folder_stops_no_other_task() -> None:
    """So one more call makes all of it again, not one call for each file."""
    tasks = [task_of("model", index) for index in range(100)]
    found, damage = Failures(tasks, tasks), [(Path(f"{index}.npy"), "cut") for index in range(50)]
    for task, each in zip(tasks, damage, strict=False):
        assert not found.stopped
        found.add(task, DamagedError.of(each))
    with pytest.raises(
        DamagedError, match=r"^The work folder is damaged: 0\.npy is damaged or missing: cut\."
    ) as caught:
        found.raise_any()
    assert list(caught.value.damage) == damage


def test_an_error_of_another_kind_is_raised_alone() -> None:
    tasks = [task_of("model", index) for index in range(100)]
    found = Failures(tasks, tasks)
    full = StorageError("The disk is full")
    for error in (ShardError("One"), full, ShardError("Two"), MemoryError()):
        found.add(task_of("model", 0), error)
    assert found.stopped
    with pytest.raises(StorageError) as caught:
        found.raise_any()
    assert caught.value is full
