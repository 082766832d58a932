"""Words that stand for items: those of texts, or the tags that describe images, molecules and others.

Tags are few and say the same of many items. One that most items of a comparison have, such as ``gray`` where all images
are, distinguishes none of them and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mauve_core.analysis.words import WordCounts, count_words
from mauve_core.texts.kinds import Kind

# A tag: what stands between two commas, numbers and several words too.
TAG = r"[^\s,][^,]*"

# Share of all items above which a tag is left out.
COMMON = 0.5


def item_words(kind: Kind, described: Sequence[str], everything: Sequence[str]) -> WordCounts:
    """Count the words of items.

    Parameters
    ----------
    described : sequence of str
        What stands for each item, as ``kind.described`` gives it.
    everything : sequence of str
        The same of all items that are compared, these included.
    """
    if kind.has_words:
        return count_words(described)
    of_all = count_words(everything, stop_words=None, pattern=TAG)
    shares = np.asarray(of_all.matrix.sign().sum(axis=0)).ravel() / max(1, len(everything))
    common = set(of_all.vocabulary[shares > COMMON].tolist())
    own = count_words(described, stop_words=None, pattern=TAG)
    kept = np.array([tag not in common for tag in own.vocabulary.tolist()], dtype=np.bool_)
    return WordCounts(own.vocabulary[kept], own.matrix[:, np.flatnonzero(kept)])
