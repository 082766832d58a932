"""A comparison over shards beside the same in memory, and on every engine."""

from __future__ import annotations

import dataclasses
import io
import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mauve_core.analyses.over_shards import answers_over_all
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.clusters.k_means import kmeans
from mauve_core.scoring.compare import compare
from mauve_core.shards import clustering, comparison
from mauve_core.shards.comparison import compare_shards, encode_tasks
from mauve_core.shards.engines import MOST_DEATHS, LocalEngine, engine_for
from mauve_core.shards.plan import Plan, ShardedComparison, Work, plan_of
from mauve_core.shards.tasks import Task, remaining
from tests.sharded import SCORE, Inline, MadeUp, carried_out, made_sides, made_texts, written_features, written_texts
from tests.word_files import by_topic

pytestmark = pytest.mark.integration


def test_scores_are_those_in_memory(made_up: MadeUp, tmp_path: Path) -> None:
    score = dataclasses.replace(SCORE, unit_rows="after")  # type: ignore[arg-type]
    found = carried_out(dataclasses.replace(made_up.plan, score=score), tmp_path / "work")["model"]
    texts = {name: [f"{name} {row}" for row in range(len(x))] for name, x in made_up.sides.items()}
    config = CompareConfig(encoder=None, score=score)
    plain = compare(
        texts[HUMAN], {"model": texts["model"]}, config, features=made_up.sides, draw_map=False, progress="none"
    )["model"]
    for name, estimate in plain.scores.items():
        assert found.scores[name].values == pytest.approx(estimate.values, abs=1e-12)
        width, ours = estimate.high - estimate.low, found.scores[name].high - found.scores[name].low
        assert ours == pytest.approx(width, rel=0.3)
    assert found.k == plain.partitions[0].k


def test_default_settings_are_those_in_memory(tmp_path: Path) -> None:
    """And k that is chosen by the number of texts."""
    sides, score = made_sides(300), ScoreConfig(seeds=2, bootstrap=100)
    places = written_features(tmp_path / "features", sides)
    found = carried_out(
        plan_of(places[HUMAN], {"model": places["model"]}, encoder=None, score=score), tmp_path / "work"
    )["model"]
    texts = {name: [f"{name} {row}" for row in range(len(x))] for name, x in sides.items()}
    plain = compare(
        texts[HUMAN],
        {"model": texts["model"]},
        CompareConfig(encoder=None, score=score),
        features=sides,
        draw_map=False,
        progress="none",
    )["model"]
    for name, estimate in plain.scores.items():
        assert found.scores[name].values == pytest.approx(estimate.values, abs=1e-12)


def test_iterations_over_shards_lower_the_objective_of_a_sample(made_up: MadeUp, tmp_path: Path) -> None:
    small = dataclasses.replace(made_up.plan, sample_rows=100)
    found = carried_out(small, tmp_path / "work")["model"]
    assert found.sampled == 100
    assert min(found.iterations) >= 2
    work = Work.open(tmp_path / "work")
    coordinates = np.concatenate(
        [
            np.load(path)
            for side in ("00000", "00001")
            for path in sorted(work.path("partitions", 1, "coordinates", side).glob("*.npy"))
        ]
    )
    for seed, objective in enumerate(found.objectives):
        start = work.arrays(work.path("partitions", 1, "start", seed))["centers"]
        before = float(((coordinates[:, None] - start) ** 2).sum(axis=2).min(axis=1).sum())
        assert objective < before
    whole = kmeans(coordinates, found.k, seed=0).objective
    assert min(found.objectives) < 1.1 * whole


def test_a_plain_iteration_gives_the_same_centers(made_up: MadeUp, tmp_path: Path) -> None:
    once = dataclasses.replace(SCORE, max_iterations=1)
    carried_out(dataclasses.replace(made_up.plan, sample_rows=100, score=once), tmp_path / "work")
    work = Work.open(tmp_path / "work")
    coordinates = np.concatenate(
        [
            np.load(path)
            for side in ("00000", "00001")
            for path in sorted(work.path("partitions", 1, "coordinates", side).glob("*.npy"))
        ]
    ).astype(np.float64)
    before, after = (clustering.centers_of(work, "model", step) for step in (0, 1))
    for seed in range(SCORE.seeds):
        labels = ((coordinates[:, None] - before[seed]) ** 2).sum(axis=2).argmin(axis=1)
        plain = [
            coordinates[labels == own].mean(axis=0) if (labels == own).any() else before[seed, own] for own in range(12)
        ]
        np.testing.assert_allclose(after[seed], plain, atol=1e-9)


def test_an_empty_cluster_keeps_its_center() -> None:
    from mauve_core.shards.clustering import State, Sums

    state = State(0, np.array([[[1.0], [9.0]]]), np.zeros(1, np.int64), np.array([np.inf]), np.zeros(1, np.bool_))
    moved = comparison._next_state(state, [0], Sums(np.array([[2, 0]]), np.array([[[6.0], [0.0]]]), np.array([1.0])))
    assert moved.centers.tolist() == [[[3.0], [9.0]]]
    assert (moved.iteration, moved.iterations.tolist(), moved.finished.tolist()) == (1, [1], [False])


@pytest.fixture(scope="module")
def alone(made_up: MadeUp, tmp_path_factory: pytest.TempPathFactory) -> ShardedComparison:
    """The comparison in one process, undisturbed."""
    return made_up.compared(tmp_path_factory.mktemp("alone") / "work")


def test_digests_are_equal_for_any_number_of_parts(made_up: MadeUp, alone: ShardedComparison, tmp_path: Path) -> None:
    for part in ((1, 3), (0, 3), (2, 3)):
        work = Work.begin(tmp_path / "parts", made_up.plan)
        Inline(part[0]).run(work.folder, remaining(encode_tasks(work, part=part)), lambda task, memory: None)
    assert not remaining(encode_tasks(work))
    merged = made_up.compared(tmp_path / "parts")
    assert merged.digest() == alone.digest()
    assert next(one for one in merged.passes if one.name == "encode").done_before == 8
    assert alone["model"].counts == merged["model"].counts


def test_many_shards_are_added_up_in_batches(made_up: MadeUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = dataclasses.replace(made_up.plan, sample_rows=100, score=dataclasses.replace(SCORE, max_iterations=3))
    alone = carried_out(plan, tmp_path / "alone")
    assert _summed(alone) == 8 * max(alone["model"].iterations)
    monkeypatch.setattr(clustering, "MOST_SUMS", 3)  # of three, three and two shards, one of both sides
    batches = clustering.batches(Work.open(tmp_path / "alone"), "model")
    assert batches[1] == ((HUMAN, 3), ("model", 0), ("model", 1))
    assert [len(batch) for batch in batches] == [3, 3, 2]
    found = carried_out(plan, tmp_path / "batches")
    assert _summed(found) == 3 * max(found["model"].iterations)
    assert found["model"].counts == alone["model"].counts
    assert found["model"].objectives == pytest.approx(alone["model"].objectives, rel=1e-12)


def _summed(found: ShardedComparison) -> int:
    return next(one.tasks for one in found.passes if one.name == "sum")


def test_workers_of_which_one_is_killed_give_the_same(
    made_up: MadeUp, alone: ShardedComparison, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine, killed = LocalEngine(2), []

    def kill(name: str, done: int, total: int) -> None:
        busy = engine.processes  # none if two tasks end together
        if busy and not killed:
            killed.extend(busy)
            os.kill(busy[0], signal.SIGKILL)

    found = compare_shards(Work.begin(tmp_path / "killed", made_up.plan), engine, progress=kill)
    engine.close()
    assert killed
    assert "The worker of " in caplog.text
    assert "SIGKILL" in caplog.text
    assert found.digest() == alone.digest()


def test_a_task_that_kills_its_workers_ends_with_an_error(
    made_up: MadeUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = "import os, sys; sys.stdin.read(1); os.kill(os.getpid(), 9)"
    monkeypatch.setattr("mauve_core.shards.engines.COMMAND", ("-c", program))
    engine = LocalEngine(1)
    with pytest.raises(InputError) as caught:
        engine.run(tmp_path, encode_tasks(Work.begin(tmp_path / "work", made_up.plan)), lambda task, memory: None)
    engine.close()
    assert str(caught.value).startswith(f"The worker of shard {made_up.plan.sides[HUMAN][0]} died {MOST_DEATHS} times")
    assert str(caught.value).count("SIGKILL") == MOST_DEATHS


def test_an_interruption_ends_the_workers(made_up: MadeUp, alone: ShardedComparison, tmp_path: Path) -> None:
    engine, seen = LocalEngine(2), []

    def interrupt(name: str, done: int, total: int) -> None:
        seen.extend(engine.processes)
        if seen:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare_shards(Work.begin(tmp_path / "work", made_up.plan), engine, progress=interrupt)
    assert engine.processes == []
    for process in seen:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    found = compare_shards(Work.begin(tmp_path / "work", made_up.plan), engine)
    engine.close()
    assert found.digest() == alone.digest()


@pytest.mark.trial
def test_an_interruption_ends_a_worker_that_has_just_answered(
    made_up: MadeUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a worker has no task any more, and its seat is not free yet."""
    engine, held, seen = LocalEngine(2), threading.Event(), []
    answer, answered = engine._answer, itertools.count()

    def late(seat: Any, folder: Path, task: Task) -> int:
        found = answer(seat, folder, task)
        if next(answered) == 0:
            seen.append(seat.worker.process)
            held.set()
            while not engine._stopped:
                time.sleep(0.01)
            time.sleep(0.5)  # until the others are ended
        return found

    def interrupt(name: str, done: int, total: int) -> None:
        if name == "encode" and done:
            assert held.wait(60)
            raise KeyboardInterrupt

    monkeypatch.setattr(engine, "_answer", late)
    with pytest.raises(KeyboardInterrupt):
        compare_shards(Work.begin(tmp_path / "work", made_up.plan), engine, progress=interrupt)
    (process,) = seen
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_what_a_task_prints_is_no_answer_and_an_error_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    program = """
import pickle, sys
from mauve_core.shards import tasks

class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")

def odd(folder, name, args):
    print("loading ...")
    if name == "fail":
        raise Odd("this", "that")
    return 5

tasks.carry_out = odd
tasks.main()
"""
    requests = b"".join(pickle.dumps(("here", name, ())) for name in ("go", "fail", "go"))
    done = subprocess.run([sys.executable, "-c", program], input=requests, capture_output=True, check=True)
    answers = io.BytesIO(done.stdout)
    first, error, last = (pickle.load(answers) for _ in range(3))
    assert (first, last) == (5, 5)
    assert isinstance(error, RuntimeError)
    assert "Odd: this and that" in str(error)
    assert done.stderr.decode().count("loading ...") == 3


def test_what_is_finished_is_not_done_again(made_up: MadeUp, tmp_path: Path) -> None:
    """And what killed workers were writing goes once it is old."""
    work = Work.begin(tmp_path / "work", made_up.plan)
    first = made_up.compared(tmp_path / "work")
    next((tmp_path / "work").glob("*/*/partitions/00001/labels/00001/00002.json")).unlink()
    old, new = ((work.root / "encoded" / f".one.npy.{digit * 16}") for digit in "01")
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 3 * 86_400,) * 2)
    again = made_up.compared(tmp_path / "work")
    assert again.digest() == first.digest()
    assert sum(one.tasks - one.done_before for one in again.passes) == 1
    assert (old.exists(), new.exists()) == (False, True)


def test_an_interrupted_iteration_goes_on(made_up: MadeUp, tmp_path: Path) -> None:
    plan = dataclasses.replace(made_up.plan, sample_rows=60)
    expected = carried_out(plan, tmp_path / "undisturbed")

    def stop(name: str, done: int, total: int) -> None:
        if (
            name == "sum"
            and done == total
            and Work.open(tmp_path / "stopped").path("partitions", 1, "states", 1).with_suffix(".json").exists()
        ):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare_shards(Work.begin(tmp_path / "stopped", plan), Inline(), progress=stop)
    found = carried_out(plan, tmp_path / "stopped")
    assert found.digest() == expected.digest()
    assert found["model"].iterations == expected["model"].iterations


def test_texts_give_the_scores_in_memory_however_they_are_divided(
    text_plan: Callable[..., Plan], tmp_path: Path
) -> None:
    plan = text_plan(3)
    found = carried_out(plan, tmp_path / "work")
    many = carried_out(text_plan(5), tmp_path / "many")["model"]
    assert many.counts == found["model"].counts
    assert many.scores["mauve"].mean == pytest.approx(found["model"].scores["mauve"].mean, abs=1e-12)
    rows = {name: [dict(line) for line in _rows(plan, name)] for name in plan.sources}
    assert plan.encoder is not None
    plain = compare(
        [row["text"] for row in rows[HUMAN]],
        {"model": [row["text"] for row in rows["model"]]},
        CompareConfig(encoder=plan.encoder, score=SCORE),
        draw_map=False,
        progress="none",
    )["model"]
    for name, estimate in plain.scores.items():
        assert found["model"].scores[name].values == pytest.approx(estimate.values, abs=1e-12)
    assert [side.n for side in found.sides] == [240, 240]


def test_shards_encoded_with_other_weights_are_not_mixed(text_plan: Callable[..., Plan], tmp_path: Path) -> None:
    plan = text_plan(3)
    work = Work.begin(tmp_path / "work", plan)
    *most, last = encode_tasks(work)
    Inline().run(work.folder, most, lambda task, memory: None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mauve_core.encoders.catalogue._digest_once", lambda *_: "others")
        Inline().run(work.folder, [last], lambda task, memory: None)
    with pytest.raises(InputError, match="were encoded with different weights") as caught:
        compare_shards(work, Inline())
    assert str(plan.sides["model"][-1]) in str(caught.value)


def _rows(plan: Plan, name: str) -> list[dict[str, str]]:
    import json

    return [json.loads(line) for shard in plan.sides[name] for line in Path(shard).read_text().splitlines()]


def test_few_prompts_support_no_interval(tmp_path: Path) -> None:
    sides = {
        name: [{**row, "prompt": f"Prompt {place % 12}."} for place, row in enumerate(rows)]
        for name, rows in made_texts(120).items()
    }
    places = written_texts(tmp_path / "texts", sides, 2)
    encoder = EncoderConfig(str(by_topic(tmp_path / "words.txt")))
    plan = plan_of(places[HUMAN], {"model": places["model"]}, encoder=encoder, score=SCORE)
    found = carried_out(plan, tmp_path / "work")
    assert {(each.low, each.high) for each in found["model"].scores.values()} <= {(0.0, 1.0), (0.0, np.log(2))}
    said = "model: no interval and no test: 12 independent units on a side; an interval needs 20."
    assert said in map(str, answers_over_all(found, None))


def test_a_side_that_is_too_small_is_refused(tmp_path: Path) -> None:
    places = written_features(tmp_path / "features", made_sides(12), shards=2)
    plan = plan_of(places[HUMAN], {"model": places["model"]}, encoder=None, score=ScoreConfig(k=2))
    with pytest.raises(InputError, match="'human' has too few texts"):
        carried_out(plan, tmp_path / "work")


def test_engines_by_name() -> None:
    assert engine_for("local", 3).name == "local, 3 workers"
    for unknown in ("dask", "local:here", ""):
        with pytest.raises(InputError, match="engine is unknown"):
            engine_for(unknown)
