"""Pages of the app with a run open, without a browser."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from mauve_app.server import origins
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.base.files import HOME_VARIABLE
from tests.app.conftest import FOLDED
from tests.fuzz import samples
from tests.fuzz.changes import OPENED, VIEWS

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60

_scan = cache(manifest_scanner.scan_component_manifests)


def views(folder: Path) -> Path:
    """A home with a run, and the names of all pages that show it."""
    _scan()  # of all packages: once, and not in each child
    path = samples.home(folder)
    (path / OPENED).write_text(json.dumps(VIEWS))
    return path


def by_page(home: Path) -> None:
    """Pages with the run open, one after another in one session: none has a fault."""
    manifest_scanner.scan_component_manifests = _scan
    origins.begin_own_server()
    config.set_option("client.showErrorDetails", "full")
    os.environ[HOME_VARIABLE] = str(home)
    app, ours, messages = (
        AppTest.from_file(ROOT / "app" / "mauve_app" / "main.py", default_timeout=SECONDS),
        set(_errors()),
        0,
    )
    for key, open_ in FOLDED.items():
        app.session_state[key] = open_
    for view in json.loads((home / OPENED).read_bytes()):
        app.switch_page(f"views/{view}.py")
        app.query_params["run"] = "synthetic"
        app.run()
        for found in app.exception:
            assert found.proto.type.rpartition(".")[2] in ours, (
                f"{view}: {found.proto.type}: {found.message}\n{found.stack_trace}"
            )
        messages += len(app.exception) + len(app.error) + len(app.warning)
    if messages:
        raise InputError(f"{messages} messages on the pages")


def _errors(kind: type = MauveLensError) -> Iterator[str]:
    """Names of our errors, which the app's handler says as they are."""
    yield kind.__name__
    for each in kind.__subclasses__():
        yield from _errors(each)
