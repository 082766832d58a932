"""What a comparison over shards will take, said from samples of a few shards before it begins."""

from __future__ import annotations

import dataclasses
import gzip
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from mauve_core.base.config import HUMAN, EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.shards import costs as estimating
from mauve_core.shards import timing
from mauve_core.shards.comparison import encode_tasks
from mauve_core.shards.costs import Estimate, Sampled, Span, estimate, extrapolated, require_room, spread, wall_seconds
from mauve_core.shards.encoding import shard_info
from mauve_core.shards.engines import Done
from mauve_core.shards.passes import require_readable
from mauve_core.shards.places import ShardError
from mauve_core.shards.plan import Plan, Work, plan_of
from mauve_core.shards.tasks import Task, remaining
from mauve_core.shards.timing import read_sample, rows_of
from tests.sharded import SCORE, Inline, MadeUp, carried_out, made_sides, made_texts, written_features
from tests.word_files import by_topic

pytestmark = pytest.mark.integration


class Counting(Inline):
    """Counts the tasks that it carries out, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def run(self, folder: Path, tasks: Sequence[Task], done: Done) -> None:
        self.names += [task.name for task in tasks]
        super().run(folder, tasks, done)


def asked(work: Work, engine: Inline | None = None, **options: Any) -> Estimate:
    found = estimate(work, engine or Inline(), encode_tasks(work), always=True, **options)
    assert found is not None
    return found


def plain_seconds(work: Work, source: str, first: int) -> float:
    """The timed seconds a byte of a side's samples, times the bytes of its shards from the first on."""
    shards = work.plan.sides[source]
    places = spread({source: len(shards) for source in work.plan.sources})[source]
    samples = [read_sample(work, source, place, "cpu") for place in places]
    rate = sum(sample.shard_seconds for sample in samples) / sum(sample.size for sample in samples)
    return rate * sum(Path(shard).stat().st_size for shard in shards[first:])


def test_extrapolation_beside_a_plain_twin() -> None:
    rng = np.random.default_rng(5)
    shards = {side: rng.integers(100, 10_000, count).astype(float) for side, count in (("a", 40), ("b", 9))}
    samples = [
        Sampled(side, size, size * rate * rng.uniform(0.8, 1.2))
        for side, rate, count in (("a", 0.01, 5), ("b", 0.03, 3))
        for size in shards[side][:count]
    ]
    totals = {side: float(own.sum()) for side, own in shards.items()}
    found = extrapolated(samples, totals)

    value, rest, parts = 0.0, 0.0, []
    for side in ("a", "b"):
        sizes_, values = zip(*((one.size, one.value) for one in samples if one.stratum == side), strict=True)
        ratio = sum(values) / sum(sizes_)
        value += totals[side] * ratio
        for size, own in zip(sizes_, values, strict=True):
            rest += ((own - ratio * size) / (ratio * size)) ** 2
        # the variance of a sum of independent values, each with the same relative deviation
        parts.append((totals[side] / sum(sizes_)) ** 2 * sum((ratio * size) ** 2 for size in sizes_))
    reach = float(stats.t.ppf(0.975, 8 - 2)) * math.sqrt(rest / (8 - 2) * sum(parts))
    assert found == pytest.approx((value, value - reach, value + reach), rel=1e-12)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng, inside = np.random.default_rng(11), 0
    for _ in range(400):
        sizes_ = rng.integers(100, 1000, 200).astype(float)
        values = sizes_ * rng.normal(0.3, 0.06, 200)
        samples = [Sampled("a", sizes_[place], values[place]) for place in rng.choice(200, 8, replace=False)]
        found = extrapolated(samples, {"a": float(sizes_.sum())})
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= values.sum() <= found.high
    assert 0.92 <= inside / 400 <= 0.98


def test_a_stratum_without_samples_and_one_sample_alone() -> None:
    alone = [Sampled("a", 100.0, 5.0)]
    assert extrapolated(alone, {"a": 1000.0}) == Span(50.0, None, None)
    assert extrapolated(alone, {"b": 1000.0}).value == 50.0
    assert Span(2.0, None, None).plus(3).times(2) == Span(10.0, None, None)


def test_samples_are_spread_over_all_strata() -> None:
    assert spread({"a": 1000, "b": 10}) == {"a": [71, 214, 357, 500, 642, 785, 928], "b": [5]}
    assert spread({"a": 3, "b": 2}) == {"a": [0, 1, 2], "b": [0, 1]}
    assert sum(map(len, spread({str(side): 4 for side in range(12)}).values())) == 8
    for counts in ({"a": 640, "b": 640}, {"a": 7, "b": 2, "c": 1}):
        for name, places in spread(counts).items():
            assert len(set(places)) == len(places)
            assert all(0 <= place < counts[name] for place in places)


def test_the_wall_is_that_of_workers_that_take_one_task_after_another() -> None:
    assert wall_seconds([3, 1, 1, 1], 2) == 3
    assert wall_seconds([1, 1, 1, 3], 2) == 4  # the long one begins last
    assert wall_seconds([], 4) == 0
    assert wall_seconds([5], 100) == 5


def test_an_estimate_says_what_the_pass_then_finds(text_plan: Callable[..., Plan], tmp_path: Path) -> None:
    plan = text_plan(20)
    found = asked(Work.begin(tmp_path / "work", plan))
    whole = carried_out(plan, tmp_path / "work")
    assert (found.shards, found.finished, found.sampled) == (40, 0, 8)
    texts, tokens = (sum(getattr(side, what) for side in whole.sides) for what in ("n", "tokens"))
    for span, true in ((found.texts, texts), (found.tokens, tokens)):
        assert span.low is not None
        assert span.high is not None
        assert span.low <= true <= span.high
        assert span.value == pytest.approx(true, rel=0.05)
    assert found.device == "cpu"
    assert found.k == SCORE.k
    assert found.seconds.value > 0
    assert found.wall.value > found.seconds.value  # one worker, and the model is loaded
    assert found.components == whole["model"].components


def test_what_is_finished_is_counted_and_not_encoded_again(text_plan: Callable[..., Plan], tmp_path: Path) -> None:
    work = Work.begin(tmp_path / "work", text_plan(20))
    before = asked(work)
    Inline().run(work.folder, encode_tasks(work)[:10], lambda *_: None)
    engine = Counting()
    after = asked(work, engine)
    assert engine.names == []
    assert (after.finished, after.sampled) == (10, 8)
    assert before.seconds.value == pytest.approx(plain_seconds(work, HUMAN, 0) + plain_seconds(work, "model", 0))
    assert after.seconds.value == pytest.approx(plain_seconds(work, HUMAN, 10) + plain_seconds(work, "model", 0))
    assert after.texts.value == pytest.approx(before.texts.value, rel=0.02)
    assert after.texts.high is not None
    assert before.texts.high is not None
    assert after.texts.high - after.texts.value < before.texts.high - before.texts.value
    assert after.disk < before.disk
    Inline().run(work.folder, remaining(encode_tasks(work)), lambda *_: None)
    done = asked(work, engine)
    exact = sum(shard_info(work, source, index).n for source in work.plan.sources for index in range(20))
    assert (done.finished, done.texts.value, done.seconds.value, done.wall.value) == (40, exact, 0, 0)
    assert engine.names == []


def damaged(plan: Plan, line: str, *places: int) -> list[Path]:
    """Put a line after the first twenty of shards of the human side."""
    paths = [Path(plan.sides[HUMAN][place]) for place in places]
    for path in paths:
        lines = path.read_text().splitlines()
        path.write_text("\n".join([*lines[:20], line, *lines[20:], ""]))
    return paths


REFUSED, BROKEN = '{"id": "x", "prompt": "p", "text": "of unknown words"}', '{"text": "half'


REFUSED, BROKEN = '{"id": "x", "prompt": "p", "text": "of unknown words"}', '{"text": "half'


@pytest.mark.parametrize(
    ("line", "message"), [(REFUSED, "has no vector for any word in text"), (BROKEN, "not valid JSON")]
)
def test_samples_of_damaged_shards_are_left_out_unless_an_estimate_is_all_that_is_asked(
    text_plan: Callable[..., Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.setattr(estimating, "LEAST_BYTES", 100)
    plan = text_plan(3)
    (path,) = damaged(plan, line, 1)
    work = Work.begin(tmp_path / "work", dataclasses.replace(plan, stamps={}))
    found = estimate(work, Inline(), encode_tasks(work))
    assert found is not None
    assert (found.shards, found.sampled) == (6, 5)
    assert found.texts.value == pytest.approx(480, rel=0.05)
    with pytest.raises(ShardError, match=message) as caught:
        asked(work)
    assert str(path) in str(caught.value)


def test_an_estimate_changes_no_result(text_plan: Callable[..., Plan], tmp_path: Path) -> None:
    plan = text_plan(3)
    asked(Work.begin(tmp_path / "estimated", plan))
    found, plain = carried_out(plan, tmp_path / "estimated"), carried_out(plan, tmp_path / "plain")
    assert found.digest() == plain.digest()
    assert [one.name for one in found.passes] == [one.name for one in plain.passes]


def test_a_part_says_what_it_encodes_and_what_all_parts_write(text_plan: Callable[..., Plan], tmp_path: Path) -> None:
    work = Work.begin(tmp_path / "work", text_plan(20))
    part = estimate(work, Inline(), encode_tasks(work, part=(0, 4)), always=True)
    assert part is not None
    whole = asked(work)
    assert part.shards == 10
    assert part.texts.value == pytest.approx(whole.texts.value / 4, rel=0.05)
    assert part.disk == pytest.approx(whole.disk, rel=0.05)


def uneven_parquet(folder: Path, change: Callable[[int, dict[str, Any]], None] = lambda *_: None) -> Plan:
    """Texts of two sides in 20 Parquet shards each, whose bytes say little of their rows."""
    rng = np.random.default_rng(2)
    words = by_topic(folder / "words.txt")
    for side, rows in made_texts(600).items():
        (folder / side).mkdir()
        ends = np.sort(rng.choice(np.arange(4, 600), 19, replace=False))
        for index, places in enumerate(np.split(np.arange(600), ends)):
            own = [{**rows[place], "more": rng.bytes(int(rng.integers(1000))).hex()} for place in places]
            for number, row in enumerate(own):
                change(number, row)
            pq.write_table(pa.Table.from_pylist(own), folder / side / f"{index:02}.parquet")
    return plan_of(folder / HUMAN, {"model": folder / "model"}, encoder=EncoderConfig(str(words)), score=SCORE)


def test_rows_of_parquet_are_not_extrapolated(tmp_path: Path) -> None:
    work = Work.begin(tmp_path / "work", uneven_parquet(tmp_path))
    by_bytes = asked(work)
    assert by_bytes.most is None
    assert by_bytes.texts.high is not None
    assert by_bytes.texts.high - by_bytes.texts.value > 100
    require_readable(work, encode_tasks(work))
    found = asked(work)
    assert (found.texts, found.most) == (Span(1200, 1200, 1200), 1200)
    Inline().run(work.folder, encode_tasks(work)[::3], lambda *_: None)
    assert (asked(work).texts, asked(work).most) == (Span(1200, 1200, 1200), 1200)


def test_of_rows_that_may_be_left_out_a_share_is_extrapolated(tmp_path: Path) -> None:
    def change(number: int, row: dict[str, Any]) -> None:
        if number % 4 == 1:
            row["text"] = ""

    work = Work.begin(tmp_path / "work", uneven_parquet(tmp_path, change))
    require_readable(work, encode_tasks(work))
    found = asked(work)
    shards = [pq.read_table(shard)["text"] for shards in work.plan.sides.values() for shard in shards]
    true = sum(text != "" for shard in shards for text in shard.to_pylist())
    assert true < 950
    assert found.most == 1200
    assert found.texts.low is not None
    assert found.texts.high is not None
    assert found.texts.low <= true <= found.texts.high < 1200
    assert found.texts.value == pytest.approx(true, rel=0.05)


def test_lines_of_one_side_are_extrapolated_beside_rows_of_the_other(tmp_path: Path) -> None:
    plan = uneven_parquet(tmp_path)
    for path in (tmp_path / "model").iterdir():
        lines = pq.read_table(path).drop_columns(["more"]).to_pandas().to_json(orient="records", lines=True)
        path.with_suffix(".jsonl").write_text(lines)
        path.unlink()
    plan = plan_of(tmp_path / HUMAN, {"model": tmp_path / "model"}, encoder=plan.encoder, score=SCORE)
    work = Work.begin(tmp_path / "work", plan)
    require_readable(work, encode_tasks(work))
    found = asked(work)
    assert found.most is None
    assert found.texts.low is not None
    assert found.texts.low <= 1200
    assert found.texts.value == pytest.approx(1200, rel=0.03)


def test_spans_of_sums() -> None:
    one, other = Span(10.0, 7.0, 13.0), Span(20.0, 16.0, 24.0)
    assert one.and_(other) == Span(30.0, 25.0, 35.0)
    assert one.and_(Span(0.0, None, None)) == Span(0.0, 0.0, 0.0).and_(one) == one
    assert one.and_(Span(5.0, None, None)) == Span(15.0, None, None)
    assert one.at_most(12) == Span(10.0, 7.0, 12)
    assert Span(10.0, None, None).at_most(9) == Span(9, None, None)


def test_features_need_no_encoding(made_up: MadeUp, tmp_path: Path) -> None:
    found = asked(Work.begin(tmp_path / "work", made_up.plan))
    assert found.texts.value == pytest.approx(1200, rel=1e-3)
    assert (found.tokens.value, found.seconds.value, found.wall.value, found.device) == (0, 0, 0, "")
    assert found.components == carried_out(made_up.plan, tmp_path / "work")["model"].components
    assert found.iteration_seconds > 0


@pytest.mark.trial
def test_the_folder_grows_as_was_said(tmp_path: Path) -> None:
    places = written_features(tmp_path / "features", made_sides(20_000), shards=2)
    plan = plan_of(places[HUMAN], {"model": places["model"]}, encoder=None, score=SCORE)
    work = Work.begin(tmp_path / "work", plan)
    said = asked(work).disk
    carried_out(plan, work.folder)
    written = sum(path.stat().st_size for path in work.root.rglob("*") if path.is_file())
    assert written == pytest.approx(said, rel=0.25)


def test_a_disk_that_is_too_small_is_refused(made_up: MadeUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work.begin(tmp_path / "work", made_up.plan)
    found = asked(work)
    require_room(dataclasses.replace(found, free=math.ceil(found.disk)), work)
    with pytest.raises(InputError, match="too small for what the passes will write") as caught:
        require_room(dataclasses.replace(found, disk=2e12, free=35_200_000), work)
    assert (caught.value.allowed, caught.value.received) == ("about 2 TB free", "35.2 MB")


def written_rows(folder: Path, rows: int, name: str) -> Path:
    digits = np.random.default_rng(3).integers(10**17, 10**18, rows).tolist()
    table = [{"text": f"text {number} {'word ' * (number % 7)}"} for number in digits]
    path = folder / name
    lines = b"".join(f'{{"text": "{row["text"]}"}}\n'.encode() for row in table)
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(table), path, row_group_size=100)
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(lines))
    else:
        path.write_bytes(lines.rstrip(b"\n"))  # the last line has no end
    return path


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.jsonl.gz"])
def test_rows_of_a_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = written_rows(tmp_path, 50_000, name)
    size = path.stat().st_size
    assert rows_of(str(path), size) == 50_000
    monkeypatch.setattr(timing, "_CHUNK", 2**16)
    for limit in ("LINES_BYTES", "PACKED_BYTES"):
        monkeypatch.setattr(timing, limit, size // 3)
    assert rows_of(str(path), size) == pytest.approx(50_000, rel=0.05)
    monkeypatch.setattr(timing, "MOST_BYTES", 0)
    assert rows_of(str(path), size) == pytest.approx(50_000, rel=0.5)
