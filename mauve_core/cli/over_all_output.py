"""The scores over all texts in shards, as ``runs show`` and the commands that compute them print them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypedDict

from mauve_core.base.formatting import printable, with_plain_spaces
from mauve_core.base.json_codec import Count
from mauve_core.cli.options import LINE, sentences_text
from mauve_core.scoring.serialization import DifferenceJson, ScoresJson
from mauve_core.scoring.tables import aligned

if TYPE_CHECKING:
    from mauve_core.shards.result import ShardedCandidate, ShardedComparison, ShardedSide
    from mauve_core.store import Run


class ShardedSideJson(TypedDict):
    """One side in shards.

    Attributes
    ----------
    name : str
        ``human``, or the candidate's name.
    shards : int
        Number of shards, from 1.
    n : int
        Texts that were compared, of all shards; rows of features count as texts.
    left_out : mapping of str to int
        Other rows by reason, such as ``empty``; only reasons that occur.
    fields : mapping of str to (str or None)
        Where texts, prompts and ids come from; null for no field, and empty for shards of features.
    digest : str
        SHA-256 of the shards' digests, 64 hexadecimal digits.
    """

    name: str
    shards: Count
    n: Count
    left_out: dict[str, Count]
    fields: dict[str, str | None]
    digest: str


class OverAllCandidateJson(TypedDict):
    """Scores of one candidate over all texts.

    Attributes
    ----------
    name : str
        Its name.
    k : int
        Number of clusters of its pairwise partition, from 2.
    sampled : int
        Rows, one per text of either side, on which k-means started; it then went over all of them.
    counts : str
        SHA-256 of the histograms of both sides under every seed, 64 hexadecimal digits.
    scores : ScoresJson
        With their spread over k-means seeds and their bootstrap interval over groups of prompts.
    """

    name: str
    k: Count
    sampled: Count
    counts: str
    scores: ScoresJson


class OverAllJson(TypedDict):
    """Scores over all texts of corpora in shards.

    Attributes
    ----------
    sides : list of ShardedSideJson
        The human side first.
    candidates : list of OverAllCandidateJson
        In the order in which they were named.
    differences : list of DifferenceJson
        Tests of every two candidates whose numbers of texts differ by at most 1 %; ``n`` counts groups of prompts. If
        the run has all texts, its own tests.
    closest : str
        Sentences: who is closest to the human texts over all texts, or who cannot be told apart; and what speaks
        against it.
    is_sample : bool
        Whether the run leaves out some of these texts, so that its own scores are those of a sample.
    digest : str
        SHA-256 of what decides the result, and of the result, 64 hexadecimal digits: that of ``shard-merge``.
    """

    sides: list[ShardedSideJson]
    candidates: list[OverAllCandidateJson]
    differences: list[DifferenceJson]
    closest: str
    is_sample: bool
    digest: str


def over_all_json(run: Run) -> dict[str, Any] | None:
    """What :class:`OverAllJson` describes; None if the run is not from shards.

    Raises StorageError or InputError if the scores are damaged.
    """
    from mauve_core.experiments.over_shards import is_sample, stored_over_shards

    found = stored_over_shards(run)
    if found is None:
        return None
    return {
        "sides": list(map(side_json, found.sides)),
        "candidates": list(map(candidate_json, found.candidates)),
        **answers_json(found, run),
        "is_sample": is_sample(run, found),
        "digest": found.digest(),
    }


def over_all_parts(run: Run) -> list[str]:
    """Paragraphs and tables of the scores over all texts, and that the run is a sample; none if it is not from shards.

    Raises StorageError or InputError if they are damaged.
    """
    from mauve_core.experiments.over_shards import ABOUT, answers_over_all, sample_sentence, stored_over_shards

    found = stored_over_shards(run)
    if found is None:
        return []
    return [
        f"Over all texts, from shards\n{sentences_text(answers_over_all(found, run))}",
        side_lines(found.sides),
        over_all_table(found),
        textwrap.fill(with_plain_spaces(ABOUT), LINE, break_on_hyphens=False),
        sample_sentence(run, found),
    ]


def side_json(side: ShardedSide) -> dict[str, Any]:
    """What :class:`ShardedSideJson` describes."""
    from mauve_core.shards.result import PARTS

    return {
        "name": side.name,
        "shards": side.shards,
        "n": side.n,
        "left_out": dict(side.left_out),
        "fields": dict(zip(PARTS, side.fields or (), strict=False)),
        "digest": side.digest,
    }


def candidate_json(candidate: ShardedCandidate) -> dict[str, Any]:
    """What :class:`OverAllCandidateJson` describes."""
    from mauve_core.scoring.serialization import scores_json

    return {
        "name": candidate.name,
        "k": candidate.k,
        "sampled": candidate.sampled,
        "counts": candidate.counts,
        "scores": scores_json(candidate.scores),
    }


def answers_json(found: ShardedComparison, run: Run | None) -> dict[str, Any]:
    """The tests between candidates, and who is closest in sentences."""
    from mauve_core.experiments.over_shards import answers_over_all, settled
    from mauve_core.scoring.serialization import difference_json

    return {
        "differences": [difference_json(each) for each in settled(found, run).differences],
        "closest": with_plain_spaces(" ".join(map(str, answers_over_all(found, run)))),
    }


def side_lines(sides: Iterable[ShardedSide]) -> str:
    """Say how many texts each side has, where they come from and what was left out."""
    return "\n".join(map(_side_line, sides))


def over_all_table(found: ShardedComparison) -> str:
    """Numbers of texts and scores with their spread, the best candidate first."""
    from mauve_core.experiments.over_shards import over_all_rows

    columns, rows = over_all_rows(found)
    return aligned([columns, *(tuple(printable(with_plain_spaces(cell)) for cell in row) for row in rows)])


def _side_line(side: ShardedSide) -> str:
    from mauve_core.shards.result import PARTS

    said = f"{side.name}: {side.n:,} texts in {side.shards:,} shards"
    if side.fields is not None:
        said += f" ({', '.join(f'{part} from {name}' for part, name in zip(PARTS, side.fields, strict=True) if name)})"
    if side.left_out:
        said += f"; left out: {', '.join(f'{count:,} {reason}' for reason, count in side.left_out.items())}"
    return printable(said)
