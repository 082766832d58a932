"""A function called in a process of its own, for what a page waits for: its memory is limited as that of a job.

The process runs ``python -m mauve_core.jobs.aside``, so that nothing of the program that asked for it runs again in it.
It reads a pickled function and its arguments from its standard input, and answers on its standard output with pickled
pairs: any number of reports of progress, and the result or the error.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from mauve_core.base.errors import InputError, MauveLensError, StorageError
from mauve_core.base.progress import Progress, silent
from mauve_core.jobs import memory

_T = TypeVar("_T")


def aside(function: Callable[..., _T], *given: object, progress: Progress = silent) -> _T:
    """Return what ``function(*given, progress)`` returns in another process.

    Parameters
    ----------
    function : callable
        Of a module, which the process imports. What it is given and returns is pickled.
    progress : callable
        Called with what the function reports.

    Raises
    ------
    MauveLensError
        The function raised it; or its process took more memory than a job may, or was killed.
    RuntimeError
        It raised another error, whose traceback these are.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "mauve_core.jobs.aside"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    with process:
        try:
            asked, answers = process.stdin, process.stdout
            if asked is None or answers is None:
                raise EOFError
            pickle.dump((function, given), asked)
            asked.close()
            while True:
                what, value = pickle.load(answers)
                if what == "progress":
                    progress(*value)
                elif what == "result":
                    return value  # type: ignore[no-any-return]
                elif what == "error":
                    error, error.args = value
                    raise error
                else:
                    raise RuntimeError(value)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
            code = process.wait()
            ended = signal.Signals(-code).name if code < 0 else f"exit status {code}"
            raise StorageError(
                f"The process that read this ended early ({ended}): it was killed, or ran out of memory",
                todo="Try it again, or use a smaller file",
            ) from error
        finally:
            process.kill()


def main() -> None:
    """Answer one request. What a library prints goes to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    writing = threading.Lock()

    def answer(what: str, value: Any) -> None:
        with writing:
            pickle.dump((what, value), answers)
            answers.flush()

    def refuse(error: MauveLensError) -> None:
        is_plain = type(error).__init__ is MauveLensError.__init__  # so that it can be read again
        answer("error", (error if is_plain else InputError(str(error)), error.args))

    def give_up(error: MauveLensError) -> NoReturn:
        refuse(error)
        os._exit(1)

    def report(stage: str, done: int, total: int) -> None:
        answer("progress", (str(stage), done, total))

    function, given = pickle.load(sys.stdin.buffer)
    try:
        with memory.watched(give_up):
            result = function(*given, report)
        answer("result", result)
    except MauveLensError as error:
        refuse(error)
    except Exception:  # noqa: BLE001 (whoever asked raises it)
        answer("fault", traceback.format_exc())


if __name__ == "__main__":
    main()
