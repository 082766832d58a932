"""Findings about the candidates of a stored run, and about texts alone."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np

from mauve_core.analysis.findings.finding import Finding, More, find, masks
from mauve_core.analysis.findings.held_equal import held_equal
from mauve_core.analysis.findings.sides import Sides, kind_and_measured
from mauve_core.analysis.gap_test import gap_test
from mauve_core.analysis.precomputed import cached, run_cluster_names, run_gap_test
from mauve_core.base.config import FDR, HUMAN, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.base.json_codec import dataclass_to_json, from_json
from mauve_core.runs import Run
from mauve_core.scoring.streams import stream
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import Kind, kind_of
from mauve_core.texts.pairing import units_among

# Raised with every change of what is looked for: stored findings of others are found anew.
STATEMENTS = 5


@dataclass(frozen=True)
class _Stored:
    findings: tuple[Finding, ...]


def sides_of(run: Run, candidate: str, reference: str = HUMAN) -> Sides:
    """The texts of a candidate and of the reference, with their units and joint clusters.

    Raises
    ------
    InputError
        The candidate or the reference is unknown, or they are the same.
    StorageError
        The texts are damaged.
    """
    comparison = run.comparison
    comparison.candidate(candidate)
    others = [source.name for source in comparison.sources if source.name != candidate]
    if reference not in others:
        raise InputError("The reference is not usable", allowed=", ".join(others), received=repr(reference))
    seed = comparison.median_seed(candidate, "joint") if comparison.joint else 0
    both = reference, candidate
    kind, measured = kind_and_measured(run.corpora[reference], run.corpora[candidate])
    units, joint = comparison.units(*both), comparison.joint
    return Sides(
        candidate,
        (*run.corpora[reference].texts, *run.corpora[candidate].texts),
        len(run.corpora[reference].texts),
        np.concatenate([units[name] for name in both]),
        np.concatenate([joint[seed].labels[name] for name in both]) if joint else None,
        run_cluster_names(run, "joint", candidate, seed) if joint else (),
        reference,
        kind.name,
        comparison.human.source,
        measured,
    )


def findings_between(
    reference: Corpus, candidate: Corpus, q: float = FDR, seed: int = 0, more: More | None = None
) -> tuple[Finding, ...]:
    """Find what texts have more or less of than others, without features: topics and the gap are left out.

    Texts of one prompt, of one group or of equal words are one unit.

    Parameters
    ----------
    reference, candidate : Corpus
        Their names are those in the sentences.
    q : float in (0, 1)
        Expected share of false findings, at most.
    seed : int
        Of the split into texts that suggest and texts that are tested.
    more : callable, optional
        As in :func:`find`.

    Raises
    ------
    InputError
        As :func:`find`; the corpora have one name or differ in kind; ``more`` is given for items that are no texts.
    """
    if reference.name == candidate.name:
        raise InputError("The reference and the candidate have one name", received=repr(candidate.name))
    kind, measured = kind_and_measured(reference, candidate)
    _require_texts_of(more, kind)
    units = units_among({each.name: each for each in (reference, candidate)})
    texts = (*reference.texts, *candidate.texts)
    of = reference.name, kind.name, reference.source
    sides = Sides(candidate.name, texts, len(reference), np.concatenate([*units.values()]), None, (), *of, measured)
    return find(sides, q=q, seed=stream(seed, "findings"), more=more)


def _require_texts_of(more: More | None, kind: Kind) -> None:
    """Further statements come from who reads the items."""
    if more is not None and not kind.has_words:
        raise InputError(
            "A model is asked about texts alone", allowed="texts", received=kind.words.items, todo="Leave out --ask"
        )


def run_findings(
    run: Run, candidate: str, q: float = FDR, reference: str = HUMAN, more: More | None = None
) -> tuple[Finding, ...]:
    """Find what a candidate of a run has more or less of than the reference; see :func:`find` for parameters.

    The split of the prompts is that of the run's seed, the same for all candidates. Findings at the usual ``q``
    without ``more`` are kept with the run.

    Raises
    ------
    InputError
        As :func:`find` and :func:`sides_of`; ``more`` is given for items that are no texts.
    """
    if q != FDR or more is not None:
        return _find(run, candidate, q, reference, more)
    comparison = run.comparison
    comparison.candidate(candidate)
    which = f"{run.index_of(candidate)}-{run.index_of(reference)}" if reference in run.corpora else ""

    def make() -> dict[str, np.ndarray]:
        found = json.dumps(dataclass_to_json(_Stored(_find(run, candidate, q, reference))))
        return {"json": np.frombuffer(found.encode("utf-8"), dtype=np.uint8)}

    stored = cached(run, f"findings-{STATEMENTS}-{which}", make)["json"].tobytes()
    return from_json(_Stored, json.loads(stored)).findings


def _clusters_kind(reference: str) -> PartitionKind:
    """The partitions in which something is held equal: those of the human side and the candidate, else of all."""
    return "pairwise" if reference == HUMAN else "joint"


def _find(run: Run, candidate: str, q: float, reference: str, more: More | None = None) -> tuple[Finding, ...]:
    sides = sides_of(run, candidate, reference)
    _require_texts_of(more, kind_of(sides.kind))
    seeds = stream(run.comparison.config.score.seed, "findings")
    found = find(sides, q=q, seed=seeds, more=more)
    kind = _clusters_kind(reference)
    partitions = list(run.comparison.partitions(kind, candidate))
    if not partitions or not _is_gap(run, kind, candidate, reference):
        return found
    partitions.insert(0, partitions.pop(run.comparison.median_seed(candidate, kind)))
    models, (own,) = len(sides.texts) - sides.humans, seeds.spawn(1)
    equal = [
        held_equal(partitions, (reference, candidate), *masks(each, sides.humans, models), sides.units, own)
        for each in found
    ]
    return tuple(
        replace(finding, held_equal=each if each and each.low > 0 else None)
        for finding, each in zip(found, equal, strict=True)
    )


def _is_gap(run: Run, kind: PartitionKind, candidate: str, reference: str) -> bool:
    """Whether there is a gap of which something can have a share."""
    if reference == HUMAN:
        return run_gap_test(run, kind, candidate).explains
    return gap_test(run.comparison, kind, candidate, reference=reference).explains
