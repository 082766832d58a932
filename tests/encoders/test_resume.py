"""A run that dies loses at most the work since its last part: killed, stopped by its owner, or out of disk."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mauve_core.base.config import EncoderConfig
from mauve_core.base.errors import CancelledError, StorageError
from mauve_core.encoders import Encoder, encode, feature_key
from mauve_core.encoders.features import DamagedEntryWarning, FeatureStore
from tests.encoders.test_encode import RELATIVE, relative_error

pytestmark = pytest.mark.integration

rows_module = sys.modules["mauve_core.encoders.features"]
Tiny = Callable[[str], str]

WORKER = """
import sys, time
from pathlib import Path
from mauve_core.base.config import EncoderConfig
from mauve_core.encoders import encode
from mauve_core.encoders.features import FeatureStore
sys.modules["mauve_core.encoders.features"].PART_SECONDS = 0.0
folder, root, file, pause_s = sys.argv[1:]
texts = Path(file).read_text(encoding="utf-8").split("\\n")
encode(texts, EncoderConfig(folder), store=FeatureStore(Path(root)), device="cpu", batch_tokens=64,
       progress=lambda *_: time.sleep(float(pause_s)))
"""


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Indices of the texts that went through the model, in order."""
    seen: list[int] = []
    forward = Encoder._forward

    def spy(self: Encoder, loaded: Any, tokens: Any, indices: Any) -> Any:
        seen.extend(indices.tolist())
        return forward(self, loaded, tokens, indices)

    monkeypatch.setattr(Encoder, "_forward", spy)
    return seen


def stored_rows(store: FeatureStore, key: str, n: int) -> dict[int, np.ndarray]:
    return {
        int(index): row for part in store.parts(key, n) for index, row in zip(part.indices, part.array, strict=True)
    }


def stop_after(calls: int) -> Callable[[str, int, int], None]:
    left = [calls]

    def progress(stage: str, done: int, total: int) -> None:
        if stage == "Encoding tokens":
            left[0] -= 1
            if left[0] < 0:
                raise CancelledError("Stopped on request")

    return progress


def test_features_are_computed_once(tiny: Tiny, texts: tuple[str, ...], tmp_path: Path, computed: list[int]) -> None:
    store, config = FeatureStore(tmp_path), EncoderConfig(tiny("gpt2"), max_tokens=20)
    first = encode(texts, config, store=store, device="cpu")
    assert sorted(computed) == list(range(len(texts)))
    again = encode(texts, config, store=store, device="cpu")
    assert len(computed) == len(texts)
    plain = encode(texts, config, device="cpu")
    for name in ("array", "lengths", "cut"):
        np.testing.assert_array_equal(getattr(first, name), getattr(plain, name))
        np.testing.assert_array_equal(getattr(again, name), getattr(plain, name))
    for name in ("key", "device", "limit", "notes"):
        assert getattr(first, name) == getattr(again, name) == getattr(plain, name)
    assert isinstance(again.array, np.memmap)


@pytest.mark.parametrize("calls", [1, 8])
@pytest.mark.parametrize("part_seconds", [0.0, 1e9])
def test_stopped_work_goes_on_where_it_stopped(
    tiny: Tiny,
    texts: tuple[str, ...],
    tmp_path: Path,
    computed: list[int],
    monkeypatch: pytest.MonkeyPatch,
    calls: int,
    part_seconds: float,
) -> None:
    monkeypatch.setattr(rows_module, "PART_SECONDS", part_seconds)
    store, config = FeatureStore(tmp_path), EncoderConfig(tiny("roberta"))
    with pytest.raises(CancelledError):
        encode(texts, config, store=store, device="cpu", batch_tokens=100, progress=stop_after(calls))
    done = stored_rows(store, feature_key(texts, config), len(texts))
    assert sorted(done) == sorted(computed)
    assert bool(done) == bool(calls)
    computed.clear()
    seen: list[tuple[str, int]] = []
    features = encode(
        texts, config, store=store, device="cpu", batch_tokens=70, progress=lambda stage, n, _: seen.append((stage, n))
    )
    assert sorted([*done, *computed]) == list(range(len(texts)))
    first_report = next(n for stage, n in seen if stage == "Encoding tokens")
    assert first_report == sum(int(features.lengths[index]) for index in done)
    for index, row in done.items():
        np.testing.assert_array_equal(features.array[index], row)
    assert relative_error(features.array, encode(texts, config, device="cpu").array) < RELATIVE


def test_parts_are_kept_at_intervals(
    tiny: Tiny, texts: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, saved = [0.0], []
    monkeypatch.setattr(rows_module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(FeatureStore, "save_part", lambda self, key, part: saved.append((now[0], len(part.indices))))

    def a_second_passes(stage: str, done: int, total: int) -> None:
        now[0] += 1.0

    store = FeatureStore(tmp_path)
    encode(texts, EncoderConfig(tiny("gpt2")), store=store, device="cpu", batch_tokens=64, progress=a_second_passes)
    times = [at for at, _ in saved]
    assert len(times) >= 2
    assert (np.diff(times) == rows_module.PART_SECONDS).all()


def test_a_damaged_entry_is_computed_again(
    tiny: Tiny, texts: tuple[str, ...], tmp_path: Path, computed: list[int]
) -> None:
    store, config = FeatureStore(tmp_path), EncoderConfig(tiny("gpt2"))
    expected = np.array(encode(texts, config, store=store, device="cpu").array)
    path = tmp_path / feature_key(texts, config) / "features.npy"
    path.write_bytes(path.read_bytes()[:-4] + b"\x00\x00\x80\x7f")
    computed.clear()
    with pytest.warns(DamagedEntryWarning):
        again = encode(texts, config, store=store, device="cpu")
    assert len(computed) == len(texts)
    np.testing.assert_array_equal(again.array, expected)


@pytest.mark.parametrize("part_seconds", [0.0, 1e9])
def test_a_full_disk_is_said_and_nothing_else_is_lost(
    tiny: Tiny,
    texts: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    computed: list[int],
    part_seconds: float,
) -> None:
    monkeypatch.setattr(rows_module, "PART_SECONDS", part_seconds)
    store, config = FeatureStore(tmp_path), EncoderConfig(tiny("gpt2"))
    earlier = encode(texts[:9], config, store=store, device="cpu")
    fsync, good = os.fsync, [2]

    def full(descriptor: int) -> None:
        good[0] -= 1
        if good[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match="No space left"):
            encode(texts, config, store=store, device="cpu", batch_tokens=100)
    kept = stored_rows(store, feature_key(texts, config), len(texts))
    assert bool(kept) == (part_seconds == 0.0)
    computed.clear()
    features = encode(texts, config, store=store, device="cpu", batch_tokens=100)
    assert sorted([*kept, *computed]) == list(range(len(texts)))
    assert relative_error(features.array, encode(texts, config, device="cpu").array) < RELATIVE
    np.testing.assert_array_equal(encode(texts[:9], config, store=store, device="cpu").array, earlier.array)


def worker(tiny: Tiny, texts: tuple[str, ...], root: Path, pause_s: float) -> subprocess.Popen[bytes]:
    file = root.parent / "texts.txt"
    file.write_text("\n".join(texts), encoding="utf-8")
    command = [sys.executable, "-c", WORKER, tiny("gpt2"), str(root), str(file), str(pause_s)]
    return subprocess.Popen(command)


@pytest.mark.slow
def test_a_killed_run_resumes(tiny: Tiny, texts: tuple[str, ...], tmp_path: Path, computed: list[int]) -> None:
    store, config = FeatureStore(tmp_path / "features"), EncoderConfig(tiny("gpt2"))
    key, rng = feature_key(texts, config), np.random.default_rng(time.time_ns())
    process = worker(tiny, texts, store.root, 0.1)
    deadline = time.monotonic() + 120
    while not stored_rows(store, key, len(texts)):
        assert process.poll() is None, "the worker ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(rng.uniform(0, 0.2))
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    done = stored_rows(store, key, len(texts))
    assert sum(len(part.indices) for part in store.parts(key, len(texts))) == len(done)  # nothing twice
    assert 0 < len(done) < len(texts)
    features = encode(texts, config, store=store, device="cpu")
    assert sorted([*done, *computed]) == list(range(len(texts)))
    assert all(np.array_equal(features.array[index], row) for index, row in done.items())
    assert relative_error(features.array, encode(texts, config, device="cpu").array) < RELATIVE
    assert store.parts(key, len(texts)) == []


@pytest.mark.slow
@pytest.mark.trial
def test_two_processes_with_one_key_do_no_harm(tiny: Tiny, texts: tuple[str, ...], tmp_path: Path) -> None:
    store, config = FeatureStore(tmp_path / "features"), EncoderConfig(tiny("gpt2"))
    workers = [worker(tiny, texts, store.root, pause_s) for pause_s in (0.0, 0.01)]
    assert [process.wait(timeout=120) for process in workers] == [0, 0]
    stored = store.get(feature_key(texts, config))
    assert stored is not None
    assert relative_error(stored.array, encode(texts, config, device="cpu").array) < RELATIVE
    assert {path.name for path in store.root.iterdir()} == {feature_key(texts, config)}
