"""Where encoders look: one that reads the last words alone, one that reads the first, and one that knows no order."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mauve_core.analyses import positions
from mauve_core.analyses.positions import PositionTable, positions_run
from mauve_core.base.config import HUMAN, CompareConfig, EncoderConfig, ScoreConfig
from mauve_core.base.formatting import with_plain_spaces
from mauve_core.base.json_codec import dataclass_to_json, from_json
from mauve_core.figures.agreement import position_rows, positions_in_words
from mauve_core.runs import Run, RunStore
from mauve_core.scoring.compare import compare
from mauve_core.texts import corpus_from_texts
from tests.encoder_tables import position_example

pytestmark = pytest.mark.integration

N = 120
WORDS = 10
# The words that each made-up encoder reads, in order; the last one adds them up.
PLACES = {"gpt2": slice(-3, None), "minilm": slice(0, 3), "smollm2-135m": slice(None)}


class Reader:
    """Reads some words of a text: numbers, of which a text's tenth and its place in it make a feature each."""

    read: list[str]

    def __init__(self, config: EncoderConfig, **_: Any) -> None:
        self.config = config

    def encode(self, texts: Sequence[str], **_: Any) -> Any:
        rows = np.array([[float(word) for word in text.split()] for text in texts])
        rows = np.sort(rows, axis=1) if self.config.model == "smollm2-135m" else rows
        return SimpleNamespace(array=rows[:, PLACES[self.config.model]])


@pytest.fixture
def run(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run of texts whose words ascend; its encoder is the first made-up one."""
    rng = np.random.default_rng(0)
    sides = {
        name: corpus_from_texts([" ".join(map(str, np.sort(rng.integers(0, 100, WORDS)))) for _ in range(N)], name=name)
        for name in (HUMAN, "model")
    }
    features = {name: rng.normal(size=(N, 4)).astype(np.float32) for name in sides}
    score = ScoreConfig(seeds=3, bootstrap=100)
    human, model = sides.values()
    given = compare(human, {"model": model}, CompareConfig(None, score, projection=False), features=features)
    given = dataclasses.replace(given, config=CompareConfig(EncoderConfig("gpt2"), score, projection=False))
    monkeypatch.setattr("mauve_core.encoders.Encoder", Reader)
    monkeypatch.setattr(positions, "check_model", lambda *_: None)
    return RunStore().save("own", given, sides, features)


def table_of(run: Run, **options: int) -> PositionTable:
    return positions_run(run, [EncoderConfig("minilm"), EncoderConfig("smollm2-135m")], **options)


def test_only_what_an_encoder_reads_moves_its_texts(run: Run) -> None:
    table = table_of(run)
    last, first, unordered = table.results
    assert [each.encoder.model for each in table.results] == ["gpt2", "minilm", "smollm2-135m"]
    assert last.reads_the_end
    assert last.beginning == last.untouched
    assert min(last.over_untouched(last.end).values) > 0.1
    assert not first.reads_the_end
    assert first.end == first.untouched
    assert min(first.over_untouched(first.beginning).values) > 0.1
    assert unordered.beginning == unordered.end == unordered.untouched
    assert len(last.end.values) == 3
    assert (table.n, table.settings["human_texts"]) == (N // 2, N)
    assert from_json(PositionTable, dataclass_to_json(table)) == table


def test_fewer_texts_are_drawn_at_random(run: Run) -> None:
    table = table_of(run, texts=80)
    assert (table.n, table.settings["human_texts"]) == (40, 80)
    rows, split = positions._drawn(run, 80)
    assert len(set(rows.tolist())) == 80
    assert rows.tolist() != list(range(80))
    assert sorted([*split.reference, *split.comparison]) == rows.tolist()


def test_the_sentence_names_both_kinds() -> None:
    table = position_example()
    words = positions_in_words(table)
    assert "under every seed, for gpt2: it reads mostly the end" in words
    assert words.endswith("No sign of that for minilm.")
    assert [row[0::4] for row in position_rows(table)] == [["gpt2", "yes"], ["minilm", "no"]]
    cells = [with_plain_spaces(cell) for cell in position_rows(table)[0][1:4]]
    assert cells == ["0.025 ± 0.007", "0.110 ± 0.014", "0.250 ± 0.071"]
    alone = PositionTable(table.results[1:], 256)
    assert positions_in_words(alone) == "None of these encoders reads mostly the end of a text: minilm."
