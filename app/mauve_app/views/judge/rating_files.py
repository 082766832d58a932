"""Export and import of ratings as a CSV file, to move them between machines."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from mauve_app import uploads
from mauve_app.caching import cache
from mauve_app.components import charts
from mauve_app.components.markup import escaped
from mauve_app.components.messages import change
from mauve_app.server import access
from mauve_core.base.errors import MauveLensError
from mauve_core.judgments import Rating, RatingStore, held, ratings_from_csv, ratings_to_csv, with_digests
from mauve_core.store import Run

_ROUND, _DONE = "judge_import_round", "judge_import_done"


def show(run: Run, ratings: tuple[Rating, ...]) -> None:
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
