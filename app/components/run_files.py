"""A run as one file: saved from a card, and brought in from another machine."""

from __future__ import annotations

import tempfile
from pathlib import Path

import streamlit as st

from app import access
from app.components.markup import escaped
from app.uploads import safe_name
from mauve_core.errors import MauveLensError
from mauve_core.store import RunStore, RunSummary

SUFFIX = ".mauve-run.zip"
MEGABYTE = 1_000_000
_ROUND, _CAME = "import_round", "import_came"


def export_button(summary: RunSummary) -> None:
    """Saves the run as one file, which is made when the button is pressed."""
    most = int(st.get_option("server.maxUploadSize")) * MEGABYTE
    too_large = summary.bytes > most
    tip = "Texts, scores, clusters and features in one file that can be imported elsewhere"
    st.download_button(
        "Export",
        lambda: _exported(summary.id),
        file_name=f"{summary.id}{SUFFIX}",
        mime="application/zip",
        key=f"export_{summary.id}",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
        disabled=too_large,
        help=f"Too large for a browser: mauve-lens runs export {summary.id}" if too_large else tip,
    )


def import_button() -> None:
    """An uploader behind a button; what came, or why it did not, is said by :func:`outcome`."""
    turn = st.session_state.setdefault(_ROUND, 0)  # a new key empties the uploader and closes what it stands in
    tip = "A run that was exported here or on another machine"
    with st.popover("Import", icon=":material/upload:", help=tip, key=f"import_box_{turn}"):
        uploaded = st.file_uploader("A run that was exported", type="zip", key=f"import_{turn}")
        st.caption(
            "Everything in the file is checked before it is taken in. Large ones: `mauve-lens runs import FILE`."
        )
    if uploaded is not None:
        with st.spinner("Checking the file"):
            st.session_state[_CAME] = _imported(uploaded.name, uploaded.getvalue())
        st.session_state[_ROUND] += 1
        st.rerun()


def outcome() -> None:
    """What became of the file that was imported last."""
    came = st.session_state.get(_CAME)
    if came is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="import_outcome"):
        if isinstance(came, RunSummary):
            st.success(f"Imported **{escaped(came.name)}**", icon=":material/done:", width="stretch")
            st.page_link(
                "views/compare.py",
                label="Open in Compare",
                icon=":material/leaderboard:",
                query_params={"run": came.id},
                width="content",
            )
        else:
            st.error(escaped(came), icon=":material/error:", width="stretch")
        st.button("Dismiss", key="import_dismiss", type="tertiary", on_click=_forget)


def _forget() -> None:
    st.session_state[_CAME] = None


def _exported(run_id: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return RunStore().export(run_id, Path(folder) / f"{run_id}{SUFFIX}").read_bytes()


def _imported(name: str, data: bytes) -> RunSummary | str:
    """The run, or what is wrong with the file, called by the reader's own name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / safe_name(name)
        try:
            access.require_change()
            path.write_bytes(data)
            return RunStore().import_(path)
        except MauveLensError as error:
            return str(error).replace(str(path), name)
        except OSError as error:
            return f"{name} cannot be taken in: {error.strerror or error}"
