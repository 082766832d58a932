"""Choose the texts that a what-if changes, and their weights.

Chosen texts form groups: one per chosen cluster, or a single one for an area of the map or a slice of the metadata.
Actions on shares use the group's shares:

    drop      texts get weight 0
    weight    texts get a factor as weight
    cap       candidate texts lose weight if the group's share of them exceeds the human share
    match     candidate texts get the weight that gives the group the human share; all others scale alike
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from mauve_core.analysis.selection import as_text
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.scoring.result import Partition
from mauve_core.stats.what_if import capped, dropped, matched

SIDES = ("model", "human", "both")
ACTIONS = ("drop", "cap", "match", "weight")
# Actions that change only the candidate's texts, whatever the side.
OF_THE_MODEL = ("cap", "match")


@dataclass(frozen=True, eq=False)
class Groups:
    """The chosen texts of the human side and of one candidate.

    Attributes
    ----------
    count : int
        Number of groups.
    labels : mapping of str to (n,) int array
        For both sources, the group of each text, 0 to count - 1; ``count`` for a text that is not chosen.
    """

    count: int
    labels: Mapping[str, NDArray[np.intp]]

    def chosen(self, source: str) -> NDArray[np.bool_]:
        """Return, as (n,), whether each text of ``source`` is in any group."""
        return np.asarray(self.labels[source] < self.count)

    def sizes(self, source: str) -> NDArray[np.int64]:
        """Return the (count + 1,) number of texts of ``source`` in each group and, last, outside all groups."""
        return np.bincount(self.labels[source], minlength=self.count + 1).astype(np.int64)


def groups_of_clusters(partition: Partition, candidate: str, clusters: Sequence[int]) -> Groups:
    """Return one group per cluster; InputError for a cluster that the partition does not have."""
    if any(not 0 <= cluster < partition.k for cluster in clusters):
        raise InputError("No cluster has that number", allowed=f"0 to {partition.k - 1}", received=str(list(clusters)))
    group = np.full(partition.k, len(clusters), dtype=np.intp)
    group[list(clusters)] = np.arange(len(clusters))
    return Groups(len(clusters), {name: group[partition.labels[name]] for name in (HUMAN, candidate)})


def one_group(candidate: str, human: ArrayLike, model: ArrayLike) -> Groups:
    """Return one group of the texts where these masks hold."""
    masks = {HUMAN: np.asarray(human, dtype=np.bool_), candidate: np.asarray(model, dtype=np.bool_)}
    return Groups(1, {name: np.where(mask, 0, 1).astype(np.intp) for name, mask in masks.items()})


def slice_mask(metadata: pd.DataFrame, field: str, value: str) -> NDArray[np.bool_]:
    """Return, as (n,), whether each text's ``field``, as text, is ``value``; all False without that field."""
    if field not in metadata.columns:
        return np.zeros(len(metadata), dtype=np.bool_)
    return (as_text(metadata[field]) == value).to_numpy(dtype=np.bool_)


def slice_values(human: pd.DataFrame, model: pd.DataFrame, field: str) -> list[str]:
    """Return a field's values on either side as text, the most frequent first, ties in alphabetical order."""
    found = pd.concat([as_text(side[field]) for side in (human, model) if field in side.columns])
    counts = found.value_counts()
    return sorted(counts.index, key=lambda value: (-int(counts[value]), value))


def weights_of(
    groups: Groups, candidate: str, action: str, side: str = "model", factor: float = 1.0
) -> dict[str, NDArray[np.float64]]:
    """Return the (n,) text weights of each source that is changed.

    Parameters
    ----------
    groups : Groups
    candidate : str
    action : {"drop", "cap", "match", "weight"}
    side : {"model", "human", "both"}
        Whose texts are changed; "cap" and "match" change the candidate's.
    factor : float >= 0
        For "weight".

    Raises
    ------
    InputError
        An unknown action or side, or a group to match that has no text of the candidate.
    """
    for what, value, known in (("action", action, ACTIONS), ("side", side, SIDES)):
        if value not in known:
            raise InputError(f"No {what} of that name", allowed=", ".join(known), received=repr(value))
    human, model = groups.sizes(HUMAN), groups.sizes(candidate)
    chosen = np.arange(groups.count + 1) < groups.count
    if action == "drop":
        by_group = dropped(chosen.size, range(groups.count))
    elif action == "weight":
        by_group = np.where(chosen, factor, 1.0)
    elif action == "cap":
        by_group = np.where(chosen, capped(human, model), 1.0)
    else:
        by_group = _matched(human, model)
    changed = "model" if action in OF_THE_MODEL else side
    sources = {"model": (candidate,), "human": (HUMAN,), "both": (HUMAN, candidate)}[changed]
    return {source: by_group[groups.labels[source]] for source in sources}


def _matched(human: NDArray[np.int64], model: NDArray[np.int64]) -> NDArray[np.float64]:
    if ((model == 0) & (human > 0)).any():
        raise InputError(
            "The candidate has no text in one of the groups, or none outside them: weights cannot match the human share"
        )
    return matched(human, model, range(human.size - 1))
