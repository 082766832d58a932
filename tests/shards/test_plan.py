"""The work folder: one plan each, and nothing of a name in a path."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from mauve_core.base.config import HUMAN, EncoderConfig, ScoreConfig
from mauve_core.base.errors import InputError
from mauve_core.shards.plan import Plan, Work
from mauve_core.shards.texts import Named
from tests.sharded import MadeUp, carried_out

PLAN = Plan(
    {HUMAN: ("/a/1.jsonl",), "model": ("/b/1.jsonl", "/b/2.jsonl")},
    EncoderConfig("minilm"),
    ScoreConfig(seeds=2),
    Named(prompt=""),
    "float16",
)


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    Work.begin(tmp_path / "work", PLAN)
    assert Work.open(tmp_path / "work").plan == PLAN
    assert Work.begin(tmp_path / "work", PLAN).plan == PLAN


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"score": ScoreConfig(seeds=3)}, "other score"),
        ({"encoder": EncoderConfig("smollm2-135m")}, "other encoder"),
        ({"sides": {HUMAN: ("/a/1.jsonl",), "model": ("/b/1.jsonl",)}}, "other sides"),
        ({"stored_as": "float32"}, "other stored_as"),
    ],
)
def test_a_folder_belongs_to_one_plan(tmp_path: Path, change: dict[str, object], named: str) -> None:
    Work.begin(tmp_path / "work", PLAN)
    with pytest.raises(InputError, match=f"belongs to another comparison.*{named}"):
        Work.begin(tmp_path / "work", dataclasses.replace(PLAN, **change))  # type: ignore[arg-type]


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes.md").write_text("mine")
    with pytest.raises(InputError, match="holds other things"):
        Work.begin(tmp_path / "full", PLAN)
    with pytest.raises(InputError, match="is not the folder of a comparison"):
        Work.open(tmp_path / "full")
    (tmp_path / "full/plan.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        Work.open(tmp_path / "full")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sides": {HUMAN: ("/a/1.jsonl",)}}, "nothing to compare"),
        ({"sides": {HUMAN: ("/a/1.jsonl",), "model": ("/b/1.npy",)}}, "Sides of texts and sides of features"),
        ({"encoder": EncoderConfig("minilm", dtype="auto")}, "precision auto may become another one"),
        ({"encoder": None}, "texts, which need an encoder"),
        ({"sides": {HUMAN: ("/a/1.npy",), "model": ("/b/1.npy",)}}, "features, which need no encoder"),
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
        "none.npy": np.zeros((0, 8), np.float32),
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


def test_half_precision_changes_little(made_up: MadeUp, tmp_path: Path) -> None:
    halves = {}
    for name, array in made_up.sides.items():
        np.save(tmp_path / f"{name}.npy", array.astype(np.float16))
        halves[name] = (str(tmp_path / f"{name}.npy"),)
    exact = carried_out(made_up.plan, tmp_path / "exact")["model"].scores["mauve"].mean
    half = carried_out(dataclasses.replace(made_up.plan, sides=halves), tmp_path / "half")["model"].scores["mauve"].mean
    assert half == pytest.approx(exact, abs=0.02)
