"""Variety: how different a candidate's answers to one prompt are, and whether candidates say the same."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import streamlit as st

from mauve_app.caching import texts
from mauve_app.components import charts, folded, page_chrome
from mauve_app.components.markup import escaped
from mauve_app.url import bound
from mauve_core.base.errors import InputError
from mauve_core.experiments.diversity import RunDiversity, never_reached, several_answers
from mauve_core.experiments.diversity.wording import (
    ABOUT_AGREEMENT,
    AGREEMENT_COLUMNS,
    agreement_cells,
    gap_sentence,
    measured_sentence,
    missed_sentence,
    never_sentence,
    sentence,
)
from mauve_core.figures.diversity import diversity_figure, diversity_frame
from mauve_core.figures.theme import short_name
from mauve_core.store import Run

# Answers side by side, and pixels of each.
_COLUMNS, _HEIGHT = 2, 160

# Different answers shown; those given most often come first.
_MOST = 20

_HELP = (
    "Filled: answers to one prompt. Open: as many answers to different prompts. Lines are 95% intervals over prompts. "
    "The closer the two are, the less the answers to a prompt have in common."
)


def show(run: Run) -> None:
    """The answer in sentences, the picture, and folded what it rests on."""
    if not several_answers(run):
        page_chrome.nothing_yet(
            "Every prompt has one answer in this run.",
            "A score cannot tell a model that gives the same answer eight times from one that gives eight. With "
            "several answers to a prompt, this section counts how many are different, and compares them with answers "
            "to different prompts.",
            "Generate several texts per prompt in *Generate*, or by `mauve-lens study --repeats 8`; of files of your "
            "own, name the field of the prompts with `--prompt-field`.",
        )
        return
    try:
        found = texts.diversity(run.id)
    except InputError as error:
        st.info(escaped(str(error)))
        return
    said = (sentence(f"**{escaped(name)}**", own, found.gap) for name, own in found.candidates.items())
    st.markdown("\n".join(f"- {each}" for each in said))
    _picture(run, found)
    _answers(run, found)
    if found.pairs:
        with folded.part("Do candidates say the same?", "variety_pairs", "compare_arrows", asked=False) as part:
            if part.open:
                _pairs(found)
    with folded.part("Prompts, and human clusters missed", "variety_about", "info", asked=False) as part:
        if part.open:
            _about(run, found)


def _picture(run: Run, found: RunDiversity) -> None:
    order = [each.name for each in run.comparison.candidates]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("Answers to one prompt and to different prompts", anchor=False, help=_HELP)
        st.space("stretch")
        charts.csv_button(lambda: diversity_frame(found), key="variety_csv", file_name=f"{run.name}-variety")
    charts.show_chart(
        diversity_figure(found, order),
        key="variety_chart",
        file_name=f"{run.name}-variety",
        alt="The number of different answers of each candidate, and cosine distance, Vendi score, clusters reached and "
        "self-BLEU of answers to one prompt and to different prompts; the CSV has the numbers.",
    )


@st.fragment
def _answers(run: Run, found: RunDiversity) -> None:
    """All answers of a candidate to one prompt, the prompts with the fewest different ones first."""
    measured = list(found.candidates)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("Answers", anchor=False, help="Prompts with the fewest different answers first.")
        st.space("stretch")
        name = bound.selectbox("candidate", "Candidate", measured, measured[0], omit_default=False, width=240)
        if name not in measured:
            name = measured[0]
        groups = texts.answers(run.id, name)
        place = st.pagination(len(groups), max_visible_pages=3, key=f"variety_prompt_{run.index_of(name)}")
    corpus, rows = run.corpora[name], groups[place - 1]
    if corpus.prompts is not None and corpus.prompts[rows[0]]:
        st.caption("Prompt")
        st.text(corpus.prompts[rows[0]])
    same = Counter(corpus.texts[row] for row in rows)
    differ = "all identical" if len(same) == 1 else f"{len(same)} different"
    st.caption(f"{len(rows)} answers, {differ}")
    for index, (text, count) in enumerate(same.most_common(_MOST)):
        if index % _COLUMNS == 0:
            columns = st.columns(_COLUMNS)
        with columns[index % _COLUMNS], st.container(border=True, height=_HEIGHT, gap="xsmall"):
            if count > 1:
                st.caption(f"{count} times")
            st.text(text)
    if len(same) > _MOST:
        st.caption(f"and {len(same) - _MOST:,} more")


def _pairs(found: RunDiversity) -> None:
    cells = [agreement_cells(each, short_name) for each in found.pairs]
    columns = ["candidates", *AGREEMENT_COLUMNS[1:]]
    st.dataframe(pd.DataFrame(cells, columns=columns), hide_index=True, key="variety_pairs_table")
    st.caption(ABOUT_AGREEMENT)


def _about(run: Run, found: RunDiversity) -> None:
    for name, own in found.candidates.items():
        lines = [measured_sentence(own)]
        missed = found.missed.get(name)
        if missed is not None:
            lines.append(missed_sentence(missed))
            never = never_reached(run, missed)
            lines += [never_sentence(never, escaped)] if never else []
        st.markdown(f"**{escaped(name)}**: {' '.join(lines)}")
    if found.single:
        st.markdown(f"One answer to a prompt, so not measured: {', '.join(map(escaped, found.single))}.")
    st.caption(gap_sentence(found.gap))
