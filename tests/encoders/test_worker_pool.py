"""WorkerPool with made-up work, then the encoder on two devices, for which the CPU stands in twice."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import CancelledError, InputError
from mauve_core.encoders import Encoder, PrefixEncoder, encode, feature_key
from mauve_core.encoders import encoder as encoder_module
from mauve_core.encoders.batching import Worker, WorkerPool, threads_kept
from mauve_core.encoders.devices import resolve_devices
from mauve_core.encoders.features import FeatureStore
from tests.encoders.cuda_stand_in import COUNT, stand_in
from tests.encoders.test_encode import CAUSAL, MASKED, RELATIVE, relative_error

pytestmark = pytest.mark.integration

Tiny = Callable[[str], str]


def doubling(ahead: int = 0, log: list[tuple[str, int]] | None = None) -> Worker[int, int]:
    log = [] if log is None else log

    def start(batch: int) -> int:
        log.append(("start", batch))
        return batch

    def finish(started: int) -> int:
        log.append(("finish", started))
        return 2 * started

    return Worker(start, finish, ahead)


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("ahead", [0, 3])
def test_every_batch_comes_back_once(count: int, ahead: int) -> None:
    work = WorkerPool([doubling(ahead) for _ in range(count)], range(20))
    assert sorted(work.take() for _ in range(20)) == [(batch, 2 * batch) for batch in range(20)]
    assert work.stop() == []


@pytest.mark.skipif(sys.platform != "linux", reason="/proc lists the threads of Linux alone")
def test_no_thread_is_still_ending_afterwards() -> None:
    # What C libraries keep for a thread is destroyed after Python has joined it: here by a sleep.
    libc, key = ctypes.CDLL(None), ctypes.c_uint()
    assert libc.pthread_key_create(ctypes.byref(key), libc.usleep) == 0
    sleeping = Worker(lambda batch: libc.pthread_setspecific(key, ctypes.c_void_p(200_000)), lambda started: started)
    threads = Path("/proc/self/task")
    before = {thread.name for thread in threads.iterdir()}
    work = WorkerPool([sleeping, sleeping], range(2))
    assert [work.take()[1] for _ in range(2)] == [0, 0]
    work.stop()
    assert {thread.name for thread in threads.iterdir()} <= before


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("ahead", [0, 1])
def test_what_was_begun_is_not_lost(count: int, ahead: int) -> None:
    log: list[tuple[str, int]] = []
    work = WorkerPool([doubling(ahead, log) for _ in range(count)], range(1000))
    taken = [work.take()[0] for _ in range(5)]
    taken += [batch for batch, _ in work.stop()]
    assert sorted(taken) == sorted(batch for name, batch in log if name == "start")
    assert len(set(taken)) == len(taken)


@pytest.mark.parametrize("count", [1, 2])
def test_an_error_of_a_lane_is_raised_where_results_are_taken(count: int) -> None:
    def fail(batch: int) -> int:
        raise InputError(f"batch {batch}")

    work = WorkerPool([Worker(fail, lambda started: started) for _ in range(count)], range(4))
    with pytest.raises(InputError, match=r"batch [01]"):
        work.take()
    assert work.stop() == []


def test_the_number_of_threads_comes_back() -> None:
    before = torch.get_num_threads()
    with threads_kept(), threads_kept():
        work: WorkerPool[int, int] = WorkerPool(
            [Worker(lambda b: b, lambda _: torch.get_num_threads(), threads=1)] * 2, range(4)
        )
        assert {work.take()[1] for _ in range(4)} == {1}
        work.stop()
    assert torch.get_num_threads() == before


def test_names_of_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_devices("cpu, cpu") == ("cpu", "cpu")
    with pytest.raises(InputError, match="No device named"):
        resolve_devices("cpu,toaster")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    assert resolve_devices("auto") == resolve_devices("cuda") == ("cuda:0", "cuda:1", "cuda:2")
    assert resolve_devices("cuda:1") == ("cuda:1",)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("name", [*CAUSAL, *MASKED])
def test_two_devices_give_what_one_gives(tiny: Tiny, texts: tuple[str, ...], name: str, packed: bool) -> None:
    config = EncoderConfig(tiny(name), max_tokens=20)
    one = encode(texts, config, device="cpu")
    two = Encoder(config, device="cpu,cpu", batch_tokens=70, packed=packed).encode(texts)
    assert relative_error(two.array, one.array) < RELATIVE
    np.testing.assert_array_equal(two.lengths, one.lengths)
    assert (two.key, two.device) == (one.key, "cpu")


def test_every_cuda_device_is_a_lane_that_works_ahead(
    tiny: Tiny, texts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch)
    used: list[Worker[Any, Any]] = []

    def spy(workers: Any, batches: Any) -> WorkerPool[Any, Any]:
        used.extend(workers)
        return WorkerPool(workers, batches)

    monkeypatch.setattr(encoder_module, "WorkerPool", spy)
    features = encode(texts, EncoderConfig(tiny("gpt2")), batch_tokens=70)
    assert [worker.ahead for worker in used] == [1] * COUNT
    assert set(features.device.split("+")) <= {f"cuda:{index}" for index in range(COUNT)}


def test_prefixes_on_two_devices(tiny: Tiny, texts: tuple[str, ...]) -> None:
    config = EncoderConfig(tiny("llama"))
    found = PrefixEncoder(config, device="cpu,cpu", batch_tokens=70).encode_prefixes(texts, (5, 17))
    for length, features in found.items():
        expected = encode(texts, EncoderConfig(tiny("llama"), max_tokens=length), device="cpu")
        assert relative_error(features.array, expected.array) < RELATIVE


def test_a_stop_keeps_what_either_device_finished(
    tiny: Tiny, texts: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, config, left = FeatureStore(tmp_path), EncoderConfig(tiny("gpt2")), [4]
    forward, computed = Encoder._forward, []

    def spy(self: Encoder, loaded: Any, tokens: Any, indices: Any) -> Any:
        computed.extend(indices.tolist())
        return forward(self, loaded, tokens, indices)

    def stop(stage: str, *_: int) -> None:
        left[0] -= stage == encoder_module.STAGE
        if left[0] < 0:
            raise CancelledError("Stopped")

    monkeypatch.setattr(Encoder, "_forward", spy)
    with pytest.raises(CancelledError):
        encode(texts, config, store=store, device="cpu,cpu", batch_tokens=70, progress=stop)
    parts = store.parts(feature_key(texts, config), len(texts))
    kept = sorted(int(index) for part in parts for index in part.indices)
    assert len(kept) >= 4
    assert kept == sorted(computed), "nothing that was computed is lost, and nothing is there twice"
    computed.clear()
    again = encode(texts, config, store=store, device="cpu,cpu")
    assert sorted([*kept, *computed]) == list(range(len(texts)))
    assert relative_error(again.array, encode(texts, config, device="cpu").array) < RELATIVE
