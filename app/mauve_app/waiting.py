"""Work that takes minutes, done in a thread of its own while the page shows how far it is.

Streamlit ends a script that is to run again at the next thing it draws. The work goes on, and the next run of the
script finds it: nothing is begun twice, and nobody is stuck on a page.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import streamlit as st

from mauve_core.base.progress import Progress

# Works at once, of all sessions; each may have threads of its own.
AT_ONCE = 2

# Results that are kept while nobody asks for them: those of people who left the page.
UNCLAIMED = 8

SHOWN_AFTER_S = 0.3
# Seconds until progress is shown, and between two of its steps.
STEP_S = 0.2

_T = TypeVar("_T")


@dataclass(eq=False)
class _Work(Generic[_T]):
    result: Future[_T] = field(default_factory=Future)
    told: tuple[str, int, int] = ("Waiting for other files", 0, 0)

    def tell(self, stage: str, done: int, total: int) -> None:
        self.told = stage, done, total


class Waiting(Generic[_T]):
    """Works of one sort, by key."""

    def __init__(self) -> None:
        self._works: dict[Hashable, _Work[_T]] = {}
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(AT_ONCE)

    def result(self, key: Hashable, work: Callable[[Progress], _T]) -> _T:
        """What the work returns or raises; it is begun unless it is at work, and forgotten once its result is taken."""
        begun = self._begun(key, work)
        _show(begun)
        with self._lock:
            self._works.pop(key, None)
        return begun.result.result()

    def _begun(self, key: Hashable, work: Callable[[Progress], _T]) -> _Work[_T]:
        with self._lock:
            if key not in self._works:
                unclaimed = [each for each, found in self._works.items() if found.result.done()]
                for each in unclaimed[: max(0, len(unclaimed) - UNCLAIMED + 1)]:
                    del self._works[each]
                self._works[key] = begun = _Work[_T]()
                threading.Thread(target=self._do, args=(begun, work), daemon=True).start()
            return self._works[key]

    def _do(self, begun: _Work[_T], work: Callable[[Progress], _T]) -> None:
        with self._slots:
            begun.tell("Opening the file", 0, 0)
            try:
                begun.result.set_result(work(begun.tell))
            except BaseException as error:  # noqa: BLE001 (whoever waits for the result gets it)
                begun.result.set_exception(error)


def _show(work: _Work[_T]) -> None:
    """Wait for the end of the work, and draw a bar."""
    place, seconds = st.empty(), SHOWN_AFTER_S
    while not wait([work.result], seconds).done:
        stage, done, total = work.told
        words = f"{stage}: {done:,} of {total:,}" if total else stage
        place.progress(done / total if total else 0.0, text=words)
        seconds = STEP_S
    place.empty()
