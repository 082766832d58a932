"""The command line: ``mauve-lens`` or ``python -m mauve_core``.

Exit codes: 0 done, 2 wrong input, 130 stopped with Ctrl-C, 1 anything else. An error is one line on standard error;
MAUVE_LENS_DEBUG=1 in the environment prints the traceback before it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import io
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any, TextIO

from mauve_core.base.errors import InputError, MauveLensError, own_words_of
from mauve_core.base.extras import asking_for_packages
from mauve_core.base.formatting import printable
from mauve_core.cli.parser import HELP, Parser, add_commands

DEBUG_VARIABLE = "MAUVE_LENS_DEBUG"
DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        return _run(arguments)


def build_parser(*, load: bool = True) -> Parser:
    """Return the parser with all commands; without ``load``, one is imported when a command line names it."""
    parser = Parser(prog="mauve-lens", description="See how machine-written text differs from human text, and why.")
    parser.takes_settings = True
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    add_commands(parser, load=load)
    return parser


class _Version(argparse.Action):
    """Print the version of the installed package; looked up only when asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **kwargs: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **kwargs)

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:  # noqa: ARG002
        parser._print_message(f"{parser.prog} {importlib.metadata.version('mauve-lens')}\n", sys.stdout)
        parser.exit()


def _run(arguments: Sequence[str] | None) -> int:
    if sys.platform == "win32":  # which cannot lock folders
        return _fail("MAUVE Lens runs on Linux and macOS. On Windows, run it in WSL: wsl --install", FAILED)
    try:
        args = build_parser(load=False).parse_args(_asking_for_help(arguments))
        with asking_for_packages():
            code: int = args.run(args)
        sys.stdout.flush()
    except InputError as error:
        return _fail(str(error), WRONG_INPUT)
    except MauveLensError as error:
        return _fail(str(error), FAILED)
    except KeyboardInterrupt:
        return _fail("Stopped. Finished work is kept; run the same command again to resume.", INTERRUPTED)
    except BrokenPipeError:
        _discard_output()
        return FAILED
    except Exception as error:  # noqa: BLE001 (the outermost boundary: a defect becomes one line and exit code 1)
        from mauve_core.base import faults  # imports numpy, as the next does
        from mauve_core.jobs import memory

        if memory.ran_out(error):
            told = MauveLensError("Out of memory", received=str(error), todo="Use fewer texts or a smaller model")
            return _fail(str(told), FAILED)
        refused = faults.refused_by_system(error)
        if refused is not None:
            _discard_output()
            return _fail(str(refused), FAILED)
        faults.remember(error, "command line")
        told = MauveLensError(f"Unexpected {type(error).__name__}: {own_words_of(error)}", todo=faults.REPORT)
        return _fail(str(told), FAILED)
    return code


def _discard_output() -> None:
    """Drop what a closed pipe or a full device does not take: Python complains of it when it flushes at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _asking_for_help(arguments: Sequence[str] | None) -> list[str]:
    """Return the arguments with ``help COMMAND`` as ``COMMAND --help``."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return [*given[1:], "--help"] if given[:1] == [HELP] else given


def _fail(message: str, code: int) -> int:
    if os.environ.get(DEBUG_VARIABLE, "") not in ("", "0"):
        traceback.print_exc()
    sys.stderr.write(f"mauve-lens: {printable(' '.join(message.split()))}\n")
    return code


def _show_warning(
    message: Warning | str,
    category: type[Warning],  # noqa: ARG001 (the signature is Python's)
    filename: str,  # noqa: ARG001
    lineno: int,  # noqa: ARG001
    file: TextIO | None = None,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> None:
    sys.stderr.write(f"mauve-lens: warning: {printable(' '.join(str(message).split()))}\n")


if __name__ == "__main__":
    sys.exit(main())
