"""Panel of one cluster: its name, what was found, sizes, cost, texts, explanation, words and metadata.

The explanation is the card of ``mauve_core.findings.why_cards``: what the cluster has in common, and why the sides
differ in it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Literal

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from mauve_app import cache
from mauve_app.components import charts, text_search, texts
from mauve_app.components.focus import Focus
from mauve_app.components.markup import escaped, swatch
from mauve_app.components.page_chrome import words
from mauve_app.components.text_search import Found
from mauve_app.components.texts import about_text
from mauve_app.url import bound, session
from mauve_app.url.parameters import ClusterTab, to_query
from mauve_core.analyses.selection import TextSearch
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import (
    NATS_DECIMALS,
    UNBROKEN,
    as_percent,
    interval,
    percent_interval,
    percent_with_interval,
    significant,
    written,
)
from mauve_core.figures.findings import effects_figure, effects_frame, phrases_frame
from mauve_core.figures.theme import HUMAN_COLOUR, short_name
from mauve_core.findings.clusters import ADDS, CONFIDENCE, has_costs, value_counts, wilson_interval
from mauve_core.findings.distinctive_words import DistinctiveWord, Phrase
from mauve_core.findings.marked_texts import marked_text
from mauve_core.findings.why_cards import PropertyEffect, Row, WhyCard, labelled, paired, side_by_side
from mauve_core.stats.stability import LABELS, Stability
from mauve_core.stats.two_groups import Effect
from mauve_core.texts.kinds import property_named

TABS: dict[ClusterTab, str] = {"texts": "{Items}", "why": "Why", "words": "Words", "metadata": "Metadata"}

# Texts of each side that are shown whole.
MOST_TEXTS = 3

# Maximum number of rows in a table of metadata values.
MOST_VALUES = 200


_STABILITY_COLORS: dict[str, Literal["green", "yellow", "gray"]] = {
    "stable": "green", "unsure": "yellow", "noise": "gray"
}  # fmt: skip


def heading(focus: Focus, cluster: int, links: Mapping[str, tuple[str, str]], *, close: str = "") -> None:
    """The cluster's name and number, whether its difference is stable, and links.

    Parameters
    ----------
    links : mapping of str to (str, str)
        Label and icon of each page to link to, with this cluster.
    close : str
        Key of the button that closes the cluster; without one, it cannot be closed.
    """
    judged = cache.cluster_stability(*focus.key)
    label = str(judged.label[cluster])
    linked = to_query(dataclasses.replace(session.current(), cluster=cluster))
    st.header(escaped(focus.names[cluster]), anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Cluster {cluster}", width="content")
        st.badge(label, color=_STABILITY_COLORS[label], help=_stability_in_words(judged, cluster))
        for page, (title, icon) in links.items():
            st.page_link(page, label=title, icon=icon, query_params=linked)
        if close:
            bound.close_button("cluster", key=close)


def _stability_in_words(judged: Stability, cluster: int) -> str:
    meaning = LABELS[str(judged.label[cluster])].capitalize()
    return (
        f"{meaning}. p = {significant(judged.p[cluster])} when {words().items} switch sides, "
        f"{significant(judged.adjusted[cluster])} adjusted for all clusters; the same sign in "
        f"{as_percent(judged.agreement[cluster])} of the partitions with other seeds and k."
    )


def show(focus: Focus, cluster: int, table: pd.DataFrame, weight: float, masks: Found | None = None) -> None:
    """Show a cluster of the focus' partition; ``table`` is the partition's, from ``cache.costed_table``.

    ``masks`` are the texts that a search found, which are the only ones to read then.
    """
    inside = {name: focus.partition.labels[name] == cluster for name in (HUMAN, focus.candidate)}
    wanted = inside if masks is None else {name: mask & masks[name] for name, mask in inside.items()}
    in_human, in_model = (np.flatnonzero(wanted[name]).astype(np.int32) for name in (HUMAN, focus.candidate))
    st.markdown(finding(focus, cluster))
    st.caption(_figures(focus, cluster, table))
    if masks is not None:
        words = focus.run.comparison.words
        counts = [
            f"{wanted[name].sum():,} of {mask.sum():,} {escaped(words.source(name))}" for name, mask in inside.items()
        ]
        partners = (
            f", beside the other side's {words.item} of the same {words.group}"
            if session.current().texts_paired
            else ""
        )
        st.markdown(
            f":material/search: **Found here:** {' and '.join(counts)} {words.items}. Only these are listed{partners}."
        )
    search = None if masks is None else text_search.of(focus.run, session.current())
    _tabs(focus, cluster, in_human, in_model, search)
    if has_costs(table):
        with st.expander("At a mixture weight"):
            st.markdown(_terms_in_words(table.iloc[cluster], table, weight))


@st.fragment
def _tabs(
    focus: Focus, cluster: int, in_human: NDArray[np.int32], in_model: NDArray[np.int32], search: TextSearch | None
) -> None:
    """Build only the open tab; opening another one reruns nothing else."""
    titles = {tab: focus.run.comparison.words.fill(title) for tab, title in TABS.items()}
    name, tab = bound.open_tab("cluster_tab", titles, "cluster_detail_tabs")
    with tab:
        if name == "texts":
            _texts(focus, cluster, in_human, in_model, search)
        elif name == "why":
            show_why(focus, cluster)
        elif name == "words":
            _words(focus, cluster)
        else:
            _metadata(focus, in_human, in_model)


def _texts(
    focus: Focus, cluster: int, in_human: NDArray[np.int32], in_model: NDArray[np.int32], search: TextSearch | None
) -> None:
    """The most typical texts of both sides, whole; below, folded, the lists of all."""
    state, codes = session.current(), cache.prompt_pairs(focus.run.id, focus.candidate)
    human_rows, model_rows = cache.central_texts(*focus.key, cluster)
    central = human_rows[np.isin(human_rows, in_human)], model_rows[np.isin(model_rows, in_model)]
    if focus.run.corpora[HUMAN].media is not None:
        texts.side_by_side(
            focus.run,
            central[0].astype(np.int32),
            (focus.candidate, central[1].astype(np.int32)),
            colour=focus.colour,
            key="cluster_items",
        )
        st.caption("Nearest to the cluster's center first.")
        return
    pairing = codes is not None and state.texts_paired
    if codes is not None:
        st.toggle(f"Pair by {words().group}", help=words().fill(_PAIRS_HELP), **bound.bind("texts_paired", pairing))
    both = side_by_side(*central, MOST_TEXTS)
    rows = both if codes is None or not pairing else paired(*central, codes, MOST_TEXTS)
    marked_rows(focus, cluster, rows, in_rows=pairing, search=search)
    asked_for = state.human_text is not None or state.model_text is not None
    # One label for every cluster: a browser folds an expander again when its label changes.
    with st.expander(f"All {words().items} of this cluster", expanded=asked_for):
        texts.side_by_side(focus.run, in_human, (focus.candidate, in_model), colour=focus.colour, key="cluster_texts")


_PAIRS_HELP = (
    "Shows each {item} beside the other side's {item} of the same {group}, in whichever cluster that one is. Otherwise "
    "the {items} of each side come in the order of their distance to the cluster's center."
)


def _figures(focus: Focus, cluster: int, table: pd.DataFrame) -> str:
    """Sizes with Wilson intervals; the cost with its bootstrap interval, if there is a gap to explain."""
    row = table.iloc[cluster]
    parts = []
    words = focus.run.comparison.words
    for name, side in ((words.reference.capitalize(), "human"), (escaped(focus.candidate), "model")):
        n = int(table[side].sum())
        low, high = map(float, wilson_interval(row[side], n))
        share = f"{as_percent(row[side] / n, 1)} of its {words.items} ({percent_interval(low, high, 1)})"
        parts.append(f"{name}: {int(row[side]):,} of {n:,}, {share}")
    if not has_costs(table):
        return f"{'. '.join(parts)}. {CONFIDENCE:.0%} intervals by Wilson. No cost is shown without a gap to explain."
    cost = percent_with_interval(row["cost_share"], row["low"], row["high"])
    parts.append(f"Cost: {cost} of the frontier integral. {_direction_in_words(row)}")
    return f"{'. '.join(parts)} {CONFIDENCE:.0%} intervals: Wilson; of costs, for all clusters at once."


def _direction_in_words(row: pd.Series) -> str:
    """Whether the model adds or misses texts of the cluster."""
    if not row["direction"]:
        return "Both sides have as much of it."
    return "The model adds: it has more of it." if row["direction"] == ADDS else "The model misses: it has less."


def _terms_in_words(row: pd.Series, table: pd.DataFrame, weight: float) -> str:
    """The cluster's terms of the two errors."""
    lines = [
        f"{title}: **{written(row[name], NATS_DECIMALS)}** of {written(table[name].sum(), NATS_DECIMALS)} nats"
        for title, name in (("Type I error, KL(Q|R)", "type_1_nats"), ("type II error, KL(P|R)", "type_2_nats"))
    ]
    return (
        f"At weight λ = {written(weight, 2)} of P in R = λ P + (1 − λ) Q. {'; '.join(lines)}. A term is negative, "
        "and offsets those of other clusters, where its side has less than the mixture."
    )


def _words(focus: Focus, cluster: int) -> None:
    human, model = cache.contrasting_words(*focus.key, cluster)
    columns = st.columns(3, gap="medium")
    words = focus.run.comparison.words
    lists = (
        ("This cluster against all others", cache.cluster_words(*focus.key)[cluster]),
        (f"Over-represented in {words.reference_items}", human),
        (f"Over-represented in {words.items} of {focus.candidate}", model),
    )
    for column, (title, found) in zip(columns, lists, strict=True):
        column.markdown(f"**{escaped(title)}**")
        if found:
            column.dataframe(words_frame(found), hide_index=True)
        else:
            column.caption("No distinctive words.")
    st.caption(
        f"Class-based TF-IDF over the {words.reference_items} and this candidate's, without common English words. "
        f"Against other clusters: only words in two or more {words.items}. Within the cluster: the difference between "
        "the sides."
    )


def words_frame(found: tuple[DistinctiveWord, ...]) -> pd.DataFrame:
    """One row per word: its occurrences in the group and the number of texts that contain it."""
    return pd.DataFrame(
        {
            "word": [word.word for word in found],
            "times": [word.count for word in found],
            words().items: [word.texts for word in found],
        }
    )


def _metadata(focus: Focus, in_human: np.ndarray, in_model: np.ndarray) -> None:
    human, model = focus.run.corpora[HUMAN].metadata, focus.run.corpora[focus.candidate].metadata
    fields = list(dict.fromkeys([*human.columns, *model.columns]))
    if not fields:
        st.caption(f"These {words().items} have no metadata.")
        return
    name = fields[0]
    if len(fields) > 1:
        name = bound.selectbox("metadata_column", "Field", fields, fields[0], width=260)
    values = value_counts(human.get(name), model.get(name), in_human, in_model)
    shown = values.head(MOST_VALUES)
    st.dataframe(
        shown.rename(
            columns={
                "value": str(name),
                "human": f"{words().reference}, here",
                "all_human": f"{words().reference}, total",
                "model": "model, here",
                "all_model": "model, total",
            }
        ),
        hide_index=True,
        key="cluster_metadata",
    )
    st.caption(f"{len(shown):,} of {len(values):,} values that occur in this cluster.")


PAIR_HEIGHT = 220

# A text of more characters scrolls in a box of this height.
_LONG, _LONG_HEIGHT = 2500, 460


def show_why(focus: Focus, cluster: int) -> None:
    """The card of one cluster of the focus' partition."""
    card = cache.why_card(*focus.key, cluster)
    for note in card.notes:
        st.caption(escaped(note))
    _flags(focus, card)
    _phrases(focus, card)
    _properties(focus, card)
    _pairs(focus, card)


def finding(focus: Focus, cluster: int) -> str:
    """The card's headline, in Markdown: what most clearly distinguishes the sides here, else the cluster itself.

    In this order: a side that is missing, a property that separates the sides by itself, the phrase with the largest
    z, a property that separates the cluster from all other texts.
    """
    card = cache.why_card(*focus.key, cluster)
    model, words = escaped(short_name(focus.candidate)), focus.run.comparison.words
    human = words.reference.capitalize()
    if not card.human or not card.model:
        who, missing = (model, words.reference) if card.model else (words.reference_items.capitalize(), model)
        count = card.model or card.human
        if not count:
            return f"**No {words.item} is in this cluster.**"
        return f"**{who} alone:** {words.count(count)}, and no {missing} {words.item}."
    for each in sorted((each for each in card.sides if each.separates), key=_margin, reverse=True):
        kind, effect = property_named(each.name), each.effect
        if effect is not None:
            says = kind.less if effect.auc > 0.5 else kind.more  # the first side is the human one
            return f"**{model} {says} here:** {kind.means(effect.second, effect.first)} ({_auc(effect)})."
    leading = [(who, found[0]) for who, found in ((model, card.model_phrases), (human, card.human_phrases)) if found]
    if leading:
        who, phrase = max(leading, key=lambda pair: pair[1].z)
        own, other = (card.model, card.human) if who == model else (card.human, card.model)
        return (
            f"**{who} {words.items} have “{escaped(phrase.text)}” more often here:** {phrase.texts} of {own} against "
            f"{phrase.other_texts} of {other} (log odds {written(phrase.log_odds, 1)}, "
            f"{interval(phrase.low, phrase.high, 1)})."
        )
    for each in sorted((each for each in card.rest if each.separates), key=_margin, reverse=True):
        kind, effect = property_named(each.name), each.effect
        if effect is not None:
            says = kind.of_cluster(more=effect.auc > 0.5)
            return (
                f"**Both sides are alike here; the cluster {says} than all others:** "
                f"{kind.means(effect.first, effect.second)} ({_auc(effect)})."
            )
    return "**Neither a property nor a phrase tells the two sides apart here.**"


def _margin(each: PropertyEffect) -> float:
    return 0.0 if each.effect is None else max(each.effect.low, 1 - each.effect.high)


def _auc(effect: Effect) -> str:
    return f"AUC {written(effect.auc, 2)}, {interval(effect.low, effect.high, 2)}"


def marked_rows(
    focus: Focus, cluster: int, rows: Sequence[Row], *, in_rows: bool, search: TextSearch | None = None
) -> None:
    """Texts of both sides, whole, with the card's phrases, repeated 4-grams and what a search found marked.

    ``in_rows`` aligns the texts of a row; otherwise each side is a column of its own.
    """
    card = cache.why_card(*focus.key, cluster)
    of_cluster = {phrase.text for phrase in card.cluster_phrases}
    reference = focus.run.comparison.words.reference.capitalize()
    sides = (
        (
            HUMAN,
            reference,
            HUMAN_COLOUR,
            [row.human for row in rows],
            card.human_phrases,
            card.human,
        ),
        (focus.candidate, focus.candidate, focus.colour, [row.model for row in rows], card.model_phrases, card.model),
    )
    columns = st.columns(2 if in_rows or (card.human and card.model) else 1, gap="small")
    for column, (source, title, colour, indices, phrases, count) in zip(cycle(columns), sides, strict=False):
        shown = [index for index in indices if index is not None]
        n = len(focus.run.corpora[source])
        column.markdown(f"{swatch(colour)} **{escaped(title)}** · {count:,} of {focus.run.comparison.words.count(n)}")
        if not in_rows:
            for index in shown:
                with column:
                    _text(focus, cluster, source, index, of_cluster | {phrase.text for phrase in phrases}, search)
    for row in rows if in_rows else ():
        places = zip(st.columns(2, gap="small"), (row.human, row.model), sides, strict=True)
        for column, place, (source, _, _, _, phrases, _) in places:
            if place is not None:
                with column:
                    _text(focus, cluster, source, place, of_cluster | {phrase.text for phrase in phrases}, search)
    order = (
        f"{words().items.capitalize()} of one {words().group} side by side"
        if in_rows
        else _ORDERS[focus.run.features(HUMAN) is not None]
    )
    st.caption(
        f"{order}. Gray: phrases that the side, or this cluster, uses more. Wavy line: four words that the "
        f"{words().item} repeats."
    )


_ORDERS = {True: "Nearest to the cluster's center first", False: "In the order of the file"}


def _text(focus: Focus, cluster: int, source: str, index: int, phrases: set[str], search: TextSearch | None) -> None:
    corpus = focus.run.corpora[source]
    text, own = corpus.texts[index], int(focus.partition.labels[source][index])
    with st.container(border=True, gap="xsmall", height=_LONG_HEIGHT if len(text) > _LONG else "content"):
        st.text(about_text(corpus, index))
        if own != cluster:
            st.caption(f"In another cluster: {escaped(labelled(focus.names, own))}")
        if corpus.prompts is not None and corpus.prompts[index]:
            st.caption(escaped(corpus.prompts[index]))
        st.html(marked_text(text, phrases, text_search.found_spans(text, search)))


def _flags(focus: Focus, card: WhyCard) -> None:
    words = focus.run.comparison.words
    for each in card.sides:
        if each.separates:
            names = (f"the {words.reference_items}", f"those of {escaped(focus.candidate)}")
            st.warning(_flag(each, "tells the two sides apart here", names), icon=":material/flag:")
    for each in card.rest:
        if each.separates:
            names = (f"the {words.items} here", "all others")
            st.info(_flag(each, f"tells this cluster from all other {words.items}", names), icon=":material/flag:")


def _flag(each: PropertyEffect, what: str, names: tuple[str, str]) -> str:
    effect, kind = each.effect, property_named(each.name)
    if effect is None:
        return ""
    means = [
        f"{significant(mean, 3)} {kind.unit}" if kind.unit else as_percent(mean)
        for mean in (effect.first, effect.second)
    ]
    return (
        f"**{kind.title}** alone {what}: {means[0]} in {names[0]}, {means[1]} in {names[1]} "
        f"(AUC {written(effect.auc, 2)}, {interval(effect.low, effect.high, 2)}). "
        "Likely confound: check this first."
    )


def _phrases(focus: Focus, card: WhyCard) -> None:
    near = "; ".join(labelled(focus.names, cluster) for cluster in card.neighbours)
    words = focus.run.comparison.words
    lists = [
        (f"Over-represented in {words.reference_items}", card.human_phrases),
        (f"Over-represented in {words.items} of {focus.candidate}", card.model_phrases),
        ("This cluster rather than its neighbors" if near else "This cluster", card.cluster_phrases),
    ]
    shown = lists if card.human and card.model else lists[2:]
    for column, (title, phrases) in zip(st.columns(3, gap="medium"), shown, strict=False):
        column.markdown(f"**{escaped(title)}**")
        if phrases:
            column.dataframe(shown_phrases(phrases), hide_index=True)
        else:
            column.caption("No distinctive phrases.")
    st.caption(
        (
            "Phrases of one to three words by log odds with a Dirichlet prior (Monroe, Colaresi and Quinn 2008), "
            f"counting {words.items} that contain them. Each 95% interval is for one phrase by itself. "
            f"{words.items.capitalize()}: how many contain it in this set : in the other."
        )
        + (f" Neighbors: {escaped(near)}." if near else "")
    )


def shown_phrases(phrases: tuple[Phrase, ...]) -> pd.DataFrame:
    """Phrase, log odds with its interval, and number of texts in both sets, as text."""
    rows = phrases_frame(phrases)
    odds = [
        f"{written(one, 1)}{UNBROKEN}({interval(low, high, 1)})"
        for one, low, high in zip(rows["log_odds"], rows["low"], rows["high"], strict=True)
    ]
    texts = [f"{n} : {m}" for n, m in zip(rows["texts"], rows["other_texts"], strict=True)]
    return pd.DataFrame({"phrase": rows["phrase"], "log odds": odds, words().items: texts})


def _properties(focus: Focus, card: WhyCard) -> None:
    rows = effects_frame(card)
    if rows.empty:
        return
    name = f"{focus.run.name}-{focus.candidate}-cluster-{card.cluster}-properties"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown("**Properties**", width="content")
        st.space("stretch")
        charts.csv_button(lambda: rows, key="why_csv", file_name=name)
    charts.show_chart(
        effects_figure(rows, focus.candidate, focus.colour, words=focus.run.comparison.words),
        key="why_properties",
        file_name=name,
        alt=f"Effect size of every simple property of the {words().items} with its interval; the CSV has the numbers.",
    )
    st.caption(
        f"Cliff's delta: how much more often {words().one} of the first set exceeds one of the second than the "
        "reverse; 0: no difference, ±1: no overlap. Lines: 95% intervals. A property that separates the sets by "
        "itself is flagged above."
    )


def _pairs(focus: Focus, card: WhyCard) -> None:
    if not card.pairs:
        return
    st.markdown("**Nearest pairs**")
    titles = {i: f"{i + 1}: distance {significant(pair.distance, 3)}" for i, pair in enumerate(card.pairs)}
    pair = card.pairs[bound.segmented_control("nearest_pair", "Pair", titles)]
    sides = ((HUMAN, pair.human, HUMAN_COLOUR), (focus.candidate, pair.model, focus.colour))
    for column, (source, index, colour) in zip(st.columns(2, gap="medium"), sides, strict=True):
        corpus, side = focus.run.corpora[source], focus.run.comparison.words.source(source)
        with column, st.container(border=True, height=PAIR_HEIGHT if corpus.media is None else "content"):
            st.markdown(f"{swatch(colour)} **{escaped(side)}** {escaped(corpus.ids[index])}")
            texts.picture(focus.run, source, index)
            st.text(corpus.texts[index])
