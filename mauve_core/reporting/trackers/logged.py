"""Where a run went, how a tracker that does not take it is reported, and how its library is kept quiet."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from mauve_core.base.errors import InputError, words_of
from mauve_core.base.formatting import printable

DEFAULT_PROJECT = "mauve-lens"


@dataclass(frozen=True)
class Logged:
    """Where a run went.

    Attributes
    ----------
    tracker : str
        For people: ``W&B`` or ``MLflow``.
    project : str
        W&B project or MLflow experiment.
    id : str
        Of the tracker's run.
    where : str
        A URL, or the folder or database on this machine.
    again : bool or None
        Whether the tracker had this run already, and the same run of it was written to; None if it cannot be known
        before a folder is uploaded.
    todo : str
        The command that shows or uploads what was written to this machine; empty for a URL.
    """

    tracker: str
    project: str
    id: str
    where: str
    again: bool | None
    todo: str = ""

    def __str__(self) -> str:
        before = ", which was there already and got what it lacked" if self.again else ""
        todo = f". {self.todo}" if self.todo else ""  # no full stop touches an address
        said = f"Logged to {self.tracker} (project {self.project}, run {self.id}{before}): {self.where}{todo}"
        return printable(said)  # a server may have named the project


def not_taken(tracker: str, error: BaseException, todo: str) -> InputError:
    """The error of a tracker that does not take a run."""
    return InputError(f"The run could not be logged to {tracker}: {words_of(error)}", todo=todo)


@contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables of the environment that the user has not set."""
    unset = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(unset)
    try:
        yield
    finally:
        for name in unset:
            os.environ.pop(name, None)


@contextmanager
def quiet(*libraries: str) -> Iterator[None]:
    """Silence the warnings and log lines of libraries, once they are imported; errors are raised as ever."""
    levels = {name: logging.getLogger(name).level for name in libraries}
    for name in libraries:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
