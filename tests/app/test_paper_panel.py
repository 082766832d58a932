"""The texts for a paper on the Compare page, under what is set above."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from mauve_core.runs import Run
from mauve_core.scoring.estimates import basis_of, estimates_of
from tests.resampled import sample_counts

pytestmark = pytest.mark.integration

OpenPage = Callable[..., AppTest]


def shown(app: AppTest) -> str:
    (code,) = app.code
    return str(code.value)


@pytest.mark.usefixtures("run_home")
def test_they_follow_partition_scale_and_smoothing(open_page: OpenPage, stored_run: Run) -> None:
    app = open_page(tabs={"paper_texts": True}, partition="joint", scale="2", smoothing="laplace")
    app.segmented_control(key="report_text_kind").set_value("markdown").run()
    text = shown(app)
    assert "Joint partition" in text
    assert "scaling constant 2, laplace smoothing" in text
    counts = sample_counts(stored_run.comparison, "joint")["close"]
    afresh = estimates_of(basis_of(counts, "laplace"), 2.0, 0.95)["mauve"]
    assert f"| close | {afresh.mean:.3f} ± {afresh.sd:.3f} \\[{afresh.low:.3f}, {afresh.high:.3f}\\]" in text
