"""Encoding has one process a GPU, the passes after it all cores: on this machine and on Ray."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import InputError
from mauve_core.encoders import devices
from mauve_core.encoders.devices import VISIBLE, gpus_for, visible_variable
from mauve_core.shards.comparison import compare_shards, encode_tasks
from mauve_core.shards.costs import estimate
from mauve_core.shards.encoding import model_device
from mauve_core.shards.engines import LocalEngine
from mauve_core.shards.plan import Plan, Work
from tests.sharded import MadeUp, carried_out
from tests.tiny_models import make_gpt2


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[int], None]:
    """Torch counts so many GPUs in this process; workers see what the machine has."""
    monkeypatch.setattr(devices, "DRIVER_FILES", (str(tmp_path),))
    for name in VISIBLE:
        monkeypatch.delenv(name, raising=False)

    def pretend(count: int) -> None:
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)

    return pretend


@pytest.fixture
def plan(text_plan: Callable[..., Plan], tmp_path: Path) -> Plan:
    """Texts for a model that runs on a device."""
    encoder = EncoderConfig(str(make_gpt2(tmp_path / "gpt2")))
    return dataclasses.replace(text_plan(3), encoder=encoder)


@pytest.mark.parametrize(
    ("count", "visible", "device", "expected"),
    [
        (2, None, "auto", ("0", "1")),
        (2, "3,GPU-8932f937", "auto", ("3", "GPU-8932f937")),
        (1, " 5 , 6", "cuda", ("5",)),
        (2, None, "cuda:0,cuda:1", (None,)),
        (2, None, "cpu", ()),
    ],
)
def test_gpus_are_divided_among_processes(
    gpus: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
    count: int,
    visible: str | None,
    device: str,
    expected: tuple[str | None, ...],
) -> None:
    gpus(count)
    if visible is not None:
        monkeypatch.setenv(visible_variable(), visible)
    assert gpus_for(device) == expected


def test_a_missing_gpu_is_said_before_a_worker_starts(gpus: Callable[[int], None]) -> None:
    gpus(0)
    with pytest.raises(InputError, match="no CUDA device"):
        LocalEngine().gpus("cuda")
    gpus(1)
    with pytest.raises(InputError, match=r"no device cuda:4"):
        LocalEngine().gpus("cuda:4")


def test_what_runs_a_model_on_a_device(plan: Plan, text_plan: Callable[..., Plan], made_up: MadeUp) -> None:
    def of(model: str) -> str | None:
        return model_device(dataclasses.replace(plan, encoder=EncoderConfig(model)), "auto")

    assert model_device(plan, "cuda") == "cuda"
    assert of("gpt2-large") == of("roberta-large") == "auto"
    assert model_device(text_plan(2), "cuda") is None  # word vectors
    assert model_device(made_up.plan, "cuda") is None  # features


@pytest.mark.trial
def test_local_workers_see_one_gpu_each_while_they_encode(
    gpus: Callable[[int], None],
    plan: Plan,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = carried_out(plan, tmp_path / "plain").digest()
    gpus(2)
    monkeypatch.setattr("mauve_core.shards.engines.usable_cores", lambda: 3)
    engine = LocalEngine()
    work, seen = Work.begin(tmp_path / "work", plan), dict[str, dict[int, str | None]]()

    def look(stage: str, done: int, total: int) -> None:
        for process in (seat.worker.process for seat in engine._idle if seat.worker is not None):
            lines = Path(f"/proc/{process}/environ").read_bytes().decode().split("\0")
            known = dict(line.split("=", 1) for line in lines if line)
            if done:
                seen.setdefault(stage, {})[process] = known.get(visible_variable())

    try:
        tasks = encode_tasks(work)
        found = estimate(work, engine, tasks, always=True)
        assert found is not None
        assert (found.encoders, found.workers) == (2, 3)
        assert (engine.gpus("auto"), engine.gpus("cpu"), engine.gpus(None)) == (2, 0, 0)
        result = compare_shards(work, engine, progress=look)
    finally:
        engine.close()
    gpus_seen = list(seen["encode"].values())
    assert 0 < len(gpus_seen) <= 2
    assert len(set(gpus_seen) & {"0", "1"}) == len(gpus_seen)
    others = {
        process: gpu for stage, own in seen.items() if stage not in ("check", "encode") for process, gpu in own.items()
    }
    assert set(others.values()) == {None}
    assert not set(others) & set(seen["encode"])
    assert result.engine == "local, 2 GPUs and 3 workers"
    assert result.digest() == expected
