"""The app as a process of its own, started from Python: a notebook goes on while it serves."""

from __future__ import annotations

import atexit
import html
import socket
import subprocess
import tempfile
import time
import urllib.request
from dataclasses import replace
from http.client import HTTPException
from types import TracebackType
from typing import IO, Self
from urllib.parse import urlencode

from mauve_core.base.errors import InputError, MauveLensError, own_words_of
from mauve_core.base.files import HOME_VARIABLE
from mauve_core.cli.serving import THIS_MACHINE, AppCommand, app_command
from mauve_core.store import Run

# The folder of a library that holds its runs.
RUNS = "runs"

HEALTH = "_stcore/health"
LONGEST_START_S, LONGEST_STOP_S, PAUSE_S = 120.0, 10.0, 0.2
# Characters of the log that a message shows if the app ends while it starts.
LAST_WORDS = 400


class RunningApp:
    """The app on one run. It stops when it is closed, when a ``with`` block is left, or when Python ends.

    Attributes
    ----------
    url : str
        Address of the run on this machine.
    """

    def __init__(self, url: str, process: subprocess.Popen[bytes]) -> None:
        self.url = url
        self._process = process
        atexit.register(self.close)

    @property
    def is_running(self) -> bool:
        """Whether the process still serves."""
        return self._process.poll() is None

    def close(self) -> None:
        """Stop the app; a second call does nothing."""
        atexit.unregister(self.close)
        if not self.is_running:
            return
        self._process.terminate()
        try:
            self._process.wait(LONGEST_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<RunningApp: {self.url}, {'running; stop it with .close()' if self.is_running else 'stopped'}>"

    def _repr_html_(self) -> str:
        link = html.escape(self.url)
        return f'<a href="{link}" target="_blank">{link}</a>' if self.is_running else html.escape(repr(self))


def open_run(run: Run, port: int | None = None) -> RunningApp:
    """Start the app on a stored run, and return once it answers.

    Only this machine can reach it, as with ``mauve-lens app``, which also has the settings for sharing.

    Parameters
    ----------
    run : Run
    port : int, optional
        By default any free one.

    Raises
    ------
    InputError
        The run's folder is not in a library, or the port cannot be used.
    MauveLensError
        The app is not installed, ended while it started, or did not answer within two minutes.
    """
    if run.path.parent.name != RUNS or not run.path.is_dir():
        raise InputError(
            f"The app shows the runs of a library, and {run.path} is not in one",
            allowed=f"a run of RunStore(), or of RunStore(folder / {RUNS!r})",
            todo="Save the run with run.save(path), and open load_run(path)",
        )
    port = _free_port() if port is None else port
    command = app_command(port)
    environment = {**command.environment, HOME_VARIABLE: str(run.path.parent.parent.absolute())}
    address = f"http://{THIS_MACHINE}:{port}"
    url = f"{address}/?{urlencode({'run': run.path.name})}"
    with tempfile.TemporaryFile() as log:
        app = RunningApp(url, _started(replace(command, environment=environment), log))
        try:
            _wait(app, f"{address}/{HEALTH}", log)
        except BaseException:
            app.close()
            raise
    return app


def _started(command: AppCommand, log: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command.arguments,
        cwd=command.folder,
        env=command.environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # or an interrupted cell would end it
    )


def _wait(app: RunningApp, health: str, log: IO[bytes]) -> None:
    """Return once the app answers; MauveLensError if it ends or takes too long."""
    until = time.monotonic() + LONGEST_START_S
    why = ""
    while app.is_running and time.monotonic() < until:
        try:
            with urllib.request.urlopen(health, timeout=PAUSE_S * 10):
                return
        except (OSError, HTTPException) as error:
            why = own_words_of(error)
        time.sleep(PAUSE_S)
    if app.is_running:
        raise MauveLensError(f"The app did not answer within {LONGEST_START_S:g} seconds", received=why)
    log.seek(0)
    words = log.read().decode(errors="replace")[-LAST_WORDS:]
    raise MauveLensError("The app ended while it started", received=words, todo="Start it with: mauve-lens app")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((THIS_MACHINE, 0))
        port: int = probe.getsockname()[1]
        return port
