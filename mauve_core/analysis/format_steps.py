"""From a preflight to the steps that normalize what it flagged, and a bounded preflight before a run is started."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mauve_core.analysis.format_kinds import KINDS
from mauve_core.analysis.format_measures import excluded_empty, format_measures
from mauve_core.analysis.preflight import Preflight
from mauve_core.texts import Corpus
from mauve_core.texts.normalizing_steps import STEPS, WORDS

# Texts of a side that a preflight reads before a run is started.
MOST_TEXTS = 2000

# Share of a side's texts that may have fewer words than the common number.
SHORTER = 0.05

_SEED = 2_000


def steps_for(found: Preflight) -> tuple[str, ...]:
    """Return the steps that normalize the flagged kinds, in the order in which they are applied.

    Length is left out: to cut texts loses some of them, so a person chooses the number of words.
    """
    steps = {KINDS[row.kind].step for row in found.flagged}
    return tuple(name for name in STEPS if name in steps and name != WORDS)


def common_words(corpora: Mapping[str, Corpus]) -> int:
    """Return the number of words, at least 1, that all but ``SHORTER`` of the texts of every side have."""
    words = (format_measures(corpus.texts).numbers["words"] for corpus in corpora.values())
    return max(1, min(int(np.quantile(each, SHORTER, method="lower")) for each in words))


def drawn_texts(corpus: Corpus, most: int = MOST_TEXTS) -> Corpus:
    """Return at most ``most`` texts of a corpus in their order, drawn without replacement and always the same.

    Texts that were left out because they were empty count as drawn in proportion.
    """
    total = len(corpus) + excluded_empty(corpus)
    if total <= most:
        return corpus
    size = max(1, round(most * len(corpus) / total))
    return corpus.drawn(np.sort(np.random.default_rng(_SEED).permutation(len(corpus))[:size]))
