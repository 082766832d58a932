"""What the reader is looking at, kept in the URL: run, candidate, partition, cluster, mixture weight, lasso, and more.

The URL is the single truth, so that a link shows a collaborator the same view, a reload loses nothing, and a cluster
chosen in one view is the one chosen in the others. Only departures from the defaults are written. Streamlit empties
the query string when the reader changes pages; a copy in the session brings it back there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import streamlit as st

from app.state import MAX_CHOSEN, READERS, State, parse, thinned, to_parameters

_COPY = "_url_copy"
_PAGE = "_url_page"


def current() -> State:
    """The state in the URL; a value there that cannot be read counts as absent."""
    return parse(_parameters())


def update(**changes: Any) -> State:
    """Write ``changes`` (fields of :class:`State`) into the URL and keep the rest; None clears a field.

    A new run forgets candidate, cluster, seed, lasso, hidden sources, what the what-if changes, perturbation and flow.
    A new partition or seed forgets the clusters, as does a new candidate under the pairwise partition, because cluster
    numbers mean something else there. A new perturbation forgets the flow. What is passed explicitly stays.
    """
    before = current()
    after = dataclasses.replace(before, **_cleaned(changes))
    forgotten: set[str] = set()
    if after.run != before.run:
        forgotten |= {"candidate", "cluster", "seed", "lasso", "hidden"}
        forgotten |= {"chosen", "field", "value", "perturbation", "flow"}
    if after.perturbation != before.perturbation and before.perturbation is not None:
        forgotten.add("flow")
    partition = after.partition_or("joint")
    if (
        partition != before.partition_or("joint")
        or after.seed != before.seed
        or (partition == "pairwise" and after.candidate != before.candidate and before.candidate is not None)
    ):
        forgotten |= {"cluster", "chosen"}
    cleared: dict[str, Any] = dict.fromkeys(forgotten - set(changes))
    after = dataclasses.replace(after, **_cleaned(cleared))
    _write(to_parameters(after))
    return after


def name_run(run_id: str) -> None:
    """Put the id of the run that is shown into a URL that names none, so that its link shows the same run elsewhere."""
    if current().run is None:
        _write(to_parameters(dataclasses.replace(current(), run=run_id)))


def follow_url(key: str, value: Any) -> None:
    """Give the widget of that key the URL's value, before it is drawn.

    Only where they differ: a value set by the server overrides whatever the reader did meanwhile, so a slider would
    jump back under a fast hand. A widget's own callback has written the URL by now, so usually nothing differs.
    """
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value


def keep_url(page: str) -> None:
    """Call once a run from ``main.py`` with the page's path: after a change of page, put the query string back."""
    known = _parameters()
    changed = st.session_state.get(_PAGE, page) != page
    st.session_state[_PAGE] = page
    if changed and not known and st.session_state.get(_COPY):
        _write(st.session_state[_COPY])
    else:
        st.session_state[_COPY] = known


def page() -> str:
    """Path of the page that is shown, as ``keep_url`` was told; empty for the first."""
    return str(st.session_state.get(_PAGE, ""))


def _parameters() -> dict[str, str]:
    return _known(st.query_params.to_dict())  # at once: each look-up by name takes a lock


def _known(parameters: Mapping[str, str]) -> dict[str, str]:
    return {name: parameters[name] for name in READERS if name in parameters}


def _write(parameters: Mapping[str, str]) -> None:
    """Make our part of the query string equal to ``parameters``; untouched when it already is."""
    present = _parameters()
    for name in present.keys() - parameters.keys():
        del st.query_params[name]
    for name, value in parameters.items():
        if present.get(name) != value:
            st.query_params[name] = value
    st.session_state[_COPY] = dict(parameters)


def _cleaned(changes: Mapping[str, Any]) -> dict[str, Any]:
    defaults = State()
    cleaned = {name: getattr(defaults, name) if value is None else value for name, value in changes.items()}
    if cleaned.get("lasso") is not None:
        cleaned["lasso"] = thinned(cleaned["lasso"])
    for name in {"weight", "scale", "factor"} & cleaned.keys():
        cleaned[name] = None if cleaned[name] is None else float(cleaned[name])
    if cleaned.get("cluster") is not None:
        cleaned["cluster"] = int(cleaned["cluster"])
    if cleaned.get("tags") is not None:
        cleaned["tags"] = tuple(sorted(set(cleaned["tags"])))
    if cleaned.get("chosen") is not None:
        cleaned["chosen"] = tuple(sorted({int(cluster) for cluster in cleaned["chosen"]}))[:MAX_CHOSEN]
    return cleaned
