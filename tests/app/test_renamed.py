"""A run that another process renames and tags has its new name on every page, once the page runs again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from mauve_core.store import RunStore
from tests.synthetic import make_run

OLD, NEW, TAG = "zebrafink", "nachtigall", "vogel"
VIEWS = (
    "compare",
    "decoders",
    "methods",
    "clusters",
    "gap",
    "map",
    "texts",
    "probes",
    "judge",
    "runs",
    "new_run",
    "findings",
)
RENAME = """
from mauve_core.store import RunStore
RunStore().describe("RUN", name="NEW", tags=["TAG"])
"""


def shown(app: AppTest) -> str:
    """Everything that the page has sent: labels, options, texts, names of files in the charts' menus."""
    return "\n".join(str(getattr(element, "proto", "")) for element in app._tree)


@pytest.mark.slow
def test_every_page_shows_the_new_name(open_page: Callable[..., AppTest], own_home: Path) -> None:
    run = make_run(own_home, name=OLD, n=60, seeds=2)
    pages = {view: open_page(f"views/{view}/{view}.py", run=run.id) for view in VIEWS}
    pages["pair"] = open_page("views/runs/runs.py", run=run.id, shelf="pair", left=run.id)
    for view, app in pages.items():
        assert not app.exception, view
        assert f'options: "{OLD}  (' in shown(app), view
    code = RENAME.replace("RUN", run.id).replace("NEW", NEW).replace("TAG", TAG)
    subprocess.run([sys.executable, "-c", code], check=True)
    assert RunStore().load(run.id).name == NEW
    for view, app in pages.items():
        text = shown(app.run())
        assert not app.exception, view
        assert f'raw_value: "{NEW}  (' in text, (view, "the picker's title of the run that is open")
        left = [line for line in text.splitlines() if OLD in line.replace(run.id, "")]
        assert not left, (view, left)
    assert TAG in shown(pages["runs"])
