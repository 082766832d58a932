"""A process that has computed forks, and its child computes on: the same numbers, and no waiting for lost threads.

Each script runs in a process of its own. SIGALRM ends what hangs, so that nothing is left over.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny_models import make_gpt2

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 100

BEGIN = f"""
import os, signal, sys, threading
import numpy as np
from threadpoolctl import threadpool_info
from mauve_core import compute_mauve
from mauve_core.stats import threads

signal.alarm({LIMIT_S})
threads.usable_cores = lambda: 3
rng = np.random.default_rng(0)
p, q = rng.normal(size=(300, 16)), rng.normal(0.3, size=(300, 16))

def score(_=None):
    return compute_mauve(p, q, num_buckets=20).mauve

def blas_threads():
    return {{library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}}

def in_child(check):
    "Exit code of a child in which the check holds: 0."
    child = os.fork()
    if child == 0:
        signal.alarm({LIMIT_S})
        os._exit(0 if check() else 3)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def run(script: str, *arguments: str) -> str:
    """What the script prints; its failure fails the test."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "2", "TOKENIZERS_PARALLELISM": "false"}
    command = [sys.executable, "-c", BEGIN + script, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False)
    assert result.returncode == 0, f"ended with {result.returncode}: {result.stderr[-2000:]}"
    return result.stdout.strip()


@pytest.mark.slow
def test_children_compute_what_their_parent_computed() -> None:
    """Forked by itself, by a pool, while another thread computes, and while it holds BLAS itself."""
    script = """
import multiprocessing
usual = blas_threads()
first = score()
print(in_child(lambda: score() == first), score() == first)
with multiprocessing.get_context("fork").Pool(2, initializer=signal.alarm, initargs=(60,)) as pool:
    print(set(pool.map(score, range(4))) == {first})

begun, over = threading.Barrier(4), threading.Event()
at_work = threading.Thread(target=threads.parallel_map, args=(lambda _: (begun.wait(), over.wait()), range(3)))
at_work.start()
begun.wait()  # all of the threads are busy, and BLAS is held to one of its own
print(blas_threads(), in_child(lambda: blas_threads() == usual and score() == first and blas_threads() == usual))
over.set()
at_work.join()
print(blas_threads() == usual)

def check():
    score()
    return blas_threads() == {1}  # the block around the fork goes on in the child

with threads.single_threaded_blas():
    print(in_child(check))
print(blas_threads() == usual)
"""
    assert run(script).splitlines() == ["0 True", "True", "{1} 0", "True", "0", "True"]


@pytest.mark.trial
@pytest.mark.slow
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("count", [1, 40])
def test_a_child_encodes_what_its_parent_encoded(tmp_path: Path, packed: bool, count: int) -> None:
    # So wide that torch spreads its work over threads, where one batch is computed on the caller's own.
    model = make_gpt2(tmp_path / "model", width=512, layers=1)
    script = """
from mauve_core.base.config import EncoderConfig
from mauve_core.encoders import Encoder
model, packed, count = sys.argv[1], sys.argv[2] == "True", int(sys.argv[3])
encoder = Encoder(EncoderConfig(model), device="cpu", packed=packed)
texts = [f"Text {i} of some length, so that there is something to do: " + "rain and snow, " * 12 for i in range(count)]
first = encoder.encode(texts).array
print(in_child(lambda: np.allclose(encoder.encode(texts).array, first, rtol=1e-4, atol=1e-4)))
"""
    assert run(script, str(model), str(packed), str(count)) == "0"
