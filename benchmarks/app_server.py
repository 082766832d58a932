"""The app in a process of its own that writes down how long each message from the browser keeps it busy.

Started as a script it is that process: ``app_server.py SCRIPT PORT``.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MAIN = ROOT / "app" / "mauve_app" / "main.py"
# Environment variable: the file to which a line of JSON is written for each answer.
LOG = "APP_WALK_LOG"
# Ending of the file beside it: seconds of processor time that the process took before it answered anything.
START = ".start"


def serve(script: str, port: int) -> None:
    """Run the app, and write down how long each message from the browser keeps the process busy."""
    from streamlit.runtime.runtime import Runtime
    from streamlit.web import bootstrap
    from streamlit.web.server.starlette.starlette_websocket import StarletteSessionClient

    asked: dict[str, float] = {}
    receive, send = Runtime.handle_backmsg, StarletteSessionClient.write_forward_msg

    def received(self: Any, session_id: str, message: Any, **options: Any) -> None:
        asked["cpu"], asked["wall"] = time.process_time(), time.perf_counter()
        receive(self, session_id, message, **options)

    def sent(self: Any, message: Any) -> None:
        send(self, message)
        if message.WhichOneof("type") == "script_finished":
            line = {"asked": asked["cpu"], "done": time.process_time(), "wall": time.perf_counter() - asked["wall"]}
            with Path(os.environ[LOG]).open("a") as stream:
                stream.write(json.dumps(line) + "\n")

    Runtime.handle_backmsg = received  # type: ignore[method-assign,assignment]
    StarletteSessionClient.write_forward_msg = sent  # type: ignore[method-assign,assignment]
    started = Path(os.environ[LOG] + START)
    if Path(script) == MAIN:
        from mauve_app.server import serve as own  # as it is served to people: middleware, headers, host names

        options = own.protected({"server.port": port, "server.headless": True})
        own.prepare()
        sys.argv = sys.argv[:1]
        started.write_text(str(time.process_time()))
        own.application().run(config=options)
    else:
        flags = {"server_port": port, "server_headless": True, "browser_gatherUsageStats": False}
        bootstrap.load_config_options(flags)
        started.write_text(str(time.process_time()))
        bootstrap.run(script, False, [], flags)


@contextmanager
def server(script: Path, home: Path, log: Path) -> Iterator[str]:
    """The websocket address of that script, served until the block ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    added = {"MAUVE_LENS_HOME": str(home), "PYTHONPATH": str(ROOT), LOG: str(log), "OMP_NUM_THREADS": "1"}
    environment = {**os.environ, **added}
    command = [sys.executable, str(Path(__file__).resolve()), str(script), str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    try:
        _wait_for(port, process)
        yield f"ws://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"the app ended with {process.returncode}")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the app did not start")


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
