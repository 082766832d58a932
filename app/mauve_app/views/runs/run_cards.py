"""The list of stored runs: a card for each, with its actions."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from mauve_app.components.markup import escaped
from mauve_app.components.messages import change
from mauve_app.components.saying import said
from mauve_app.server import access
from mauve_app.url import session
from mauve_app.views.runs import recompare, run_edit, run_files
from mauve_core.base.errors import MauveLensError
from mauve_core.base.formatting import file_size
from mauve_core.corpus.kinds import kind_of
from mauve_core.store import About, RunStore, RunSummary

COMPARE_PAGE = "views/compare/compare.py"
# Cards shown initially, and added by each "Show more".
SHOWN = 10

NAMED_CANDIDATES = 4
# Characters of the notes in a card; the form shows all of them.
SHOWN_NOTES = 300

# Session key: token of the run deleted last, for undo.
DELETED = "runs_deleted"

_LIMIT, _OPEN = "runs_limit", "runs_open"


def show(summaries: Sequence[RunSummary], tags: Sequence[str], known: Sequence[RunSummary]) -> None:
    """A card for each run found: the first ``SHOWN``, and a button for more.

    The run whose form is open stays whatever others do to it: as in ``known``, or as it was.
    """
    limit = st.session_state.setdefault(_LIMIT, SHOWN)
    opened, editing = session.current().run, edited()
    shown = [summary for index, summary in enumerate(summaries) if index < limit or summary.id == editing]
    if editing not in {summary.id for summary in shown}:
        shown += [summary for summary in known if summary.id == editing]
    for summary in shown:
        _card(summary, tags, is_open=summary.id == opened)
    if editing is not None and editing not in {summary.id for summary in shown}:
        run_edit.show_gone(editing, tags, close=_close)
    if len(summaries) > limit:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{limit} of {len(summaries)} runs shown", width="content")
            st.button("Show more", key="runs_more", on_click=_show_more)


def edited() -> str | None:
    """Id of the run whose name, tags and notes are being edited."""
    kind, run_id = st.session_state.get(_OPEN) or ("", None)
    return run_id if kind == "edit" else None


def facts(summary: RunSummary) -> str:
    """Facts about a run in a list, safe in Markdown."""
    names = [escaped(name) for name in summary.candidates[:NAMED_CANDIDATES]]
    more = len(summary.candidates) - len(names)
    candidates = ", ".join(names) + (f" and {more} more" if more else "")
    when = f"{summary.created[:10]} {summary.created[11:16]} UTC"
    parts = [
        when,
        f"{summary.n:,} reference {kind_of(summary.kind).words.items}",
        escaped(summary.made_by),
        file_size(summary.bytes),
        candidates,
    ]
    return " · ".join(parts)


def _card(summary: RunSummary, tags: Sequence[str], *, is_open: bool) -> None:
    with st.container(border=True, key=f"run_{summary.id}", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.page_link(
                COMPARE_PAGE,
                label=f"**{escaped(summary.name)}**",
                icon=":material/leaderboard:",
                query_params=session.link_to_run(summary.id),
                help="Open in Compare",
                width="content",
            )
            badges = [":blue-badge[open]"] if is_open else []
            badges += [f":gray-badge[{escaped(tag)}]" for tag in summary.tags]
            if badges:
                st.markdown(" ".join(badges), width="content")
            st.space("stretch")
            _actions(summary)
        st.caption(facts(summary))
        if summary.notes:
            notes = " ".join(summary.notes.split())
            st.text(notes if len(notes) <= SHOWN_NOTES else f"{notes[: SHOWN_NOTES - 1]}…")
        opened = st.session_state.get(_OPEN)
        if opened == ("edit", summary.id):
            about = About(summary.name, summary.tags, summary.notes)
            run_edit.show(summary.id, about, tags, close=_close)
        elif opened == ("again", summary.id):
            recompare.show(summary.id, close=_close)


def show_damaged(run_id: str, wrong: MauveLensError) -> None:
    """A card of a run that cannot be read: why, and a button that moves it to the trash."""
    with st.container(border=True, key=f"run_{run_id}", horizontal=True, vertical_alignment="center"):
        st.error(escaped(str(wrong)), icon=":material/error:")
        st.button("Delete", key=f"delete_{run_id}", type="tertiary", on_click=change, args=(_delete, run_id))


def _actions(summary: RunSummary) -> None:
    with st.container(horizontal=True, width="content", gap="xsmall"):
        for kind, label, icon, tip in (
            ("edit", "Edit", ":material/edit:", "Name, tags and notes"),
            ("again", "Duplicate", ":material/content_copy:", said("Compare the same texts with other settings")),
        ):
            st.button(
                label,
                key=f"{kind}_{summary.id}",
                type="tertiary",
                icon=icon,
                help=tip,
                on_click=_toggle,
                args=(kind, summary.id),
            )
        run_files.export_button(summary)
        st.button(
            "Delete",
            key=f"delete_{summary.id}",
            type="tertiary",
            icon=":material/delete:",
            help="Moves it to the bin, where it can be restored",
            on_click=change,
            args=(_delete, summary.id),
        )


def _toggle(kind: str, run_id: str) -> None:
    opened = (kind, run_id)
    reopened = st.session_state.get(_OPEN) != opened
    _close()
    st.session_state[_OPEN] = opened if reopened else None


def _close() -> None:
    st.session_state[_OPEN] = None
    run_edit.forget()


def _show_more() -> None:
    st.session_state[_LIMIT] += SHOWN


def _delete(run_id: str) -> None:
    access.require_change()
    store = RunStore()
    store.delete(run_id)
    st.session_state[DELETED] = next((item.token for item in store.deleted() if item.summary.id == run_id), None)
    if edited() == run_id:
        _close()
    state = session.current()
    gone = {"run": state.run, "first_run": state.first_run, "second_run": state.second_run}
    session.update(**{field: None for field, value in gone.items() if value == run_id})
