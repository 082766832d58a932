"""Further random texts of a cluster over all texts: a reader asks for them, and they are read from their shards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import streamlit as st

from mauve_app.caching.by_run import kept_by_run, run_stamp
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.server import access
from mauve_core.base.formatting import plural
from mauve_core.experiments.clusters_over_shards import MOST_READ, CandidateOverAll, ClusterOverAll, SideOverAll
from mauve_core.experiments.more_texts import find_work, may_have_more
from mauve_core.shards.cluster_texts import KeptText, Rows, rows_of_cluster, texts_of_rows
from mauve_core.shards.plan import Work
from mauve_core.shards.result import ShardedComparison

Texts = tuple[KeptText, ...]

# Session key of what was read of the cluster that is shown.
_READ = "more_texts_of_all"

# Places that are looked up together, because that takes a walk through the labels of all texts.
_ROWS = 1000


@dataclass
class _Read:
    """What a session has read of one cluster, by side: texts, and whether there are no more."""

    of: tuple[object, ...]
    texts: dict[str, Texts] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class More:
    """The cluster that is shown.

    Attributes
    ----------
    run_id, candidate : str
    cluster : ClusterOverAll
    work : Work, str or None
        Where further texts are found, or why they are not; None if nobody is to read them.
    """

    run_id: str
    candidate: str
    cluster: ClusterOverAll
    work: Work | str | None

    def show(self, source: str, side: SideOverAll, draw: Callable[[Texts], None], key: str) -> None:
        """The random texts of a side as ``draw`` shows them, how many these are, and a button that reads more."""
        read = self._read()
        texts = (*side.random, *read.texts.get(source, ()))
        draw(texts)
        if not side.n:
            return
        ended = source in read.ended or not may_have_more(side) or len(texts) >= side.n
        pressed, equal = (
            False,
            "; those with equal ids and prompts are shown once" if ended and len(texts) < side.n else "",
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{len(texts):,} of {plural(side.n, 'text')}{equal}", width="content")
            if isinstance(self.work, Work) and not ended:
                number = min(MOST_READ, side.n - len(texts))
                label = f"Read {number} more from the shards"
                pressed = st.button(label, key=f"read_{key}", icon=":material/add:", type="tertiary")
        if pressed and isinstance(self.work, Work):
            with st.spinner("Reading the shards"):
                more = or_error(_read_more, self.run_id, self.work, self.candidate, source, self.cluster, len(texts))
            if more is not None:
                read.texts[source] = (*read.texts.get(source, ()), *more)
                if len(more) < MOST_READ:
                    read.ended.add(source)
                st.rerun()  # with these texts above the button

    def say_where(self) -> None:
        """Say where the other texts are if they cannot be read."""
        if isinstance(self.work, str):
            st.caption(escaped(self.work))

    def _read(self) -> _Read:
        of = (*run_stamp(self.run_id), self.run_id, self.candidate, self.cluster.number)
        read = st.session_state.get(_READ)
        if not isinstance(read, _Read) or read.of != of:
            read = st.session_state[_READ] = _Read(of)
        return read


def of(run_id: str, found: ShardedComparison, own: CandidateOverAll, cluster: ClusterOverAll, *, random: bool) -> More:
    """What a visitor may read of a cluster: of runs that are shown read-only, only what they keep.

    ``random`` says that random texts are shown, of which there may be more.
    """
    work = None
    if random and access.may_change() and (may_have_more(cluster.human) or may_have_more(cluster.model)):
        work = or_error(find_work, found, own)
    return More(run_id, own.name, cluster, work)


def _read_more(run_id: str, work: Work, candidate: str, source: str, cluster: ClusterOverAll, first: int) -> Texts:
    access.require_change()
    last = first + MOST_READ
    rows = _rows(run_id, str(work.folder), candidate, source, cluster.number, -(-last // _ROWS) * _ROWS)
    return texts_of_rows(work, source, rows.at(np.arange(first, min(last, len(rows.place)))))


@kept_by_run(max_entries=16)
def _rows(run_id: str, folder: str, candidate: str, source: str, cluster: int, most: int) -> Rows:  # noqa: ARG001 (part of the key)
    return rows_of_cluster(Work.open(Path(folder)), candidate, source, cluster, most)
