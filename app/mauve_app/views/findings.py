"""Findings: what the candidate does more or less than people, in sentences that were tested."""

from __future__ import annotations

import numpy as np
import streamlit as st

from mauve_app import cache
from mauve_app.components import charts, focus, page_chrome, text_search, texts
from mauve_app.components.markup import escaped
from mauve_app.components.page_chrome import words
from mauve_app.components.sidebar import opened_run
from mauve_app.selection import clicked_value
from mauve_app.url import bound, session
from mauve_app.url.parameters import State, changed, to_query
from mauve_app.views import findings_two_files
from mauve_app.views.findings_two_files import finding_in_markdown
from mauve_core.analyses.selection import Shown, TextSearch
from mauve_core.base.config import FDR, HUMAN
from mauve_core.base.errors import InputError
from mauve_core.base.formatting import NONE, as_percent
from mauve_core.figures.findings import findings_figure
from mauve_core.figures.theme import HUMAN_COLOUR, candidate_colour, short_name
from mauve_core.findings.finding import Finding, contrasted, findings_frame, masks
from mauve_core.findings.why_cards import labelled
from mauve_core.runs import Run

# Findings in the chart; the CSV has all.
MOST = 15

_CHART = "findings_chart"
# Session key: the finding of each row of the chart.
_KEYS = "findings_keys"

# Page, title, icon and what to change of the view.
_ELSEWHERE: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("views/clusters.py", "Show in Clusters", ":material/bar_chart:", {"clusters_order": "found"}),
    ("views/map.py", "Show on the map", ":material/scatter_plot:", {}),
)


def main() -> None:
    """Lay out the page: the answer, the picture, and the texts that show the chosen finding; two files below."""
    page_chrome.head(
        "Findings", f"What does the candidate do more or less than {words().references}, and how certain is that?"
    )
    run, state = opened_run(), session.current()
    candidate, reference = text_search.findings_of(run, state)
    answer = st.container()
    _controls(run, candidate)
    try:
        found = cache.text_findings(run.id, candidate, reference)
    except InputError as error:
        st.info(escaped(str(error)))
    else:
        with answer:
            st.markdown(finding_in_markdown(found, candidate, reference, run.comparison.words))
        if found:
            _of_run(run, state, found)
    if run.comparison.has_words:
        findings_two_files.show()


def _of_run(run: Run, state: State, found: tuple[Finding, ...]) -> None:
    chosen = next((row for row, each in enumerate(found) if each.key == state.search_finding), 0)
    left, right = st.columns(2, gap="medium")
    with left:
        _picture(run, found, chosen)
    with right:
        _one(run, state, found[chosen])


def _controls(run: Run, candidate: str) -> None:
    names, words = [each.name for each in run.comparison.candidates], run.comparison.words
    with focus.row():
        bound.selectbox("candidate", "Candidate", names, names[0], omit_default=False, width=240)
        others = [source.name for source in run.comparison.sources if source.name != candidate]
        if len(others) > 1:
            bound.selectbox(
                "reference",
                "Compared with",
                others,
                HUMAN,
                width=240,
                format_func=lambda name: words.reference_items if name == HUMAN else name,
                help=f"The {words.reference_items}, or another candidate, such as an earlier version of a model.",
            )


def _picture(run: Run, found: tuple[Finding, ...], chosen: int) -> None:
    drawn = found[: max(MOST, chosen + 1)]
    st.session_state[_KEYS] = [each.key for each in drawn]
    charts.show_chart(
        findings_figure(drawn, [each.name for each in run.comparison.candidates], chosen=chosen),
        key=_CHART,
        file_name=f"{run.name}-{found[0].candidate}-findings",
        on_select=_choose,
        selection_mode="points",
        alt=f"Share of {words().items} of either side that each finding counts, with the interval of the difference; "
        "the CSV has the numbers.",
    )
    more = f" {len(found) - len(drawn)} smaller ones are in the CSV." if len(found) > len(drawn) else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            (
                "Bars: 95% interval of the difference. Of the gap: how far the frontier integral falls if the "
                f"candidate's {words().items} are weighted to have it as often, with its 95% interval; {NONE}: not "
                f"above 0, or too few {words().items}. Shares overlap. Expected share of false findings: at most "
                f"{as_percent(FDR)}. Click a row for its {words().items}."
            )
            + more,
            width="stretch",
        )
        charts.csv_button(
            lambda: findings_frame(run, found[0].candidate, reference=found[0].reference),
            key="findings_csv",
            file_name=f"{run.name}-{found[0].candidate}-findings",
        )


def _choose() -> None:
    row, keys = clicked_value(bound.selection_of(_CHART), 0), st.session_state[_KEYS]
    if row is not None and row < len(keys):
        session.update(search_finding=keys[row], read_text=None, human_text=None, model_text=None)


def _one(run: Run, state: State, finding: Finding) -> None:
    """The finding in words, where else it can be seen, and the texts that show it."""
    st.header(f"It {escaped(finding.does)}", anchor=False)
    st.markdown(f"{escaped(finding.numbers)}: {escaped('; '.join(finding.remarks))}.")
    listed = (
        "the list has all that meet the condition, also those of prompts that suggested it."
        if run.comparison.has_words
        else "shown are all, also those that suggested it."
    )
    st.caption(f"Tested on {finding.tested_model:,} and {finding.tested_human:,} {finding.words.items}; {listed}")
    _clusters(run, finding)
    for each in finding.also:
        st.caption(f"Largely the same {finding.words.items}: it {escaped(each.does)} ({escaped(each.numbers)}).")
    with st.container(horizontal=True, vertical_alignment="center"):
        for page, title, icon, changes in _ELSEWHERE:
            if finding.reference == HUMAN or page.endswith("map.py"):
                view = changed(state, candidate=finding.candidate, search_finding=finding.key, **changes)
                st.page_link(page, label=title, icon=icon, query_params=to_query(view))
    if run.corpora[finding.candidate].media is not None:
        _both_sides(run, finding)
    else:
        _list(run, finding)


def _list(run: Run, finding: Finding) -> None:
    """The texts that show the finding."""
    side = finding.candidate if finding.shown_by == "model" else finding.reference
    shown = Shown(finding.reference, finding.candidate, finding.key, finding.condition, finding.words.items)
    stack = cache.stack(run.id)
    sizes = (len(run.corpora[name]) for name in (finding.reference, finding.candidate))
    counted = dict(zip((finding.reference, finding.candidate), masks(finding, *sizes), strict=True))
    everything = {name: np.zeros(len(run.corpora[name]), dtype=np.bool_) for name in stack.names}
    places = np.flatnonzero(text_search.stacked(everything | {side: counted[side]}, stack.names))
    text_search.show_list(run, TextSearch(source=side, shown=shown), places)


def _clusters(run: Run, finding: Finding) -> None:
    """The clusters in which the gap falls most if the finding is held equal, where it accounts for a part of it."""
    equal, comparison = finding.held_equal, run.comparison
    if equal is None or finding.reference != HUMAN:
        return
    names = cache.cluster_names(run.id, "pairwise", finding.candidate, comparison.median_seed(finding.candidate))
    st.caption(f"The gap falls most in: {escaped('; '.join(labelled(names, each) for each in equal.clusters))}.")


def _both_sides(run: Run, finding: Finding) -> None:
    """A sheet for either side, the reference first."""
    names = (finding.reference, finding.candidate)
    titles = [run.comparison.words.reference.capitalize() if name == HUMAN else short_name(name) for name in names]
    shown, other = titles if finding.shown_by == "human" else titles[::-1]
    st.caption(
        f"{escaped(shown)}: {finding.words.items} that {escaped(finding.condition)}. "
        f"{escaped(other)}: those of which this is not so."
    )
    sides = contrasted(finding, *(len(run.corpora[name]) for name in names))
    for place, name, title, indices, field in zip(
        st.columns(2, gap="medium"), names, titles, sides, ("human_text", "model_text"), strict=True
    ):
        with place:
            texts.show_texts(
                run,
                name,
                indices,
                field,
                title=title,
                colour=_side_colour(run, name),
                pager=False,
                key=f"findings_{field}",
            )


def _side_colour(run: Run, name: str) -> str:
    return HUMAN_COLOUR if name == HUMAN else candidate_colour([each.name for each in run.comparison.candidates], name)


if __name__ == "__main__":
    main()
