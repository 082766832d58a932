"""Trash: deleted runs, which can be restored, and disk use."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from mauve_app.components.markup import escaped
from mauve_app.components.messages import change, or_error
from mauve_app.server import access
from mauve_app.views.runs import run_cards
from mauve_app.views.runs.run_cards import DELETED, facts
from mauve_core.base.formatting import file_size
from mauve_core.encoders.feature_store import FeatureStore
from mauve_core.store import DeletedRun, RunStore, RunSummary


def undo() -> None:
    """Undo for the run deleted last, while it is in the trash; shown above any section of the page."""
    token = st.session_state.get(DELETED)
    if token is None:
        return
    entry = next((item for item in _deleted() if item.token == token), None)
    if entry is None:
        st.session_state[DELETED] = None
        return
    with st.container(horizontal=True, vertical_alignment="center", key="runs_undo"):
        st.info(f"**{escaped(entry.summary.name)}** is in the bin.", icon=":material/delete:", width="stretch")
        st.button("Undo", key="runs_undo_button", icon=":material/undo:", on_click=change, args=(_restore, token))
        st.button("Dismiss", key="runs_undo_dismiss", type="tertiary", on_click=_forget)


def show(summaries: list[RunSummary]) -> None:
    """The trash, then disk use."""
    deleted = _deleted()
    st.header("Bin", anchor=False)
    if deleted:
        for item in deleted:
            _entry(item)
        total = file_size(sum(item.summary.bytes for item in deleted))
        with st.popover("Empty the bin", icon=":material/delete_forever:"):
            st.markdown(f"Runs to remove for good: **{len(deleted)}**, {total}.")
            st.button("Remove for good", key="bin_empty", type="primary", on_click=_empty)
    else:
        st.markdown("The bin is empty. Deleted runs stay here and can be restored until you remove them for good.")
    _disk(summaries, deleted)


def _entry(item: DeletedRun) -> None:
    with st.container(border=True, key=f"bin_{item.token}", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{escaped(item.summary.name)}**", width="content")
            st.caption(f"deleted {item.deleted[:10]} {item.deleted[11:16]} UTC", width="content")
            st.space("stretch")
            st.button(
                "Restore",
                key=f"restore_{item.token}",
                type="tertiary",
                icon=":material/restore_from_trash:",
                on_click=change,
                args=(_restore, item.token),
            )
        st.caption(facts(item.summary))
        if item.damage:
            st.caption(f":material/warning: {escaped(item.damage)}. The entry can still be restored or removed.")


def _disk(summaries: list[RunSummary], deleted: list[DeletedRun]) -> None:
    st.header("Disk use", anchor=False)
    use = or_error(RunStore().disk_use)
    if use is None:
        return
    names = {summary.id: summary.name for summary in summaries}
    rows = [(names.get(run_id, run_id), size) for run_id, size in use.runs.items()]
    rows.sort(key=lambda row: row[1], reverse=True)
    features = FeatureStore().disk_use()
    rows += [("Bin", use.bin)] if deleted else []
    rows += [("Cached features", features), ("Total", use.total + features)]
    table = pd.DataFrame({"What": [escaped(name) for name, _ in rows], "Size": [file_size(size) for _, size in rows]})
    st.table(table, border="horizontal", hide_index=True, width="content")
    st.caption(
        "Features are kept so that the same texts are never encoded twice. Runs have their own copies, so the folder "
        "`features` may be deleted by hand; new comparisons of those texts then encode them again."
    )


def _deleted() -> list[DeletedRun]:
    return list(or_error(RunStore().deleted) or ())


def _empty() -> None:
    change(RunStore().purge)


def _restore(token: str) -> None:
    access.require_change()
    RunStore().restore(token)
    if st.session_state.get(DELETED) == token:
        _forget()


def _forget() -> None:
    st.session_state[run_cards.DELETED] = None
