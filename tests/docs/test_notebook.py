"""The notebook of the documentation runs from top to bottom, and finds what its texts were made to hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "first_lines.ipynb"

RUN_CELLS = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
import plotly.io
plotly.io.renderers.default = "json"  # no browser opens
shell = InteractiveShell.instance()
for source in json.load(sys.stdin):
    result = shell.run_cell(source)
    result.raise_error()
names = shell.user_ns
found = {
    "scores": {each.name: float(each["mauve"]) for each in names["comparison"]},
    "answer": str(names["verdict"](names["run"]).closest),
    "findings": names["findings"]["sentence"].tolist(),
    "shown": names["shown"]["text"].tolist(),
    "costliest": names["results"].texts("greedy", cluster=names["costliest"])["text"].tolist(),
    "last": result.result,
}
with open("found.json", "w") as file:
    json.dump(found, file)
"""


def test_the_notebook_keeps_no_output() -> None:
    assert not [cell for cell in _cells() if cell.get("outputs") or cell.get("execution_count")]


@pytest.mark.slow
def test_every_cell_runs_and_the_truth_is_found(tmp_path: Path) -> None:
    variables = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython"), "MAUVE_LENS_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", RUN_CELLS],
        input=json.dumps(["".join(cell["source"]) for cell in _cells() if cell["cell_type"] == "code"]),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=variables,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["scores"]["greedy"] < 0.8 < found["scores"]["sampled"]
    assert "sampled" in found["answer"]
    assert "loop" in found["findings"][0]  # greedy repeats itself, and is silent on two subjects of four
    assert any("less often" in sentence and "planet" in sentence for sentence in found["findings"])
    assert all(len(set(text.split(". "))) <= 2 for text in found["shown"])
    subjects = {
        next(word for word in ("river", "engine", "planet", "violin") if word in text) for text in found["costliest"]
    }
    assert len(subjects) == 1
    assert found["last"] is True


def _cells() -> list[dict[str, object]]:
    cells: list[dict[str, object]] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return cells
