"""Panel of the card of ``mauve_core.analysis.why``: what a cluster has in common, and why the sides differ in it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.caching import cache
from app.components import charts
from app.components.focus import Focus
from app.components.markup import escaped
from app.url import bound
from mauve_core.analysis.phrases import Phrase
from mauve_core.analysis.properties import PROPERTIES
from mauve_core.analysis.why import PropertyEffect, WhyCard
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import UNBROKEN, as_percent, interval, significant, written
from mauve_core.figures.why import effects_figure, effects_frame, phrases_frame

PAIR_HEIGHT = 220


def show(focus: Focus, cluster: int) -> None:
    """The card of one cluster of the focus' partition."""
    card = cache.why_card(*focus.key, cluster)
    for note in card.notes:
        st.caption(escaped(note))
    _flags(focus, card)
    _phrases(focus, card)
    _properties(focus, card)
    _pairs(focus, card)


def _flags(focus: Focus, card: WhyCard) -> None:
    for each in card.sides:
        if each.separates:
            names = ("the human texts", f"those of {escaped(focus.candidate)}")
            st.warning(_flag(each, "tells the two sides apart here", names), icon=":material/flag:")
    for each in card.rest:
        if each.separates:
            names = ("the texts here", "all others")
            st.info(_flag(each, "tells this cluster from all other texts", names), icon=":material/flag:")


def _flag(each: PropertyEffect, what: str, names: tuple[str, str]) -> str:
    effect, kind = each.effect, PROPERTIES[each.name]
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
    near = ", ".join(map(str, card.neighbours))
    lists = [
        ("Over-represented in human texts", card.human_phrases),
        (f"Over-represented in texts of {focus.candidate}", card.model_phrases),
        (f"This cluster rather than its neighbors {near}" if near else "This cluster", card.cluster_phrases),
    ]
    shown = lists if card.human and card.model else lists[2:]
    for column, (title, phrases) in zip(st.columns(3, gap="medium"), shown, strict=False):
        column.markdown(f"**{escaped(title)}**")
        if phrases:
            column.dataframe(shown_phrases(phrases), hide_index=True)
        else:
            column.caption("No distinctive phrases.")
    st.caption(
        "Phrases of one to three words by log odds with a Dirichlet prior (Monroe, Colaresi and Quinn 2008), counting "
        "texts that contain them. Each 95% interval is for one phrase by itself. Texts: how many contain it in this "
        "set : in the other."
    )


def shown_phrases(phrases: tuple[Phrase, ...]) -> pd.DataFrame:
    """Phrase, log odds with its interval, and number of texts in both sets, as text."""
    rows = phrases_frame(phrases)
    odds = [
        f"{written(one, 1)}{UNBROKEN}({interval(low, high, 1)})"
        for one, low, high in zip(rows["log_odds"], rows["low"], rows["high"], strict=True)
    ]
    texts = [f"{n} : {m}" for n, m in zip(rows["texts"], rows["other_texts"], strict=True)]
    return pd.DataFrame({"phrase": rows["phrase"], "log odds": odds, "texts": texts})


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
        effects_figure(rows, focus.candidate),
        key="why_properties",
        file_name=name,
        alt="Effect size of every simple property of the texts with its interval; the CSV has the numbers.",
    )
    st.caption(
        "Cliff's delta: how much more often a text of the first set exceeds one of the second than the reverse; 0: no "
        "difference, ±1: no overlap. Lines: 95% intervals. A property that separates the sets by itself is flagged "
        "above."
    )


def _pairs(focus: Focus, card: WhyCard) -> None:
    if not card.pairs:
        return
    st.markdown("**Nearest pairs**")
    titles = {i: f"{i + 1}: distance {significant(pair.distance, 3)}" for i, pair in enumerate(card.pairs)}
    pair = card.pairs[bound.segmented_control("nearest_pair", "Pair", titles)]
    sides = ((HUMAN, pair.human, "blue"), (focus.candidate, pair.model, "orange"))
    for column, (source, index, colour) in zip(st.columns(2, gap="medium"), sides, strict=True):
        corpus = focus.run.corpora[source]
        with column, st.container(border=True, height=PAIR_HEIGHT):
            st.markdown(f"**:{colour}[{escaped(source)}]** {escaped(corpus.ids[index])}")
            st.text(corpus.texts[index])
