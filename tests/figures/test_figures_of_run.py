"""What is stored beside a run is drawn by name, as the pages draw it."""

from __future__ import annotations

from pathlib import Path

import plotly.graph_objects as go
import pytest

from mauve_core.analyses.attached_results import DOCUMENTS
from mauve_core.analyses.text_measures import stored_measurements
from mauve_core.base.errors import InputError
from mauve_core.figures.by_name import figure
from mauve_core.figures.measures import panels_figure
from mauve_core.figures.of_run import RUN_FIGURES
from mauve_core.runs import Run
from tests.mutations import add_everything
from tests.synthetic import make_run

# Figures of what :func:`tests.mutations.add_everything` stores.
STORED = ("measures", "lengths", "neighbors", "methods", "methods-agreement", "encoders", "probes", "sweep-scale")


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("bare"), n=60, seeds=2, projection=False)


@pytest.mark.slow
def test_every_stored_result_has_its_figure(own_home: Path) -> None:
    run = add_everything(make_run(own_home, n=60, seeds=2, projection=False), own_home)
    for name in STORED:
        drawn = figure(run, name)
        assert type(drawn) is go.Figure, name
        assert len(drawn.data) > 0, name
    table = stored_measurements(run)
    assert table is not None
    order = [candidate.name for candidate in run.comparison.candidates]
    assert figure(run, "measures").to_json() == panels_figure(table, order).to_json()
    for part in ("accuracy", "agreement"):
        assert len(figure(run, f"metadata-{part}").data) > 0
    with pytest.raises(InputError, match="No column of metadata"):  # none of these texts has a number that varies
        figure(run, "metadata-explained")


@pytest.mark.parametrize("name", RUN_FIGURES)
def test_a_missing_result_names_the_command_that_makes_it(name: str, bare: Run) -> None:
    assert RUN_FIGURES[name][0] in DOCUMENTS
    with pytest.raises(InputError, match=rf"has no {RUN_FIGURES[name][0]} to draw.*mauve-lens \w+ synthetic"):
        figure(bare, name)
