"""Results: what people prefer, how certain that is, who rated, and which scores agree with them.

Ratings are exported and imported as a CSV file, to move them between machines.
"""

from __future__ import annotations

import hashlib
import statistics

import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from mauve_app import cache, uploads
from mauve_app.bounded_cache import kept_by_run
from mauve_app.components import charts, page_chrome
from mauve_app.components.markup import escaped
from mauve_app.components.messages import change, or_error
from mauve_app.server import access
from mauve_app.url import bound
from mauve_app.url.parameters import MAX_SECONDS, State
from mauve_core.analyses.human_ranking import Ranking, correlations, rank, run_indicators, score_sds_over_texts
from mauve_core.base.config import QUESTIONS, TieRule
from mauve_core.base.errors import InputError, MauveLensError
from mauve_core.figures import judgments as figures
from mauve_core.runs import Run
from mauve_core.runs.rating_tables import ratings_from_csv, ratings_to_csv
from mauve_core.runs.ratings import Counts, Rating, RatingStore, held, with_digests
from mauve_core.stats.bradley_terry import win_probability

# JMLR 2023 leaves out ratings faster than this.
PAPERS_SECONDS = 25

# Score difference in the example that explains the scale.
AHEAD = 50

TIE_RULES: dict[TieRule, str] = {"half": "Half a win each", "random": "Random tie-break"}


def show(run: Run, state: State) -> None:
    """Show the results of the stored ratings."""
    store = RatingStore(run.ratings_path)
    found = or_error(lambda: (store.list(), store.counts()))
    if found is None:
        return
    ratings, counts = found
    if ratings:
        question = _controls(state)
        rankings = _rankings(run, ratings, state.judge_ties, float(state.judge_min_seconds))
        ranking = rankings.get(question)
        if ranking is not None and ranking.is_too_early:
            _too_early(ranking)
        else:
            _preferences(run, rankings, question)
            if ranking is not None:
                _agreement(run, ranking)
        _raters(counts, ratings)
    else:
        _no_ratings(counts)
    _files(run, ratings)


def _no_ratings(counts: Counts) -> None:
    skipped = f" Pairs skipped so far: {counts.skipped:,}." if counts.skipped else ""
    st.info(f"No pair of this run has been rated yet.{skipped}", icon=":material/thumbs_up_down:")
    page_chrome.nothing_yet(
        "Ratings rank the sources by what people prefer.",
        "Each source gets a score with an interval (Bradley–Terry), and the page shows how far MAUVE and the other "
        "measures agree with it. This is the only test of a score that does not rest on another score.",
        "Rate some pairs under **Rate**: each takes about a minute. Ratings made elsewhere can be added below.",
    )


def _too_early(ranking: Ranking) -> None:
    met = sum(player.wins + player.losses + player.ties > 0 for player in ranking.players)
    answers = "1 answer" if ranking.n == 1 else f"{ranking.n:,} answers"
    page_chrome.nothing_yet(
        "Too few answers for a ranking.",
        f"So far there {'is' if ranking.n == 1 else 'are'} {answers} to this question, on {met} of "
        f"{len(ranking.players)} sources. A source gets a score once it was preferred at least once and passed over at "
        "least once, against sources that are linked with the others by such answers.",
        "Rate more pairs under **Rate**. Ratings made elsewhere can be added below.",
    )


def _controls(state: State) -> str:
    """Pickers of how ratings count and of the question shown; returns the question."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        question = bound.segmented_control(
            "judge_question",
            "Question",
            {name: figures.TITLES[name] for name in QUESTIONS},
            next(iter(QUESTIONS)),
            help="  \n".join(f"**{figures.TITLES[name]}**: {text}" for name, text in QUESTIONS.items()),
        )
        bound.segmented_control(
            "judge_ties",
            "Ties",
            TIE_RULES,
            help="Half a win for each side, or a win for one of them at random, as in the papers.",
        )
        st.number_input(
            "Minimum time (s)",
            min_value=0,
            max_value=MAX_SECONDS,
            step=5,
            width=170,
            help=f"Pairs answered faster than this do not count. The papers used {PAPERS_SECONDS} s. Ratings whose "
            "time is unknown are kept.",
            **bound.bind("judge_min_seconds", state.judge_min_seconds),
        )
    return question


def _rankings(run: Run, ratings: tuple[Rating, ...], ties: TieRule, min_seconds: float) -> dict[str, Ranking]:
    digest = hashlib.sha256(ratings_to_csv(ratings)).hexdigest()
    found = {name: _ranking(run.id, digest, name, ties, min_seconds, ratings) for name in QUESTIONS}
    return {name: ranking for name, ranking in found.items() if ranking is not None}


@kept_by_run(max_entries=48, show_spinner="Ranking")
def _ranking(
    run_id: str,
    digest: str,  # noqa: ARG001 (stands for the ratings in the cache's key)
    question: str,
    ties: TieRule,
    min_seconds: float,
    _ratings: tuple[Rating, ...],
) -> Ranking | None:
    run = cache.load_run(run_id)
    sources = [source.name for source in run.comparison.sources]
    try:
        return rank(_ratings, sources, question, corpora=run.corpora, ties=ties, min_seconds=min_seconds)
    except InputError:
        return None


def _preferences(run: Run, rankings: dict[str, Ranking], question: str) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("What people prefer", anchor=False, help=_scale_help())
        st.space("stretch")
        if rankings:
            charts.csv_button(
                lambda: pd.concat(map(figures.ranking_frame, rankings.values()), ignore_index=True),
                key="judge_ranking_csv",
                file_name=f"{run.name}-judgments",
            )
    if question not in rankings:
        st.info(
            "No ratings of this question are left under these settings, or all are of texts that have been replaced."
        )
        return
    ranking = rankings[question]
    st.markdown(f"*{QUESTIONS[question]}*")
    charts.show_chart(
        figures.ranking_figure(rankings, question, [candidate.name for candidate in run.comparison.candidates]),
        key="judge_ranking_chart",
        file_name=f"{run.name}-judgments",
        alt="Bradley–Terry scores of all sources with intervals; the table below has the same numbers.",
    )
    frame = figures.ranking_frame(ranking)
    st.table(figures.shown_ranking(frame, escaped), border="horizontal", hide_index=True)
    st.caption(figures.described(ranking))
    st.markdown("\n".join(f"- {escaped(note)}" for note in ranking.notes))


def _scale_help() -> str:
    share = round(100 * float(win_probability(AHEAD, 0)))
    return (
        f"Bradley–Terry scores in the papers' unit: of two sources {AHEAD} points apart, the higher one is preferred "
        f"in {share} of 100 pairs. 0 is the mean of the sources. Sources whose intervals overlap with the best of "
        "their group share its rank."
    )


@kept_by_run(max_entries=8)
def _score_sds(run_id: str) -> dict[str, dict[str, float]]:
    return score_sds_over_texts(cache.load_run(run_id))


def _agreement(run: Run, ranking: Ranking) -> None:
    indicators, problems = run_indicators(run, lambda of: _score_sds(of.id))
    frame = figures.correlation_frame(correlations(ranking, indicators), indicators, ranking.question)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header(
            "Which scores agree",
            anchor=False,
            help="Spearman's rank correlation between each score's order of the candidates and that of people: 1 is "
            "the same order, −1 the opposite one. Worst case: the lowest correlation when every value moves up "
            "or down by its standard deviation; if there are too many ways to try all, the two bounds it lies "
            "between.",
        )
        st.space("stretch")
        charts.csv_button(lambda: frame, key="judge_agreement_csv", file_name=f"{run.name}-agreement")
    st.table(figures.shown_correlations(frame, escaped), border="horizontal", hide_index=True)
    known = frame.loc[frame["spearman"].notna(), "n"]
    few = "" if known.empty else figures.few_candidates(int(known.min()))
    st.caption(
        "Over the candidates only, since the human side has no distance to itself. ↑ larger is closer to human texts, "
        "↓ smaller is; the sign of each correlation is such that + means agreement. Scores: pairwise partition. "
        f"{figures.sd_sentence(frame['sd_over'])} {few}"
    )
    for problem in problems:
        st.warning(escaped(problem), icon=":material/warning:")
    if not problems and len(frame) == len(run.comparison.score_names):
        st.caption(
            "Text measures such as perplexity appear in this table once they are computed under Decoders, other "
            "estimators and divergences once they are applied under Methods."
        )


def _raters(counts: Counts, ratings: tuple[Rating, ...]) -> None:
    with st.expander(f"Raters ({len(counts.raters):,})", icon=":material/group:"):
        st.dataframe(
            raters_frame(counts, ratings),
            hide_index=True,
            key="judge_raters",
            column_config={
                "Ties": st.column_config.NumberColumn(format="percent"),
                "Median seconds per pair": st.column_config.NumberColumn(format="%.0f"),
            },
        )
        st.caption(
            f"The papers allowed at most one tie in ten and left out pairs answered in under {PAPERS_SECONDS} "
            "seconds; their raters took 47 on average."
        )


def raters_frame(counts: Counts, ratings: tuple[Rating, ...]) -> pd.DataFrame:
    """One row per rater: pairs, skipped pairs, answers, share of ties among them, median time per pair."""
    times: dict[str, dict[object, float]] = {}
    for rating in ratings:
        if rating.seconds is not None:
            times.setdefault(rating.rater, {})[rating.key] = rating.seconds
    return pd.DataFrame(
        [
            {
                "Rater": name,
                "Pairs": count.pairs,
                "Skipped": count.skipped,
                "Answers": count.ratings,
                "Ties": count.ties / count.ratings if count.ratings else float("nan"),
                "Median seconds per pair": statistics.median(times[name].values()) if name in times else float("nan"),
            }
            for name, count in counts.raters.items()
        ]
    )


_ROUND, _DONE = "judge_import_round", "judge_import_done"


def _files(run: Run, ratings: tuple[Rating, ...]) -> None:
    """Download of all ratings, and an upload of others."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header("Files", anchor=False)
        st.space("stretch")
        if ratings:
            st.download_button(
                "Save all ratings",
                ratings_to_csv(ratings),
                file_name=f"{charts.safe_file_name(run.name)}-ratings.csv",
                mime="text/csv",
                key="judge_ratings_csv",
                icon=":material/download:",
                on_click="ignore",
                type="tertiary",
                help="Every answer with its rater, prompt, sources and time. The file can be added to this run on "
                "another machine.",
            )
    if not access.may_change():
        return
    uploaded = st.file_uploader(
        "Add ratings from a file",
        type="csv",
        key=f"judge_import_{st.session_state.setdefault(_ROUND, 0)}",
        help="A file saved here with Save all ratings, on any machine. Ratings stored here stay unchanged.",
    )
    if uploaded is not None:
        _offer(run, uploaded)
        return
    of_run, message = st.session_state.get(_DONE, ("", ""))
    if of_run == run.id:
        st.success(escaped(message), icon=":material/done:")


def _offer(run: Run, file: UploadedFile) -> None:
    try:
        ratings, notes = ratings_from_csv(file.getvalue(), file.name)
        usable, others = held(with_digests(ratings, run.corpora), run.corpora)
    except MauveLensError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    raters = sorted({rating.rater for rating in usable})
    if usable:
        st.markdown(f"Answers on texts of this run: **{len(usable):,}**, by {escaped(', '.join(raters))}.")
    else:
        st.warning("The file has no ratings of this run's texts.", icon=":material/warning:")
    if others:
        st.markdown(f"Answers on other texts, which will not be added: **{others:,}**.")
    for note in notes:
        st.caption(escaped(note))
    st.button(
        "Add to this run",
        key="judge_import_add",
        type="primary",
        disabled=not usable,
        on_click=change,
        args=(_add, run.id, usable, file),
    )


def _add(run_id: str, ratings: tuple[Rating, ...], file: UploadedFile) -> None:
    access.require_change()
    became = RatingStore(cache.load_run(run_id).ratings_path).add_missing(ratings)
    sentences = [f"Answers added: {became.added:,}."]
    if became.repeated:
        sentences.append(f"Already there: {became.repeated:,}.")
    if became.differing:
        sentences.append(f"Different from the same rater's answers here, which are kept: {became.differing:,}.")
    st.session_state[_DONE] = run_id, " ".join(sentences)
    st.session_state[_ROUND] += 1
    uploads.release(file)
