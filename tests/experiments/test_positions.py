"""What shuffled beginnings and ends say about an encoder, by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mauve_core.base.config import DEFAULT_MODEL, HUMAN
from mauve_core.cli.probing import table as printed
from mauve_core.experiments.robustness import POSITIONS, PROBE_SCORES, ProbeLine, ProbeTable, positions_sentence
from mauve_core.experiments.robustness.table import LineKind
from mauve_core.figures.probes import ABOUT_LEADERBOARD
from mauve_core.scoring.spread import SeedSpread

CONTROL = (0.02, 0.03)


def line(name: str, values: Sequence[float], kind: LineKind = "perturbation") -> ProbeLine:
    scores = {measure: SeedSpread.of([1 - value for value in values]) for measure in PROBE_SCORES}
    scores["exponentiated-kl"] = SeedSpread.of([1 + value for value in values])
    return ProbeLine(kind, name, 30, 6, 0.9, scores | {"jensen-shannon": SeedSpread.of(values)})


NAMES = {
    "beginning": "shuffle-beginning",
    "end": "shuffle-end",
    "tenth": "shuffle-beginning:words=0.1",
    "half": "shuffle-end@0.5",
}


def table(pooling: str | None = "last", **values: Sequence[float]) -> ProbeTable:
    lines = [line(NAMES[each], found) for each, found in values.items()]
    settings = {} if pooling is None else {"config": {"encoder": {"model": "m", "pooling": pooling}}}
    return ProbeTable(HUMAN, (line("none", CONTROL, "control"), *lines), settings)


def test_the_end_counts_most_if_it_does_under_every_split_and_seed() -> None:
    found = positions_sentence(table(beginning=(0.12, 0.23), end=(0.33, 0.24)))
    assert "last 30% of the words raises the Jensen-Shannon divergence by 0.26" in found
    assert "the first 70% by 0.15, less under every split and seed" in found
    assert "(the last token) read mostly the end of a text" in found
    assert "RoBERTa" in found
    once = positions_sentence(table(beginning=(0.12, 0.25), end=(0.42, 0.24)))
    assert "no sign that these features (the last token) read mostly the end" in once
    assert "RoBERTa" not in once


@pytest.mark.parametrize(
    ("pooling", "words"),
    [("mean", " (the mean over tokens)"), ("auto", " (the model's own pooling)"), (None, ""), ("odd", "")],
)
def test_the_pooling_is_named_if_it_is_known(pooling: str | None, words: str) -> None:
    found = positions_sentence(table(pooling, beginning=(0.3, 0.3), end=(0.1, 0.1)))
    assert f"these features{words} read" in found
    named = table("auto", beginning=(0.3, 0.3), end=(0.1, 0.1))
    known = {"config": {"encoder": {"model": DEFAULT_MODEL, "pooling": "auto"}}}
    own = positions_sentence(ProbeTable(HUMAN, named.lines, known))
    assert "these features (the last token) read" in own


def test_nothing_is_said_without_both_parts_of_all_texts() -> None:
    low, high = (0.1, 0.1), (0.2, 0.2)
    assert positions_sentence(table(beginning=low)) == positions_sentence(table(end=high)) == ""
    assert positions_sentence(table(beginning=low, half=high)) == ""
    assert positions_sentence(table(tenth=low, end=high)) == ""  # fewer words at the beginning prove nothing


def test_the_command_line_ends_with_the_sentence() -> None:
    both = table(beginning=(0.12, 0.23), end=(0.32, 0.24))
    assert printed(both).endswith(positions_sentence(both))
    assert printed(table(end=(0.1, 0.1))).endswith(ABOUT_LEADERBOARD)
    assert [item.spec for item in POSITIONS] == ["shuffle-beginning", "shuffle-end"]
