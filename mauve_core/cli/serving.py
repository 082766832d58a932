"""``mauve-lens app`` and ``mauve-lens demo``, and the hidden ``work`` that background jobs run."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from mauve_core.cli.options import add_output_options, progress_of, results_only, write
from mauve_core.errors import InputError, MauveLensError
from mauve_core.files import HOME_VARIABLE, home

DEBUG_VARIABLE = "MAUVE_LENS_DEBUG"
DEFAULT_PORT = 8501


@dataclass(frozen=True)
class AppCommand:
    """How the app is started: the arguments, the folder to start it from, and the environment."""

    arguments: tuple[str, ...]
    folder: Path
    environment: dict[str, str]


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    app = commands.add_parser("app", help="open the app on 127.0.0.1")
    app.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"default {DEFAULT_PORT}")
    app.add_argument("--no-demo", action="store_true", help="do not prepare the demo study first")
    add_output_options(app)
    app.set_defaults(run=_app)

    demo = commands.add_parser("demo", help="store the demo study as a run, if it is not there yet")
    demo.add_argument("--rebuild", action="store_true", help="write texts, features and measures anew first (hours)")
    add_output_options(demo)
    demo.set_defaults(run=_demo)

    work = commands.add_parser("work")
    work.add_argument("folder", type=Path)
    work.set_defaults(run=_work)


def app_command(port: int) -> AppCommand:
    """The command that serves the app.

    Streamlit reads ``.streamlit/config.toml`` from the folder it is started in, so that is the app's parent. What
    keeps the app private is passed as well, in case that file is missing.

    Raises
    ------
    InputError
        The port is no port.
    MauveLensError
        The app is not installed beside the core.
    """
    if not 1 <= port <= 65535:
        raise InputError("--port is no port", allowed="1 to 65535", received=str(port))
    spec = importlib.util.find_spec("app")
    main = None if spec is None or spec.origin is None else Path(spec.origin).resolve().parent / "main.py"
    if main is None or not main.is_file():
        raise MauveLensError("The app is not installed", todo="Run this from the project's folder, or install it again")
    options = {
        "server.port": str(port),
        "server.address": "127.0.0.1",
        "server.headless": "true",
        "browser.gatherUsageStats": "false",
    }
    arguments = [sys.executable, "-m", "app.serve", *(f"--{k}={v}" for k, v in options.items())]
    return AppCommand(tuple(arguments), main.parent.parent, {**os.environ, HOME_VARIABLE: str(home().absolute())})


def _app(args: argparse.Namespace) -> int:
    command = app_command(args.port)
    if not args.no_demo:
        _prepare(args)
    write(f"MAUVE Lens on http://127.0.0.1:{args.port} (stop it with Ctrl-C)")
    os.chdir(command.folder)
    os.execve(command.arguments[0], command.arguments, command.environment)


def _demo(args: argparse.Namespace) -> int:
    if args.rebuild:
        from mauve_core.demo import build_demo

        with results_only():
            build_demo(progress=progress_of(args))
    run = _prepare(args)
    write(f"The demo study is run {run}. Show it: mauve-lens runs show {run}, or mauve-lens app")
    return 0


def _prepare(args: argparse.Namespace) -> str:
    from mauve_core.demo import prepare_demo

    with results_only():
        return prepare_demo(progress=progress_of(args))


def _work(args: argparse.Namespace) -> int:
    """Standard error is the job's log, in which the worker says by itself what stopped it."""
    from mauve_core.worker import work

    with results_only():
        try:
            work(args.folder)
        except Exception:  # noqa: BLE001 (written to the state and the log by now)
            return 1
    return 0
