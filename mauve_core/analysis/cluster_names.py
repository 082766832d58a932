"""Names for clusters: a property that sets a cluster apart by itself, else the words that distinguish its texts.

A name is made from the texts of both sides, or of all sides of a joint partition, so that it does not depend on the
candidate in focus there. Names are unique within a partition and never blank; a cluster's number is only its id, and
stands beside the name where people must tell it to others. Names repeat words of the texts, which are untrusted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from mauve_core.analysis.why import SEPARATES
from mauve_core.analysis.words import DistinctiveWord, WordCounts
from mauve_core.base.errors import InputError
from mauve_core.stats.two_groups import auc_interval
from mauve_core.texts.kinds import property_named

# Words in a name, unless it takes more to tell two clusters apart.
MOST_WORDS = 3

# Characters of a word in a name; what has more is a link or a run of letters without spaces, and is cut.
LONGEST_WORD = 24

# Share of a cluster's items that must have a tag that names it.
LEAST_TAGGED = 0.1

# Names of an empty cluster, and of one that neither a property nor a word distinguishes.
NO_TEXTS, NO_WORDS = "no texts", "no distinctive words"

# Words of a cluster among which its name is found.
_CONSIDERED = 24


def cluster_names(
    counts: WordCounts,
    properties: Mapping[str, NDArray[np.float64]],
    labels: NDArray[np.int32],
    k: int,
    *,
    tags: bool = False,
) -> tuple[str, ...]:
    """Name the clusters of a partition.

    A property of the items names a cluster if it separates the cluster's texts
    from all others by itself: the whole interval of its AUC (``stats.two_groups``) lies beyond
    :data:`mauve_core.analysis.why.SEPARATES`. Of several, the one with the interval farthest from 1/2 does. Other
    clusters take their words with the largest class-based TF-IDF (Grootendorst 2022, equation 2), of those in two texts
    or more where there are any. Equal names are told apart by further words, at last by the clusters' numbers.

    Parameters
    ----------
    counts : WordCounts
        Of all n texts, in the order of ``labels``.
    properties : mapping of str to (n,) float64 array
        As the items' kind measures them; nan where an item lacks one.
    labels : (n,) array of int
        Cluster of each text, 0 to ``k`` - 1.
    k : int
    tags : bool
        Whether the words are tags of items that are no texts: then numbers are names, such as those of folders, and a
        tag names a cluster only if a tenth of its items have it.

    Returns
    -------
    tuple of str
        (k,) names on one line each: words of the texts in lower case, separated by commas, or words of ours.

    Raises
    ------
    InputError
        The properties or the labels do not match the texts.
    """
    n = counts.matrix.shape[0]
    if any(values.shape != (n,) for values in properties.values()):
        raise InputError("The properties do not match the texts", allowed=f"one value for each of the {n} texts")
    sizes = np.bincount(labels, minlength=k)
    words = _tags(counts, labels, sizes) if tags else _words(counts, labels, k)
    separating = _separating(properties, labels, sizes)
    titles = [
        separating.get(cluster, "") if sizes[cluster] else NO_TEXTS for cluster in range(k)
    ]  # what is said before any word
    taken = [0 if titles[cluster] or not words[cluster] else MOST_WORDS for cluster in range(k)]
    return _unique(titles, words, taken)


def labelled(names: Sequence[str] | Mapping[int, str], cluster: int) -> str:
    """Write a cluster's name with its number, for places where people look for either; untrusted as the name is."""
    name = names[cluster]
    return name if name.endswith(_numbered(cluster)) else f"{name} · {cluster}"


def _words(counts: WordCounts, labels: NDArray[np.int32], k: int) -> list[list[str]]:
    """For each cluster, the words that may stand in its name, the most distinctive first."""
    common = counts.by_group(labels, k, top=_CONSIDERED, min_texts=2)
    rare = counts.by_group(labels, k, top=_CONSIDERED)
    found = []
    for cluster in range(k):
        offered = [each.word for each in common[cluster]] + [each.word for each in rare[cluster]]
        found.append(_readable(dict.fromkeys(offered)))
    return found


def _tags(counts: WordCounts, labels: NDArray[np.int32], sizes: NDArray[np.int64]) -> list[list[str]]:
    """The same of tags."""
    offered = counts.by_group(labels, sizes.size, top=_CONSIDERED)
    return [
        [_cut(each.word) for each in usual_tags(found, size)]
        for found, size in zip(offered, sizes.tolist(), strict=True)
    ]


def usual_tags(found: Sequence[DistinctiveWord], size: int) -> tuple[DistinctiveWord, ...]:
    """Those of a cluster's tags that may name it, which has so many items."""
    return tuple(each for each in found if each.texts >= LEAST_TAGGED * size)


def _cut(word: str) -> str:
    return word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 1]}…"


def _readable(words: Sequence[str] | Mapping[str, None]) -> list[str]:
    """Leave out what is no word to a reader: numbers, and other forms of a word that is there already."""
    kept: list[str] = []
    for word in words:
        cut = _cut(word)
        if any(letter.isalpha() for letter in word) and not any(_same_stem(cut, other) for other in kept):
            kept.append(cut)
    return kept


def _same_stem(first: str, second: str) -> bool:
    """Whether one is the other with a short ending: *species* and *specie*, *robot* and *robots*."""
    short, long = sorted((first, second), key=len)
    return first == second or (len(short) >= _STEM and len(long) - len(short) <= 2 and long.startswith(short))


# Letters that two forms of a word share at least.
_STEM = 4


def _separating(
    properties: Mapping[str, NDArray[np.float64]], labels: NDArray[np.int32], sizes: NDArray[np.int64]
) -> dict[int, str]:
    """What each cluster does that all others do not, in the words of the property; clusters without one are left out.

    All clusters of a property are ranked together: the AUC of a cluster follows from the sum of its texts' ranks.
    """
    best: dict[int, tuple[float, str]] = {}
    for name, values in properties.items():
        kind, known = property_named(name), ~np.isnan(values)
        ranks, own = rankdata(values[known]), labels[known]
        inside = np.bincount(own, minlength=sizes.size)
        rank_sums = np.bincount(own, weights=ranks, minlength=sizes.size)
        for cluster in np.flatnonzero((inside > 0) & (inside < own.size)).tolist():
            n, m = int(inside[cluster]), int(own.size - inside[cluster])
            auc = (float(rank_sums[cluster]) - n * (n + 1) / 2) / (n * m)
            if 1 - SEPARATES < auc < SEPARATES:  # the interval holds the AUC
                continue
            low, high = auc_interval(auc, n, m)
            if low >= SEPARATES or high <= 1 - SEPARATES:
                margin = max(low, 1 - high)
                if cluster not in best or margin > best[cluster][0]:
                    best[cluster] = margin, kind.cluster_name(more=low >= SEPARATES)
    return {cluster: words for cluster, (_, words) in best.items()}


def _unique(titles: Sequence[str], words: Sequence[Sequence[str]], taken: list[int]) -> tuple[str, ...]:
    """Give clusters of equal names one word more each, as long as they have any; then their numbers."""
    while True:
        names = [_written(*each) for each in zip(titles, words, taken, strict=True)]
        count = Counter(names)
        again = [i for i, name in enumerate(names) if count[name] > 1 and taken[i] < len(words[i])]
        if not again:
            break
        for index in again:
            taken[index] += 1
    return tuple(name if count[name] == 1 else f"{name}{_numbered(index)}" for index, name in enumerate(names))


def _numbered(cluster: int) -> str:
    """What a cluster's name ends with if no word tells it from another's."""
    return f" ({cluster})"


def _written(title: str, words: Sequence[str], taken: int) -> str:
    shown = ", ".join(words[:taken])
    return f"{title}: {shown}" if title and shown else title or shown or NO_WORDS
