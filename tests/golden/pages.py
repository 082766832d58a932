"""What stands on the pages of the app: every element that the server sends, in order, folded parts open."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import streamlit
from google.protobuf.json_format import MessageToDict
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, ButtonGroup

from tests.golden.differences import VOLATILE_FIELDS

TIMEOUT_S = 120
# Parts folded within folded parts are opened this often.
OPENINGS = 3

_CHOSEN = "_chosen_title"
_usual = ButtonGroup.formatted_values

Told = list[list[Any]]


def pages(run_id: str, *, deep: bool) -> Iterator[tuple[str, Told]]:
    """Name and content of each page of a run; ``deep``, also under each tab and section."""
    logging.disable(logging.WARNING)  # Streamlit's, again and again, that there is no server
    manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)  # of all packages
    ButtonGroup.formatted_values = property(_titles)  # type: ignore[method-assign]
    script = _script()
    views = re.findall(r'st\.Page\(\s*"([^"]+)"', script.read_text(encoding="utf-8"))
    if not views:
        raise ValueError(f"{script} has no pages")
    for view in views:
        streamlit.cache_resource.clear()
        streamlit.cache_data.clear()
        app = AppTest.from_file(str(script), default_timeout=TIMEOUT_S)
        app.switch_page(view)
        app.query_params["run"] = run_id
        yield from _explored(_unfolded(app.run()), Path(view).stem, set() if deep else None)


def _script() -> Path:
    found = find_spec("mauve_app")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).with_name("main.py")


def _titles(group: Any) -> Any:
    """A choice by its title: AppTest wants the value behind it, which only the page knows."""
    return [vars(group)[_CHOSEN]] if _CHOSEN in vars(group) else _usual.fget(group)  # type: ignore[attr-defined]


def _explored(app: AppTest, name: str, seen: set[str] | None) -> Iterator[tuple[str, Told]]:
    """The page as it is, and with each other choice of each control that was not there before."""
    yield name, told(app)
    if seen is None:
        return
    new = [each for each in _controls(app) if each[0] not in seen]
    seen.update(key for key, *_ in new)
    for key, titles, chosen in new:
        for title in titles:
            if title != chosen and _choose(app, key, title):
                yield from _explored(_unfolded(app), f"{name} {title}", seen)
        _choose(app, key, chosen)


def _controls(app: AppTest) -> list[tuple[str, list[str], str]]:
    """Key, titles and present choice of tabs and of controls that offer one of a few."""
    found = []
    for node in app.main:
        if isinstance(node, ButtonGroup) and node.key and node._is_single_select and not node.disabled:
            found.append((node.key, list(node.options), next(iter(node.formatted_values), "")))
        elif node.type == "tab_container" and isinstance(node, Block) and node.key:
            titles = [each.label for each in node.children.values()]
            if titles and node.proto.tab_container.id:
                found.append((node.key, titles, titles[node.proto.tab_container.default_tab_index]))
    return found


def _choose(app: AppTest, key: str, title: str) -> bool:
    """Whether the control is still there, so that it could be changed."""
    if key not in [each for each, *_ in _controls(app)]:
        return False
    node = app.main.get_by_key(key)
    if isinstance(node, ButtonGroup):
        vars(node)[_CHOSEN] = title
    else:
        app.session_state[key] = title
    app.run()
    return True


def _unfolded(app: AppTest) -> AppTest:
    """The same page with its folded parts open; only these have keys."""
    for _ in range(OPENINGS):
        folded = [each.key for each in app.main.expander if each.key and each.proto.id and not each.proto.expanded]
        if not folded:
            break
        for key in folded:
            app.session_state[key] = True
        app.run()
    return app


def told(app: AppTest) -> Told:
    """Kind and content of every block and element."""
    return [[node.type, _content(node)] for part in (app.sidebar, app.main, app.toast) for node in part]


def _content(node: Any) -> Any:
    if getattr(node, "proto", None) is None:
        return None
    content = MessageToDict(node.proto, preserving_proto_field_name=True)
    if node.type in ("table", "dataframe"):
        frame = node.value
        content["arrow_data"]["data"] = frame.drop(columns=VOLATILE_FIELDS.intersection(frame)).to_csv()
    elif node.type == "plotly_chart" and "spec" in content:
        content["spec"] = json.loads(content["spec"])
    return content
