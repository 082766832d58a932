"""What version 1 wrote of every task, result and job: read back, it is written again to the same bytes.

Settings that came later are the only difference; what was written before them has their defaults.
"""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest

from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import dataclass_to_json, from_json
from mauve_core.experiments.attributes_over_k import AttributeTable
from mauve_core.experiments.encoders import EncoderTable
from mauve_core.experiments.methods import MethodTable
from mauve_core.experiments.robustness import ProbeTable
from mauve_core.experiments.sweeps import Sweep
from mauve_core.experiments.text_measures import Measurements
from mauve_core.jobs.state import STATE, read_state, write_json
from mauve_core.tasks.base import NewRunTask, RunTask
from mauve_core.tasks.registry import KINDS, read_task
from mauve_core.tasks.study import StudyTask

STORED: dict[str, Any] = json.loads(Path(__file__).with_name("stored_before.json").read_text(encoding="utf-8"))
RESULTS: dict[str, Any] = {
    "sweep-k": Sweep,
    "methods": MethodTable,
    "probes": ProbeTable,
    "attributes": AttributeTable,
    "measures": Measurements,
    "encoders": EncoderTable,
}
SINCE = {"comparison": {"normalize"}, "again": {"normalize"}}
"""By kind of task: entries that version 1 did not write; they are null unless someone asks for them."""

RESULTS_SINCE: dict[str, dict[str, None]] = {"measures": {"differences": None}}
"""By kind of result, likewise."""

LATER = {"unit_rows": "before"}
"""Settings of scores that version 1 did not have."""

TASKS = [(kind, values) for kind, found in STORED["tasks"].items() for values in found]


def as_today(values: Any) -> Any:
    """The values of a task with the settings that came later."""
    if not isinstance(values, dict):
        return values
    found = {name: as_today(value) for name, value in values.items()}
    return found | ({"score": found["score"] | LATER} if "score" in found else {})


def test_every_kind_of_task_and_result_is_here() -> None:
    assert list(STORED["tasks"]) == list(KINDS)
    assert list(STORED["attached"]) == list(RESULTS)


@pytest.mark.parametrize(("kind", "values"), TASKS, ids=lambda each: each if isinstance(each, str) else "")
def test_a_stored_task_opens_and_is_written_as_it_was(kind: str, values: Any) -> None:
    task = read_task(kind, values)
    assert type(task) is KINDS[kind]
    written, since = task.to_json(), SINCE.get(kind, set())
    assert {name for name, value in written.items() if value is None and name not in values} == since
    assert json.dumps({name: value for name, value in written.items() if name not in since}) == json.dumps(
        as_today(values)
    )
    assert task.absolute() == task, "its paths are absolute already"


@pytest.mark.parametrize("name", RESULTS)
def test_a_stored_result_opens_and_is_written_as_it_was(name: str) -> None:
    values = STORED["attached"][name]
    found = from_json(RESULTS[name], values)
    assert json.dumps(dataclass_to_json(found), allow_nan=False) == json.dumps(
        {**values, **RESULTS_SINCE.get(name, {})}
    )


@pytest.mark.parametrize("values", STORED["states"], ids=lambda values: values["status"])
def test_a_stored_state_of_a_job_opens(values: Any, tmp_path: Path) -> None:
    folder = tmp_path / values["id"]
    folder.mkdir()
    write_json(folder / STATE, values)
    assert json.dumps(dataclasses.asdict(read_state(folder))) == json.dumps(values)


def test_a_study_that_was_stopped_finds_its_texts() -> None:
    found = [read_task("study", values) for values in STORED["tasks"]["study"]]
    assert [task.folder.name for task in found if isinstance(task, StudyTask)] == STORED["study_folders"]


def test_infinite_values_are_numbers_again() -> None:
    infinite = from_json(MethodTable, STORED["attached"]["methods"]).results[1]
    assert infinite.scores["a"].value == math.inf
    assert infinite.ceiling is not None
    assert infinite.ceiling.value == math.inf


@pytest.mark.parametrize(("kind", "values"), TASKS, ids=lambda each: each if isinstance(each, str) else "")
def test_unknown_and_missing_entries_are_named(kind: str, values: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"task cannot be used. Allowed: the entries .*Received: 'nonsense'"):
        read_task(kind, {**values, "nonsense": 1})
    first = "name" if issubclass(KINDS[kind], NewRunTask) else "run"
    with pytest.raises(InputError, match=rf"task cannot be used. Allowed: the entries .*required: .*\b{first}\b"):
        read_task(kind, {name: value for name, value in values.items() if name != first})
    with pytest.raises(InputError, match=f"The entry {first} of the .* task cannot be used. Allowed: text"):
        read_task(kind, {**values, first: 5})
    assert issubclass(KINDS[kind], NewRunTask | RunTask)


def test_paths_become_absolute_wherever_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    given = json.loads(json.dumps(STORED["tasks"]["comparison"][1]).replace("/d/", ""))
    there = json.loads(json.dumps(STORED["tasks"]["comparison"][1]).replace("/d/", f"{tmp_path}/"))
    assert read_task("comparison", given).absolute().to_json() == {**as_today(there), "normalize": None}
    models = {"human_model": "model", "candidate_model": "gpt2"}
    found = read_task("methods", {"run": "demo", **models}).absolute().to_json()
    assert (found["human_model"], found["candidate_model"]) == (str(tmp_path / "model"), "gpt2")
