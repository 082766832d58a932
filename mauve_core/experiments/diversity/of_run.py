"""Diversity of the candidates of a stored run, from the features that it was scored with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mauve_core.analysis.precomputed import run_cluster_names
from mauve_core.base.config import HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import Count
from mauve_core.encoders.features import FeatureStore
from mauve_core.experiments.diversity.agreement import Agreement, agreement_of
from mauve_core.experiments.diversity.answers import Answers, answers_of
from mauve_core.experiments.diversity.human_clusters import MissedClusters, missed_clusters
from mauve_core.experiments.diversity.measures import Diversity, diversity_of
from mauve_core.runs import Run
from mauve_core.runs.features import stored_features
from mauve_core.scoring.result import Partition
from mauve_core.scoring.streams import stream
from mauve_core.stats.diversity import Gap, gap_between_modes, unit_answers
from mauve_core.texts.pairing import LEAST_PROMPTS

SEVERAL = (
    f"several answers to each of {LEAST_PROMPTS} prompts or more, such as mauve-lens study or generate makes with "
    "--repeats 8"
)


@dataclass(frozen=True)
class RunDiversity:
    """Diversity of a run's candidates.

    Attributes
    ----------
    gap : Gap or None
        What separates the modes of all candidates' answers; None if they are not separate.
    candidates : mapping of str to Diversity
        Those with several answers to a prompt.
    single : tuple of str
        Candidates with one answer to a prompt, of which nothing is measured.
    missed : mapping of str to MissedClusters
        Human clusters that the candidates do not reach; empty without joint clusters.
    pairs : tuple of Agreement
        Every two candidates of which at least one has several answers.
    """

    gap: Gap | None
    candidates: Mapping[str, Diversity]
    single: tuple[str, ...]
    missed: Mapping[str, MissedClusters]
    pairs: tuple[Agreement, ...]


@dataclass(frozen=True)
class NeverReached:
    """A cluster with human texts that the candidate reaches in no draw.

    Attributes
    ----------
    cluster : int
        Its number in the joint partition.
    name : str
        May quote texts, which are untrusted.
    human_texts : int
        Human texts in it.
    """

    cluster: Count
    name: str
    human_texts: Count


def never_reached(run: Run, missed: MissedClusters) -> list[NeverReached]:
    """The clusters that a candidate reaches in no draw, those with most human texts first."""
    partition = run.comparison.joint[missed.seed]
    names = run_cluster_names(run, "joint", run.comparison.candidates[0].name, missed.seed)
    counts = partition.counts(HUMAN)
    return [NeverReached(number, names[number], int(counts[number])) for number in missed.never]


def several_answers(run: Run) -> bool:
    """Whether a candidate has several answers to enough prompts, so that diversity can be measured."""
    prompts = run.comparison.prompts
    if prompts is None:
        return False
    counts = (np.unique(prompts[each.name], return_counts=True)[1] for each in run.comparison.candidates)
    return any((each > 1).sum() >= LEAST_PROMPTS for each in counts)


def diversity_of_run(run: Run, candidate: str | None = None, feature_store: FeatureStore | None = None) -> RunDiversity:
    """Measure how different the answers of a run's candidates are.

    Every number is the same whether one candidate is asked for or all: modes are separated by all answers of the run.

    Parameters
    ----------
    candidate : str, optional
        The only one to measure, also in pairs; by default, all.
    feature_store : FeatureStore, optional
        As in :func:`mauve_core.runs.features.stored_features`.

    Raises
    ------
    InputError
        The candidate is unknown; it, or every candidate, has one answer to a prompt; or features are not found.
    StorageError
        Texts are damaged.
    """
    comparison = run.comparison
    names = [each.name for each in comparison.candidates]
    chosen = names if candidate is None else [comparison.candidate(candidate).name]  # raises InputError if unknown
    if comparison.prompts is None:
        raise InputError(
            f"No prompt of run {run.id} has several answers",
            allowed=SEVERAL,
            todo="Name the field of the prompts with --prompt-field when you compare",
        )
    for_candidates, for_pairs, for_gap = stream(comparison.config.score.seed, "diversity").spawn(3)
    seeds = for_candidates.spawn(3)
    answers = {name: answers_of(comparison.prompts[name], seeds[0]) for name in names}
    measured = [name for name in chosen if answers[name].several]
    if not measured:
        whose = "the candidates" if candidate is None else repr(candidate)
        raise InputError(
            f"Run {run.id} has too few prompts with several answers of {whose}: diversity is that of answers to one "
            "prompt",
            allowed=SEVERAL,
            received=_most(answers, chosen),
            todo="Compare texts with several answers to a prompt, in one file and with equal prompts",
        )
    x = _unit_rows(run, answers, stored_features(run, feature_store))
    gap = gap_between_modes([x[name] for name in names if answers[name].several], for_gap)
    partition = _joint(run)
    diversity, missed = {}, {}
    for name in measured:
        labels = None if partition is None else partition.labels[name]
        diversity[name] = diversity_of(answers[name], x[name], run.corpora[name].texts, labels, gap, seeds[1])
        found = None if partition is None else missed_clusters(partition, name, answers[name], seeds[2])
        if found is not None:
            missed[name] = found
    pairs = [
        agreement_of((one, other), (answers[one], answers[other]), (x[one], x[other]), gap, for_pairs)
        for one, other in combinations(names, 2)
        if one in chosen or other in chosen
    ]
    return RunDiversity(
        gap,
        diversity,
        tuple(name for name in chosen if name not in diversity),
        missed,
        tuple(each for each in pairs if each is not None),
    )


def _unit_rows(
    run: Run, answers: Mapping[str, Answers], features: Mapping[str, NDArray[np.floating]]
) -> dict[str, NDArray[np.float64]]:
    """(g, m, d) unit rows of the answers; equal texts of one prompt have equal ones, whatever batches they were in."""
    first: dict[tuple[int, str], tuple[str, int]] = {}
    found: dict[str, NDArray[np.float64]] = {}
    for name, own in answers.items():
        x, texts = unit_answers(np.asarray(features[name])[own.rows]), run.corpora[name].texts
        for index, (prompt, rows) in enumerate(zip(own.prompts.tolist(), own.rows.tolist(), strict=True)):
            for place, row in enumerate(rows):
                where = first.setdefault((prompt, texts[row]), (name, index * len(rows) + place))
                if where != (name, index * len(rows) + place):
                    source = x if where[0] == name else found[where[0]]
                    x[index, place] = source.reshape(-1, source.shape[2])[where[1]]
        found[name] = x
    return found


def _most(answers: Mapping[str, Answers], names: Sequence[str]) -> str:
    """The prompts with several answers, of the candidate with most of them."""
    name = max(names, key=lambda each: answers[each].repeated)
    return f"{answers[name].repeated:,} of {answers[name].of:,} prompts, of {name!r}"


def _joint(run: Run) -> Partition | None:
    """The joint clusters that pages show, the same for all candidates."""
    comparison = run.comparison
    return comparison.partition("joint", comparison.candidates[0].name) if comparison.joint else None
