"""Scores of a run under several encoders: how far they agree in words, the scores, and correlations of rankings.

Where in a text encoders look is a sentence and a small table, if it was computed. The form starts a job: the encoders
under which the run's texts are scored.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from mauve_app.components import charts, comparison_settings, jobs
from mauve_app.components.jobs import JobSlot
from mauve_app.components.markup import escaped
from mauve_app.components.messages import or_error
from mauve_app.components.page_chrome import words
from mauve_app.url import bound
from mauve_app.url.parameters import State
from mauve_core.analyses.encoders import (
    CompareEncodersTask,
    EncoderTable,
    offered_encoders,
    parse_encoder,
    references,
    usual_encoders,
    written,
)
from mauve_core.analyses.positions import stored_positions
from mauve_core.base.formatting import NONE, correlation
from mauve_core.figures import agreement as figures
from mauve_core.figures import agreement as position_figures
from mauve_core.figures.leaderboard import titled
from mauve_core.figures.theme import short_name
from mauve_core.runs import Run
from mauve_core.scoring.tables import texts_interval
from mauve_core.stats.scores import REFERENCE_SCORE
from mauve_core.texts.kinds import kind_of

_TABLE: dict[str, Any] = {"border": "horizontal", "hide_index": True}


def show(run: Run, table: EncoderTable, state: State) -> None:
    """Show everything that was computed, for the URL's score."""
    score = state.score if state.score in table.score_names else REFERENCE_SCORE
    words, contradictions = figures.encoders_in_words(table, score)
    st.markdown(escaped(words))
    if contradictions:
        st.markdown("\n".join(f"- {escaped(line)}" for line in contradictions))
    for note in table.notes:
        st.warning(escaped(note), icon=":material/warning:")
    _scores(run, table, score)
    _agreement(run, table, score)
    _references(run, table, score)
    _settings(table)


def shown_scores(table: EncoderTable, score: str) -> pd.DataFrame:
    """The table as Markdown cells, a row per candidate: mean, spread and rank above the interval, for each encoder."""
    intervals = figures.interval_cells(table, score)
    rows = [
        [
            f"**{escaped(short_name(name))}**",
            *(f"**{cell}**  \n{low_high}" for cell, low_high in zip(cells, intervals[name], strict=True)),
        ]
        for name, cells in figures.score_cells(table, score).items()
    ]
    if any(result.ceiling for result in table.results):
        rows.append([escaped(words().halves), *map("  \n".join, figures.ceiling_cells(table, score))])
    return pd.DataFrame(rows, columns=["Candidate", *_numbered(table)])


def _numbered(table: EncoderTable) -> list[str]:
    return [f"{number} {escaped(title)}" for number, title in enumerate(table.titles, start=1)]


def _scores(run: Run, table: EncoderTable, score: str) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("Scores under each encoder", anchor=False)
        st.space("stretch")
        charts.csv_button(
            lambda: figures.encoder_scores_frame(table), key="encoders_csv", file_name=f"{run.name}-encoders"
        )
    bound.segmented_control(
        "score",
        "Score",
        {each: titled(each) for each in table.score_names},
        help=f"↑ larger is closer to the {words().reference_items}, ↓ smaller is. MAUVE is what the papers report.",
    )
    st.table(shown_scores(table, score), **_TABLE)
    score_config = run.comparison.config.score
    st.caption(
        f"Mean ± standard deviation over {score_config.seeds} k-means seeds; in parentheses the rank, with = if no "
        f"test tells it from the first of its group; below, the {texts_interval(score_config.confidence)}. Pairwise "
        "partitions, each with the run's own settings; the first encoder is the run's own, with the "
        "leaderboard's digits. Compare rankings, not scores: every encoder has its own scale."
    )


def _agreement(run: Run, table: EncoderTable, score: str) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("Agreement of the rankings", anchor=False, help="Spearman's rank correlation of the candidates.")
        st.space("stretch")
        charts.csv_button(
            lambda: figures.encoder_agreement_frame(table),
            key="encoders_agreement_csv",
            file_name=f"{run.name}-encoders-agreement",
        )
    charts.show_chart(
        figures.encoder_agreement_figure(table, score),
        key="encoders_agreement",
        file_name=f"{run.name}-encoders-agreement",
        alt="Spearman correlation of every pair of encoders; the CSV has the numbers.",
    )
    st.caption(
        f"Spearman's correlation over {len(table.candidates):,} candidates: 1 is the same order, −1 the opposite one. "
        "It ignores the spread; the hover says how many pairs of candidates two encoders put in opposite orders, and "
        "how many of these both tell apart. Only the latter are more than chance."
    )


def _references(run: Run, table: EncoderTable, score: str) -> None:
    found, problem = references(run, table, score)
    if problem:
        st.warning(escaped(problem), icon=":material/warning:")
    if not found:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header("Agreement with measures and ratings", anchor=False)
        st.space("stretch")
        charts.csv_button(
            lambda: figures.references_frame(found, table),
            key="encoders_references_csv",
            file_name=f"{run.name}-encoders-references",
        )
    rows = [
        [
            escaped(figures.reference_title(each)),
            f"{each.n:,}",
            *(NONE if value is None else correlation(value, signed=True) for value in each.values),
        ]
        for each in found
    ]
    st.table(pd.DataFrame(rows, columns=["Spearman with", "n", *_numbered(table)]), **_TABLE)
    st.caption(
        f"+ is agreement on who is closer to the {words().reference_items}: of the encoder's score with the gap of a "
        "measure, or with the ratings. Discriminator accuracy, precision, recall, density, coverage and Vendi score "
        "use the features of the run's own encoder."
    )


def _settings(table: EncoderTable) -> None:
    part = st.expander("How these were computed", icon=":material/tune:", key="encoders_settings", on_change="rerun")
    if part.open:
        with part:
            for name, title, result in zip(figures.encoder_names(table), table.titles, table.results, strict=True):
                st.markdown(f"**{escaped(title)}**: {escaped(figures.about_encoder(name, result))}")
            comparison_settings.show_tree(table.settings)


def show_positions(run: Run) -> None:
    """Show the stored table; nothing without one."""
    table = or_error(stored_positions, run)
    if table is None:
        return
    st.header("Where in the text does the encoder look?", anchor=False)
    st.markdown(escaped(position_figures.positions_in_words(table)))
    rows = [[escaped(cell) for cell in row] for row in position_figures.position_rows(table)]
    st.table(pd.DataFrame(rows, columns=list(position_figures.HEADER)), border="horizontal", hide_index=True)
    st.caption(escaped(position_figures.about_positions(table, run.comparison.words)))
    for note in table.notes:
        st.warning(escaped(note), icon=":material/warning:")


def show_form(run: Run, table: EncoderTable | None) -> None:
    """The form, initially with the encoders of ``table``, else with those on this machine."""
    own, kind = run.comparison.config.encoder, kind_of(run.comparison.human.kind)
    if table is None:
        offered = [spec for spec in usual_encoders(kind) if parse_encoder(spec, own) != own]
    else:
        offered = [written(each.encoder, own) for each in table.results[1:] if each.encoder is not None]
    chosen: list[str] = st.multiselect(
        "Encoders besides the run's own",
        list(dict.fromkeys([*offered, *(spec for spec in offered_encoders(kind) if parse_encoder(spec, own) != own)])),
        default=offered,
        accept_new_options=True,
        key=f"encoders_chosen_{run.id}_{table is not None}",
        persist_state="session",
        placeholder="Choose an encoder, or type one",
        help="Or type a Hugging Face id, the path of a folder, a GGUF file or a file of word vectors; after a colon "
        "its settings, such as gpt2:pooling=mean,layer=6.",
    )
    if run.comparison.has_words:
        st.caption(
            "Every encoder reads all texts once, about ten a second on a CPU for a model of GPT-2's size; texts that "
            "it has read before cost nothing. Layer 0 with mean pooling averages a model's token embeddings, like word "
            "vectors."
        )
    read = [or_error(parse_encoder, spec, own) for spec in chosen]
    unusable = not chosen or None in read
    jobs.button(
        slot(run),
        "Compute",
        lambda: CompareEncodersTask(run.id, tuple(chosen)),
        models=[(encoder.model, encoder.revision) for encoder in read if encoder is not None],
        check=kind.offer.check,
        filled=not unusable,
        boxed=table is not None,
    )


def slot(run: Run) -> JobSlot:
    """Where the form's job stands."""
    return JobSlot("encoders_start", CompareEncodersTask.kind, run.id)
