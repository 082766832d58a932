"""Kill a process in the middle of its work, as a power cut would."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A worker needs a second or two for its imports; on a busy machine many times that.
LONGEST_S = 300


def killed_once(is_time: Callable[[], bool], script: str, *arguments: str) -> None:
    """Run a script in a process of its own until it is time, and kill it; it must be at work until then."""
    command = [sys.executable, "-c", script, *arguments]
    worker = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        give_up = time.monotonic() + LONGEST_S
        while not is_time():
            assert worker.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.02)
    finally:
        worker.send_signal(signal.SIGKILL)
        worker.wait()
