"""Whether the server can do its work, beyond being there: ``/_stcore/health`` is asked by proxies and by browsers."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack

from mauve_core.base.errors import StorageError
from mauve_core.base.files import home

HEALTH = "/_stcore/health"

DESCRIPTORS = 16
"""How many more files it must be able to open: a page reads the runs' index and a run's parts at a time."""

_ONE_AT_A_TIME = threading.Lock()
"""So that many who ask do not take the descriptors that they ask for."""


def trouble() -> str:
    """What keeps the server from opening files in its home; empty when nothing does."""
    try:
        with _ONE_AT_A_TIME, ExitStack() as opened:
            folder = home()
            for _ in range(DESCRIPTORS):
                opened.callback(os.close, os.open(folder, os.O_RDONLY))
    except (OSError, StorageError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        return f"The server cannot open its files: {getattr(cause, 'strerror', None) or 'the home folder is not there'}"
    return ""
