"""What ``compare --engine`` and ``shard-merge`` print of the scores over all texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from mauve_core.base.formatting import NONE, file_size, printable, with_plain_spaces
from mauve_core.base.progress import format_seconds
from mauve_core.base.validation import Count
from mauve_core.cli.cluster_output import ClusterOverAllJson, cluster_lines, clusters_json
from mauve_core.cli.options import sentences_text
from mauve_core.scoring.comparison_json import DifferenceJson, ScoresJson
from mauve_core.scoring.tables import aligned
from mauve_core.shards.result import PARTS

if TYPE_CHECKING:
    from mauve_core.experiments.clusters_over_shards import ClustersOverAll
    from mauve_core.shards.result import Pass, ShardedComparison, ShardedSide
    from mauve_core.store import Run


class ShardedSideJson(TypedDict):
    """One side in shards.

    Attributes
    ----------
    name : str
        ``human``, or the candidate's name.
    shards : int
        Number of shards.
    n : int
        Texts that count.
    left_out : mapping of str to int
        Other rows by reason.
    fields : mapping of str to (str or None)
        Where texts, prompts and ids come from; null for no field, and empty for shards of features.
    digest : str
        SHA-256 of the shards' digests.
    """

    name: str
    shards: Count
    n: Count
    left_out: dict[str, Count]
    fields: dict[str, str | None]
    digest: str


class ShardedCandidateJson(TypedDict):
    """One candidate over all texts.

    Attributes
    ----------
    name : str
        Its name.
    k : int
        Number of clusters.
    sampled : int
        Rows on which k-means started.
    counts : str
        SHA-256 of the histograms of both sides under every seed.
    scores : ScoresJson
        With their spread.
    like_for_like_n : int or None
        Texts a side, about, of the two that follow; null, as they are, if there are too few groups of prompts.
    like_for_like, human_vs_human : ScoresJson or None
        Human texts against the candidate's texts of other prompts, and against other human texts.
    clusters : list of ClusterOverAllJson
        The clusters with the largest parts of the frontier integral, at most five, the largest first.
    """

    name: str
    k: Count
    sampled: Count
    counts: str
    scores: ScoresJson
    like_for_like_n: Count | None
    like_for_like: ScoresJson | None
    human_vs_human: ScoresJson | None
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
        SHA-256 of what decides the result, and of the result: equal on every engine.
    engine : str
        What carried out the tasks.
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
    from mauve_core.experiments.over_shards import answers_over_all, settled
    from mauve_core.scoring.comparison_json import difference_json, scores_json

    return {
        "sides": [
            {
                "name": side.name,
                "shards": side.shards,
                "n": side.n,
                "left_out": dict(side.left_out),
                "fields": dict(zip(PARTS, side.fields or (), strict=False)),
                "digest": side.digest,
            }
            for side in found.sides
        ],
        "candidates": [
            {
                "name": one.name,
                "k": one.k,
                "sampled": one.sampled,
                "counts": one.counts,
                "scores": scores_json(one.scores),
                "like_for_like_n": one.halves and one.halves.n,
                "like_for_like": one.halves and scores_json(one.halves.candidate),
                "human_vs_human": one.halves and scores_json(one.halves.human),
                "clusters": clusters_json(found, clusters[one.name]),
            }
            for one in found.candidates
        ],
        "differences": [difference_json(each) for each in settled(found, run).differences],
        "closest": with_plain_spaces(" ".join(map(str, answers_over_all(found, run)))),
        "texts_missing": found.texts_missing,
        "digest": found.digest(),
        "engine": found.engine,
        "run": None if run is None else run.id,
    }


def sharded_table(found: ShardedComparison, clusters: ClustersOverAll, run: Run | None) -> str:
    """Return the answers in sentences, then sides, scores, clusters and passes."""
    from mauve_core.experiments.over_shards import answers_over_all, over_all_rows

    columns, rows = over_all_rows(found)
    lines = [sentences_text(answers_over_all(found, run)), ""]
    lines += [*map(_side_line, found.sides), ""]
    lines.append(aligned([columns, *(tuple(printable(with_plain_spaces(cell)) for cell in row) for row in rows)]))
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


def _side_line(side: ShardedSide) -> str:
    """Say how many texts a side has, where they come from and what was left out."""
    said = f"{side.name}: {side.n:,} texts in {side.shards:,} shards"
    if side.fields is not None:
        said += f" ({', '.join(f'{part} from {name}' for part, name in zip(PARTS, side.fields, strict=True) if name)})"
    if side.left_out:
        said += f"; left out: {', '.join(f'{count:,} {reason}' for reason, count in side.left_out.items())}"
    return printable(said)
