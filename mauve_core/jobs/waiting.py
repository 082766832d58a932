"""A worker's beginning: ``python -m mauve_core.jobs.waiting FOLDER`` waits while several jobs are ahead, then works.

Of a long queue only the workers whose turns are next have the libraries in memory, a hundred megabytes each; the others
take a tenth of that. Which job may begin is decided by :meth:`mauve_core.jobs.worker._Reporter.turn` alone.
"""

from __future__ import annotations

import os
import sys
import time
from itertools import islice
from pathlib import Path

from mauve_core.jobs.state import CANCEL, is_alive

# A worker goes on when fewer older ones than this are alive: one at work, and one that is ready.
AHEAD = 3

INTERVAL_S = 0.5


def wait(folder: Path) -> None:
    """Return when fewer than ``AHEAD`` older jobs have a worker, or the job is to stop."""
    while not (folder / CANCEL).exists() and must_wait(folder):
        time.sleep(INTERVAL_S)


def must_wait(folder: Path) -> bool:
    """Whether ``AHEAD`` older jobs have a worker; the next ones are looked at first."""
    older = sorted((other for other in folder.parent.iterdir() if other.name < folder.name), reverse=True)
    return len(list(islice(filter(is_alive, older), AHEAD))) == AHEAD


def main() -> None:
    """Wait, then become the command ``mauve-lens work``, which keeps this process's number and locks."""
    folder = Path(sys.argv[1])
    wait(folder)
    os.execv(sys.executable, [sys.executable, "-P", "-m", "mauve_core", "work", str(folder)])


if __name__ == "__main__":
    main()
