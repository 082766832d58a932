"""What the cluster pages show: a candidate under one partition and seed, its score, the controls of both, and the
answer.

The answer is the sentence with which such a page opens: where the candidate adds most, and where it misses most. Where
the gap is no larger than between human texts, shares of it would explain nothing, and the page says that instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mauve_app import cache
from mauve_app.components import scores
from mauve_app.components.markup import escaped, swatch
from mauve_app.components.page_chrome import words
from mauve_app.url import bound
from mauve_app.url.parameters import State
from mauve_core.analyses.gap import ledger_rows
from mauve_core.analyses.selection import Stack
from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.formatting import percent_with_interval
from mauve_core.figures.theme import HUMAN_COLOUR, candidate_colour, short_name
from mauve_core.findings.clusters import ADDS, MISSES, has_costs
from mauve_core.findings.why_cards import labelled
from mauve_core.runs import Run
from mauve_core.scoring.result import Partition
from mauve_core.scoring.tables import score_in_words, seed_in_words


@dataclass(frozen=True)
class Focus:
    """One candidate under one partition of one run.

    Attributes
    ----------
    run : Run
    candidate : str
    partition : Partition
    cluster : int or None
        None if no cluster is chosen or the partition does not have it.
    """

    run: Run
    candidate: str
    partition: Partition
    cluster: int | None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each cluster, by number; untrusted."""
        return cache.cluster_names(*self.key)

    @cached_property
    def colour(self) -> str:
        """The candidate's color, as on all pages."""
        return candidate_colour([candidate.name for candidate in self.run.comparison.candidates], self.candidate)

    @property
    def key(self) -> tuple[str, PartitionKind, str, int]:
        """Key for caches and figures."""
        return self.run.id, self.partition.kind, self.candidate, self.partition.seed


def of(run: Run, state: State) -> Focus:
    """The focus that the URL describes; the run's first candidate and that candidate's median seed if it names none,
    or one that the run lacks.
    """
    names = [candidate.name for candidate in run.comparison.candidates]
    candidate = state.candidate if state.candidate in names else names[0]
    seeds = range(run.comparison.config.score.seeds)
    seed = state.seed if state.seed in seeds else None
    partition = run.comparison.partition(state.partition, candidate, seed)
    cluster = state.cluster if state.cluster is not None and state.cluster < partition.k else None
    return Focus(run, candidate, partition, cluster)


def rows() -> DeltaGenerator:
    """Container for rows of controls: side by side if the window is wide enough, else stacked."""
    return st.container(horizontal=True, vertical_alignment="bottom")


def row() -> DeltaGenerator:
    """A row of controls that belong together."""
    return st.container(horizontal=True, vertical_alignment="bottom", width="content")


def controls(focus: Focus, state: State, usual: int | None = None) -> None:
    """A row of candidate and cluster, the keyboard alternative to clicking in a chart, and the folded settings.

    ``usual`` is the cluster that the page shows if the URL names none.
    """
    pickers(focus, usual)
    with row():
        scores.sensitivity(state, focus.run.comparison, focus.candidate, focus.partition.seed)


def pickers(focus: Focus, usual: int | None = None) -> None:
    """The row of candidate and cluster alone."""
    names = [candidate.name for candidate in focus.run.comparison.candidates]
    with row():
        bound.selectbox(
            "candidate",
            "Candidate",
            names,
            names[0],
            omit_default=False,
            width=220,
            help=f"The model side, Q. The other side, P, is always the {words().reference_items}.",
        )
        titles = focus.names
        bound.selectbox(
            "cluster",
            "Cluster",
            range(focus.partition.k),
            usual,
            omit_default=usual is None,
            format_func=lambda cluster: labelled(titles, cluster),
            placeholder="None",
            width=320,
            help=f"The cluster whose {words().items} are shown: type a part of its name or its number, or click it in "
            f"the chart. A name says what distinguishes the cluster's {words().items} from all others. Numbers depend "
            "on the partition and the seed and mean nothing by themselves.",
        )


def hidden_sources(stack: Stack, candidate: str, state: State) -> tuple[int, ...]:
    """Sources that the map leaves out, by index: those of the URL, else all but the human side and the candidate."""
    if state.map_hidden is not None:
        return state.map_hidden
    return tuple(place for place, name in enumerate(stack.names) if name not in (HUMAN, candidate))


def score_line(focus: Focus, state: State) -> None:
    """The candidate's score as on the leaderboard, and what it is in the clusters shown."""
    comparison, kind, name = focus.run.comparison, focus.partition.kind, focus.candidate
    shown = cache.rescored(focus.run.id, kind, state.scale, state.smoothing)
    parts = [f"**{escaped(short_name(name))}**: {score_in_words(shown, name, kind)}"]
    differing = scores.settings_in_words(state, comparison)
    if differing:
        parts[0] += f" {differing}"
    parts.append(f"these clusters: {seed_in_words(shown, name, kind, focus.partition.seed)}")
    if differing:
        parts.append(f"on the leaderboard, at the run's own settings: {score_in_words(comparison, name)}")
    st.markdown("; ".join(parts) + ".")


def show_answer(here: Focus, table: pd.DataFrame) -> None:
    """The costliest cluster in either direction; that there is nothing to explain, if the test says so.

    ``table`` is the partition's, from ``cache.costed_table``.
    """
    if has_costs(table):
        st.markdown(answer_sentence(here.candidate, here.colour, here.names, table))
    else:
        show_no_gap(here)


def answer_sentence(candidate: str, colour: str, names: tuple[str, ...], table: pd.DataFrame) -> str:
    """The costliest cluster that the candidate adds to and that it misses, with their shares of the gap, in Markdown.

    A direction without clusters is left out. ``colour`` is the candidate's.
    """
    parts: list[str] = []
    for direction, shown in ((ADDS, colour), (MISSES, HUMAN_COLOUR)):
        rows = ledger_rows(table, direction, 1)
        if rows.empty:
            continue
        first = rows.iloc[0]
        share = percent_with_interval(first["share"], first["low"], first["high"])
        of = "" if parts else " of the gap"
        parts.append(f"{swatch(shown)} {direction} most in *{escaped(names[int(first['cluster'])])}*: {share}{of}")
    return f"**{escaped(short_name(candidate))}** {'; it '.join(parts)}." if parts else ""


def show_no_gap(here: Focus) -> None:
    """The result of the test, in words."""
    run_id, kind, candidate, _ = here.key
    st.info(cache.gap_test(run_id, kind, candidate).in_words(here.run.comparison.words), icon=":material/balance:")
