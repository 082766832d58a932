"""What the reader is looking at, kept in the URL: run, candidate, partition, cluster, mixture weight, lasso, and more.

The URL is the single truth, so that a link shows a collaborator the same view, a reload loses nothing, and a cluster
chosen in one view is the one chosen in the others. Only departures from the defaults are written. Streamlit empties
the query string when the reader changes pages; a copy in the session brings it back there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from app.url.query_string import READERS, parse, thinned, to_parameters
from app.url.state import MAX_CHOSEN, State

_COPY = "_url_copy"
_PAGE = "_url_page"
_TITLES = "_shown_titles"
_BELONGS: dict[str, set[str]] = {
    "run": {
        *("candidate", "cluster", "seed", "lasso", "hidden", "chosen", "field", "value", "column", "pure"),
        *("categories", "numbers", "perturbation", "flow", "sheet", "source", "text"),
        *("pair", "human_text", "model_text"),
    },
    "candidate": {"pair", "model_text"},
    **{name: {"pair", "human_text", "model_text"} for name in ("partition", "seed", "cluster", "lasso")},
    "perturbation": {"flow", "sheet"},
    "flow": {"sheet"},
    "source": {"text"},
    "paper": {"published"},
}
"""What a field that changes forgets."""


def current() -> State:
    """The state in the URL; a value there that cannot be read counts as absent."""
    return parse(_parameters())


def update(**changes: Any) -> State:
    """Write ``changes`` (fields of :class:`State`) into the URL and keep the rest; None clears a field.

    What belongs to something else is forgotten with it (``_BELONGS``). A new partition or seed forgets the clusters, as
    does a new candidate under the pairwise partition, because cluster numbers mean something else there. What is
    passed explicitly stays.
    """
    before = current()
    after = dataclasses.replace(before, **_cleaned(changes))
    cleared: dict[str, Any] = dict.fromkeys(_forgotten(before, after) - set(changes))
    after = dataclasses.replace(after, **_cleaned(cleared))
    _write(to_parameters(after))
    return after


def name_run(run_id: str) -> None:
    """Put the id of the run that is shown into a URL that names none, so that its link shows the same run elsewhere."""
    if current().run is None:
        _write(to_parameters(dataclasses.replace(current(), run=run_id)))


def follow_url(key: str, value: Any, shown: str | None = None) -> None:
    """Give the widget of that key the URL's value, before it is drawn; the widget must have it as its default, too.

    Only where they differ: a value set by the server overrides whatever the reader did meanwhile, so a slider would
    jump back under a fast hand. A widget's own callback has written the URL by now, so usually nothing differs.

    A value is sent once. A slow browser may have drawn nothing of a page when the next run of it arrives, without the
    value; the widget then begins with its default, and says so to the server as if a person had chosen it.

    Parameters
    ----------
    shown : str, optional
        The title of the value, where titles change (a run's name): the browser keeps the old one unless told.
    """
    titles = st.session_state.setdefault(_TITLES, {})
    if key not in st.session_state or st.session_state[key] != value or titles.get(key, shown) != shown:
        st.session_state[key] = value
    titles[key] = shown


def place(options: Iterable[Any], value: Any) -> int | None:
    """Where the value stands among the options, the default of a select box; None where it does not."""
    return next((place for place, option in enumerate(options) if option == value), None)


def write_choice(field: str, key: str, usual: Any = None) -> None:
    """A widget's callback: write what it was set to into the URL; ``usual`` is what a field's None stands for."""
    chosen = st.session_state[key]
    update(**{field: None if chosen == usual else chosen})


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


def _forgotten(before: State, after: State) -> set[str]:
    """Fields whose values belong to what was looked at before."""
    changed = {name for name in _BELONGS if getattr(after, name) != getattr(before, name)}
    if before.perturbation is None:
        changed.discard("perturbation")  # the page's own is named
    forgotten = set().union(*(_BELONGS[name] for name in changed))
    partition = after.partition_or("joint")
    if (
        partition != before.partition_or("joint")
        or after.seed != before.seed
        or (partition == "pairwise" and after.candidate != before.candidate and before.candidate is not None)
    ):
        forgotten |= {"cluster", "chosen"}
    return forgotten


def _cleaned(changes: Mapping[str, Any]) -> dict[str, Any]:
    defaults = State()
    cleaned = {name: getattr(defaults, name) if value is None else value for name, value in changes.items()}
    if cleaned.get("lasso") is not None:
        cleaned["lasso"] = thinned(cleaned["lasso"])
    for name in {"weight", "scale", "factor"} & cleaned.keys():
        cleaned[name] = None if cleaned[name] is None else float(cleaned[name])
    for name in {"cluster", "pair", "sheet", "text", "seconds"} & cleaned.keys():
        cleaned[name] = None if cleaned[name] is None else int(cleaned[name])
    if cleaned.get("tags") is not None:
        cleaned["tags"] = tuple(sorted(set(cleaned["tags"])))
    if cleaned.get("tried") is not None:
        cleaned["tried"] = tuple(cleaned["tried"])
    for name in {"chosen", "categories", "numbers"} & cleaned.keys():
        if cleaned[name] is not None:
            cleaned[name] = tuple(sorted({int(place) for place in cleaned[name]}))[:MAX_CHOSEN]
    return cleaned
