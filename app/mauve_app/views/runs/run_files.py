"""Export of a run as one file from its card, and import of such a file."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

import streamlit as st

from mauve_app import uploads
from mauve_app.components.markup import escaped
from mauve_app.components.saying import said
from mauve_app.server import access, own_server
from mauve_app.server.run_export import export_url
from mauve_app.url import session
from mauve_core.base.errors import MauveLensError
from mauve_core.experiments.documents import check_documents
from mauve_core.jobs import queue
from mauve_core.store import RunStore, RunSummary
from mauve_core.tasks.precompute import PrecomputeTask

MEGABYTE = 1_000_000
_ROUND, _CAME = "import_round", "import_came"


def export_button(summary: RunSummary) -> None:
    """A link to the run as one file, created on request (``mauve_app.server.run_export``)."""
    most = int(st.get_option("server.maxUploadSize")) * MEGABYTE
    tip = said("Texts, scores, clusters and features in one file that can be imported elsewhere")
    if summary.bytes > most:
        tip += ", with `mauve-lens runs import`: it is too large for a browser to send"
    key, icon = f"export_{summary.id}", ":material/download:"
    if own_server.is_missing():
        tip = "Use `mauve-lens runs export`: this server cannot send it"
        st.button("Export", key=key, icon=icon, type="tertiary", help=tip, disabled=True)
    else:
        st.link_button("Export", export_url(summary.id), key=key, icon=icon, type="tertiary", help=tip)


def import_button() -> None:
    """An uploader behind a button; :func:`outcome` reports the result."""
    turn = st.session_state.setdefault(_ROUND, 0)  # a new key empties the uploader and closes its container
    tip = "A run exported here or on another machine"
    with st.popover("Import", icon=":material/upload:", help=tip, key=f"import_box_{turn}"):
        uploaded = st.file_uploader("Exported run", type="zip", key=f"import_{turn}")
        st.caption("The whole file is checked before it is imported. For large files: `mauve-lens runs import FILE`.")
    if uploaded is not None:
        with st.spinner("Checking the file"):
            st.session_state[_CAME] = _imported(uploaded.name, uploaded)
            uploads.release(uploaded)
        st.session_state[_ROUND] += 1
        st.rerun()


def outcome() -> None:
    """Report the result of the last import."""
    came = st.session_state.get(_CAME)
    if came is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="import_outcome"):
        if isinstance(came, RunSummary):
            st.success(f"Imported **{escaped(came.name)}**", icon=":material/done:", width="stretch")
            st.page_link(
                "views/compare/compare.py",
                label="Open in Compare",
                icon=":material/leaderboard:",
                query_params=session.link_to_run(came.id),
                width="content",
            )
        else:
            st.error(escaped(came), icon=":material/error:", width="stretch")
        st.button("Dismiss", key="import_dismiss", type="tertiary", on_click=_forget)


def _forget() -> None:
    st.session_state[_CAME] = None


def _imported(name: str, data: IO[bytes]) -> RunSummary | str:
    """The run, or the error with the reader's own file name; a job precomputes what pages need first."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / uploads.safe_name(name)
        try:
            access.require_change()
            with path.open("wb") as stream:
                shutil.copyfileobj(data, stream)
            summary = RunStore().import_(path, check=check_documents)
        except MauveLensError as error:
            return str(error).replace(str(path), name)
        except OSError as error:
            return f"{name} cannot be imported: {error.strerror or error}"
    with suppress(MauveLensError):  # the run exists: without the job, pages compute what they need when opened
        queue.start(PrecomputeTask(summary.id))
    return summary
