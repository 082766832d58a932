"""Every name that a process looks up, and every address that it connects to, but for this machine's own.

``watched(log)`` is an environment in which Python processes, and those that they start, note them in a file: Python
imports ``sitecustomize`` when it starts, which hears of them as audit events, before anything leaves the machine.
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_NOTE = """
import os, sys

_OWN = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "", None)

def _hear(event, given):
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        host = given[0]
    elif event in ("socket.connect", "socket.sendto", "socket.sendmsg") and isinstance(given[1], tuple):
        host = given[1][0]
    elif event == "socket.getnameinfo":
        host = given[0][0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host not in _OWN:
        with open(os.environ["LOOKUPS"], "a") as log:
            log.write(f"{event} {host} {' '.join(sys.argv[:3])}\\n")

sys.addaudithook(_hear)
with open(os.environ["LOOKUPS"] + ".watched", "a") as log:
    log.write(f"{os.getpid()}\\n")
"""


def watched(log: Path) -> dict[str, str]:
    """The environment of a process whose look-ups shall be noted in ``log``; the hub is not forbidden in it."""
    folder = log.parent / "watching"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(_NOTE, encoding="utf-8")
    free = {name: value for name, value in os.environ.items() if name not in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")}
    return {
        **free,
        "PYTHONPATH": os.pathsep.join(map(str, (folder, ROOT, ROOT / "app"))),
        "LOOKUPS": str(log),
        "HF_HOME": str(log.parent / "hf"),
        "HF_ENDPOINT": "http://hub.invalid",
    }


def looked_up(log: Path) -> list[str]:
    """What was noted; fails where no process was watched."""
    assert Path(f"{log}.watched").exists(), "no process was watched"
    return log.read_text().splitlines() if log.exists() else []
