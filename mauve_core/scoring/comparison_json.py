"""Present a comparison as one JSON object for programs: every score with its spread and interval."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from mauve_core.base.config import SCORES
from mauve_core.scoring.result import Candidate, Comparison, Difference, LikeForLike, Source
from mauve_core.scoring.spread import Estimate
from mauve_core.scoring.tables import standings


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison without its arrays, as JSON values.

    Returns
    -------
    dict
        ``human`` (name, n, origin, digest, tokens_median, cut, notes, normalized), ``settings`` (from
        :meth:`CompareConfig.as_dict`), ``warnings`` (list of str), ``candidates`` (list in the order given: the
        entries of ``human``, ``k``, ``rank``, ``letters`` (two candidates share one exactly if they are not told
        apart; empty for one candidate), for each score an object with ``mean``, ``sd`` (None with one seed),
        ``low`` and ``high``, with several generations also ``generations``, the score of each, and
        ``generations_sd``, and ``like_for_like``: ``n``, ``k`` and the scores at the size of ``halves``, or None),
        ``halves`` (human vs. human: ``n``, ``k`` and the scores; None if the texts could not be split),
        ``differences`` (of every two candidates under every score, as :func:`difference_json`; None if they were not
        tested), ``normalization`` (steps applied to the texts of every side), ``pairing`` (``by``: "prompts", "ids" or
        None if unknown; ``shared``: by candidate, the number in common with the human side; None without any) and
        ``environment``.
    """
    places = {standing.candidate.name: standing for standing in standings(comparison)}
    return {
        "human": _source_json(comparison.human),
        "settings": comparison.config.as_dict(),
        "warnings": list(comparison.warnings),
        "candidates": [
            {
                **_source_json(candidate.source),
                "k": candidate.partitions[0].k,
                "rank": places[candidate.name].rank,
                "letters": places[candidate.name].letters,
                **_scores_json(candidate.scores),
                "like_for_like": _like_for_like_json(comparison.at_size_of_halves(candidate.name)),
            }
            for candidate in comparison.candidates
        ],
        "halves": None if comparison.halves is None else _halves_json(comparison.halves),
        "differences": None if comparison.differences is None else [*map(difference_json, comparison.differences)],
        "normalization": list(comparison.normalization),
        "pairing": _pairing_json(comparison),
        "environment": dict(comparison.environment),
    }


def _pairing_json(comparison: Comparison) -> dict[str, Any] | None:
    if comparison.prompts is None:
        return None
    shared = {candidate.name: comparison.shared_prompts(candidate.name) for candidate in comparison.candidates}
    return {"by": comparison.prompts_by, "shared": shared}


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


def _halves_json(halves: Candidate) -> dict[str, Any]:
    return {"n": halves.source.n, "k": halves.partitions[0].k, **_scores_json(halves.scores)}


def _like_for_like_json(found: LikeForLike | None) -> dict[str, Any] | None:
    return None if found is None else {"n": found.n, "k": found.k, **_scores_json(found.scores)}


def _scores_json(scores: Mapping[str, Estimate]) -> dict[str, Any]:
    return {score: _estimate_json(scores[score]) for score in SCORES}


def _source_json(source: Source) -> dict[str, Any]:
    return {
        "name": source.name,
        "n": source.n,
        "origin": source.origin,
        "digest": source.digest,
        "tokens_median": source.tokens_median,
        "cut": source.cut,
        "notes": list(source.notes),
        "normalized": [dataclasses.asdict(change) for change in source.normalized or ()],
        **({"generations": source.generations, "n_scored": source.n_scored} if source.generations > 1 else {}),
    }


def _estimate_json(estimate: Estimate) -> dict[str, Any]:
    shown = {"mean": estimate.mean, "sd": estimate.sd, "low": estimate.low, "high": estimate.high}
    if estimate.generations is None:
        return shown
    return {**shown, "generations_sd": estimate.generations_sd, "generations": list(estimate.generations)}
