"""``mauve-lens app``, ``demo``, ``password`` and ``mcp``, and the hidden ``work`` command for background jobs.

``mcp`` serves stored runs to language-model agents, over the Model Context Protocol. A notebook starts the app as a
process of its own, and goes on while it serves.
"""

from __future__ import annotations

import argparse
import atexit
import getpass
import html
import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import IO, Self
from urllib.parse import urlencode

from mauve_core.agents import page_text
from mauve_core.base import sharing
from mauve_core.base.errors import InputError, MauveLensError, own_words_of
from mauve_core.base.extras import MissingPackageError, asking_for_packages, require
from mauve_core.base.files import HOME_VARIABLE, home
from mauve_core.base.sharing import MAX_PASSWORD_BYTES, hashed
from mauve_core.cli.options import add_output_options, progress_of, results_only, write
from mauve_core.clusters.features import require_columns
from mauve_core.runs import Run, RunStore
from mauve_core.texts import limits

DEFAULT_PORT, LAST_PORT = 8501, 65535
THIS_MACHINE = "127.0.0.1"
# Tells the server which of its pages to open in the browser.
OPEN = "MAUVE_LENS_OPEN"

# The demo studies.
TEXTS, IMAGES = "texts", "images"


@dataclass(frozen=True)
class AppCommand:
    """How to start the app: arguments, working folder and environment."""

    arguments: tuple[str, ...]
    folder: Path
    environment: dict[str, str]


@dataclass(frozen=True)
class SharingOptions:
    """Who can reach the app and what they can see.

    Attributes
    ----------
    host : str
        Address to listen on.
    names : tuple of str
        Host names that browsers use, besides localhost and addresses.
    without_sign_in : bool
        Whether other machines get access without a sign-in.
    read_only : tuple of str or None
        Ids of the only runs that visitors see, read-only; None shows all runs and permits changes.
    """

    host: str = THIS_MACHINE
    names: tuple[str, ...] = ()
    without_sign_in: bool = False
    read_only: tuple[str, ...] | None = None

    def check(self) -> None:
        """Raise InputError if the app would be open, a setting cannot be used, or a run does not exist.

        What the options leave open is as the environment says, and is checked, too.
        """
        limits.check()
        require_columns(0)
        sharing.require_host_names(filter(None, [self.host]), "--host")
        sharing.require_host_names(self.names, "--name")
        sharing.require_host_names(sharing.listed(os.environ.get(sharing.HOST_NAMES, "")), sharing.HOST_NAMES)
        everyone = sharing.is_switched_on(sharing.WITHOUT_SIGN_IN) or self.without_sign_in
        sharing.require_protection(self.host, sharing.sign_in(), without_sign_in=everyone)
        shown = self.read_only
        if shown is None and sharing.READ_ONLY in os.environ:
            shown = sharing.listed(os.environ[sharing.READ_ONLY])
        stored = {summary.id for summary in RunStore().list()} if shown else set()
        missing = [run_id for run_id in shown or () if run_id not in stored]
        if missing:
            raise InputError(
                f"No run has the id {missing[0]!r}",
                allowed=", ".join(sorted(stored)),
                todo="List the runs with: mauve-lens runs",
            )

    def environment(self) -> dict[str, str]:
        """Environment variables that pass these options to the server."""
        values = {sharing.HOST_NAMES: ",".join(self.names)} if self.names else {}
        everyone = sharing.is_switched_on(sharing.WITHOUT_SIGN_IN) or self.without_sign_in
        values[sharing.WITHOUT_SIGN_IN] = "1" if everyone else ""
        if self.read_only is not None:
            values[sharing.READ_ONLY] = ",".join(self.read_only)
        return values


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    app = commands.add_parser("app")
    _add_port(app)
    app.add_argument(
        "--host", default=THIS_MACHINE, metavar="ADDRESS", help=f"default: {THIS_MACHINE}; see docs/sharing.md"
    )
    app.add_argument(
        "--name", action="append", default=[], help="a host name that browsers use for this server; may be repeated"
    )
    app.add_argument("--without-sign-in", action="store_true", help="allow access to everyone who can reach --host")
    app.add_argument("--read-only", nargs="+", metavar="RUN", help="show only these runs; nothing can be changed")
    app.add_argument("--no-demo", action="store_true", help="do not prepare the demo study first")
    add_output_options(app)
    app.set_defaults(run=_app)

    demo = commands.add_parser("demo")
    demo.add_argument(
        "study",
        nargs="?",
        choices=(TEXTS, IMAGES),
        default=TEXTS,
        help="texts (default): Wikipedia against a language model, by decoder; images: handwritten digits against a "
        "small model's, by temperature",
    )
    demo.add_argument(
        "--rebuild",
        action="store_true",
        help="first make its files anew: texts, features and the finished run (hours), or images and theirs (half an "
        "hour)",
    )
    demo.add_argument(
        "--rebuild-analyses",
        nargs="*",
        metavar="NAME",
        help="first make the finished run anew from its texts and features (minutes), with these analyses computed "
        "again: probes, methods, encoders ...",
    )
    demo.add_argument("--no-open", action="store_true", help="only store the study, as away from a terminal")
    _add_port(demo)
    add_output_options(demo)
    demo.set_defaults(run=_demo)

    password = commands.add_parser("password")
    password.set_defaults(run=_password)

    work = commands.add_parser("work")
    work.add_argument("folder", type=Path)
    work.set_defaults(run=_work)
    _add_mcp(commands)


def _add_port(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"of the app; default: {DEFAULT_PORT}")


def app_command(port: int, sharing_options: SharingOptions | None = None) -> AppCommand:
    """The command that serves the app.

    Streamlit reads ``.streamlit/config.toml`` from its working folder, so that is the app's. The command also passes
    the privacy settings, in case that file is missing.

    Raises
    ------
    InputError
        A setting is invalid, a run does not exist, or other machines would get access without a sign-in.
    MauveLensError
        The app is not installed beside the core.
    """
    shared = sharing_options or SharingOptions()
    shared.check()
    if not 1 <= port <= LAST_PORT:
        raise InputError("--port is not a valid port", allowed=f"1 to {LAST_PORT}", received=str(port))
    spec = importlib.util.find_spec("mauve_app")
    main = None if spec is None or spec.origin is None else Path(spec.origin).resolve().parent / "main.py"
    if main is None or not main.is_file():
        raise MauveLensError("The app is not installed", todo="Install MAUVE Lens again")
    options = {
        "server.port": str(port),
        "server.address": shared.host,
        "server.headless": "true",
        "browser.gatherUsageStats": "false",
    }
    arguments = [sys.executable, "-P", "-m", "mauve_app.server.serve", *(f"--{k}={v}" for k, v in options.items())]
    environment = {**os.environ, **shared.environment(), HOME_VARIABLE: str(home().absolute())}
    return AppCommand(tuple(arguments), main.parent, environment)


def _app(args: argparse.Namespace) -> int:
    shown = None if args.read_only is None else tuple(args.read_only)
    command = app_command(args.port, SharingOptions(args.host, tuple(args.name), args.without_sign_in, shown))
    if not args.no_demo and shown is None:
        _prepare_if_possible()
    return _serve(command, f"http://{args.host}:{args.port}")


def _is_taken(port: int) -> bool:
    """Whether something answers at a port of this machine, such as the app in another terminal."""
    with socket.socket() as probe:
        return 0 < port <= LAST_PORT and probe.connect_ex((THIS_MACHINE, port)) == 0


def _serve(command: AppCommand, address: str) -> int:
    """Become the server, until it is stopped."""
    write(f"MAUVE Lens on {address} (press Ctrl-C to stop)")
    os.chdir(command.folder)
    os.execve(command.arguments[0], command.arguments, command.environment)


def _password(_: argparse.Namespace) -> int:
    """Ask twice on a terminal; otherwise read one line, for scripts."""
    if sys.stdin.isatty():
        typed = getpass.getpass("Password: ")
        if getpass.getpass("Repeat password: ") != typed:
            raise InputError("The two passwords differ", todo="Try again")
    else:
        try:
            typed = sys.stdin.readline(MAX_PASSWORD_BYTES + 2).rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise InputError("The password is not valid text", allowed="UTF-8") from error
    write(str(hashed(typed)))
    return 0


def _demo(args: argparse.Namespace) -> int:
    """Store the study; at a terminal, unless the port is taken, also start the app and open the browser on it."""
    rebuilt = args.rebuild or args.rebuild_analyses is not None
    opens = sys.stdout.isatty() and not rebuilt and not args.no_open and not _is_taken(args.port)
    command = app_command(args.port) if opens else None
    run = _images(args) if args.study == IMAGES else _texts(args)
    if command is None:
        write(f"The demo study is run {run}. Show it: mauve-lens runs show {run}, or mauve-lens app")
        return 0
    address = f"http://{THIS_MACHINE}:{args.port}"
    shown = {**command.environment, OPEN: f"{address}/?{urlencode({'run': run})}"}
    return _serve(replace(command, environment=shown), address)


def _images(args: argparse.Namespace) -> str:
    from mauve_core.demo.images import prepare_images

    if args.rebuild_analyses:
        raise InputError("The demo of images has no analyses to name", todo="Give --rebuild-analyses no name")
    with results_only():
        if args.rebuild or args.rebuild_analyses is not None:
            from mauve_core.demo.make_images import build_images, rebuild_run

            (build_images if args.rebuild else rebuild_run)(progress=progress_of(args))
        return prepare_images(progress=progress_of(args))


def _texts(args: argparse.Namespace) -> str:
    if args.rebuild:
        from mauve_core.demo.make_texts import build_demo

        with results_only():
            build_demo(progress=progress_of(args))
    elif args.rebuild_analyses is not None:
        from mauve_core.demo.make_texts import rebuild_run

        with results_only():
            rebuild_run(args.rebuild_analyses, progress=progress_of(args))
    return _prepare()


def _prepare() -> str:
    from mauve_core.demo.texts import prepare_demo

    with results_only():
        return prepare_demo()


def _prepare_if_possible() -> None:
    """Prepare the demo study; where its texts cannot be read, say what to install and do without."""
    try:
        with asking_for_packages():
            _prepare()
    except MissingPackageError as error:
        sys.stderr.write(f"The app starts without the demo study. {error}\n")


def _work(args: argparse.Namespace) -> int:
    """Standard error is the job's log, where the worker reports errors itself."""
    from mauve_core.jobs.worker import work

    os.umask(0o077)  # only the owner may read what a worker or its libraries write
    with results_only():
        try:
            work(args.folder)
        except Exception:  # noqa: BLE001 (written to the state and the log by now)
            return 1
    return 0


def _add_mcp(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "mcp",
        description="Serve stored runs to an agent over standard input and output, which a client starts by itself. "
        "Read-only unless --allow-comparisons names a folder. See docs/mcp.md for how to register it in a client.",
    )
    parser.add_argument(
        "--allow-comparisons",
        metavar="FOLDER",
        type=Path,
        help="the agent may start comparisons of files in this folder, and so read their texts",
    )
    parser.add_argument("--skill", action="store_true", help="print how an agent should use the tools, and exit")
    parser.set_defaults(run=_mcp)


def _mcp(args: argparse.Namespace) -> int:
    if args.skill:
        write(page_text("skill").rstrip("\n"))
        return 0
    require("mcp")
    from mauve_core.agents.access import access_of
    from mauve_core.agents.server import build_server

    build_server(access_of(args.allow_comparisons)).run("stdio")
    return 0


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
            todo="Save the run with Results(run).save(path), and open load_run(path)",
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
