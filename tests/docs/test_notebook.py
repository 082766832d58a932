"""The notebook of the documentation runs from top to bottom, and finds what its texts were made to hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "notebook.ipynb"

RUN_CELLS = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
import plotly.io
plotly.io.renderers.default = "json"  # no browser opens
shell = InteractiveShell.instance()
shown = []
for source in json.load(sys.stdin):
    result = shell.run_cell(source)
    result.raise_error()
    shown.append("" if result.result is None else repr(result.result))
names = shell.user_ns
found = {
    "shown": shown,
    "scores": {each.name: float(each["mauve"]) for each in names["result"]},
    "missed": names["run"].texts("greedy", cluster=names["costliest"])["text"].tolist(),
    "costs": names["clusters"]["cost_share"].sum(),
}
with open("found.json", "w") as file:
    json.dump(found, file)
"""


def cells(kind: str) -> list[str]:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]


def test_the_notebook_has_ten_cells_and_keeps_no_output() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert len(notebook["cells"]) == 10
    assert not [cell for cell in notebook["cells"] if cell.get("outputs")]


@pytest.mark.slow
@pytest.mark.trial
def test_every_cell_runs_and_the_truth_is_found(tmp_path: Path) -> None:
    variables = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython"), "MAUVE_LENS_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", RUN_CELLS],
        input=json.dumps(cells("code")),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=variables,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["scores"]["greedy"] < 0.8 < found["scores"]["sampled"]
    assert found["costs"] == pytest.approx(1)
    # What greedy never writes costs most: all texts of the first cluster are of the subjects that it misses, or of
    # those that it writes instead.
    subjects = {
        next(word for word in ("river", "engine", "planet", "violin") if word in text) for text in found["missed"]
    }
    assert len(subjects) == 1
    assert found["shown"][-1] == "True"
