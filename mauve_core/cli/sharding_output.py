"""What ``compare --engine`` and ``shard-merge`` print of the scores over all texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from mauve_core.base.formatting import NONE, file_size
from mauve_core.base.progress import format_seconds
from mauve_core.cli.cluster_output import ClusterOverAllJson, cluster_lines, clusters_json
from mauve_core.cli.options import sentences_text
from mauve_core.cli.over_all_output import (
    OverAllCandidateJson,
    ShardedSideJson,
    answers_json,
    candidate_json,
    over_all_table,
    side_json,
    side_lines,
)
from mauve_core.scoring.serialization import DifferenceJson
from mauve_core.scoring.tables import aligned

if TYPE_CHECKING:
    from mauve_core.experiments.clusters_over_shards import ClustersOverAll
    from mauve_core.shards.result import Pass, ShardedComparison
    from mauve_core.store import Run


class ShardedCandidateJson(OverAllCandidateJson):
    """One candidate over all texts.

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
    clusters : list of ClusterOverAllJson
        The clusters with the largest parts of the frontier integral, at most five, the largest first.
    """

    clusters: list[ClusterOverAllJson]


class ShardedJson(TypedDict):
    """Scores over all texts of corpora in shards.

    Attributes
    ----------
    sides : list of ShardedSideJson
        The human side first.
    candidates : list of ShardedCandidateJson
        In the order in which they were named.
    differences : list of DifferenceJson
        Tests of every two candidates whose numbers of texts differ by at most 1 %; ``n`` counts groups of prompts. If
        the stored run has all texts, its tests.
    closest : str
        Sentences: who is closest to the human texts over all texts, or who cannot be told apart; and what speaks
        against it.
    texts_missing : str or None
        Why texts of clusters could not be read, and phrases not be counted.
    digest : str
        SHA-256 of what decides the result, and of the result, 64 hexadecimal digits: equal on every engine.
    engine : str
        What carried out the tasks, with its number of workers.
    run : str or None
        Id of the stored run, a sample of the texts; None for shards of features.
    """

    sides: list[ShardedSideJson]
    candidates: list[ShardedCandidateJson]
    differences: list[DifferenceJson]
    closest: str
    texts_missing: str | None
    digest: str
    engine: str
    run: str | None


def sharded_json(found: ShardedComparison, clusters: ClustersOverAll, run: Run | None) -> dict[str, Any]:
    """Return what :class:`ShardedJson` describes."""
    return {
        "sides": list(map(side_json, found.sides)),
        "candidates": [
            {**candidate_json(one), "clusters": clusters_json(found, clusters[one.name])} for one in found.candidates
        ],
        **answers_json(found, run),
        "texts_missing": found.texts_missing,
        "digest": found.digest(),
        "engine": found.engine,
        "run": None if run is None else run.id,
    }


def sharded_table(found: ShardedComparison, clusters: ClustersOverAll, run: Run | None) -> str:
    """Return the answers in sentences, then sides, scores, clusters and passes."""
    from mauve_core.experiments.over_shards import answers_over_all

    lines = [sentences_text(answers_over_all(found, run)), "", side_lines(found.sides), "", over_all_table(found)]
    for each in clusters.candidates:
        lines += cluster_lines(found, each)
    passes = [(one.name, _tasks(one), *_taken(one)) for one in found.passes]
    lines += ["", aligned([("Pass", "Tasks", "Time", "Most memory of a process"), *passes])]
    lines += ["", f"Engine: {found.engine}. Digest: {found.digest()}"]
    return "\n".join(lines)


def _tasks(one: Pass) -> str:
    """How many tasks of a pass this command carried out: "40", or "12 of 40" if others were done before."""
    return f"{one.tasks - one.done_before:,} of {one.tasks:,}" if one.done_before else f"{one.tasks:,}"


def _taken(one: Pass) -> tuple[str, str]:
    """Time and memory of a pass; neither if all of it was done before."""
    if one.tasks == one.done_before:
        return "done before", NONE
    return format_seconds(one.seconds), file_size(one.peak_bytes)
