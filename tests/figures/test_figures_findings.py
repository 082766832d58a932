"""The picture of findings: both shares and the interval of the difference, and words of texts as text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mauve_core.base.config import HUMAN
from mauve_core.figures.findings import MOST_LETTERS, findings_figure
from mauve_core.figures.theme import HUMAN_COLOUR, candidate_styles
from mauve_core.findings.finding import Finding, HeldEqual

NAMES = ["<b>", "other"]
FIRST = Finding(
    "<b>", HUMAN, "loop", "more", "ends in a loop more often", "end in a loop", 0.6, 0.1, 60, 50, 0.4, 0.58, 0.0, 0.0,
    "model", (), (1,), held_equal=HeldEqual(0.5, 0.43, 0.6, (3,)),
)  # fmt: skip
SECOND = replace(
    FIRST, does="says “<i>” " + "x" * 80, share_model=0.2, share_human=0.3, low=-0.2, high=-0.05, held_equal=None
)


def test_both_shares_and_the_interval_of_the_difference_are_drawn() -> None:
    figure = findings_figure([FIRST, SECOND], NAMES)
    human, model = figure.data[1:3]
    assert (list(human.x), list(model.x)) == ([0.1, 0.3], [0.6, 0.2])
    assert (human.marker.color, model.marker.color) == (HUMAN_COLOUR, candidate_styles(NAMES)["<b>"].colour)
    assert (np.array(model.x) + model.error_x.array).tolist() == pytest.approx([0.1 + 0.58, 0.3 - 0.05])
    assert (np.array(model.x) - model.error_x.arrayminus).tolist() == pytest.approx([0.1 + 0.4, 0.3 - 0.2])


def test_what_a_finding_accounts_for_stands_beside_it_with_its_range() -> None:
    heading, *shares = findings_figure([SECOND, FIRST], NAMES).layout.annotations
    assert heading.text == "of the gap"
    assert [(each.y, each.text.replace("\xa0", " ")) for each in shares] == [
        (0, "–"),
        (1, "50% (43% to 60%)"),
    ]
    assert not findings_figure([SECOND], NAMES).layout.annotations


def test_words_of_texts_are_escaped_and_cut() -> None:
    figure = findings_figure([FIRST, SECOND], NAMES)
    label = figure.layout.yaxis.ticktext[1]
    assert label.startswith("says “&lt;i&gt;” xxx")
    assert len(label.replace("&lt;", "<").replace("&gt;", ">")) <= MOST_LETTERS
    assert "“&lt;i&gt;”" in figure.data[-1].text[1]
    assert "<b>" not in figure.data[2].name
