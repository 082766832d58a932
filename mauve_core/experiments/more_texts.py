"""Where the texts are that a run keeps no more of, of clusters over all texts: in shards, behind a work folder."""

from __future__ import annotations

from mauve_core.base.errors import InputError, words_of
from mauve_core.experiments.clusters_over_shards import CandidateOverAll, SideOverAll
from mauve_core.shards.keepsakes import RANDOM
from mauve_core.shards.plan import Work
from mauve_core.shards.reading import Chosen, chosen_clusters
from mauve_core.shards.result import ShardedComparison
from mauve_core.shards.whereabouts import noted_folder

_ELSEWHERE = (
    "All other texts are in their shards, and this machine knows no work folder that says where: open the run where it "
    "was stored, or repeat the command of the comparison here."
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
    folder = noted_folder(found)
    if folder is None:
        return _ELSEWHERE
    try:
        if not (folder / "plan.json").is_file():
            return (
                f"All other texts are in their shards, but the work folder {folder} is gone, which says where: repeat "
                "the command of the comparison to make it again."
            )
        work = Work.open(folder)
        same = _is_of(work, found) and chosen_clusters(work, own.name) == _shown(found, own)
    except (InputError, OSError) as error:
        return f"All other texts are in their shards, but what says where cannot be read: {words_of(error)}"
    return work if same else f"All other texts are in their shards; {folder} is the work folder of another comparison."


def _is_of(work: Work, found: ShardedComparison) -> bool:
    sides = tuple(side.name for side in found.sides)
    return work.plan.sources == sides and work.plan.score.seed == found.score.seed


def _shown(found: ShardedComparison, own: CandidateOverAll) -> Chosen:
    clusters = tuple((cluster.number, cluster.human.n, cluster.model.n) for cluster in own.clusters)
    return Chosen(own.seed, found[own.name].k, clusters)
