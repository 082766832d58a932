"""Phrases, beginnings and ends that the suggesting texts of one side have more often, and clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mauve_core.analysis.cluster_names import labelled
from mauve_core.analysis.findings.marks import sentences
from mauve_core.analysis.findings.statements import Statement
from mauve_core.analysis.phrases import distinctive_phrases
from mauve_core.base.words import TEXTS, Words
from mauve_core.texts.properties import WORD, stop_words

# Phrases of each side that are suggested.
PHRASES = 12

# Suggesting texts of one side that must have a phrase, beginning or end.
LEAST_TEXTS = 4

# Words of a beginning.
OPENINGS = (1, 2, 3)

_Chosen = NDArray[np.bool_]


def phrased(texts: Sequence[str], of_model: _Chosen, suggesting: _Chosen) -> Iterator[Statement]:
    """Yield a statement for each distinctive phrase of the suggesting texts, those of the candidate first."""
    parts = [
        [text for text, use in zip(texts, suggesting & side, strict=True) if use] for side in (of_model, ~of_model)
    ]
    padded = [f" {' '.join(WORD.findall(text.lower()))} " for text in texts]
    found = distinctive_phrases(*parts, top=PHRASES, min_texts=LEAST_TEXTS, stop_words=stop_words())
    for phrase in (phrase for side in found for phrase in side):
        has = np.array([f" {phrase.text} " in text for text in padded], dtype=np.bool_)
        quoted = f"“{phrase.text}”"
        yield Statement("phrase", f"says {quoted} more often", f"says {quoted} less often", f"have {quoted}", has)


def bounded(texts: Sequence[str], of_model: _Chosen, suggesting: _Chosen) -> Iterator[Statement]:
    """Yield a statement for each beginning and last sentence that is frequent among the suggesting texts of a side."""
    words = [WORD.findall(text.lower()) for text in texts]
    for length in OPENINGS:
        starts = [" ".join(each[:length]) if len(each) >= length else "" for each in words]
        for start in _frequent(starts, of_model, suggesting):
            yield _same("opening", f"begins with “{start}”", f"begin with “{start}”", starts, start)
    ends = [each[-1] if each else "" for each in map(sentences, texts)]
    for end in _frequent(ends, of_model, suggesting):
        yield _same("ending", f"ends with “{end}”", f"end with “{end}”", ends, end)


def _frequent(values: Sequence[str], of_model: _Chosen, suggesting: _Chosen) -> list[str]:
    found: dict[str, None] = {}
    for side in (of_model, ~of_model):
        counts = Counter(value for value, use in zip(values, suggesting & side, strict=True) if use and value)
        found |= dict.fromkeys(value for value, count in counts.most_common(PHRASES) if count >= LEAST_TEXTS)
    return list(found)


def _same(kind: str, does: str, condition: str, values: Sequence[str], wanted: str) -> Statement:
    has = np.array([value == wanted for value in values], dtype=np.bool_)
    return Statement(kind, f"{does} more often", f"{does} less often", condition, has)


def clustered(labels: NDArray[np.integer], names: Sequence[str], words: Words = TEXTS) -> Iterator[Statement]:
    """Yield a statement for each cluster; labels and names were found without looking at the sides."""
    for cluster in range(len(names)):
        which = labelled(names, cluster)
        more, less = (f"{words.said(f'writes {amount} texts of cluster')} {which}" for amount in ("more", "fewer"))
        yield Statement("topic", more, less, f"are in cluster {which}", labels == cluster)
