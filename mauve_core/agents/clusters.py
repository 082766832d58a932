"""Tools on one candidate's clusters: which cost most, their texts, and what distinguishes the two sides.

The clusters are those that the pages show by default: of the pairwise partition under the candidate's median seed.
Costs are given only where exchanged texts rarely give as large a gap (``mauve_core.analysis.gap_test``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
import pandas as pd

from mauve_core.agents.access import Access
from mauve_core.agents.answers import ClusterRow, Clusters, Findings, PhraseRow, PropertyRow, Text, Texts
from mauve_core.agents.errors import CallError
from mauve_core.agents.paging import page
from mauve_core.agents.parts import candidate_of, named, rounded, settings_of
from mauve_core.agents.quoting import NOTES, cut
from mauve_core.agents.scores import reason_of
from mauve_core.analysis.cluster_table import cluster_table, ordered
from mauve_core.analysis.cost_intervals import costed_table
from mauve_core.analysis.phrases import Phrase
from mauve_core.analysis.precomputed import (
    run_cluster_names,
    run_cluster_words,
    run_exchange_rate,
    run_gap_test,
    run_properties,
    run_stability,
)
from mauve_core.analysis.why import PropertyEffect, WhyCard, why_card, why_source
from mauve_core.base.config import HUMAN, PartitionKind
from mauve_core.base.errors import MauveLensError
from mauve_core.base.formatting import percent_with_interval, significant, with_plain_spaces
from mauve_core.scoring.result import Partition
from mauve_core.scoring.tables import score_in_words, seed_in_words
from mauve_core.store import Run
from mauve_core.texts import Corpus
from mauve_core.texts.kinds import property_named

Side = Literal["human", "candidate"]
Label = Literal["stable", "unsure", "noise"]

KIND: PartitionKind = "pairwise"
# Mixture weight of a cluster table, on which nothing here depends.
WEIGHT = 0.5

MOST_WORDS = 6
# Phrases of each side.
MOST_PHRASES = 5

# Characters of a prompt that are quoted.
PROMPT = 200


@dataclass(frozen=True)
class View:
    """One candidate's clusters as the pages show them."""

    run: Run
    candidate: str

    @cached_property
    def partition(self) -> Partition:
        return self.run.comparison.partition(KIND, self.candidate)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return run_cluster_names(self.run, KIND, self.candidate, self.partition.seed)

    @cached_property
    def table(self) -> pd.DataFrame:
        """Counts, shares and costs of every cluster; with intervals where the gap test shows a gap."""
        if not run_gap_test(self.run, KIND, self.candidate).explains:
            return cluster_table(self.partition.counts(HUMAN), self.partition.counts(self.candidate), WEIGHT)
        rate = run_exchange_rate(self.run, KIND, self.candidate)
        return costed_table(self.run.comparison, KIND, self.candidate, self.partition.seed, WEIGHT, rate=rate)

    @cached_property
    def gap(self) -> str:
        """Whether there is a gap to explain, in a sentence."""
        found = run_gap_test(self.run, KIND, self.candidate)
        if not found.explains:
            return with_plain_spaces(found.in_words())
        return f"The candidate's texts differ from the human texts (p = {significant(found.p_value)})."

    def sizes(self, cluster: int) -> tuple[int, int]:
        """Numbers of human texts and of the candidate's; CallError if there is no such cluster."""
        if not 0 <= cluster < self.partition.k:
            allowed = f"0 to {self.partition.k - 1}, as clusters lists them for this candidate"
            raise CallError("The candidate has no such cluster", allowed=allowed, received=str(cluster))
        human, own = (int(self.partition.counts(source)[cluster]) for source in (HUMAN, self.candidate))
        return human, own


def clusters(access: Access, run_id: str, which: int | str, limit: int, cursor: str | None) -> Clusters:
    """List a candidate's clusters, the costliest first."""
    view = _view(access, run_id, which)
    run, candidate, table = view.run, view.candidate, view.table
    costed = "low" in table
    shown = ordered(table, "cost") if costed else table.sort_values("difference", key=abs, ascending=False)
    labels, notes = _stability(view)
    words = _words(view)

    def write(row: dict[str, Any]) -> ClusterRow:
        cluster = int(row["cluster"])
        return _cluster_row(row, view.names[cluster], None if labels is None else labels[cluster], words[cluster])

    rows: list[dict[str, Any]] = [{str(key): value for key, value in row.items()} for row in shown.to_dict("records")]
    found, following = page(rows, write, limit, cursor, ("clusters", run.id, run.digest, candidate))
    seed = seed_in_words(run.comparison, candidate, KIND, view.partition.seed)
    return Clusters(
        run=run.id,
        candidate=named(run.comparison, candidate),
        score=with_plain_spaces(f"{score_in_words(run.comparison, candidate)}; {seed}"),
        gap_test=view.gap,
        ordered_by="cost" if costed else "difference of shares",
        clusters=found,
        total=len(rows),
        notes=notes,
        settings=settings_of(run.comparison),
        next_cursor=following,
    )


def cluster_texts(
    access: Access,
    run_id: str,
    which: int | str,
    cluster: int,
    side: Side | Literal["both"],
    limit: int,
    cursor: str | None,
    characters: int,
    from_character: int,
) -> Texts:
    """Quote texts of a cluster, in file order; of both sides, in turn as long as there are any."""
    view = _view(access, run_id, which)
    human, own = view.sizes(cluster)
    sources: dict[Side, str] = {"human": HUMAN, "candidate": view.candidate}
    listed = [
        [(each, int(place)) for place in np.flatnonzero(view.partition.labels[source] == cluster)]
        for each, source in sources.items()
        if side in (each, "both")
    ]
    items = [item for turn in zip_longest(*listed) for item in turn if item is not None]

    def write(item: tuple[Side, int]) -> Text:
        each, place = item
        return _text(view.run.corpora[sources[each]], each, place, characters, from_character)

    call = ("texts", view.run.id, view.run.digest, view.candidate, cluster, side, characters, from_character)
    found, following = page(items, write, limit, cursor, call)
    return Texts(
        run=view.run.id,
        candidate=named(view.run.comparison, view.candidate),
        cluster=cluster,
        cluster_name=cut(view.names[cluster]),
        human_texts=human,
        candidate_texts=own,
        texts=found,
        next_cursor=following,
    )


def findings(access: Access, run_id: str, which: int | str, cluster: int | None) -> Findings:
    """Say what distinguishes the candidate's texts from the human ones, and both sides' texts in one cluster.

    Without a number, the cluster is that of the main reason, else the costliest.
    """
    view = _view(access, run_id, which)
    run, candidate = view.run, view.candidate
    reason = reason_of(run, candidate)
    if cluster is None:
        cluster = int(view.table["cost"].to_numpy().argmax()) if reason is None else reason.cluster
    human, own = view.sizes(cluster)
    corpora = run.corpora[HUMAN], run.corpora[candidate]
    properties = run_properties(run, HUMAN), run_properties(run, candidate)
    card = why_card(why_source(view.partition, *corpora, candidate, properties=properties), cluster, top=MOST_PHRASES)
    alone = human == 0 or own == 0
    notes = ["The cluster has texts of one side only, so its sides cannot be compared"] if alone else []
    return Findings(
        run=run.id,
        candidate=named(run.comparison, candidate),
        gap_test=view.gap,
        main_reason=reason,
        cluster=cluster,
        cluster_name=cut(view.names[cluster]),
        human_texts=human,
        candidate_texts=own,
        properties=[row for row in map(_property_row, card.sides) if row is not None],
        phrases=_phrases(card),
        notes=notes,
    )


def _view(access: Access, run_id: str, which: int | str) -> View:
    run = access.load(run_id)
    return View(run, candidate_of(run, which).name)


def _cluster_row(row: dict[str, Any], name: str, label: Label | None, words: Sequence[str]) -> ClusterRow:
    costed = "low" in row
    cost = percent_with_interval(row["cost_share"], row["low"], row["high"]) if costed else None
    return ClusterRow(
        cluster=int(row["cluster"]),
        name=cut(name),
        cost=None if cost is None else with_plain_spaces(cost),
        cost_share=rounded(row["cost_share"]) if costed else None,
        low=rounded(row["low"]) if costed else None,
        high=rounded(row["high"]) if costed else None,
        direction=row["direction"],
        human_texts=int(row["human"]),
        candidate_texts=int(row["model"]),
        stability=label,
        words=[cut(word) for word in words],
    )


def _stability(view: View) -> tuple[list[Label] | None, list[str]]:
    """Each cluster's label, and notes; None where it could not be determined."""
    try:
        found = run_stability(view.run, KIND, view.candidate, view.partition.seed)
    except MauveLensError as error:
        return None, [cut(f"Stability could not be determined: {error}", NOTES)]
    return found.label.tolist(), [cut(note, NOTES) for note in found.notes]


def _words(view: View) -> list[list[str]]:
    """The distinctive words of each cluster; none where the texts have no countable words."""
    try:
        found = run_cluster_words(view.run, KIND, view.candidate, view.partition.seed)
    except MauveLensError:
        return [[] for _ in range(view.partition.k)]
    return [[each.word for each in words[:MOST_WORDS]] for words in found]


def _text(corpus: Corpus, side: Side, place: int, characters: int, from_character: int) -> Text:
    text = corpus.texts[place]
    return Text(
        id=cut(corpus.ids[place]),
        side=side,
        text=text[from_character : from_character + characters],
        from_character=from_character,
        characters=len(text),
        prompt=None if corpus.prompts is None else cut(corpus.prompts[place], PROMPT),
    )


def _property_row(found: PropertyEffect) -> PropertyRow | None:
    if found.effect is None:
        return None
    return PropertyRow(
        property=property_named(found.name).title,
        description=property_named(found.name).description,
        human_mean=rounded(found.effect.first),
        candidate_mean=rounded(found.effect.second),
        auc=rounded(found.effect.auc),
        low=rounded(found.effect.low),
        high=rounded(found.effect.high),
        separates=found.separates,
    )


def _phrases(card: WhyCard) -> list[PhraseRow]:
    sides: tuple[tuple[Side, tuple[Phrase, ...]], ...] = (
        ("human", card.human_phrases),
        ("candidate", card.model_phrases),
    )
    return [
        PhraseRow(
            phrase=cut(each.text),
            side=side,
            texts=each.texts,
            other_texts=each.other_texts,
            log_odds=rounded(each.log_odds),
            low=rounded(each.low),
            high=rounded(each.high),
        )
        for side, phrases in sides
        for each in phrases
    ]
