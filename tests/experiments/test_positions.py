"""What shuffled beginnings and ends say about an encoder, by hand."""

from __future__ import annotations

from collections.abc import Sequence

from mauve_core.analyses.positions import positions_sentence
from mauve_core.analyses.probe_results import PROBE_SCORES, LineKind, ProbeLine, ProbeTable
from mauve_core.base.config import HUMAN
from mauve_core.scoring.result import SeedSpread

CONTROL = (0.02, 0.03)


def line(name: str, values: Sequence[float], kind: LineKind = "perturbation") -> ProbeLine:
    scores = {measure: SeedSpread.of([1 - value for value in values]) for measure in PROBE_SCORES}
    scores["exponentiated-kl"] = SeedSpread.of([1 + value for value in values])
    tests = (0.01,) if kind == "perturbation" else ()
    scores["jensen-shannon"] = SeedSpread.of(values)
    return ProbeLine(kind, name, 30, 6, 0.9, scores, p_values=tests)


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


def test_nothing_is_said_without_both_parts_of_all_texts() -> None:
    low, high = (0.1, 0.1), (0.2, 0.2)
    assert positions_sentence(table(beginning=low)) == positions_sentence(table(end=high)) == ""
    assert positions_sentence(table(beginning=low, half=high)) == ""
    assert positions_sentence(table(tenth=low, end=high)) == ""  # fewer words at the beginning prove nothing
