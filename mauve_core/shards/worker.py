"""A worker of the local engine: a process that reads tasks from its standard input and answers each on its output.

It is a module of its own, so that nothing of the program that asked for it runs again in it: neither a script without a
guard, nor the page of the app that Streamlit puts in the place of the main module.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from typing import BinaryIO

from mauve_core.shards.tasks import carry_out


def main() -> None:
    """Answer until the input ends, which it does when the engine lets go or dies.

    A request is ``(folder, name, args)``, an answer the most memory in bytes or the error; both are pickled. What a
    library prints goes to standard error.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the engine is interrupted with it, and ends it
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer: int | BaseException = carry_out(*request)
        except BaseException as error:  # noqa: BLE001 - the engine raises it
            error.add_note(f"In a worker:\n{traceback.format_exc()}")
            answer = error
        _send(answers, answer)


def _send(answers: BinaryIO, answer: int | BaseException) -> None:
    try:
        data = pickle.dumps(answer)
        pickle.loads(data)  # an error whose arguments are not those of its class can be written and not read
    except Exception:  # noqa: BLE001 - whatever its class raises
        data = pickle.dumps(RuntimeError("".join(traceback.format_exception_only(answer))))  # type: ignore[arg-type]
    answers.write(data)
    answers.flush()


if __name__ == "__main__":
    main()
