"""What the pages say about results in Python works as written, also on a run of several candidates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mauve_core.results import Results
from tests.supply.closure import ROOT
from tests.synthetic import make_run

CALLS = re.compile(r"\bresults\.(?!save|open|log|figure)\w+\((?:[^()]*)\)")


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_calls_that_a_page_shows_can_be_made(page: str, tmp_path: Path) -> None:
    results = Results(make_run(tmp_path, projection=False, seeds=2, names=["close", "collapsed"]))
    cluster = int(results.clusters("collapsed")["cluster"].iloc[0])
    text = (ROOT / page).read_text(encoding="utf-8")
    calls = CALLS.findall(text)
    assert calls
    for call in calls:
        shown = call.replace('"nucleus"', '"collapsed"').replace("cluster=3", f"cluster={cluster}")
        assert len(eval(shown, {"results": results})), call
