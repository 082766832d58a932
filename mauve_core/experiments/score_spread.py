"""Standard deviation of a run's scores over texts: the jackknife that text measures and methods have.

A group of prompts is left out on both sides and in all generations, and the run's clusters stay. The groups are those
of the text measures, so that the deviations of scores and of measures are of one kind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mauve_core.base.config import HUMAN, SCORES
from mauve_core.experiments.text_measures.spread import GROUPS, MIN_TEXTS, group_of
from mauve_core.runs import Run
from mauve_core.scoring.result import Partition
from mauve_core.stats.divergences import score_counts
from mauve_core.stats.resampling import jackknife_sd
from mauve_core.texts.pairing import keys_of, unit_names

Groups = NDArray[np.int64]


def score_sds_over_texts(run: Run) -> dict[str, dict[str, float]]:
    """Standard deviation over texts of each pairwise score's mean over seeds (and generations), by score and candidate.

    Candidates with fewer than ``MIN_TEXTS`` texts on a side are left out.
    """
    comparison = run.comparison
    groups = {name: group_of(prompts) for name, prompts in unit_names(keys_of(run.corpora)).items()}
    found: dict[str, dict[str, float]] = {score: {} for score in SCORES}
    for candidate in comparison.candidates:
        name, human = candidate.name, groups[HUMAN]
        if min(comparison.human.n, candidate.source.n_scored) < MIN_TEXTS:
            continue
        generations = [(rows, groups[name][rows]) for rows in comparison.generation_rows(name)]
        sizes = _sizes(human) + np.mean([_sizes(own) for _, own in generations], axis=0)
        present = np.flatnonzero(sizes)
        without = []
        for rows, own in generations:
            parts = [part.with_texts(name, rows) for part in candidate.partitions]
            p, q = (_left_out(parts, *side)[present] for side in ((HUMAN, human), (name, own)))
            without.append(score_counts(p, q, scale=comparison.config.score.scale))
        for score in SCORES:
            left_out = np.mean([each[score].mean(axis=1) for each in without], axis=0)
            found[score][name] = jackknife_sd(candidate.scores[score].mean, left_out, sizes[present])
    return found


def _sizes(groups: Groups) -> Groups:
    return np.bincount(groups, minlength=GROUPS)


def _left_out(partitions: Sequence[Partition], side: str, groups: Groups) -> NDArray[np.int64]:
    """(GROUPS, seeds, k) number of texts in each cluster without each group."""
    found = []
    for part in partitions:
        within = np.bincount(groups * part.k + part.labels[side], minlength=GROUPS * part.k).reshape(GROUPS, part.k)
        found.append(part.counts(side) - within)
    return np.stack(found, axis=1)
