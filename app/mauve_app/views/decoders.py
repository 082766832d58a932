"""Decoders: what each does to a model's texts, how its parameter changes the score, and texts under other decoders.

Variety is how different a candidate's answers to one prompt are, and whether candidates say the same.
"""

from __future__ import annotations

from collections import Counter

import pandas as pd
import streamlit as st

from mauve_app import cache
from mauve_app.components import charts, jobs, page_chrome, sidebar, sweep_panel
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import DecodersSection, State
from mauve_app.views import decoders_measures, decoders_study
from mauve_core.analyses.diversity import (
    ABOUT_AGREEMENT,
    AGREEMENT_COLUMNS,
    RunDiversity,
    agreement_cells,
    gap_sentence,
    measured_sentence,
    missed_sentence,
    never_reached,
    never_sentence,
    sentence,
    several_answers,
)
from mauve_core.analyses.text_measures import stored_measurements
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.figures.diversity import diversity_figure, diversity_frame
from mauve_core.figures.theme import short_name
from mauve_core.runs import Run

TITLES: dict[DecodersSection, str] = {
    "measures": "Measures",
    "variety": "Variety",
    "sweeps": "Sweeps",
    "generate": "Generate",
}


# Ways in which texts differ, and how long measuring takes.
_OF_TEXTS = (
    "**too predictable** or **too surprising** (perplexity), **too repetitive** or **too diverse** (repetition, "
    "distinct-4, self-BLEU), too short or too long",
    "Those on the left take seconds to minutes; for those on the right, a model reads every text.",
)

_OF_FEATURES = "**unlike** the {reference_items} (precision), or **too much alike** (recall, coverage, the Vendi score)"


def main() -> None:
    """Lay out the page."""
    head = page_chrome.head(
        *("Decoders", "Which decoder should a model use, and how should it be set?")
        if page_chrome.kind().has_words
        else ("Measures", f"In what way do a model's {page_chrome.words().items} differ?")
    )
    state = session.current()
    offered = _offered(state)
    usual = _usual_section(state) if access.may_change() else "measures"
    # the default section changes once there is a run
    with head:
        section = bound.segmented_control(
            "decoders_section",
            "Section",
            offered,
            usual,
            key="url_decoders_section",
            omit_default=False,
            label_visibility="collapsed",
        )
    if section == "generate":
        decoders_study.show(_run_if_any(state))
        return
    run = sidebar.opened_run()
    if section == "sweeps":
        sweep_panel.show(run, state)
        return
    if section == "variety":
        page_chrome.require_words(run)
        _variety(run)
    else:
        _measures(run)


def _offered(state: State) -> dict[DecodersSection, str]:
    """Sections by name: what changes something where one may, those about texts for texts or where a link asks."""
    about_texts, asked = ("variety", "generate"), state.decoders_section
    offered = [name for name in TITLES if page_chrome.kind().has_words or name not in about_texts or name == asked]
    return {name: TITLES[name] for name in offered if access.may_change() or name != "generate"}


def _usual_section(state: State) -> DecodersSection:
    return "measures" if cache.opened_run_id(state.run) is not None else "generate"


def _run_if_any(state: State) -> Run | None:
    run_id = cache.opened_run_id(state.run)
    try:
        return None if run_id is None else cache.load_run(run_id)
    except MauveLensError:
        return None  # a study needs no run; the other sections report the error


def _measures(run: Run) -> None:
    measurements = or_error(stored_measurements, run)
    measured = () if measurements is None else measurements.measures
    if measurements is None or not measured:
        words = run.comparison.words
        ways, how_long = _OF_TEXTS if run.comparison.has_words else (_OF_FEATURES, "They take seconds to minutes.")
        page_chrome.nothing_yet(
            "Nothing has been measured yet.",
            f"A score says how far a candidate is from the {words.reference_items}; measures say in what way: "
            f"{words.fill(ways)}. "
            f"Each is T(Q) of a candidate next to T(P) of the {words.reference_items}; the gap between the two is what "
            "counts.",
            f"Press *Measure* below, or run `mauve-lens measure {run.id}`. {how_long}",
        )
        if access.may_change():
            decoders_measures.show_form(run, measured)
        return
    decoders_measures.show(run, measurements)
    if not access.may_change():
        return
    missing = len({item.name for item in decoders_measures.offered(run)} - set(measured))
    title = f"Measure the other {missing}, or measure again" if missing else "Measure again"
    with jobs.box(decoders_measures.slot(run), title):
        decoders_measures.show_form(run, measured)


# Answers side by side, and pixels of each.
_COLUMNS, _HEIGHT = 2, 160

# Different answers shown; those given most often come first.
_MOST = 20

_VARIETY_HELP = (
    "Filled: answers to one prompt. Open: as many answers to different prompts. Lines are 95% intervals over prompts. "
    "The closer the two are, the less the answers to a prompt have in common."
)


def _variety(run: Run) -> None:
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
        found = cache.answer_diversity(run.id)
    except InputError as error:
        st.info(escaped(str(error)))
        return
    said = (sentence(f"**{escaped(name)}**", own, found.gap) for name, own in found.candidates.items())
    st.markdown("\n".join(f"- {each}" for each in said))
    _picture(run, found)
    _answers(run, found)
    if found.pairs:
        with page_chrome.expander(
            "Do candidates say the same?", "variety_pairs", "compare_arrows", asked=False
        ) as part:
            if part.open:
                _pairs(found)
    with page_chrome.expander("Prompts, and human clusters missed", "variety_about", "info", asked=False) as part:
        if part.open:
            _about_variety(run, found)


def _picture(run: Run, found: RunDiversity) -> None:
    order = [each.name for each in run.comparison.candidates]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("Answers to one prompt and to different prompts", anchor=False, help=_VARIETY_HELP)
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
        groups = cache.answers_by_prompt(run.id, name)
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


def _about_variety(run: Run, found: RunDiversity) -> None:
    for name, own in found.candidates.items():
        lines = [measured_sentence(own)]
        missed = found.missed.get(name)
        if missed is not None:
            lines.append(missed_sentence(missed, run.comparison.words))
            never = never_reached(run, missed)
            lines += [never_sentence(never, escaped, run.comparison.words)] if never else []
        st.markdown(f"**{escaped(name)}**: {' '.join(lines)}")
    if found.single:
        st.markdown(f"One answer to a prompt, so not measured: {', '.join(map(escaped, found.single))}.")
    st.caption(gap_sentence(found.gap))


if __name__ == "__main__":
    main()
