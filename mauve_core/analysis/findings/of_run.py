"""Findings about the candidates of a stored run."""

from __future__ import annotations

import numpy as np

from mauve_core.analysis.findings.finding import Finding, More, Sides, find
from mauve_core.analysis.precomputed import run_cluster_names
from mauve_core.base.config import HUMAN
from mauve_core.scoring.streams import stream
from mauve_core.store import Run

Q = 0.05
"""Expected share of false findings, at most, unless another is chosen."""


def sides_of(run: Run, candidate: str) -> Sides:
    """The texts of a candidate and the human ones, with their prompts and joint clusters.

    Raises
    ------
    InputError
        The candidate is unknown.
    StorageError
        The texts are damaged.
    """
    comparison = run.comparison
    seed = comparison.median_seed(candidate, "joint") if comparison.joint else 0
    both = HUMAN, candidate
    prompts, joint = comparison.prompts, comparison.joint
    return Sides(
        candidate,
        (*run.corpora[HUMAN].texts, *run.corpora[candidate].texts),
        len(run.corpora[HUMAN].texts),
        None if prompts is None else np.concatenate([prompts[name] for name in both]),
        np.concatenate([joint[seed].labels[name] for name in both]) if joint else None,
        run_cluster_names(run, "joint", candidate, seed) if joint else (),
    )


def run_findings(run: Run, candidate: str, q: float = Q, more: More | None = None) -> tuple[Finding, ...]:
    """Find what a candidate of a run has more or less of than the human texts; see :func:`find` for parameters.

    The split of the prompts is that of the run's seed, the same for all candidates.
    """
    return find(sides_of(run, candidate), q=q, seed=stream(run.comparison.config.score.seed, "findings"), more=more)
