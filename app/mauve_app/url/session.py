"""The URL of the visit: read, changed, and restored after a change of page, when Streamlit empties it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import streamlit as st

from mauve_app.url.parameters import NAMES, SETTINGS, State, changed, parse, to_query

_COPY = "_url_copy"
_PAGE = "_url_page"


def current() -> State:
    """The state in the URL; an unreadable value counts as absent."""
    return parse(_query())


def update(**changes: Any) -> State:
    """Write ``changes`` (fields of :class:`State`) and the resets they cause (``parameters.changed``) to the URL."""
    after = changed(current(), **changes)
    _write(to_query(after))
    return after


def recall(query: str) -> None:
    """Call once per run of ``main.py``, first: a session that has seen no URL starts with this query string.

    It is the one that the browser had when its lost connection came back (``news.watch``). A session that is new then
    may first be asked for another page, without a query string.
    """
    st.session_state.setdefault(_COPY, _ours(dict(parse_qsl(query, keep_blank_values=True))))


def open_run() -> str | None:
    """Id of the run in the URL, before ``keep_url``: after a change of page the URL is that of the page before."""
    return parse(_query() or st.session_state.get(_COPY) or {}).run


def link_to_run(run_id: str) -> dict[str, str]:
    """The query string of a link to another run, which keeps the settings of the visit that are not one run's."""
    state = current()
    return to_query(changed(State(**{field: getattr(state, field) for field in SETTINGS}), run=run_id))


def name_run(run_id: str) -> None:
    """Write the id of the shown run into a URL that names none, so that its link shows the same run elsewhere."""
    state = current()
    if state.run is None:
        _write(to_query(dataclasses.replace(state, run=run_id)))


def keep_url(page: str) -> None:
    """Call once per run of ``main.py`` with the page's path: restores the query string after a change of page."""
    query = _query()
    other_page = st.session_state.get(_PAGE) != page
    if other_page and not query and st.session_state.get(_COPY):
        _write(st.session_state[_COPY])
    else:
        st.session_state[_COPY] = query
    st.session_state[_PAGE] = page  # last: a run that is broken off while it writes has restored nothing


def page() -> str:
    """Path of the current page, as given to ``keep_url``; empty for the first page."""
    return str(st.session_state.get(_PAGE, ""))


def _query() -> dict[str, str]:
    """The app's part of the query string, read at once: each look-up by name takes a lock."""
    return _ours(st.query_params.to_dict())


def _ours(query: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in query.items() if name in NAMES}


def _write(query: Mapping[str, str]) -> None:
    """Set the app's part of the query string to ``query``, unless it already is.

    At once: between two messages the browser may ask for a run, with a part of the query string.
    """
    if _query() != query:
        others = {name: st.query_params.get_all(name) for name in st.query_params if name not in NAMES}
        st.query_params.from_dict({**others, **query})
    st.session_state[_COPY] = dict(query)
