"""The texts to read of a cluster: those nearest to its center on each side, or pairs of texts of one prompt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mauve_core.analysis.why import WhySource
from mauve_core.base.errors import InputError


@dataclass(frozen=True)
class Row:
    """Two texts beside each other, by their rows on their sides; None where there is no text."""

    human: int | None
    model: int | None


def central_texts(source: WhySource, cluster: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the cluster's texts on each side, the nearest to the cluster's center first.

    Distances are Euclidean, in the encoder's own space, to the mean of both sides' texts of the cluster. Ties, and all
    texts of a run without features, stay in the order of the file.

    Returns
    -------
    human, model : arrays of int
        Rows on their sides.

    Raises
    ------
    InputError
        An unknown cluster.
    """
    if not 0 <= cluster < source.k:
        raise InputError("No cluster has that number", allowed=f"0 to {source.k - 1}", received=str(cluster))
    chosen = np.flatnonzero(source.labels == cluster)
    if source.features is not None and source.centres is not None:
        away = ((source.features[chosen] - source.centres[cluster]) ** 2).sum(axis=1)
        chosen = chosen[np.argsort(away, kind="stable")]
    return chosen[chosen < source.humans], chosen[chosen >= source.humans] - source.humans


def side_by_side(human: NDArray[np.intp], model: NDArray[np.intp], most: int) -> list[Row]:
    """The first ``most`` texts of each side in rows; a shorter side leaves places empty."""
    rows = range(min(max(human.size, model.size), most))
    return [Row(*(int(side[row]) if row < side.size else None for side in (human, model))) for row in rows]


def paired(
    human: NDArray[np.intp],
    model: NDArray[np.intp],
    codes: tuple[NDArray[np.int32], NDArray[np.int32]],
    most: int,
) -> list[Row]:
    """Pair the first texts of a cluster with the other side's text of the same prompt, whichever its cluster.

    Parameters
    ----------
    human, model : arrays of int
        Rows of the cluster's texts, in the order in which they are taken: the human ones first, then the model's whose
        prompt is not there yet.
    codes : ((n,) array, (m,) array) of int
        Number of each text's prompt, on both sides.
    most : int

    Returns
    -------
    list of Row
        At most ``most`` pairs, both places filled. Of several texts of the prompt, one in the cluster is taken before
        the others, then the first; a text without a partner is left out.
    """
    pairs: list[Row] = []
    seen: set[int] = set()
    for own, (rows, others) in enumerate(((human, model), (model, human))):
        for row in rows.tolist():
            code = int(codes[own][row])
            partners = np.flatnonzero(codes[1 - own] == code)
            if code in seen or not partners.size or len(pairs) == most:
                continue
            seen.add(code)
            inside = [each for each in others.tolist() if codes[1 - own][each] == code]
            partner = inside[0] if inside else int(partners[0])
            pairs.append(Row(row, partner) if own == 0 else Row(partner, row))
    return pairs
