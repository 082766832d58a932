"""Averages of word vectors of lists of texts, from one reading of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from mauve_core.base.progress import Progress, silent
from mauve_core.encoders.word_vectors import WordFeatures, WordTable, words_of


def word_features(
    texts: Mapping[str, Sequence[str]], path: Path, progress: Progress = silent
) -> dict[str, WordFeatures]:
    table = WordTable(path)
    sides = {side: [table.numbered(words_of(text)) for text in rows] for side, rows in texts.items()}
    table.read(progress)
    return {side: table.averages(rows) for side, rows in sides.items()}
