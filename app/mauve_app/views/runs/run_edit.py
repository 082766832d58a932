"""The form for a run's name, tags and notes; it never loses changes that others make meanwhile.

Only the reader's changes are written. If others changed the same part, the form shows both versions and asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from mauve_app.components.markup import escaped
from mauve_app.components.messages import change
from mauve_app.server import access
from mauve_core.base.errors import MauveLensError
from mauve_core.store import About, ChangedMeanwhileError, RunStore

PARTS = ("name", "tags", "notes")
# Characters beyond which others' text gets a scrolling area.
LONG = 400

_OPENED = "runs_edited"


@dataclass(frozen=True)
class _Opened:
    """An open form.

    Attributes
    ----------
    run : str
    seen : About
        The stored values that the reader has seen.
    others : mapping of str to str
        Parts that others have changed too, with their current values.
    mine : mapping of str to value
        The reader's field values, once saving has failed.
    wrong : str
        Why saving failed.
    """

    run: str
    seen: About
    others: Mapping[str, str] = field(default_factory=dict)
    mine: Mapping[str, Any] = field(default_factory=dict)
    wrong: str = ""


def show(run_id: str, about: About, tags: Sequence[str], *, close: Callable[[], None]) -> None:
    """The form, initially with ``about``; ``close`` hides it."""
    opened = _opened(run_id) or _Opened(run_id, about)
    st.session_state[_OPENED] = opened
    values = {}
    for part in PARTS:
        value = opened.mine.get(part, getattr(opened.seen, part))
        values[part] = st.session_state.setdefault(_key(part, run_id), list(value) if part == "tags" else value)
    with st.form(f"form_{run_id}", border=False, enter_to_submit=not opened.others):
        st.text_input("Name", values["name"], key=_key("name", run_id), max_chars=200)
        _show_others(opened, "name")
        st.multiselect(
            "Tags",
            sorted({*tags, *opened.seen.tags, *values["tags"]}),
            default=values["tags"],
            key=_key("tags", run_id),
            accept_new_options=True,
            placeholder="Choose or type a tag",
        )
        st.text_area("Notes", values["notes"], key=_key("notes", run_id), height=100)
        _show_others(opened, "notes")
        with st.container(horizontal=True):
            st.form_submit_button(
                "Save mine" if opened.others else "Save",
                type="primary",
                key=f"save_{run_id}",
                on_click=_save,
                args=(run_id, close),
                help="Replaces what is stored now" if opened.others else None,
            )
            st.form_submit_button("Cancel", key=f"cancel_{run_id}", on_click=close)
    if opened.wrong:
        st.error(escaped(opened.wrong), icon=":material/error:")


def show_gone(run_id: str, tags: Sequence[str], *, close: Callable[[], None]) -> None:
    """The form of a run deleted meanwhile: keeps what was typed and offers to restore the run."""
    opened = _opened(run_id)
    if opened is None:
        return
    with st.container(border=True, key=f"run_{run_id}", gap="xsmall"):
        st.warning(
            f"**{escaped(opened.seen.name or run_id)}** has been deleted in the meantime. While it is in the bin it "
            "can be restored; then what you write here can be saved.",
            icon=":material/delete:",
        )
        st.button(
            "Restore the run",
            key=f"edit_restore_{run_id}",
            icon=":material/undo:",
            on_click=change,
            args=(_restore, run_id),
        )
        show(run_id, opened.seen, tags, close=close)


def forget() -> None:
    """Discard the open form's state."""
    st.session_state[_OPENED] = None


def _show_others(opened: _Opened, part: str) -> None:
    """What others wrote meanwhile, if they did, and a button to take it over."""
    if part not in opened.others:
        return
    text = opened.others[part]
    with st.container(border=True, key=f"there_{part}_{opened.run}", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                f":material/sync_problem: **Changed elsewhere since you opened this form.** Stored {part} "
                + ("now:" if text else "now: none."),
                width="stretch",
            )
            st.form_submit_button(
                "Use theirs",
                key=f"theirs_{part}_{opened.run}",
                on_click=_take,
                args=(opened.run, part),
                help="Replaces your text in the field",
            )
        if text:
            with st.container(height=150 if len(text) > LONG else "content", border=False):
                st.text(text)


def _save(run_id: str, close: Callable[[], None]) -> None:
    opened = _opened(run_id)
    if opened is None:
        return
    known: dict[str, Any] = dict(opened.others)
    seen = replace(opened.seen, **known)  # the reader has seen it, so saving answers it
    fields: dict[str, Any] = {part: st.session_state[_key(part, run_id)] for part in PARTS}
    fields["tags"] = tuple(fields["tags"])
    mine = {part: value for part, value in fields.items() if value != getattr(seen, part)}
    try:
        access.require_change()
        RunStore().describe(run_id, **mine, seen=seen)
    except ChangedMeanwhileError as error:
        st.session_state[_OPENED] = _Opened(run_id, seen, error.now, fields)
    except MauveLensError as error:
        st.session_state[_OPENED] = replace(opened, mine=fields, wrong=str(error))
    else:
        close()


def _take(run_id: str, part: str) -> None:
    opened = _opened(run_id)
    if opened is None or part not in opened.others:
        return
    taken: dict[str, Any] = {part: opened.others[part]}
    rest = {name: text for name, text in opened.others.items() if name != part}
    mine = {**opened.mine, **taken}
    st.session_state[_OPENED] = _Opened(run_id, replace(opened.seen, **taken), rest, mine)
    st.session_state[_key(part, run_id)] = taken[part]


def _restore(run_id: str) -> None:
    access.require_change()
    store = RunStore()
    store.restore(next((item.token for item in store.deleted() if item.summary.id == run_id), run_id))


def _opened(run_id: str) -> _Opened | None:
    found: _Opened | None = st.session_state.get(_OPENED)
    return found if found is not None and found.run == run_id else None


def _key(part: str, run_id: str) -> str:
    return f"{part}_{run_id}"
