"""The work folder: one plan each, and nothing of a name in a path."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from mauve_core.base.config import HUMAN, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.shards.places import Stamp
from mauve_core.shards.plan import Plan, Work
from mauve_core.shards.texts import Named
from tests.sharded import MadeUp, carried_out

PLAN = Plan(
    {HUMAN: ("/a/1.jsonl",), "model": ("/b/1.jsonl", "/b/2.jsonl")},
    EncoderConfig("minilm"),
    ScoreConfig(seeds=2),
    {"model": Named(prompt="")},
    "float16",
)


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    Work.begin(tmp_path / "work", PLAN)
    assert Work.open(tmp_path / "work").plan == PLAN
    assert Work.begin(tmp_path / "work", PLAN).plan == PLAN


def test_a_folder_holds_several_comparisons(tmp_path: Path) -> None:
    first = Work.begin(tmp_path / "work", PLAN)
    other = dataclasses.replace(PLAN, score=ScoreConfig(seeds=3))
    second = Work.begin(tmp_path / "work", other)
    assert first.folder != second.folder
    assert (Work.open(first.folder).plan, Work.open(second.folder).plan) == (PLAN, other)
    with pytest.raises(InputError, match=r"holds 2 comparisons\..*Name the folder of one"):
        Work.open(tmp_path / "work")


SHARED: list[tuple[dict[str, object], bool]] = [
    ({"score": ScoreConfig(seeds=3, k=7, bootstrap=100)}, True),
    ({"sides": {HUMAN: ("/a/1.jsonl",), "other": ("/c/1.jsonl",), "model": ("/b/1.jsonl", "/b/2.jsonl")}}, True),
    ({"sides": {HUMAN: ("/a/1.jsonl",), "model": ("/b/2.jsonl",)}}, True),
    ({"score": ScoreConfig(seed=3)}, False),
    ({"encoder": EncoderConfig("smollm2-135m")}, False),
    ({"named": {"model": Named(text="completion")}}, False),
    ({"named": {"model": Named(prompt=""), HUMAN: Named(text="completion")}}, True),
    ({"stamps": {"/b/2.jsonl": Stamp(3, 4)}}, False),
    ({"weights": "0" * 64}, False),
]


@pytest.mark.parametrize(("change", "shared"), SHARED)
def test_what_is_encoded_is_shared_by_comparisons_that_encode_alike(
    tmp_path: Path, change: dict[str, object], shared: bool
) -> None:
    works = [Work.begin(tmp_path / "work", plan) for plan in (PLAN, dataclasses.replace(PLAN, **change))]  # type: ignore[arg-type]
    first, second = (
        work.shard_path("model", work.plan.sides["model"].index("/b/2.jsonl")).relative_to(tmp_path) for work in works
    )
    assert (first == second) is shared
    assert works[0].folder != works[1].folder


def test_machines_that_begin_at_once_agree(tmp_path: Path) -> None:
    """Also if another one is just writing the first file."""
    folder = Work.begin(tmp_path / "work", PLAN).folder
    (folder / "plan.json").rename(folder / f".plan.json.{'0' * 16}")
    assert Work.begin(tmp_path / "work", PLAN).folder == folder
    assert Work.begin(tmp_path / "work", dataclasses.replace(PLAN, run_texts=5)).folder != folder


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes.md").write_text("mine")
    with pytest.raises(InputError, match=r"holds other things\..*notes\.md"):
        Work.begin(tmp_path / "full", PLAN)
    with pytest.raises(InputError, match="holds no comparison"):
        Work.open(tmp_path / "full")
    (tmp_path / "full/plan.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        Work.open(tmp_path / "full")
    with pytest.raises(InputError, match=r"cannot be in an object store.*s3://bucket/work"):
        Work.begin("s3://bucket/work", PLAN)


def test_one_command_at_a_time_works_on_a_comparison(made_up: MadeUp, tmp_path: Path) -> None:
    work = Work.begin(tmp_path / "work", made_up.plan)
    with work.alone(), pytest.raises(InputError, match="Another command works on the comparison"):
        made_up.compared(tmp_path / "work")
    assert made_up.compared(tmp_path / "work")["model"].k


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sides": {HUMAN: ("/a/1.jsonl",), "model": ("/b/1.npy",)}}, "Sides of texts and sides of features"),
        ({"encoder": EncoderConfig("minilm", dtype="auto")}, "precision auto may become another one"),
        ({"encoder": None}, "texts, which need an encoder"),
    ],
)
def test_plans_that_cannot_be_carried_out(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dataclasses.replace(PLAN, **change)  # type: ignore[arg-type]


def test_a_name_never_becomes_a_path(made_up: MadeUp, tmp_path: Path) -> None:
    sides = {HUMAN: made_up.plan.sides[HUMAN], "../../outside": made_up.plan.sides["model"]}
    carried_out(dataclasses.replace(made_up.plan, sides=sides), tmp_path / "inner/work")
    assert [path.name for path in (tmp_path / "inner").iterdir()] == ["work"]
    assert not (tmp_path / "outside").exists()


def test_features_that_cannot_be_used(made_up: MadeUp, tmp_path: Path) -> None:
    wrong = {
        "text.npy": np.array(["a", "b"]),
        "flat.npy": np.ones(4, np.float32),
        "zero.npy": np.zeros((4, 8), np.float32),
        "nan.npy": np.full((4, 8), np.nan, np.float32),
        "wide.npy": np.ones((40, 9), np.float32),
    }
    for name, array in wrong.items():
        np.save(tmp_path / name, array)
        sides = {HUMAN: made_up.plan.sides[HUMAN], "model": (*made_up.plan.sides["model"], str(tmp_path / name))}
        expected = "different width" if name == "wide.npy" else name.replace(".", r"\.")
        with pytest.raises(InputError, match=expected):
            carried_out(dataclasses.replace(made_up.plan, sides=sides), tmp_path / f"work-{name}")


def test_pickled_features_are_refused(made_up: MadeUp, tmp_path: Path) -> None:
    np.save(tmp_path / "object.npy", np.array([{}], dtype=object))
    sides = {HUMAN: made_up.plan.sides[HUMAN], "model": (str(tmp_path / "object.npy"),)}
    with pytest.raises(InputError, match="cannot be read as an array"):
        carried_out(dataclasses.replace(made_up.plan, sides=sides), tmp_path / "work")


@pytest.mark.slow
def test_half_precision_changes_little(made_up: MadeUp, tmp_path: Path) -> None:
    halves = {}
    for name, array in made_up.sides.items():
        np.save(tmp_path / f"{name}.npy", array.astype(np.float16))
        halves[name] = (str(tmp_path / f"{name}.npy"),)
    exact = carried_out(made_up.plan, tmp_path / "exact")["model"].scores["mauve"].mean
    half = carried_out(dataclasses.replace(made_up.plan, sides=halves), tmp_path / "half")["model"].scores["mauve"].mean
    assert half == pytest.approx(exact, abs=0.02)
