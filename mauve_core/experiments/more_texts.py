"""Where the texts are that a run keeps no more of, of clusters over all texts: in shards, behind a work folder."""

from __future__ import annotations

from pathlib import Path

from mauve_core.base.errors import MauveLensError, words_of
from mauve_core.experiments.clusters_over_shards import CandidateOverAll, SideOverAll
from mauve_core.shards.cluster_texts import RANDOM, Chosen, chosen_clusters
from mauve_core.shards.plan import ShardedComparison, Work, notes_of

_ELSEWHERE = (
    "More texts cannot be read, because this machine has no work folder of the comparison: open the run where it was "
    "stored, or repeat the command of the comparison here."
)


def may_have_more(side: SideOverAll) -> bool:
    """Whether there are random texts of a side that its run does not keep."""
    # Where fewer than RANDOM were drawn, these are all there are: equal texts without ids are drawn once.
    return len(side.random) < (side.sampled if side.sampled < RANDOM else side.n)


def find_work(found: ShardedComparison, own: CandidateOverAll) -> Work | str:
    """The comparison from which further texts of a candidate's clusters can be read, or a sentence that says why none.

    Parameters
    ----------
    found : ShardedComparison
        Scores over all texts, as a run keeps them.
    own : CandidateOverAll
        The clusters that the run shows.

    Raises
    ------
    StorageError
        The note that says where the work folder is cannot be read.
    """
    folders = dict.fromkeys(note.folder for note in notes_of(found))
    tried = [_opened(folder, found, own) for folder in folders]
    return next((each for each in tried if isinstance(each, Work)), tried[0] if tried else _ELSEWHERE)


def _opened(folder: Path, found: ShardedComparison, own: CandidateOverAll) -> Work | str:
    try:
        if not (folder / "plan.json").is_file():
            return (
                f"More texts cannot be read, because the work folder {folder} is gone. Repeat the command of the "
                "comparison to make it again."
            )
        work = Work.open(folder)
        same = _is_of(work, found) and chosen_clusters(work, own.name) == _shown(found, own)
    except (MauveLensError, OSError) as error:
        return f"More texts cannot be read: {words_of(error)}"
    return work if same else f"More texts cannot be read, because {folder} is the work folder of another comparison."


def _is_of(work: Work, found: ShardedComparison) -> bool:
    sides = tuple(side.name for side in found.sides)
    return work.plan.sources == sides and work.plan.score.seed == found.score.seed


def _shown(found: ShardedComparison, own: CandidateOverAll) -> Chosen:
    clusters = tuple((cluster.number, cluster.human.n, cluster.model.n) for cluster in own.clusters)
    return Chosen(own.seed, found[own.name].k, clusters)
