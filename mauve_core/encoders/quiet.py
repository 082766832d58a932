"""Silence the progress bars and reports of libraries while they load a model; the program reports its own progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from mauve_core.base.progress import Progress, counted

_users, _restore, _lock = 0, ExitStack(), threading.Lock()


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Silence transformers and the hub's client; the last user restores the settings that the first one found."""
    global _users
    import transformers.utils.logging  # noqa: F401 (not while the lock is held: it takes seconds)

    with _lock:
        if not _users:
            _restore.callback(_silence())
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _restore.close()


def _silence() -> Callable[[], None]:
    """Silence both libraries; return what restores their settings."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars
    from transformers.utils import logging

    verbosity, bars, hub_silent = (
        logging.get_verbosity(),
        logging.is_progress_bar_enabled(),
        are_progress_bars_disabled(),
    )
    logging.set_verbosity_error()
    logging.disable_progress_bar()

    def restore() -> None:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
        if hub_silent:
            disable_progress_bars()

    return restore


_reported = threading.local()


@contextmanager
def tensors_reported(progress: Progress, stage: str) -> Iterator[None]:
    """Report the tensors of a GGUF file to ``progress`` as this thread converts them, in place of transformers' bar.

    transformers draws that bar with tqdm itself, whatever its settings say. Other threads keep it.
    """
    from transformers import modeling_gguf_pytorch_utils as gguf

    with _lock:
        if not isinstance(gguf.tqdm, _Bars):
            gguf.tqdm = _Bars(gguf.tqdm)
    _reported.to = progress, stage
    try:
        yield
    finally:
        del _reported.to


class _Bars:
    """A stand-in for tqdm in one module of transformers."""

    def __init__(self, tqdm: Callable[..., Any]) -> None:
        self._tqdm = tqdm

    def __call__(self, items: Iterable[Any], *args: Any, **kwargs: Any) -> Iterable[Any]:
        to = getattr(_reported, "to", None)
        return self._tqdm(items, *args, **kwargs) if to is None else self._reporting(list(items), *to)

    def _reporting(self, items: list[Any], progress: Progress, stage: str) -> Iterator[Any]:
        done = counted(progress, stage, len(items))
        for item in items:
            yield item
            done()
