"""What ``repr`` says of a comparison and its parts: what it is, n and k, and scores with their spread."""

from __future__ import annotations

from mauve_core.base.config import SCORES
from mauve_core.base.formatting import SCORE_DECIMALS, interval, short, summary
from mauve_core.scoring.result import Candidate, Comparison, Partition
from mauve_core.scoring.spread import Estimate
from mauve_core.scoring.tables import TITLES, standings, texts_scored


def summary_of_comparison(comparison: Comparison, title: str = "Comparison") -> str:
    """Name the texts, the encoder and each candidate's MAUVE, the best first."""
    encoder, count = comparison.config.encoder, len(comparison.candidates)
    origin = comparison.config.features_from
    given = "features given" if origin is None else f"features of {short(origin)}"
    made = given if encoder is None else f"encoder {short(encoder.model)}"
    words = f"{comparison.human.n:,} human texts, {count:,} candidate{'' if count == 1 else 's'}, {made}"
    if comparison.warnings:
        words += f", {len(comparison.warnings):,} in .warnings"
    lines = [_line(standing.candidate, "mauve") for standing in standings(comparison)]
    return summary(f"<{title}: {words}>", lines, of="candidates")


def summary_of_candidate(candidate: Candidate) -> str:
    """Name the candidate, its texts and its scores."""
    lines = [_score(score, candidate.scores[score]) for score in SCORES if score in candidate.scores]
    return summary(f"<Candidate {short(candidate.name)}: {_size(candidate)}, pairwise partitions>", lines)


def summary_of_partition(partition: Partition) -> str:
    """Name the kind, seed and sizes of a partition."""
    sides = [f"{short(name)}: {labels.size:,} texts" for name, labels in partition.labels.items()]
    return summary(f"<Partition: {partition.kind}, seed {partition.seed}, {partition.k:,} clusters>", sides, of="sides")


def _line(candidate: Candidate, score: str) -> str:
    shown = [_score(score, candidate.scores[score])] if score in candidate.scores else []
    return ", ".join([short(candidate.name), *shown, _size(candidate)])


def _score(score: str, estimate: Estimate) -> str:
    return f"{TITLES[score]} {estimate} ({interval(estimate.low, estimate.high, SCORE_DECIMALS)})"


def _size(candidate: Candidate) -> str:
    return f"n = {texts_scored(candidate.source)}" + "".join(f", k = {part.k:,}" for part in candidate.partitions[:1])
