"""Every kind of task as a job's file holds it: read back equal, refused with an unknown entry, with absolute paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mauve_core.analyses.task_registry import KINDS, read_task
from mauve_core.analyses.tasks import NewRunTask
from mauve_core.base.errors import InputError

SIDES = {
    "human": {"path": "h.jsonl", "metadata_fields": ["topic"], "features": "h.npy"},
    "candidates": {"a": {"path": "hf:some/data", "features": "a.npy"}},
    "config": {"encoder": None, "score": {"k": 9}},
}
TASKS: dict[str, dict[str, Any]] = {
    "comparison": {"name": "study", **SIDES},
    "measures": {"run": "demo", "measures": ["length"]},
    "neighbours": {"run": "demo", "ks": [1, 5], "measures": ["recall"]},
    "lengths": {"run": "demo", "lengths": [32], "model": "gpt2"},
    "sweep": {"run": "demo", "over": "k", "values": [2, 5.0]},
    "methods": {"run": "demo", "methods": ["kmeans:summary=mid"], "human_model": "model", "candidate_model": "gpt2"},
    "probes": {"run": "demo", "perturbations": ["typos"], "rows": [3, 1]},
    "attributes": {"run": "demo", "ks": [4], "other_file": {"path": "o.jsonl"}},
    "study": {"name": "mine", "human": {"path": "h.jsonl"}, "model": "gpt2", "decoders": ["greedy", "adversarial"]},
    "without": {"name": "less", "run": "demo", "candidate": "a", "dropped": {"human": ["t1"], "a": []}},
    "again": {"name": "more", "run": "demo", "config": {"encoder": {"model": "minilm"}}, "left_out": ["b"]},
    "prepare": {"run": "demo"},
    "encoders": {"run": "demo", "encoders": ["minilm"]},
    "map": {"run": "demo"},
    "positions": {"run": "demo", "texts": 256},
}


def test_every_kind_is_here() -> None:
    assert list(TASKS) == list(KINDS)


@pytest.mark.parametrize("kind", TASKS)
def test_a_task_is_read_back_equal_and_refused_with_an_unknown_or_missing_entry(kind: str) -> None:
    task = read_task(kind, TASKS[kind])
    assert type(task) is KINDS[kind]
    assert read_task(kind, json.loads(json.dumps(task.to_json()))) == task
    with pytest.raises(InputError, match=r"task cannot be used. Allowed: the entries .*Received: 'nonsense'"):
        read_task(kind, {**TASKS[kind], "nonsense": 1})
    first = "name" if issubclass(KINDS[kind], NewRunTask) else "run"
    with pytest.raises(InputError, match=rf"task cannot be used. Allowed: the entries .*\b{first}\b"):
        read_task(kind, {name: value for name, value in TASKS[kind].items() if name != first})


def test_an_unknown_entry_is_refused_wherever_it_stands() -> None:
    candidates = {"a": {**SIDES["candidates"]["a"], "nonsense": 1}}  # type: ignore[dict-item]
    with pytest.raises(InputError, match=r"The entry candidates.a of the .* cannot be used. .*Received: 'nonsense'"):
        read_task("comparison", {**TASKS["comparison"], "candidates": candidates})


def test_paths_become_absolute_wherever_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    found = read_task("comparison", TASKS["comparison"]).absolute().to_json()
    human, candidate = found["human"], found["candidates"]["a"]
    assert (human["path"], human["features"]) == (f"{tmp_path}/h.jsonl", f"{tmp_path}/h.npy")
    assert (candidate["path"], candidate["features"]) == ("hf:some/data", f"{tmp_path}/a.npy")
    found = read_task("methods", TASKS["methods"]).absolute().to_json()
    assert (found["human_model"], found["candidate_model"]) == (f"{tmp_path}/model", "gpt2")
