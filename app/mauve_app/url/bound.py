"""Widgets bound to a URL parameter: they show its value and write changes to it.

Each takes a field of :class:`mauve_app.url.parameters.State`, then the arguments of the Streamlit widget. The session
key is ``url_`` and the field's name in the URL, unless given. The value shown is also the widget's Streamlit default. A
value set through the session alone is sent once; a slow browser that has not drawn the page by the next run never sees
it, starts with another default, and reports that as a person's choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import pandas as pd
import streamlit as st
from streamlit.elements.lib.mutable_tab_container import TabContainer

from mauve_app.selection import rows_of_event
from mauve_app.url import session
from mauve_app.url.parameters import PARAMETERS

T = TypeVar("T")
D = TypeVar("D")
Name = TypeVar("Name", bound=str)
# State changes for a widget's value, if that is not the field's value itself.
Changes = Callable[[Any], Mapping[str, Any]]

# Session key: the title that each bound widget shows.
_TITLES = "_url_titles"


def segmented_control(
    field: str,
    label: str,
    titles: Mapping[T, str],
    default: T | None = None,
    *,
    key: str = "",
    omit_default: bool = True,
    **keywords: Any,
) -> T:
    """Choose one of a few titles; returns the value shown. Parameters as for ``selectbox``."""
    shown: T = _shown(field, titles, default)
    st.segmented_control(
        label,
        list(titles),
        required=True,
        default=shown,
        format_func=titles.__getitem__,
        **_link(field, shown, key=key, default=default if omit_default else None),
        **keywords,
    )
    return shown


def selectbox(
    field: str,
    label: str,
    options: Collection[T],
    default: D,
    *,
    key: str = "",
    omit_default: bool = True,
    changes: Changes | None = None,
    **keywords: Any,
) -> T | D:
    """Choose from a list; returns the value shown.

    Parameters
    ----------
    options : collection
        A mapping gives the options their titles.
    default : object
        Shown if the URL has none of the options. None means the field's own default.
    omit_default : bool
        Whether the URL leaves out ``default``. Set to False if other pages have another default.
    """
    if isinstance(options, Mapping):
        keywords["format_func"] = options.__getitem__
    shown: T | D = _shown(field, options, default)
    offered: list[Any] = list(options)
    index = offered.index(shown) if shown in offered else None
    title = None if index is None else keywords.get("format_func", str)(shown)
    link = _link(field, shown, key=key, default=default if omit_default else None, title=title, changes=changes)
    st.selectbox(label, offered, index=index, **link, **keywords)
    return shown


def multiselect(
    field: str,
    label: str,
    options: Sequence[T],
    shown: Sequence[T],
    default: Sequence[T] | None = None,
    *,
    key: str = "",
    **keywords: Any,
) -> None:
    """Choose several; the URL leaves out ``default``."""
    link = bind(field, list(shown), key=key, default=default, keyword="default")
    st.multiselect(label, options, **link, **keywords)


def open_tab(field: str, titles: Mapping[Name, str], key: str) -> tuple[Name, TabContainer]:
    """Tabs by ``titles``: name and container of the open one. Opening another one reruns the page or its fragment.

    The first is open if ``titles`` lacks the one in the URL.
    """
    names = {title: name for name, title in titles.items()}
    opened = titles.get(getattr(session.current(), field), next(iter(names)))
    tabs = st.tabs(list(names), default=opened, key=key, on_change=_write, args=(key, lambda t: {field: names[t]}))
    return next((name, tab) for name, tab in zip(titles, tabs, strict=True) if tab.open)


def table(
    field: str,
    frame: pd.DataFrame,
    values: Sequence[T | None],
    *,
    key: str,
    usual: T | None = None,
    **keywords: Any,
) -> None:
    """A table whose selected row, or row of a selected cell, sets the field to its entry in ``values`` (None: no
    effect); deselecting the row clears it. Without a value of the field, the row of ``usual`` is marked.
    """
    chosen = getattr(session.current(), field)
    shown = usual if chosen is None or chosen not in values else chosen
    rows = [] if shown is None or shown not in values else [values.index(shown)]
    if key not in st.session_state or selected_rows(key)[:1] != rows:  # the marked cell stays, for the arrow keys
        st.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": []}}
    st.dataframe(
        frame,
        hide_index=True,
        key=key,
        on_select=partial(_write_row, field, key, tuple(values)),
        selection_mode=["single-row", "single-cell"],
        **keywords,
    )


def bind(field: str, value: Any, *, keyword: str = "value", **options: Any) -> dict[str, Any]:
    """Keywords that bind any other widget to a field; ``keyword`` is its default's name, ``options`` are as for
    ``_link``.
    """
    return {keyword: value, **_link(field, value, **options)}


def on_click(**changes: Any) -> dict[str, Any]:
    """Keywords of a button that applies ``changes`` to the state."""
    return {"on_click": session.update, "kwargs": changes}


def close_button(field: str, *, key: str) -> None:
    st.button("Close", icon=":material/close:", type="tertiary", key=key, **on_click(**{field: None}))


def _link(
    field: str,
    value: Any,
    *,
    key: str = "",
    default: Any = None,
    title: str | None = None,
    changes: Changes | None = None,
) -> dict[str, Any]:
    """Key and callback of a widget that shows ``value``.

    Parameters
    ----------
    default : object, optional
        The value that the URL leaves out.
    title : str, optional
        The title of the value. If it changes, for example when a run is renamed, the value is sent again.
    changes : callable, optional
        What to change; without it, the field becomes the widget's value.
    """
    key = key or f"url_{PARAMETERS[field].name}"
    titles = st.session_state.setdefault(_TITLES, {})
    if key not in st.session_state or not _same(st.session_state[key], value) or titles.get(key, title) != title:
        st.session_state[key] = value  # only if it differs, because this overrides input made in the meantime
    titles[key] = title

    def own(chosen: Any) -> Mapping[str, Any]:
        return {field: None if chosen == default else chosen}

    return {"key": key, "on_change": _write, "args": (key, changes or own)}


def _shown(field: str, options: Collection[Any], default: Any) -> Any:
    value = getattr(session.current(), field)
    return value if value in options else PARAMETERS[field].default if default is None else default


def _same(a: Any, b: Any) -> bool:
    """Whether two values are equal up to the rounding errors of a slider's steps."""
    return math.isclose(a, b) if isinstance(a, float) and isinstance(b, float) else bool(a == b)


def _write(key: str, changes: Changes) -> None:
    if key in st.session_state:  # a slow browser also reports a control that has left the page meanwhile
        session.update(**changes(st.session_state[key]))


def _write_row(field: str, key: str, values: Sequence[Any]) -> None:
    found = [values[row] for row in selected_rows(key) if row < len(values)]
    current = getattr(session.current(), field)
    value = next((each for each in found if each != current), current if found else None)
    if value is not None or not found:
        session.update(**{field: value})


def selected_rows(key: str) -> list[int]:
    """The row of a table's marked cell, then its ticked row."""
    return rows_of_event(selection_of(key))


def selection_of(key: str) -> Any:
    """What the browser says is selected in the chart or table of that key; None once that has left the page."""
    return st.session_state.get(key, {}).get("selection")
