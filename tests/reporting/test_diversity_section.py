"""The report's section on answers to one prompt: there if there are several, with the core's sentences and numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from mauve_core.base.files import HOME_VARIABLE
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.experiments.diversity import diversity_of_run
from mauve_core.experiments.diversity.wording import sentence
from mauve_core.reporting.blocks import Chart, Remarks, Table
from mauve_core.reporting.diversity_section import diversity_section
from mauve_core.reporting.html_report import html_report
from tests.planted_modes import store_modes


def test_the_section_has_sentences_picture_and_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    run = store_modes()
    found, section = diversity_of_run(run), diversity_section(run)
    assert section is not None
    said, chart, table, pairs = section.blocks
    assert isinstance(said, Remarks)
    assert said.lines == tuple(sentence(name, own, found.gap) for name, own in found.candidates.items())
    assert isinstance(chart, Chart)
    assert isinstance(table, Table)
    assert isinstance(pairs, Table)
    assert len(table.rows) == 4 * len(found.candidates)
    assert len(pairs.rows) == len(found.pairs)
    page = with_plain_spaces(html_report(run, sections=("variety",)).decode())
    assert "Answers to one prompt" in page
    assert with_plain_spaces(said.lines[0]) in page
