"""Which numbers of texts are equal enough for scores to be compared."""

from __future__ import annotations

import math
from collections.abc import Iterable

# Over the square root of k: the largest share by which numbers of texts may differ.
#
# Where both sides are drawn from one distribution, twice n times a divergence is about chi-squared with k degrees of
# freedom (G-test): its mean, which is the bias of a score, is k, and its standard deviation is sqrt(2 k). Each side has
# half of the bias, in proportion to k / n. So if the number of texts on one side differs by a share of s, the bias
# changes by k s / 2. Half of a 95% interval is 1.96 sqrt(2 k): the ratio of the two is s sqrt(k) / 5.5. With s at most
# 0.5 / sqrt(k), a score moves by less than a tenth of half its interval. Where the sides differ, the bias is the same
# and the interval wider. This allows 5% at 100 clusters (1,000 texts) and 0.7% at 5,000.
TOLERANCE = 0.5


def alike(sizes: Iterable[int], k: int) -> bool:
    """Return whether scores at these numbers of texts, at least 1 each, may be compared, in k clusters."""
    found = list(sizes)
    return not found or (max(found) - min(found)) * math.sqrt(k) <= TOLERANCE * min(found)
