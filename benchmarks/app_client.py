"""What a browser tab says to the app, without a browser: widgets are found by key and moved over the real websocket.

It speaks Streamlit's own protocol: a widget's state goes up, elements come down, and the tab keeps what a browser would
keep: the query string, the page, the state of every widget that it moved, messages that the server need not send twice.
A mouse, a screen and the drawing of figures are left out; so is the time that these take.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

TIMEOUT_S = 300.0

# Kind of an element -> the field of a widget's state that carries its value; a table's is a plotly chart's.
_FIELDS = {
    "slider": "double_array_value",
    "selectbox": "string_value",
    "button_group": "string_array_value",
    "multiselect": "string_array_value",
    "plotly_chart": "string_value",
    "tab_container": "string_value",
    "button": "trigger_value",
    "pagination": "int_value",
    "number_input": "double_value",
    "checkbox": "bool_value",
}

# Type of a slider that chooses among options and sends their titles.
_SELECT_SLIDER = 2


@dataclass(frozen=True)
class Widget:
    """An element of the page that can be moved."""

    id: str
    kind: str
    fragment: str
    field: str
    proto: Any


@dataclass(frozen=True)
class Answer:
    """What came back for one interaction.

    Attributes
    ----------
    messages, bytes : int
        Sent by the server.
    failed : tuple of str
        Errors that the page shows.
    """

    messages: int
    bytes: int
    failed: tuple[str, ...]


class Tab:
    """One tab of the app at ``url`` (ws://host:port)."""

    def __init__(self, url: str) -> None:
        self._socket = connect(f"{url}/_stcore/stream", max_size=None, subprotocols=["streamlit"], compression=None)  # type: ignore[list-item]
        self.query, self._page = "", ""
        self.pages: dict[str, str] = {}
        self.widgets: dict[str, Widget] = {}
        self._states: dict[str, tuple[str, Any]] = {}
        self._hashes: set[str] = set()

    def __enter__(self) -> Tab:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def open(self, page: str = "", query: str | None = None) -> Answer:
        """Load a page by its path in the address bar; a change of page drops the query string, as a browser does."""
        first = not self.pages
        self.query = query or ""
        message = BackMsg()
        if not first:
            message.rerun_script.page_script_hash = self.pages[page]
            self.widgets.clear()
        else:
            message.rerun_script.page_name = page
        return self._send(message)

    def move(self, key: str, value: Any) -> Answer:
        """Give the widget of that key a value, in the form in which a browser sends it."""
        widget = self.widgets[key]
        message = BackMsg()
        message.rerun_script.page_script_hash = self._page
        message.rerun_script.fragment_id = widget.fragment
        trigger = widget.field == "trigger_value"
        if not trigger:
            self._states[widget.id] = (widget.field, value)
        return self._send(message, {widget.id: (widget.field, value)} if trigger else {})

    def options(self, key: str) -> list[str]:
        """The titles among which the widget of that key chooses."""
        widget = self.widgets[key]
        if widget.kind == "button_group":
            return [option.content for option in widget.proto.options]
        return list(widget.proto.options)

    def spec(self, key: str) -> Any:
        """The figure of that key, as it was sent."""
        return json.loads(self.widgets[key].proto.spec)

    def _send(self, message: BackMsg, triggers: dict[str, tuple[str, Any]] | None = None) -> Answer:
        client = message.rerun_script
        client.query_string = self.query
        known = {widget.id for widget in self.widgets.values()}
        for identifier, (field, value) in {**self._states, **(triggers or {})}.items():
            if identifier in known:
                state = client.widget_states.widgets.add(id=identifier)
                if field.endswith("array_value"):
                    getattr(state, field).data.extend(value)
                else:
                    setattr(state, field, value)
        client.cached_message_hashes.extend(self._hashes)
        self._socket.send(message.SerializeToString())
        return self._receive()

    def _receive(self) -> Answer:
        count = size = 0
        failed: list[str] = []
        while True:
            data = self._socket.recv(timeout=TIMEOUT_S)
            if isinstance(data, str):
                raise RuntimeError(f"the server sent text: {data[:200]}")
            message = ForwardMsg.FromString(data)
            count, size = count + 1, size + len(data)
            if message.metadata.cacheable and message.hash:
                self._hashes.add(message.hash)
            kind = message.WhichOneof("type")
            if kind == "script_finished":
                if message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    return Answer(count, size, tuple(failed))
            elif kind == "new_session":
                self._page = message.new_session.page_script_hash
            elif kind == "navigation":
                self.pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
            elif kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            elif kind == "delta":
                failed += self._notice(message.delta)

    def _notice(self, delta: Any) -> list[str]:
        """Keep the widget that a delta brings, by its key; the text of an error that it shows."""
        part = delta.WhichOneof("type")
        if part == "new_transient":
            return []
        inner = getattr(delta, part)
        kind = inner.WhichOneof("type")
        proto: Any = getattr(inner, kind) if kind else None
        if kind == "exception" or (kind == "alert" and proto.format == proto.ERROR):
            return [proto.message if kind == "exception" else proto.body]
        identifier = getattr(proto, "id", "")
        if identifier:
            key = identifier.split("-", 2)[-1]
            field = _FIELDS.get(str(kind), "string_value")
            if kind == "slider" and proto.type == _SELECT_SLIDER:
                field = "string_array_value"
            self.widgets[key] = Widget(identifier, str(kind), delta.fragment_id, field, proto)
        return []


def points_event(*points: dict[str, Any]) -> str:
    """What a browser sends when points of a figure were clicked."""
    return _event(points=list(points), point_indices=[point["point_index"] for point in points])


def lasso_event(x: list[float], y: list[float], points: list[dict[str, Any]]) -> str:
    """What a browser sends when a lasso was drawn, with the points in it."""
    lasso = [{"xref": "x", "yref": "y", "x": x, "y": y}]
    return _event(points=points, point_indices=[point["point_index"] for point in points], lasso=lasso)


def row_event(row: int) -> str:
    """What a browser sends when a row of a table was ticked."""
    return json.dumps({"selection": {"rows": [row], "columns": [], "cells": []}})


def _event(**selection: Any) -> str:
    return json.dumps({"selection": {"points": [], "point_indices": [], "box": [], "lasso": [], **selection}})
