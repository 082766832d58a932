"""Compare: which candidate is closest to the human texts, how certain that is, and where each one differs.

Under the answer stand divergence curves and scores, the candidates in order, and what the run shows beyond its
leaderboard. Folded below: all scores, the leaderboard at the size of human vs. human, differences of every two
candidates, warnings, how the run was made, and its text for a paper. A run that is a sample of corpora in shards has
the scores over all texts on top.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mauve_app import cache
from mauve_app.components import charts, comparison_settings, jobs, page_chrome, scores, sidebar, tour
from mauve_app.components.jobs import JobSlot
from mauve_app.components.markup import escaped
from mauve_app.components.page_chrome import words
from mauve_app.server import access
from mauve_app.url import bound, session
from mauve_app.url.parameters import State, changed, to_query
from mauve_core.analyses.attached_results import Finding
from mauve_core.analyses.comparison_task import RecompareTask, suggested_name
from mauve_core.analyses.over_shards import (
    ABOUT,
    answers_over_all,
    is_sample,
    over_all_rows,
    same_texts,
    sample_sentence,
    stored_over_shards,
)
from mauve_core.base.config import EncoderConfig, PartitionKind
from mauve_core.base.errors import MauveLensError
from mauve_core.base.formatting import with_spreads
from mauve_core.encoders.catalogue import with_weights
from mauve_core.figures import differences, frontier, leaderboard
from mauve_core.figures.theme import short_name
from mauve_core.findings.format_checks import COLUMNS, Preflight, rule_sentence, short_headline, shown_rows, steps_for
from mauve_core.reporting.paper import latex_table, markdown_table, methods_text
from mauve_core.runs import Run
from mauve_core.scoring.result import Comparison, Difference, Estimate
from mauve_core.scoring.sides import minor_advice
from mauve_core.scoring.tables import (
    LIKE_FOR_LIKE_NOTE,
    disagreement_sentence,
    human_vs_human_label,
    interval_of,
    length_in_words,
    letters_sentence,
    like_for_like_sentence,
    mean_and_spread,
    pairing_sentence,
    pooling_in_words,
    rank_label,
    rank_sentence,
    reference_sentences,
    spread_sentence,
    standings,
    tests_sentence,
    texts_interval,
)
from mauve_core.shards.plan import ShardedComparison
from mauve_core.stats.scores import REFERENCE_SCORE, SCORES
from mauve_core.texts.normalizing_steps import titles_of_steps

# Widths of the curves and the scores beside them.
_SHARES = [5, 4]


def main() -> None:
    """Lay out the page: the answer, its two pictures, the candidates in order, and the rest folded."""
    with page_chrome.head(
        "Compare",
        f"Which candidate is closest to the {words().reference_items} under the run's encoder, and how certain is "
        "that?",
    ):
        run = sidebar.opened_run()
        state = session.current()
        tour.offer()
        scores.sensitivity(state, run.comparison)
    sampled = _over_shards(run)
    answer = st.container()
    _formats(run)
    _serious_warnings(run.comparison)
    left, right = st.columns(_SHARES, gap="small")
    with left:
        _curves(run.id)
    with right:
        _scores(run, state)
    places = st.container()
    _all_scores(run.id)
    _like_for_like(run)
    _equal_sizes_over_shards(run)
    _differences(run)
    _other_warnings(run.comparison)
    _how_made(run.comparison)
    _for_a_paper(run, state, state.partition)
    with answer:  # last, because a run without what is derived from it takes a while to say why
        scores.show_verdict(run, state, sampled=sampled)
        st.page_link(
            "views/findings.py",
            label=f"What each candidate does more or less than {words().references}, in tested sentences",
            icon=":material/arrow_forward:",
            query_params=to_query(state),
        )
    with places:
        _ranked_list(run, state)
        scores.show_rest(run)
        if run.comparison.has_words:
            _findings(run, state)


def _scores(run: Run, state: State) -> None:
    partition = state.partition
    rescored = cache.rescored(run.id, partition, state.scale, state.smoothing)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("Scores", anchor=False, help=_about(run, rescored))
        st.space("stretch")
        charts.csv_button(
            lambda: leaderboard.leaderboard_frame(rescored, partition).assign(smoothing=state.smoothing),
            key="leaderboard_csv",
            file_name=f"{run.name}-leaderboard",
        )
    charts.show_chart(
        leaderboard.score_figure(rescored, partition),
        key="leaderboard_chart",
        file_name=f"{run.name}-mauve",
        alt="MAUVE of all candidates with spread over seeds and bootstrap interval; the list below has the numbers.",
    )


def _about(run: Run, shown: Comparison) -> str:
    score = shown.config.score
    return (
        f"Thick: ± sd over {score.seeds} k-means seeds; thin: {score.confidence:.0%} bootstrap interval. A gray "
        f"bracket joins candidates of equal rank. {rank_sentence(run.comparison)}"
    )


RANKED_LIST = "ranked_list"
# Widths in pixels.
_RANK, _NAME, _SCORE = 32, 200, 270


def _ranked_list(run: Run, state: State) -> None:
    """A row for each candidate, the best first, and one for human vs. human; what their intervals are."""
    rescored = cache.rescored(run.id, state.partition, state.scale, state.smoothing)
    st.header("Leaderboard", anchor=False)
    with st.container(key=RANKED_LIST, gap=None):
        for index, place in enumerate(standings(rescored, kind=state.partition)):
            name = place.candidate.name
            with _row(
                f"place_{index}",
                rank_label(place.rank, place.tied),
                short_name(name),
                place.candidate.estimate("mauve", state.partition),
            ):
                _reason(run, state, name)
        halves = leaderboard.shown_halves(rescored, state.partition)
        if halves is not None:
            label = human_vs_human_label(rescored)
            with _row("place_human", rank_label(0, False), label, halves.scores["mauve"]):
                human = words().reference_items
                about = f"about what a candidate that does not differ from the {human} would score"
                st.caption(about, width="content")
    reach = f"In parentheses: {texts_interval(rescored.config.score.confidence, rescored.words.items)}."
    st.caption(" ".join(filter(None, [reach, pairing_sentence(rescored)])))


def _row(key: str, rank: str, name: str, estimate: Estimate) -> DeltaGenerator:
    row = st.container(key=key, horizontal=True, vertical_alignment="center", gap="small")
    with row:
        st.markdown(rank, width=_RANK)
        st.markdown(f"**{escaped(name)}**", width=_NAME)
        st.markdown(f"**{mean_and_spread(estimate)}** ({interval_of(estimate)})", width=_SCORE)
    return row


def _reason(run: Run, state: State, name: str) -> None:
    """What is found in the candidate's costliest cluster, which opens its texts; else its clusters."""
    found, words = cache.main_reason(run.id, name), run.comparison.words
    cluster = None if found is None else found.cluster
    if found is not None:
        label = (found.sentence if found.where == "all" else found.finding)(words)
        names = cache.cluster_names(run.id, "pairwise", name, run.comparison.median_seed(name))
        detail = found.detail[:1].upper() + found.detail[1:]
        about = f"{detail}. Opens “{names[found.cluster]}”: {found.cost}."
    elif cache.gap_test(run.id, "pairwise", name).explains:
        label, about = "no clear main difference", "Opens its clusters."
    else:
        label, about = f"could be a gap between {words.reference_items}", "Opens its clusters."
    view = changed(state, candidate=name, partition=None, seed=None, cluster=cluster)
    st.page_link(
        "views/clusters.py",
        label=escaped(label),
        help=escaped(about),
        icon=":material/arrow_forward:",
        query_params=to_query(view),
    )


_CURVES_HELP = (
    "Each curve plots a candidate's two errors against each other as the mixture R goes from the model's {items} to "
    "the {reference} ones. A curve near the upper right corner means that both errors are small; MAUVE is the area "
    "under it. Hover over a curve for the clusters that make most of each error there, under the median seed. "
)


@st.fragment
def _curves(run_id: str) -> None:
    """The chart, each curve with its candidate's name, and the errors that belong to its marks."""
    run, state = cache.load_run(run_id), session.current()
    scale = scores.scale_of(state, run.comparison)
    points = frontier.curve_points(cache.error_curves(run_id, state.partition, state.smoothing), scale)
    rescored = cache.rescored(run_id, state.partition, state.scale, state.smoothing)
    order = [standing.candidate.name for standing in standings(rescored, kind=state.partition)]
    chosen = state.candidate if state.candidate in order else order[0]
    banded = frontier.banded_names(order, chosen)
    bands = frontier.bands_in_words([escaped(short_name(name)) for name in banded], len(order))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("Divergence curves", anchor=False, help=f"{words().fill(_CURVES_HELP)}{bands}")
        st.space("stretch")
        with st.popover("Errors", icon=":material/swap_horiz:", type="tertiary", key="errors"):
            weight = _curve_controls(state, order, choosing=len(banded) < len(order))
            _errors_at_weight(frontier.at_weight(points, weight, order))
        charts.csv_button(lambda: points, key="frontier_csv", file_name=f"{run.name}-divergence-curves")
    charts.show_chart(
        frontier.frontier_figure(
            points,
            weight,
            order=order,
            chosen=chosen,
            leading=cache.leading_clusters(run_id, state.partition, state.smoothing),
        ),
        key="frontier_chart",
        file_name=f"{run.name}-divergence-curves",
        alt="Divergence curves of all candidates; the table under Errors gives both errors at the chosen weight.",
    )
    scores.note_generations(run, *order)


def _curve_controls(state: State, order: list[str], *, choosing: bool) -> float:
    weight = scores.weight(
        state,
        "Position of the marks on the curves, R = λ P + (1 − λ) Q. At 0.5 both sides count equally. The score "
        "comes from the whole curve, so this changes no rank.",
    )
    if choosing:
        bound.selectbox(
            "candidate",
            "Band of",
            order,
            order[0],
            omit_default=False,
            help="Highlights this candidate's curve, with its band from the lowest to the highest k-means seed: how "
            "far chance in the clustering moves it. The other pages then show this candidate.",
        )
    return weight


def _errors_at_weight(at_weight: pd.DataFrame) -> None:
    st.markdown(
        f"**Adds**: the model has what the {words().reference_items} lack, KL(Q|R).  \n"
        f"**Misses**: the {words().reference_items} have what the model lacks, KL(P|R)."
    )
    st.table(
        pd.DataFrame(
            {
                "Candidate": [f"**{escaped(short_name(name))}**" for name in at_weight["candidate"]],
                "Adds (type I)": with_spreads(at_weight["type_1"], at_weight["type_1_sd"]),
                "Misses (type II)": with_spreads(at_weight["type_2"], at_weight["type_2_sd"]),
            }
        ),
        border="horizontal",
        hide_index=True,
    )
    st.caption(f"In nats, mean ± sd over k-means seeds. R = λ P + (1 − λ) Q, P: {words().references}; Q: the model.")


ALL_SCORES = "all_scores"


@st.fragment
def _all_scores(run_id: str) -> None:
    """Drawn when it is opened."""
    folded = st.expander("All scores", icon=":material/table_chart:", key=ALL_SCORES, on_change="rerun")
    if not folded.open:
        return
    run, state = cache.load_run(run_id), session.current()
    with folded:
        _score_table(run, state)


def _score_table(run: Run, state: State) -> None:
    partition = state.partition
    rescored = cache.rescored(run.id, partition, state.scale, state.smoothing)
    score = rescored.config.score
    frame = leaderboard.leaderboard_frame(rescored, partition).assign(smoothing=state.smoothing)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.caption(f"↑ larger is closer to the {run.comparison.words.reference_items}, ↓ smaller is.")
        charts.csv_button(lambda: frame, key="scores_csv", file_name=f"{run.name}-scores")
    st.table(leaderboard.shown_table(frame, escaped), border="horizontal", hide_index=True)
    charts.show_chart(
        leaderboard.interval_figure(rescored, partition),
        key="scores_chart",
        file_name=f"{run.name}-scores",
        alt="Scores of all candidates with spread over seeds and bootstrap interval; the table above has the numbers.",
    )
    spread = f"Mean ± sd over {score.seeds} k-means seeds"
    if any(source.generations > 1 for source in run.comparison.sources):
        sentence = spread_sentence(run.comparison)
        spread = f"{sentence[0].upper()}{sentence[1:]}. n: {run.comparison.words.items} of one generation × generations"
    st.caption(
        f"{spread}; below it the {score.confidence:.0%} bootstrap interval (thin line). {_about_texts(run)}"
        f"{scores.described(state, partition, run.comparison.config.score.scale)}. "
        f"{run.comparison.human.n:,} {run.comparison.words.reference_items}.{_about_ties(run, rescored, state)}"
        f"{_about_halves(rescored, partition)}"
    )


def _about_texts(run: Run) -> str:
    """How texts were normalized, if they were."""
    steps = titles_of_steps(run.comparison.normalization)
    return f"Normalized on every side before encoding: {steps}. " if steps else ""


def _about_ties(run: Run, shown: Comparison, state: State) -> str:
    if len(shown.candidates) < 2:
        return ""
    own = run.comparison.config.score.scale
    changed = shown.config.score.scale != own or state.smoothing != "none"
    tested = f" at the run's own c = {own:g}, without smoothing" if changed else ""
    return f" Gray bracket: tied, {leaderboard.tie_in_words(shown)}{tested}. {letters_sentence(shown)}"


def _about_halves(shown: Comparison, partition: PartitionKind) -> str:
    if leaderboard.shown_halves(shown, partition) is None:
        return ""
    return f" {escaped(reference_sentences(shown))}"


DIFFERENCES = "differences"
_COMPARED = REFERENCE_SCORE


def _differences(run: Run) -> None:
    """The matrix at the run's own settings; nothing for one candidate."""
    if run.comparison.differences:
        _folded(run.id)


@st.fragment
def _folded(run_id: str) -> None:
    """Drawn when it is opened."""
    run = cache.load_run(run_id)
    found = differences.ranked_pairs(run.comparison, _COMPARED)
    apart = sum(each.told_apart for each in found)
    pairs = "1 pair" if len(found) == 1 else f"{len(found):,} pairs"
    title = f"Differences: {apart:,} of {pairs} told apart"
    folded = st.expander(title, icon=":material/grid_on:", key=DIFFERENCES, on_change="rerun")
    if folded.open:
        with folded:
            _matrix(run, found)


def _matrix(run: Run, found: Sequence[Difference]) -> None:
    comparison = run.comparison
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{SCORES[_COMPARED].title} of the row minus that of the column**", width="content")
        st.space("stretch")
        charts.csv_button(
            lambda: differences.differences_frame(comparison),
            key="differences_csv",
            file_name=f"{run.name}-differences",
        )
    charts.show_chart(
        differences.differences_figure(comparison, _COMPARED),
        key="differences_chart",
        file_name=f"{run.name}-differences",
        alt="Differences of every two candidates, and which are told apart; the CSV has the numbers.",
    )
    told = (tests_sentence(found, comparison.words), disagreement_sentence(found))
    st.caption(
        f"Violet: the row is closer to the {comparison.words.reference_items}; brown: the column is. "
        f"Bold with a dot: told apart.  \n{' '.join(filter(None, told))}  \nPairwise partitions, the "
        f"run's own settings, at this n and k; {comparison.config.score.confidence:.0%} intervals and p on hover."
    )


FINDINGS = "findings"


def _findings(run: Run, state: State) -> None:
    """The findings as links; nothing without any."""
    found = cache.findings(run.id)
    if not found:
        return
    st.header("Beyond the score", anchor=False)
    with st.container(key=FINDINGS, gap=None):
        for each in found:
            page, view = _view_of(each, state)
            st.page_link(
                page, label=escaped(each.sentence), icon=":material/arrow_forward:", query_params=to_query(view)
            )


def _view_of(found: Finding, state: State) -> tuple[str, State]:
    """The page that shows it, and what it shows there."""
    if found.page == "decoders":
        view = changed(state, decoders_section="measures", ranking_measure=found.item)
        return "views/decoders.py", view
    if found.page == "probes":
        return "views/probes.py", changed(state, probes_section="scores", probes_perturbation=found.item)
    return "views/methods.py", changed(state, methods_section="encoders")


def _formats(run: Run) -> None:
    """One line, which opens to a table; nothing where no format is flagged."""
    found = cache.preflight_of(run.id)
    if not found.shown:
        return
    words = run.comparison.words
    rows = [
        (kind, f"**{escaped(short_name(candidate))}**", *cells)
        for kind, candidate, *cells in shown_rows(found, words=words)
    ]
    with st.expander(short_headline(found), icon=":material/warning:"):
        st.table(
            pd.DataFrame(rows, columns=list(map(words.fill, COLUMNS))),
            border="horizontal",
            hide_index=True,
        )
        st.caption(f"The scores below count these differences, too. {rule_sentence(found, words)}")
        if found.flagged and access.may_change():
            _normalize(run, found)


def _normalize(run: Run, found: Preflight) -> None:
    """The steps that the flagged kinds need, ticked, and a button that compares the run's texts without them."""
    encoder = run.comparison.config.encoder
    if encoder is None:
        st.caption(
            "This run has no encoder of its own. To compare normalized texts, name one: "
            f"`mauve-lens runs again {run.id} --normalize STEP,... --encoder MODEL`."
        )
        return
    key = f"normalize_{run.id}"
    st.session_state.setdefault(key, list(steps_for(found)))
    steps = comparison_settings.pick_steps(key)
    config = run.comparison.config
    jobs.button(
        JobSlot(f"{key}_start", RecompareTask.kind),
        "Normalize as a new run",
        lambda: RecompareTask(suggested_name(run.name, config, config, steps), run.id, config, normalize=steps),
        models=[(encoder.model, encoder.revision)],
        filled=bool(steps),
        icon=":material/format_clear:",
        primary=False,
        tip=f"Encodes the normalized {words().items} and compares them with this run's settings. This run stays as it "
        "is.",
    )


def _over_shards(run: Run) -> bool:
    """Who is closest over all texts, their scores, and that the run is a sample; nothing for other runs.

    Returns whether the rest of the page is of a sample.
    """
    found = _read_over_shards(run)
    if found is None:
        return False
    if not is_sample(run, found):  # the page's own answer is about the same texts
        for said in same_texts(found):
            st.markdown(scores.in_markdown(said))
        return False
    with st.container(border=True, key="over_shards"):
        st.header("Over all texts", anchor=False, help=ABOUT)
        for said in answers_over_all(found, run):
            st.markdown(scores.in_markdown(said))
        _table_over_shards(found)
        st.caption(sample_sentence(run, found))
    return True


def _equal_sizes_over_shards(run: Run) -> None:
    """The scores over all texts, folded, if the run has all of them."""
    with suppress(MauveLensError):  # the top of the page says so
        found = stored_over_shards(run)
        if found is not None and not is_sample(run, found):
            with st.expander("Over all texts, from shards", icon=":material/stacks:", key="over_shards"):
                st.caption(f"{sample_sentence(run, found)} {ABOUT}")
                _table_over_shards(found)


def _read_over_shards(run: Run) -> ShardedComparison | None:
    try:
        return stored_over_shards(run)
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return None


def _table_over_shards(found: ShardedComparison) -> None:
    columns, rows = over_all_rows(found)
    cells = [(f"**{escaped(short_name(name))}**", *rest) for name, *rest in rows]
    st.table(pd.DataFrame(cells, columns=list(columns)), border="horizontal", hide_index=True)


def _like_for_like(run: Run) -> None:
    """The table at the run's own settings; nothing for a run without these scores."""
    columns, rows = leaderboard.like_for_like_rows(run.comparison)
    if not rows:
        return
    words = run.comparison.words
    part = st.expander(
        f"Like for like with {words.halves}", icon=":material/balance:", key="like_for_like", on_change="rerun"
    )
    if part.open:
        with part:
            cells = [
                (f"**{escaped(short_name(name))}**", *(each.replace("\n", "  \n") for each in rest))
                for name, *rest in rows
            ]
            st.table(pd.DataFrame(cells, columns=list(columns)), border="horizontal", hide_index=True)
            st.caption(f"{like_for_like_sentence(run.comparison)}  \n{words.fill(LIKE_FOR_LIKE_NOTE)}")


def _serious_warnings(comparison: Comparison) -> None:
    """Warnings that put all scores in doubt, a line each."""
    _lines(_serious(comparison))


def _other_warnings(comparison: Comparison) -> None:
    """The other warnings, folded."""
    serious = _serious(comparison)
    others = [warning for warning in comparison.warnings if warning not in serious]
    if others:
        title = (
            f"1 limit of these {words().items}"
            if len(others) == 1
            else f"{len(others)} limits of these {words().items}"
        )
        with st.expander(title, icon=":material/info:", key="warnings"):
            _lines(others)


def _serious(comparison: Comparison) -> list[str]:
    minor = minor_advice(comparison.sources, comparison.config)
    return [warning for warning in comparison.warnings if warning not in minor]


def _lines(warnings: Sequence[str]) -> None:
    for warning in warnings:
        with st.container(horizontal=True, gap="small", wrap=False):
            st.markdown(":orange[:material/warning:]", width="content")
            st.text(warning, width="stretch")


def _how_made(comparison: Comparison) -> None:
    """Sources with all exclusions, settings, versions, times."""
    part = st.expander(
        f"{words().items.capitalize()}, exclusions, settings, versions",
        icon=":material/tune:",
        key="settings",
        on_change="rerun",
    )
    if part.open:
        with part:
            st.dataframe(sources_frame(comparison), hide_index=True, key="sources_table")
            for source in comparison.sources:
                for note in source.notes:
                    st.text(f"{comparison.words.source(source.name)}: {note}")
            left, right = st.columns(2)
            encoder = comparison.config.encoder
            left.caption("Settings" if encoder is None else f"Settings; encoder {_as_used(encoder, comparison)}")
            left.json(comparison.config.as_dict())
            right.caption("Environment")
            right.json(dict(comparison.environment))


def _as_used(encoder: EncoderConfig, comparison: Comparison) -> str:
    used = [with_weights(encoder.model)]
    if comparison.has_words:
        used += [length_in_words(encoder, comparison.human), pooling_in_words(encoder, comparison.human)]
    return escaped("; ".join(used))


def sources_frame(comparison: Comparison) -> pd.DataFrame:
    """One row per source: size, file, number of texts that the encoder cut, digest."""
    return pd.DataFrame(
        [
            {
                "Source": comparison.words.source(source.name),
                words().items.capitalize(): source.n,
                "Median tokens": source.tokens_median,
                "Cut by the encoder": source.cut,
                "File": source.file_name,
                "SHA-256": source.digest[:16],
            }
            for source in comparison.sources
        ]
    )


_TEXTS = {
    "methods": ("Methods paragraph", "methods.txt", "text/plain", methods_text),
    "latex": ("LaTeX", "leaderboard.tex", "text/x-tex", latex_table),
    "markdown": ("Markdown", "leaderboard.md", "text/markdown", markdown_table),
}
_TEXT_HEIGHT = 320


def _for_a_paper(run: Run, state: State, partition: PartitionKind) -> None:
    """The texts, folded at the foot of the page; Share has the report."""
    part = st.expander(
        "Leaderboard and methods for a paper", icon=":material/article:", key="paper_texts", on_change="rerun"
    )
    if part.open:
        with part:
            _texts(run, state, partition)


@st.fragment
def _texts(run: Run, state: State, partition: PartitionKind) -> None:
    rescored = cache.rescored(run.id, partition, state.scale, state.smoothing)
    kind = st.segmented_control(
        "Format",
        list(_TEXTS),
        default="methods",
        required=True,
        key="report_text_kind",
        format_func=lambda name: _TEXTS[name][0],
        label_visibility="collapsed",
        persist_state="session",
    )
    title, file_name, mime, make = _TEXTS[str(kind)]
    text = make(rescored, partition, state.smoothing)
    st.code(text, language="latex" if kind == "latex" else None, wrap_lines=True, height=_TEXT_HEIGHT)
    st.download_button(
        f"Save {title}",
        text.encode("utf-8", errors="replace"),
        file_name=f"{charts.safe_file_name(run.name)}-{file_name}",
        mime=mime,
        key="report_text",
        icon=":material/download:",
        on_click="ignore",
        type="tertiary",
    )
    st.caption("With the partition, scaling constant and smoothing set above.")


if __name__ == "__main__":
    main()
