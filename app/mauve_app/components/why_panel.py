"""Panel of the card of ``mauve_core.analysis.why``: what a cluster has in common, and why the sides differ in it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import pandas as pd
import streamlit as st

from mauve_app.caching import cache
from mauve_app.components import charts, contact_sheet, text_search
from mauve_app.components.focus import Focus
from mauve_app.components.markup import escaped, swatch
from mauve_app.components.saying import said
from mauve_app.components.texts import about_text
from mauve_app.url import bound
from mauve_core.analysis.central_texts import Row
from mauve_core.analysis.cluster_names import labelled
from mauve_core.analysis.phrases import Phrase
from mauve_core.analysis.text_marks import marked_text
from mauve_core.analysis.text_search import TextSearch
from mauve_core.analysis.why import PropertyEffect, WhyCard
from mauve_core.base.config import HUMAN
from mauve_core.base.formatting import UNBROKEN, as_percent, interval, significant, written
from mauve_core.corpus.kinds import property_named
from mauve_core.figures.theme import HUMAN_COLOUR, short_name
from mauve_core.figures.why import effects_figure, effects_frame, phrases_frame
from mauve_core.numerics.statistics.effects import Effect

PAIR_HEIGHT = 220

# A text of more characters scrolls in a box of this height.
_LONG, _LONG_HEIGHT = 2500, 460


def show(focus: Focus, cluster: int) -> None:
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
    human = words.said("Human")
    if not card.human or not card.model:
        who, missing = (model, words.reference) if card.model else (words.reference_items.capitalize(), model)
        count = card.model or card.human
        if not count:
            return words.said("**No text is in this cluster.**")
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
        say = words.said("texts say")
        return (
            f"**{who} {say} “{escaped(phrase.text)}” more often here:** {phrase.texts} of {own} against "
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
    reference = focus.run.comparison.words.said("Human")
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
    order = said("Texts of one prompt side by side") if in_rows else _ORDERS[focus.run.features(HUMAN) is not None]
    st.caption(
        f"{order}. "
        + said("Gray: phrases that the side, or this cluster, uses more. Wavy line: four words that the text repeats.")
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
    said = focus.run.comparison.words.said
    for each in card.sides:
        if each.separates:
            names = (said("the human texts"), f"those of {escaped(focus.candidate)}")
            st.warning(_flag(each, "tells the two sides apart here", names), icon=":material/flag:")
    for each in card.rest:
        if each.separates:
            names = (said("the texts here"), "all others")
            st.info(_flag(each, said("tells this cluster from all other texts"), names), icon=":material/flag:")


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
    said = focus.run.comparison.words.said
    lists = [
        (said("Over-represented in human texts"), card.human_phrases),
        (f"{said('Over-represented in texts')} of {focus.candidate}", card.model_phrases),
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
        said(
            "Phrases of one to three words by log odds with a Dirichlet prior (Monroe, Colaresi and Quinn 2008), "
            "counting texts that contain them. Each 95% interval is for one phrase by itself. Texts: how many "
            "contain it in this set : in the other."
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
    return pd.DataFrame({"phrase": rows["phrase"], "log odds": odds, said("texts"): texts})


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
        alt=said("Effect size of every simple property of the texts with its interval; the CSV has the numbers."),
    )
    st.caption(
        said(
            "Cliff's delta: how much more often a text of the first set exceeds one of the second than the reverse; "
            "0: no difference, ±1: no overlap. Lines: 95% intervals. A property that separates the sets by itself is "
            "flagged above."
        )
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
            contact_sheet.picture(focus.run, source, index)
            st.text(corpus.texts[index])
