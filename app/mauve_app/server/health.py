"""Whether the server can work, beyond being up; proxies and browsers ask ``/_stcore/health``."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack

from mauve_core.base.errors import StorageError
from mauve_core.base.files import home

HEALTH = "/_stcore/health"

# Additional files that it must be able to open: a page reads the run index and a run's parts at a time.
DESCRIPTORS = 16

# Keeps simultaneous checks from using up the descriptors that they check for.
_ONE_AT_A_TIME = threading.Lock()


def trouble() -> str:
    """What keeps the server from opening files in its home folder; empty if nothing does."""
    try:
        with _ONE_AT_A_TIME, ExitStack() as opened:
            folder = home()
            for _ in range(DESCRIPTORS):
                opened.callback(os.close, os.open(folder, os.O_RDONLY))
    except (OSError, StorageError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        return f"The server cannot open its files: {getattr(cause, 'strerror', None) or 'the home folder is missing'}"
    return ""
