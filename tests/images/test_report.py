"""The report of a run of images begins with what differs, and with pictures of both sides."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from mauve_core.analysis.findings.of_run import run_findings
from mauve_core.base.config import HUMAN
from mauve_core.corpus.media import SIDES
from mauve_core.reporting.blocks import Cards, Table
from mauve_core.reporting.findings_section import findings_section
from mauve_core.reporting.pictures import PICTURES
from mauve_core.store import Run
from tests.images.made import make_dark_run


@pytest.fixture
def dark_run(own_home: Path, tmp_path: Path) -> Run:
    del own_home
    return make_dark_run(tmp_path)


def test_the_section_says_what_differs_and_shows_both_sides(dark_run: Run) -> None:
    (found, *_), (same, *none) = run_findings(dark_run, "dark"), (run_findings(dark_run, "same"),)
    assert (same, none) == ((), [])
    table, cards = findings_section(dark_run, ["dark", "same"]).blocks
    assert isinstance(table, Table)
    assert [row[:2] for row in table.rows] == [
        ("dark", found.statement),
        ("same", "no difference that holds for images that did not suggest it"),
    ]
    assert "text" not in table.note
    assert isinstance(cards, Cards)
    (card,) = cards.cards
    assert card.title == "dark makes darker images"
    assert card.facts == (f"images of dark that {found.condition}", "real images of which this is not so")
    for side, name in zip(card.sides, (HUMAN, "dark"), strict=True):
        corpus, dark = dark_run.corpora[name], set(found.human_texts if name == HUMAN else found.model_texts)
        expected = [row for row in range(len(corpus)) if (row in dark) == (name == "dark")]
        assert side.total == len(expected)
        assert [each.id for each in side.pictures] == [corpus.ids[row] for row in expected[:PICTURES]]
        data = base64.b64decode(side.pictures[0].url.partition(",")[2])
        assert data == corpus.media.picture(expected[0], SIDES[0])
