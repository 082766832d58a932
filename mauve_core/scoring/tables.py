"""Present a comparison as one JSON object for programs and one table for people.

Neither shows a bare score: each has its mean and spread over k-means seeds and its bootstrap interval, beside n, k and
the encoder. Candidates that are not told apart share a rank.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mauve_core.base.config import SCORES, PartitionKind
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import NONE, SCORE_DECIMALS, interval, with_plain_spaces, with_spread
from mauve_core.encoders.catalogue import with_weights
from mauve_core.scoring.result import SIGNIFICANT, Candidate, Comparison, Difference, Estimate, SeedSpread, Source

HIGHER_IS_CLOSER = {"mauve": True, "mauve_star": True, "frontier_integral": False, "mid": False}
"""Whether a larger score means closer to the human side."""

TITLES = {"mauve": "MAUVE", "mauve_star": "MAUVE*", "frontier_integral": "Frontier integral", "mid": "Mid-point"}

HALVES_TITLE = "ceiling: human vs. human"
"""Table label of the human texts compared with themselves."""


def ceiling_sentence(n: int, k: int | None = None) -> str:
    """Explain the ceiling in a sentence: ``n`` texts per side, in ``k`` clusters if there are any."""
    clusters = "" if k is None else f" in {k:,} clusters"
    return (
        f"{HALVES_TITLE.capitalize()}: one random half of the human texts against the other, {n:,} texts per side"
        f"{clusters}: about what a candidate that writes like people would score."
    )


_GAP = "  "

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Standing:
    """A candidate's place under one score.

    Attributes
    ----------
    rank : int
        1 is closest to the human side; tied candidates share a rank, and the ranks they take up are skipped.
    tied : bool
        Whether another candidate has the same rank.
    candidate : Candidate
    """

    rank: int
    tied: bool
    candidate: Candidate


def standings(comparison: Comparison, score: str = "mauve", kind: PartitionKind = "pairwise") -> list[Standing]:
    """Rank the candidates, the best first, with ties.

    Candidates are sorted by the mean of ``score``. The first opens a group. A candidate ties with the group if the
    test does not tell it apart from the group's first candidate (``mauve_core.scoring.differences``); otherwise it
    opens the next group. Every member of a group has the rank of its first candidate. In a run whose differences were
    not tested, candidates tie where their intervals overlap.

    Raises
    ------
    InputError
        The score is unknown.
    """
    if score not in HIGHER_IS_CLOSER:
        raise InputError(f"No score is named {score!r}", allowed=", ".join(HIGHER_IS_CLOSER))
    ordered = sorted(
        comparison.candidates, key=lambda item: item.estimate(score, kind).mean, reverse=HIGHER_IS_CLOSER[score]
    )
    estimates = {candidate.name: candidate.estimate(score, kind) for candidate in ordered}

    def tied(one: str, other: str) -> bool:
        found = comparison.difference(score, one, other)
        if found is None:
            own, others = estimates[one], estimates[other]
            return overlap((own.low, own.high), (others.low, others.high))
        return not found.told_apart

    ranks = shared_ranks([candidate.name for candidate in ordered], tied)
    return [Standing(rank, tied, candidate) for (rank, tied), candidate in zip(ranks, ordered, strict=True)]


def overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether two intervals, each (low, high), share a point."""
    return one[0] <= other[1] and other[0] <= one[1]


def rank_sentence(comparison: Comparison, score: str = "mauve") -> str:
    """Explain how :func:`standings` ranks, in one or two sentences."""
    if len(comparison.candidates) < 2:
        return "Rank: there is one candidate, so nothing is ranked."
    rule = f"Rank: by mean {TITLES[score]}. From the top, a candidate "
    if comparison.differences is None:
        return (
            f"{rule}whose interval overlaps that of its group's first ties with it (=). Differences were not tested "
            "when this run was made; compare its texts again."
        )
    found = [each for each in comparison.differences if each.score == score]
    return f"{rule}ties with the first of its group (=) unless the two are told apart. {tests_sentence(found)}"


def tests_sentence(differences: Sequence[Difference]) -> str:
    """Explain how differences under one score were tested, in a sentence or two."""
    paired = sum(each.paired for each in differences)
    within = "" if not paired else " within prompts" if paired == len(differences) else " within prompts they share"
    return (
        f"Told apart: exchanging texts between two candidates{within} rarely gives a difference as large as theirs "
        f"(p at most {SIGNIFICANT:g} after Holm's correction for all pairs), in clusters of the human texts with both."
    )


def shared_ranks(items: Sequence[_Item], tied: Callable[[_Item, _Item], bool]) -> list[tuple[int, bool]]:
    """Return each item's rank and whether it is shared, by the rule of :func:`standings`; the best item comes first."""
    leaders: list[int] = []
    for index, item in enumerate(items):
        leader = leaders[-1] if leaders else index
        leaders.append(leader if tied(item, items[leader]) else index)
    return [(leader + 1, leaders.count(leader) > 1) for leader in leaders]


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison without its arrays, as JSON values.

    Returns
    -------
    dict
        ``human`` (name, n, origin, digest, tokens_median, cut, notes), ``settings`` (from
        :meth:`CompareConfig.as_dict`), ``warnings`` (list of str), ``candidates`` (list in the order given: the
        entries of ``human``, ``k``, ``rank``, and for each score an object with ``mean``, ``sd`` (None with one seed),
        ``low`` and ``high``), ``halves`` (one half of the human texts against the other: ``n``, ``k`` and the scores;
        None if they could not be halved), ``differences`` (of every two candidates under every score, as
        :func:`difference_json`; None if they were not tested) and ``environment``.
    """
    ranks = {standing.candidate.name: standing.rank for standing in standings(comparison)}
    return {
        "human": _source_json(comparison.human),
        "settings": comparison.config.as_dict(),
        "warnings": list(comparison.warnings),
        "candidates": [
            {
                **_source_json(candidate.source),
                "k": candidate.partitions[0].k,
                "rank": ranks[candidate.name],
                **{score: _estimate_json(candidate.scores[score]) for score in SCORES},
            }
            for candidate in comparison.candidates
        ],
        "halves": None if comparison.halves is None else _halves_json(comparison.halves),
        "differences": None if comparison.differences is None else [*map(difference_json, comparison.differences)],
        "environment": dict(comparison.environment),
    }


def difference_json(difference: Difference) -> dict[str, Any]:
    """Return the test of two candidates as JSON values, as ``mauve-lens test --json`` prints it."""
    return {
        "score": difference.score,
        "a": difference.first,
        "b": difference.second,
        "difference": difference.difference,
        "low": difference.low,
        "high": difference.high,
        "joint_difference": difference.joint_difference,
        "p": difference.p_value,
        "p_adjusted": difference.p_adjusted,
        "told_apart": difference.told_apart,
        "paired": difference.paired,
        "n": difference.n,
    }


def to_table(comparison: Comparison) -> str:
    """Format a leaderboard with spread and intervals, then texts, settings and warnings; safe for a terminal."""
    parts = [_leaderboard(comparison), _reading_help(comparison), _texts(comparison)]
    parts.append("Settings\n" + "\n".join(f"  {line}" for line in _settings(comparison)))
    if comparison.warnings:
        parts.append("Warnings\n" + "\n".join(f"  ! {printable(warning)}" for warning in comparison.warnings))
    return "\n\n".join(parts)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Format rows of cells as left-aligned columns without trailing blanks; every row has as many cells as the first.

    Non-breaking spaces become plain ones, so that a search in the terminal finds them.
    """
    rows = [[with_plain_spaces(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (_GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def printable(text: str) -> str:
    """Escape control characters to get one line: text from files must not control the terminal."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def mean_and_spread(estimate: Estimate | SeedSpread) -> str:
    """Format the mean and, with several values, their spread: ``0.843 ± 0.012``."""
    return with_spread(estimate.mean, estimate.sd, SCORE_DECIMALS)


def interval_of(estimate: Estimate) -> str:
    """Format the interval: ``0.790 to 0.900``."""
    return interval(estimate.low, estimate.high, SCORE_DECIMALS)


def _leaderboard(comparison: Comparison) -> str:
    rows = [["Rank", "Candidate", "n", "k", *(TITLES[score] for score in SCORES)]]
    for standing in standings(comparison):
        candidate = standing.candidate
        rank = f"{standing.rank} =" if standing.tied else str(standing.rank)
        counts = [str(candidate.source.n), str(candidate.partitions[0].k)]
        rows.append([rank, printable(candidate.name), *counts, *_means(candidate)])
        rows.append(_interval_row(candidate))
    if comparison.halves is not None:
        halves = comparison.halves
        counts = [str(halves.source.n), str(halves.partitions[0].k)]
        rows.append([NONE, HALVES_TITLE, *counts, *_means(halves)])
        rows.append(_interval_row(halves))
    return aligned(rows)


def _means(candidate: Candidate) -> list[str]:
    return [mean_and_spread(candidate.scores[score]) for score in SCORES]


def _interval_row(candidate: Candidate) -> list[str]:
    return ["", "", "", "", *(interval_of(candidate.scores[score]) for score in SCORES)]


def _reading_help(comparison: Comparison) -> str:
    score, halves = comparison.config.score, comparison.halves
    spread = "one k-means seed, so the spread is unknown"
    if score.seeds > 1:
        spread = f"mean \u00b1 standard deviation over {score.seeds} k-means seeds"
    return "\n".join(
        [
            f"Each score: {spread};",
            f"below it the {score.confidence:.0%} bootstrap interval over texts ({score.bootstrap} resamples).",
            "MAUVE and MAUVE*: 1 is the closest. Frontier integral and mid-point: 0 is the closest.",
            *textwrap.wrap(rank_sentence(comparison), 110),
            *([] if halves is None else textwrap.wrap(ceiling_sentence(halves.source.n, halves.partitions[0].k), 110)),
        ]
    )


def _texts(comparison: Comparison) -> str:
    rows = [["Texts", "n", "median tokens", "cut", "from"]]
    notes = []
    for source in comparison.sources:
        median = "unknown" if source.tokens_median is None else f"{source.tokens_median:g}"
        rows.append([printable(source.name), str(source.n), median, str(source.cut), printable(source.origin)])
        notes += [f"  {printable(source.name)}: {printable(note)}" for note in source.notes]
    return "\n".join([aligned(rows), *notes])


def _settings(comparison: Comparison) -> list[str]:
    encoder, score = comparison.config.encoder, comparison.config.score
    lines = ["encoder: none, features were given"]
    if encoder is not None:
        text = "prompt + text" if encoder.with_prompt else "text only"
        model = with_weights(encoder.model) + (f" at {encoder.revision}" if encoder.revision else "")
        lines = [
            f"encoder: {printable(model)}, {text}, at most {encoder.max_tokens} tokens, "
            f"pooling {encoder.pooling}, layer {encoder.layer}, {encoder.dtype}"
        ]
    k = "a tenth of the smaller side, at most 5,000" if score.k is None else str(score.k)
    lines.append(
        f"clusters: k = {k}, {score.restarts} k-means++ start{'' if score.restarts == 1 else 's'} per seed, "
        f"PCA to {score.explained_variance:g} of the variance; "
        f"scaling constant {score.scale:g}, seed {score.seed}"
    )
    lines.append("partition: pairwise, each candidate with the human side")
    return lines


def _halves_json(halves: Candidate) -> dict[str, Any]:
    scores = {score: _estimate_json(halves.scores[score]) for score in SCORES}
    return {"n": halves.source.n, "k": halves.partitions[0].k, **scores}


def _source_json(source: Source) -> dict[str, Any]:
    return {
        "name": source.name,
        "n": source.n,
        "origin": source.origin,
        "digest": source.digest,
        "tokens_median": source.tokens_median,
        "cut": source.cut,
        "notes": list(source.notes),
    }


def _estimate_json(estimate: Estimate) -> dict[str, float | None]:
    return {"mean": estimate.mean, "sd": estimate.sd, "low": estimate.low, "high": estimate.high}
